//! Drives that fail under a store.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, PlacementHint, Rank, Store, StoreError, Transaction,
};
use terrace_env::{ByteCount, Cause, DeviceId, FileId, Lba};
use terrace_fs::catalog::Extent;
use terrace_fs::{Access, Fs, MountOptions, ZoneGrid, ZoneUse, journal};
use terrace_zone::emulator::{FaultPlan, RequestKind};
use terrace_zone::{Device, Emulator, Geometry, Op, PowerCut, Tracks, ZoneState};

use crate::cuts::facts::{note, pattern};
use crate::drive::{audit, formatted};

fn mount(drive: &Arc<Emulator>, access: Access) -> Result<Arc<Fs>, StoreError> {
    let options = MountOptions { access, background: false, ..MountOptions::default() };
    Fs::mount(Arc::clone(drive) as Arc<dyn Device>, &options)
}

fn create(fs: &Fs, kind: FileKind) -> Result<Box<dyn FileWriter>, StoreError> {
    fs.create(&CreateOptions {
        kind,
        hint: PlacementHint::default(),
        size: None,
        rank: Rank::Log,
        reservation: None,
        group: None,
        offload: false,
        cause: Cause::Client,
    })
}

fn small_drive(seed: u64) -> Arc<Emulator> {
    formatted(Geometry::uniform(ByteCount::kib(256), 32), seed)
}

/// Drives without zones: a plain one, and one of shingled tracks, of which a write that fails has
/// harmed some.
fn drives_without_zones(seed: u64) -> [Arc<Emulator>; 2] {
    let tracks = Tracks { blocks: 24, overlap: 2 };
    let plain = Geometry::plain(ByteCount::mib(16));
    [plain, Geometry::tracks(ByteCount::mib(32), tracks)].map(|shape| formatted(shape, seed))
}

/// Where a file's extents lie.
fn extents(drive: &Arc<Emulator>, id: FileId) -> Vec<Extent> {
    let device = Arc::clone(drive) as Arc<dyn Device>;
    let replayed = journal::replay(&device, false).expect("a sound journal");
    replayed.catalog.get(id).expect("a file").extents.extents().collect()
}

/// Acknowledged bytes of each file.
type Acknowledged = BTreeMap<FileId, u64>;

/// Writes tables and a log for a while; the error that ended it, if one did.
fn work(fs: &Fs, random: &mut Random, acked: &mut Acknowledged) -> Result<(), StoreError> {
    work_with(fs, random, acked, 300_000)
}

fn work_with(
    fs: &Fs,
    random: &mut Random,
    acked: &mut Acknowledged,
    table_max: usize,
) -> Result<(), StoreError> {
    let mut log = create(fs, FileKind::Log)?;
    let mut transaction = Transaction::new();
    transaction.create(log.id(), note("a log"));
    fs.commit(transaction)?;
    acked.insert(log.id(), 0);
    for _ in 0..30 {
        let id = log.id();
        let len = random.random_range(1..20_000);
        log.append(&pattern(id.0, log.len(), len))?;
        log.sync()?;
        acked.insert(id, log.len());
        let mut table = create(fs, FileKind::Table)?;
        let len = random.random_range(1..table_max);
        table.append(&pattern(table.id().0, 0, len))?;
        table.finish()?;
        let mut transaction = Transaction::new();
        transaction.seal(table.id(), note("a table"));
        if let Some(old) = acked.keys().copied().find(|old| *old != id).filter(|_| acked.len() > 6)
        {
            transaction.delete(old);
            acked.remove(&old);
        }
        fs.commit(transaction)?;
        acked.insert(table.id(), len as u64);
    }
    Ok(())
}

/// Reads all acknowledged bytes; returns the number of unreadable files.
fn verify(fs: &Fs, acked: &Acknowledged) -> usize {
    let mut unreadable = 0;
    for (&id, &size) in acked {
        let reader = fs.open(id).unwrap_or_else(|error| panic!("file {id}: {error}"));
        assert!(reader.len() >= size, "file {id}: {} of {size} bytes", reader.len());
        let mut bytes = vec![0; size as usize];
        match reader.read_at(0, &mut bytes, Cause::Read) {
            Ok(()) => assert!(bytes == pattern(id.0, 0, bytes.len()), "file {id}"),
            Err(StoreError::Io { .. }) => unreadable += 1,
            Err(error) => panic!("file {id}: {error}"),
        }
    }
    unreadable
}

