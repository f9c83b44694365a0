//! Writes and copies that fail: their space comes back, to the last block.

use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::store::{
    CreateOptions, FileKind, PlacementHint, Rank, Store, StoreError, Transaction,
};
use terrace_env::{ByteCount, Cause, FileId, test_seeds};
use terrace_fs::{Fs, MountOptions, ZoneUse};
use terrace_zone::emulator::{FaultPlan, RequestKind};
use terrace_zone::{Device, Emulator, Geometry};

use crate::cuts::facts::{note, pattern};
use crate::drive::{formatted, shapes_without_zones};

fn mounted(seed: u64) -> (Arc<Emulator>, Arc<Fs>) {
    mounted_on(Geometry::uniform(ByteCount::mib(1), 96), seed)
}

fn mounted_on(geometry: Geometry, seed: u64) -> (Arc<Emulator>, Arc<Fs>) {
    let drive = formatted(geometry, seed);
    let options = MountOptions { background: false, ..MountOptions::default() };
    let fs = Fs::mount(Arc::clone(&drive) as Arc<dyn Device>, &options).expect("a mount");
    fs.set_io_size(ByteCount::kib(64));
    (drive, fs)
}

fn verify(fs: &Fs, files: &[(FileId, usize)]) {
    for &(id, len) in files {
        let mut bytes = vec![0; len];
        let reader = fs.open(id).expect("a file");
        reader.read_at(0, &mut bytes, Cause::Read).expect("its bytes");
        assert!(bytes == pattern(id.0, 0, len), "file {id}");
    }
}

/// A client's file.
fn client() -> CreateOptions<'static> {
    CreateOptions {
        kind: FileKind::Client,
        hint: PlacementHint::default(),
        size: None,
        rank: Rank::Log,
        reservation: None,
        group: None,
        offload: false,
        cause: Cause::Client,
    }
}

/// Writes a file of `len` bytes in pieces; from the `sound`-th piece on, every write fails.
fn write(
    fs: &Fs,
    drive: &Emulator,
    kind: FileKind,
    len: usize,
    sound: Option<usize>,
) -> Result<FileId, StoreError> {
    let mut writer = fs.create(&CreateOptions { kind, ..client() })?;
    let id = writer.id();
    if kind != FileKind::Table && id.0.is_multiple_of(2) {
        let mut transaction = Transaction::new();
        transaction.create(id, note("begun"));
        fs.commit(transaction)?;
    }
    let written = (|| {
        for (number, piece) in pattern(id.0, 0, len).chunks(30_000).enumerate() {
            if sound == Some(number) {
                drive.set_faults(Some(FaultPlan::new(1).fail_by_chance(RequestKind::Write, 1)));
            }
            writer.append(piece)?;
            if number % 3 == 2 {
                writer.write_out()?;
            }
        }
        writer.finish()
    })();
    drive.set_faults(None);
    written?;
    let mut transaction = Transaction::new();
    transaction.seal(id, note("sealed"));
    fs.commit(transaction)?;
    Ok(id)
}

/// Files of every kind, of which some fail amid their writes.
pub(crate) fn fail_writers(seed: u64) -> u32 {
    fail_writers_on(mounted(seed), seed)
}

fn fail_writers_on((drive, fs): (Arc<Emulator>, Arc<Fs>), seed: u64) -> u32 {
    let mut random = Random::seeded(seed);
    let is_zoned = drive.geometry().layout.is_zoned();
    let (mut files, mut failed) = (Vec::new(), 0);
    for _ in 0..5 {
        let kinds = [FileKind::Table, FileKind::Log, FileKind::Client];
        let kind = kinds[random.random_range(0..3)];
        let len = random.random_range(1..400_000);
        let sound = random.random_bool(0.4).then(|| random.random_range(0..=len / 30_000));
        match write(&fs, &drive, kind, len, sound) {
            Ok(id) => files.push((id, len)),
            Err(StoreError::Io { .. }) => failed += 1,
            // A failing write has met the journal.
            Err(StoreError::Stopped(_)) => return failed,
            // Without zones, a writer whose writes fail tries one place after the other, and none
            // of them is used again before the next mount.
            Err(error)
                if !is_zoned && error.is_space() && failed + u32::from(sound.is_some()) > 0 =>
            {
                failed += 1;
            }
            Err(error) => panic!("seed {seed}: {error}"),
        }
        verify(&fs, &files);
        assert_eq!(fs.audit(), Vec::<String>::new(), "seed {seed}: a {kind:?}, {sound:?}");
        let pinned = fs.space().pinned;
        assert_eq!(pinned, ByteCount(0), "seed {seed}: a {kind:?}, {sound:?}, without readers");
    }
    failed
}

