//! Write-offloading: which files lie on the offload device, its lack of space and its failures, and
//! the errors when it is missing or another one.

use std::sync::Arc;

use terrace_env::store::{
    CreateOptions, FileKind, PlacementHint, Rank, Store, StoreError, Transaction,
};
use terrace_env::{ByteCount, Cause, DeviceId, FileId};
use terrace_fs::superblock::Role;
use terrace_fs::{Devices, Fs, MountOptions, second_device};
use terrace_zone::emulator::{Drives, FaultPlan, RequestKind};
use terrace_zone::{Device, Emulator, Geometry, Tracks};

use crate::cuts::facts::{note, pattern};
use crate::drive::{audit, formatted_pair, formatted_with_log, mount};

/// Size of the offload drive, the smallest that a store takes.
const SIZE: ByteCount = ByteCount::mib(8);

fn zoned() -> Geometry {
    Geometry::uniform(ByteCount::kib(256), 60)
}

fn drives(geometry: Geometry, seed: u64) -> Drives {
    formatted_pair(geometry, (Role::Offload, SIZE), seed)
}

/// Writes a file of this kind and seals it.
fn write(fs: &Fs, kind: FileKind, len: usize) -> Result<FileId, StoreError> {
    let reservation = fs.reserve(Rank::Flush, ByteCount(len as u64))?;
    let options = CreateOptions {
        kind,
        hint: PlacementHint::default(),
        size: None,
        rank: Rank::Flush,
        reservation: Some(&reservation),
        group: None,
        offload: true,
        cause: Cause::Flush,
    };
    let mut writer = fs.create(&options)?;
    let id = writer.id();
    writer.append(&pattern(id.0, 0, len))?;
    writer.finish()?;
    let mut transaction = Transaction::new();
    transaction.seal(id, note("one"));
    fs.commit(transaction).map(|()| id)
}

fn holds(fs: &Fs, id: FileId, len: usize) {
    let mut bytes = vec![0; len];
    fs.open(id).expect("a file").read_at(0, &mut bytes, Cause::Read).expect("a read");
    assert!(bytes == pattern(id.0, 0, len), "file {id}");
}

/// The devices of the first and the last byte.
fn ends(fs: &Fs, id: FileId, len: usize) -> [u16; 2] {
    let device = |offset| fs.place_of(id, offset).expect("a place").0.device().0;
    [device(0), device(len as u64 - 1)]
}

#[test]
fn tables_lie_on_the_offload_device_and_all_else_does_not() {
    let tracks = Geometry::tracks(ByteCount::mib(24), Tracks { blocks: 24, overlap: 2 });
    for geometry in [zoned(), tracks, Geometry::plain(ByteCount::mib(24))] {
        let drives = drives(geometry, 1);
        let fs = mount(&drives);
        let table = write(&fs, FileKind::Table, 300_000).expect("a table");
        let log = write(&fs, FileKind::Log, 70_000).expect("a log");
        let client = write(&fs, FileKind::Client, 10_000).expect("a file");
        assert_eq!(ends(&fs, table, 300_000), [1, 1]);
        assert_eq!([ends(&fs, log, 70_000), ends(&fs, client, 10_000)], [[0, 0]; 2]);
        assert!(fs.is_offloaded(table) && !fs.is_offloaded(log) && !fs.is_offloaded(client));
        let [first, second] = &fs.devices()[..] else { panic!("two devices") };
        assert!(first.holds_tables && first.holds_logs && !first.holds_offloaded);
        assert!(second.holds_offloaded && !second.holds_tables && !second.holds_logs);
        assert_eq!(second.space.live, ByteCount(300_000_u64.next_multiple_of(4096)));
        let written = |cause| drives.all()[1].io().written(cause);
        assert_eq!([written(Cause::Log), written(Cause::Journal)], [ByteCount(0); 2]);
        audit(&fs, false);
        drop(fs);
        let report = Fs::check(&drives).expect("a check");
        assert!(report.is_clean(), "{:?}", report.problems);
        let fs = mount(&drives);
        holds(&fs, table, 300_000);
        let mut transaction = Transaction::new();
        transaction.delete(table);
        fs.commit(transaction).expect("a delete");
        assert_eq!(fs.offload_space().expect("a device").live, ByteCount(0));
        audit(&fs, false);
    }
}