#[test]
fn a_write_that_fails_anywhere_loses_nothing_and_mostly_goes_unnoticed() {
    let unnoticed = (0..150).filter(|spared| fail_a_write(&small_drive(*spared), *spared)).count();
    assert!(unnoticed >= 60, "only {unnoticed} of 150 failed writes were survived");
}

#[test]
fn a_write_that_fails_anywhere_without_zones_loses_nothing_and_mostly_goes_unnoticed() {
    let mut unnoticed = [0; 2];
    for spared in 0..100 {
        for (drive, count) in drives_without_zones(spared).iter().zip(&mut unnoticed) {
            *count += u32::from(fail_a_write(drive, spared));
        }
    }
    println!("{unnoticed:?} of 100 failed writes were survived, on plain drives and on tracks");
    assert!(unnoticed.iter().all(|count| *count >= 30), "only {unnoticed:?} of 100");
}

/// Fails one write after `spared` others, and cuts the power later. Returns whether the store went
/// on without an error.
fn fail_a_write(drive: &Arc<Emulator>, spared: u64) -> bool {
    let fs = mount(drive, Access::ReadWrite).expect("a mount");
    drive.set_faults(Some(FaultPlan::new(spared).fail(RequestKind::Write, spared)));
    let mut acked = Acknowledged::new();
    let worked = work(&fs, &mut Random::seeded(spared), &mut acked);
    match &worked {
        // The journal does not go on after a write of its own has failed.
        Ok(()) | Err(StoreError::Io { .. } | StoreError::Stopped(_)) => {}
        Err(error) => panic!("a write after {spared} others: {error}"),
    }
    assert_eq!(verify(&fs, &acked), 0);
    audit(&fs, matches!(worked, Err(StoreError::Stopped(_))));
    drop(fs);
    drive.set_faults(None);
    drive.power_cut(PowerCut::DropUnflushed, &mut Random::seeded(spared)).expect("memory");
    drive.power_on();
    let fs = mount(drive, Access::ReadWrite).expect("a mount after a failed write");
    assert_eq!(verify(&fs, &acked), 0);
    worked.is_ok()
}

#[test]
fn a_failed_flush_is_never_followed_by_an_acknowledgement_that_needs_it() {
    for spared in 0..60 {
        fail_a_flush(&small_drive(spared), spared);
    }
    for spared in 0..30 {
        drives_without_zones(spared).iter().for_each(|drive| fail_a_flush(drive, spared));
    }
}

fn fail_a_flush(drive: &Arc<Emulator>, spared: u64) {
    let fs = mount(drive, Access::ReadWrite).expect("a mount");
    drive.set_faults(Some(FaultPlan::new(spared).fail(RequestKind::Flush, spared)));
    let mut acked = Acknowledged::new();
    let mut random = Random::seeded(spared);
    // A caller that tries again must not be told that all is well now.
    for _ in 0..3 {
        work(&fs, &mut random, &mut acked).ok();
    }
    audit(&fs, fs.roll_journal().is_err());
    drop(fs);
    drive.set_faults(None);
    drive.power_cut(PowerCut::DropUnflushed, &mut random).expect("memory");
    drive.power_on();
    let fs = mount(drive, Access::ReadWrite).expect("a mount after a failed flush");
    assert_eq!(verify(&fs, &acked), 0);
}

#[test]
fn zones_that_become_read_only_are_read_on_and_written_no_more() {
    let mut survived = 0;
    for seed in 0..40 {
        let drive = small_drive(seed);
        let fs = mount(&drive, Access::ReadWrite).expect("a mount");
        let first = 5 + (seed % 20) as u32;
        let faults = FaultPlan::new(seed).zones_fail(seed, first..first + 3, ZoneState::ReadOnly);
        drive.set_faults(Some(faults));
        let mut acked = Acknowledged::new();
        let worked = work(&fs, &mut Random::seeded(seed), &mut acked);
        survived += u32::from(worked.is_ok());
        assert_eq!(verify(&fs, &acked), 0);
        audit(&fs, matches!(worked, Err(StoreError::Stopped(_))));
        drop(fs);
        let fs = mount(&drive, Access::ReadWrite).expect("a mount");
        assert_eq!(verify(&fs, &acked), 0);
    }
    assert!(survived >= 30, "only {survived} of 40 stores went on");
}