#[test]
fn what_failed_writers_had_taken_comes_back() {
    let failed: u32 = test_seeds(200).map(fail_writers).sum();
    assert!(failed > 30, "only {failed} writers failed");
}

#[test]
fn what_failed_writers_had_taken_without_zones_comes_back() {
    for (name, geometry) in shapes_without_zones() {
        let on = |seed| fail_writers_on(mounted_on(geometry.clone(), seed), seed);
        let failed: u32 = test_seeds(40).map(on).sum();
        assert!(failed > 6, "{name}: only {failed} writers failed");
    }
}

/// The file is committed and stays open to its readers: its lost bytes must not stay with it.
#[test]
fn what_a_failed_writer_has_appended_since_its_sync_comes_back_while_the_file_lives() {
    let (drive, fs) = mounted(1);
    let mut writer = fs.create(&client()).expect("a file");
    let id = writer.id();
    let mut transaction = Transaction::new();
    transaction.create(id, note("begun"));
    fs.commit(transaction).expect("a commit");
    let bytes = pattern(id.0, 0, 300_000);
    writer.append(&bytes[..100_000]).expect("an append");
    writer.sync().expect("a sync");
    let synced = fs.space();
    writer.append(&bytes[100_000..]).expect("an append");
    writer.rest().expect("sound writes");
    let reader = fs.open(id).expect("a file");
    assert!(fs.space().live > synced.live);
    drive.set_faults(Some(FaultPlan::new(1).fail_by_chance(RequestKind::Write, 1)));
    writer.sync().expect_err("every write fails");
    drive.set_faults(None);
    drop(writer);
    verify(&fs, &[(id, 100_000)]);
    assert_eq!(fs.audit(), Vec::<String>::new());
    let space = fs.space();
    assert_eq!((space.live, space.pinned), (synced.live, ByteCount(0)));
    assert_eq!(reader.len(), 100_000);
    let mut again = fs.reopen(id).expect("a writer");
    again.append(&bytes[100_000..]).expect("an append");
    again.sync().expect("a sync");
    verify(&fs, &[(id, bytes.len())]);
    assert_eq!(fs.audit(), Vec::<String>::new());
}

/// Reclaim whose reads and writes fail now and then. Returns how many copies failed.
pub(crate) fn fail_copies(seed: u64) -> u64 {
    let (drive, fs) = mounted(seed);
    let mut random = Random::seeded(seed);
    let mut files = Vec::new();
    for _ in 0..30 {
        let kinds = [FileKind::Table, FileKind::Table, FileKind::Log];
        let (kind, len) = (kinds[random.random_range(0..3)], random.random_range(1..500_000));
        files.push((write(&fs, &drive, kind, len, None).expect("a sound drive"), len));
    }
    let mut transaction = Transaction::new();
    files.retain(|(id, _)| {
        let stays = random.random_bool(0.5);
        if !stays {
            transaction.delete(*id);
        }
        stays
    });
    fs.commit(transaction).expect("a sound drive");
    let mut failed = 0;
    for round in 0..12 {
        let mut plan = FaultPlan::new(seed * 100 + round);
        if round % 2 == 0 {
            plan = plan.fail(RequestKind::Read, random.random_range(0..12));
        } else {
            for zone in fs.zones().expect("a report") {
                if zone.used_for == ZoneUse::Free && random.random_bool(0.5) {
                    let spared = random.random_range(0..4);
                    plan = plan.fail_in(zone.zone, RequestKind::Write, spared);
                }
            }
        }
        drive.set_faults(Some(plan));
        let before = fs.io().written_bytes[Cause::Reclaim as usize];
        let reclaimed = fs.reclaim_one();
        drive.set_faults(None);
        let copied = fs.io().written_bytes[Cause::Reclaim as usize] > before;
        match reclaimed {
            Ok(emptied) => failed += u64::from(emptied && copied && round % 2 == 0),
            Err(StoreError::Stopped(_)) => return failed,
            Err(error) => panic!("seed {seed}: {error}"),
        }
        verify(&fs, &files);
        assert_eq!(fs.audit(), Vec::<String>::new(), "seed {seed}, round {round}");
    }
    failed
}

#[test]
fn what_failed_copies_had_taken_comes_back() {
    let tried: u64 = test_seeds(80).map(fail_copies).sum();
    assert!(tried > 20, "only {tried} copies began");
}