#[test]
fn a_full_offload_device_sends_the_rest_where_tables_go() {
    const LEN: usize = 1_500_000;
    let drives = drives(zoned(), 2);
    let fs = mount(&drives);
    let files: Vec<_> =
        (0..6).map(|_| write(&fs, FileKind::Table, LEN).expect("room on device 0")).collect();
    let places: Vec<_> = files.iter().map(|id| ends(&fs, *id, LEN)).collect();
    assert!(places.contains(&[1, 1]) && places.contains(&[1, 0]), "{places:?}");
    assert_eq!(places.last(), Some(&[0, 0]), "{places:?}");
    let reserved = fs.space().reserved;
    assert_eq!(reserved, ByteCount(0), "offloaded files kept their reservation");
    audit(&fs, false);
    drop(fs);
    let fs = mount(&drives);
    files.iter().for_each(|id| holds(&fs, *id, LEN));
    audit(&fs, false);
}

#[test]
fn a_full_store_has_space_for_a_compaction_of_all_that_is_offloaded() {
    const LEN: usize = 300_000;
    let tracks = Geometry::tracks(ByteCount::mib(24), Tracks { blocks: 24, overlap: 2 });
    for geometry in [zoned(), tracks, Geometry::plain(ByteCount::mib(24))] {
        let drives = drives(geometry, 8);
        let mut fs = mount(&drives);
        let refused = (0..200).find_map(|_| write(&fs, FileKind::Table, LEN).err());
        assert!(refused.as_ref().is_some_and(StoreError::is_space), "{refused:?}");
        for mounted_anew in [false, true] {
            let offloaded = fs.offload_space().expect("a device").live;
            assert!(offloaded >= ByteCount::mib(4), "{offloaded}");
            let reserved = fs.reserve(Rank::Compaction, offloaded);
            assert!(reserved.is_ok(), "mounted anew: {mounted_anew}: {:?}", reserved.err());
            drop(reserved);
            fs.unmount();
            drop(fs);
            fs = mount(&drives);
        }
        // A deleted file is not waited for.
        let offloaded = fs.list().into_iter().filter(|file| fs.is_offloaded(file.id));
        let mut transaction = Transaction::new();
        offloaded.for_each(|file| {
            transaction.delete(file.id);
        });
        fs.commit(transaction).expect("a delete");
        write(&fs, FileKind::Table, LEN).expect("space for its replacement");
        audit(&fs, false);
    }
}

#[test]
fn a_table_is_written_elsewhere_after_a_failed_write_to_the_offload_device() {
    const LEN: usize = 5_000_000;
    let drives = drives(zoned(), 3);
    let fs = mount(&drives);
    for failing in 0..4 {
        let plan = FaultPlan::new(1).fail(RequestKind::Write, failing);
        drives.all()[1].set_faults(Some(plan));
        let id = write(&fs, FileKind::Table, LEN).expect("a table in spite of a failed write");
        holds(&fs, id, LEN);
        assert_eq!(ends(&fs, id, LEN)[1], 0, "the rest after the failed write");
        let mut transaction = Transaction::new();
        transaction.delete(id);
        fs.commit(transaction).expect("a delete");
    }
    audit(&fs, false);
    drop(fs);
    let report = Fs::check(&drives).expect("a check");
    assert!(report.is_clean(), "{:?}", report.problems);
}

fn refused(devices: impl Into<Devices>) -> String {
    let refused = Fs::mount(devices.into(), &MountOptions::default());
    refused.expect_err("devices that are none of one store").to_string()
}

#[test]
fn a_missing_or_foreign_offload_device_is_refused_by_name() {
    let (one, other) = (drives(zoned(), 4), drives(zoned(), 5));
    let [tables, offload] = one.all() else { panic!("two drives") };
    let (role, member) =
        second_device(&(Arc::clone(tables) as Arc<dyn Device>)).expect("a store").expect("two");
    assert_eq!((role, member.capacity), (Role::Offload, SIZE));
    let alone = refused(tables);
    assert!(alone.contains("has offloaded tables on device 1: expected the plain"), "{alone}");
    assert!(alone.contains("name it as the offload device"), "{alone}");
    let alone = refused(offload);
    assert!(alone.contains("expected device 0 of a store, found device 1 of"), "{alone}");
    let with = |tables: &Arc<Emulator>, second: &Arc<Emulator>| {
        Devices::pair(Arc::clone(tables) as _, Arc::clone(second) as _)
    };
    let foreign = refused(with(tables, &other.all()[1]));
    assert!(foreign.contains("expected device 1 of store"), "{foreign}");
    let with_log = formatted_with_log(zoned(), SIZE, 4);
    let of_a_log = refused(with(tables, &with_log.all()[1]));
    assert!(of_a_log.contains("expected device 1 of store"), "{of_a_log}");
    drop(mount(&one));
    assert_eq!(DeviceId(1), terrace_fs::device_number(&(Arc::clone(offload) as _)).expect("one"));
}