#[test]
fn zones_that_go_offline_take_their_files_and_nothing_else() {
    let (mut survived, mut lost) = (0, 0);
    for seed in 0..40 {
        let drive = small_drive(seed);
        let fs = mount(&drive, Access::ReadWrite).expect("a mount");
        let mut acked = Acknowledged::new();
        work(&fs, &mut Random::seeded(seed), &mut acked).expect("a sound drive");
        let zones = fs.zones().expect("a report");
        let of_data = zones.iter().filter(|zone| zone.used_for == ZoneUse::Data);
        let zone = of_data.max_by_key(|zone| zone.live).expect("a zone with tables").zone.0;
        let faults = FaultPlan::new(seed).zones_fail(0, zone..zone + 1, ZoneState::Offline);
        drive.set_faults(Some(faults));
        drive.control(Op::Flush, Cause::Client).expect("the request that the zone fails at");
        lost += verify(&fs, &acked);
        let worked = work(&fs, &mut Random::seeded(seed + 1), &mut acked);
        survived += u32::from(worked.is_ok());
        verify(&fs, &acked);
        audit(&fs, matches!(worked, Err(StoreError::Stopped(_))));
    }
    assert!(survived >= 25, "only {survived} of 40 stores went on");
    assert!(lost > 0, "no file was in any of the zones");
}

#[test]
fn a_copy_that_does_not_verify_never_takes_the_place_of_its_extent() {
    let drive = small_drive(1);
    let fs = mount(&drive, Access::ReadWrite).expect("a mount");
    let mut files = Vec::new();
    for _ in 0..12 {
        let mut table = create(&fs, FileKind::Table).expect("a writer");
        table.append(&pattern(table.id().0, 0, 80_000)).expect("room");
        table.finish().expect("room");
        let mut transaction = Transaction::new();
        transaction.seal(table.id(), note("a table"));
        fs.commit(transaction).expect("a commit");
        files.push(table.id());
    }
    let mut transaction = Transaction::new();
    files.iter().step_by(3).for_each(|id| {
        transaction.delete(*id);
    });
    fs.commit(transaction).expect("a commit");
    let victim = files[4];
    let before = extents(&drive, victim);
    let grid = ZoneGrid::new(DeviceId::FIRST, drive.geometry());
    let lba = grid.lba(before[0].first);
    drive.corrupt(lba, |bytes| bytes[100] ^= 1).expect("a written block");
    let mut rounds = 0;
    while fs.reclaim_one().expect("a store that takes commits") {
        rounds += 1;
        assert!(rounds < 50, "reclaim tries the damaged zone again and again");
    }
    assert_eq!(extents(&drive, victim), before);
    assert_eq!(fs.damaged_extents(), 1);
    assert!(rounds > 1, "other zones are reclaimed all the same");
    audit(&fs, false);
    drop(fs);
    let report = Fs::check(Arc::clone(&drive) as Arc<dyn Device>).expect("a check");
    let [problem] = &report.problems[..] else { panic!("{:?}", report.problems) };
    assert!(problem.region.contains(&format!("file {victim}")), "{problem}");
    assert!(problem.expected.contains("checksum"), "{problem}");
}

#[test]
fn a_copy_of_bytes_without_a_checksum_has_none_either() {
    let drive = small_drive(1);
    let fs = mount(&drive, Access::ReadWrite).expect("a mount");
    let mut files = Vec::new();
    for _ in 0..12 {
        let mut table = create(&fs, FileKind::Table).expect("a writer");
        table.append(&pattern(table.id().0, 0, 80_000)).expect("room");
        table.finish().expect("room");
        let mut transaction = Transaction::new();
        transaction.seal(table.id(), note("a table"));
        fs.commit(transaction).expect("a commit");
        files.push(table.id());
    }
    let kept = files.remove(0);
    // A checksum is that of a whole extent.
    let mut transaction = Transaction::new();
    transaction.trim(kept, 0, 5 * 4096);
    files.iter().for_each(|id| {
        transaction.delete(*id);
    });
    fs.commit(transaction).expect("a commit");
    let before = extents(&drive, kept);
    assert!(before[0].crc.is_none(), "{before:?}");
    while extents(&drive, kept)[0].first == before[0].first {
        assert!(fs.reclaim_one().expect("a store that takes commits"), "nothing is moved");
    }
    let after = extents(&drive, kept);
    assert!(after.iter().all(|extent| extent.crc.is_none()), "{after:?} of {before:?}");
    audit(&fs, false);
}

/// Whether damage at a block was found, cut off or of no consequence; wrong bytes are not.
fn survive_damage(drive: &Arc<Emulator>, acked: &Acknowledged) -> Result<bool, String> {
    let device = Arc::clone(drive) as Arc<dyn Device>;
    let report = Fs::check(device).map_err(|error| error.to_string())?;
    let named =
        |id: FileId| report.problems.iter().any(|p| p.region.starts_with(&format!("file {id} ")));
    let fs = match mount(drive, Access::ReadOnly) {
        Ok(fs) => fs,
        Err(StoreError::Corruption { .. } | StoreError::Invalid(_)) if !report.is_clean() => {
            return Ok(true);
        }
        Err(error) => return Err(format!("mount: {error}; check: {:?}", report.problems)),
    };
    for info in fs.list() {
        let Some(&size) = acked.get(&info.id) else {
            return Err(format!("file {} was never acknowledged", info.id));
        };
        let reader = match fs.open(info.id) {
            Ok(reader) => reader,
            Err(StoreError::Corruption { .. }) if !report.is_clean() => continue,
            Err(error) => return Err(format!("file {}: {error}", info.id)),
        };
        let mut bytes = vec![0; reader.len().min(size) as usize];
        let read = reader.read_at(0, &mut bytes, Cause::Read);
        let sound = read.is_ok() && bytes == pattern(info.id.0, 0, bytes.len());
        if !sound && !named(info.id) {
            return Err(format!("file {}: wrong bytes that no check tells of", info.id));
        }
    }
    Ok(!report.is_clean())
}

#[test]
fn every_flipped_bit_is_repaired_cut_off_or_reported() {
    let drive = small_drive(7);
    let fs = mount(&drive, Access::ReadWrite).expect("a mount");
    let mut acked = Acknowledged::new();
    work_with(&fs, &mut Random::seeded(7), &mut acked, 40_000).expect("a sound drive");
    let used: Vec<(u64, u64)> = fs
        .zones()
        .expect("a report")
        .iter()
        .filter(|zone| zone.used_for != ZoneUse::Free)
        .map(|zone| {
            let start = drive.geometry().zone_start(zone.zone).0;
            (start, zone.pointer.unwrap_or(zone.capacity).0 / 4096)
        })
        .filter(|(_, blocks)| *blocks > 0)
        .collect();
    drop(fs);
    let whole = drive.snapshot().expect("memory");
    let mut random = Random::seeded(8);
    let mut reported = 0;
    let flips = 20_000;
    for flip in 0..flips {
        let damaged = Arc::new(whole.cut(PowerCut::KeepAll, &mut random));
        let (start, blocks) = used[random.random_range(0..used.len())];
        let lba = Lba(start + random.random_range(0..blocks));
        // Headers are a small part of a block and the most delicate.
        let byte = if random.random() { 4096 } else { 64 };
        let (byte, bit) = (random.random_range(0..byte), random.random_range(0..8));
        damaged.corrupt(lba, |bytes| bytes[byte] ^= 1 << bit).expect("a written block");
        match survive_damage(&damaged, &acked) {
            Ok(found) => reported += u32::from(found),
            Err(what) => panic!("flip {flip}: block {lba}, byte {byte}, bit {bit}: {what}"),
        }
    }
    assert!(reported > flips / 4, "only {reported} of {flips} flips hit anything");
}
