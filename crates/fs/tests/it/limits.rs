//! Drives with as few active zones as a store needs, and zones that are short or fail.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::Random;
use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, PlacementHint, Rank, Store, StoreError, Transaction,
};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Cause, FileId, IoBuf, ZoneId, runner};
use terrace_fs::{Access, Fs, MountOptions, OPEN_ZONES_MIN, ZoneUsage, ZoneUse, data_zones_min};
use terrace_zone::emulator::{FaultPlan, RequestKind};
use terrace_zone::{Device, Emulator, Geometry, PowerCut};

use crate::cuts::facts::{note, pattern};
use crate::drive::{format, formatted};
use crate::full::verify;

/// As few active zones as a store needs, and enough zones for some to fail.
/// The size of files that are admitted.
const TABLE: ByteCount = ByteCount::kib(64);

fn tight() -> Geometry {
    Geometry {
        max_open: Some(OPEN_ZONES_MIN + 1),
        max_active: Some(OPEN_ZONES_MIN + 1),
        ..Geometry::uniform(ByteCount::kib(256), data_zones_min(64) + 20)
    }
}

fn mount(drive: &Arc<Emulator>) -> Result<Arc<Fs>, StoreError> {
    let options =
        MountOptions { access: Access::ReadWrite, background: false, ..MountOptions::default() };
    Fs::mount(Arc::clone(drive) as Arc<dyn Device>, &options)
}

fn create(fs: &Fs, kind: FileKind, stream: u16) -> Result<Box<dyn FileWriter>, StoreError> {
    let hint = PlacementHint { stream, ..PlacementHint::default() };
    let (rank, cause) = (Rank::Log, Cause::Client);
    fs.create(&CreateOptions {
        kind,
        hint,
        size: None,
        rank,
        reservation: None,
        group: None,
        offload: false,
        cause,
    })
}

fn table(fs: &Fs, stream: u16, len: usize) -> Result<FileId, StoreError> {
    let mut writer = create(fs, FileKind::Table, stream)?;
    writer.append(&pattern(writer.id().0, 0, len))?;
    writer.finish()?;
    let mut transaction = Transaction::new();
    transaction.seal(writer.id(), note("a table"));
    fs.commit(transaction)?;
    Ok(writer.id())
}

#[test]
fn a_clients_file_is_committed_whose_synced_block_was_written_again() {
    let drive = formatted(tight(), 1);
    let fs = mount(&drive).expect("a mount");
    let mut writer = create(&fs, FileKind::Client, 0).expect("a file");
    let id = writer.id();
    writer.append(&pattern(id.0, 0, 100)).expect("an append");
    writer.sync().expect("a sync");
    // More than the buffer holds: the block that was partial goes to the drive with the rest.
    writer.append(&pattern(id.0, 100, 2_500_000)).expect("an append");
    let mut transaction = Transaction::new();
    transaction.create(id, note("a client's file"));
    fs.commit(transaction).expect("a commit");
    drop((writer, fs));
    drive.power_cut(PowerCut::DropUnflushed, &mut Random::seeded(1)).expect("a drive in memory");
    drive.power_on();
    let fs = mount(&drive).expect("a mount");
    assert!(fs.info(id).expect("the file").size >= 100);
    verify(&fs, id);
    let mut writer = fs.reopen(id).expect("a writer");
    writer.append(b"more").expect("an append");
    writer.sync().expect("a sync");
    drop(writer);
    assert_eq!(fs.audit(), Vec::<String>::new());
}

#[test]
fn a_log_passes_over_a_free_zone_that_is_shorter_than_its_frame() {
    let geometry =
        Geometry { last_zone_size: Some(16), ..Geometry::uniform(ByteCount::mib(1), 32) };
    let drive = Arc::new(Emulator::in_memory(geometry.clone(), 1).expect("a possible shape"));
    // An older owner has left two zones partly written. They have active slots, and are taken
    // first: one by the journal, the short one by the log.
    for zone in [5, 31] {
        let start = geometry.zone_start(ZoneId(zone));
        drive.write(start, IoBuf::zeroed(4096), false, Cause::Client).expect("a write");
    }
    format(&drive, 1);
    let fs = mount(&drive).expect("a mount");
    let mut log = create(&fs, FileKind::Log, 0).expect("a log");
    let mut transaction = Transaction::new();
    transaction.create(log.id(), note("a log"));
    fs.commit(transaction).expect("a commit");
    log.append(&pattern(log.id().0, 0, 200_000)).expect("an append");
    log.sync().expect("a sync");
    verify(&fs, log.id());
    assert_eq!(fs.audit(), Vec::<String>::new());
}

#[test]
fn the_journal_tries_another_zone_than_the_one_that_failed() {
    let drive = formatted(Geometry::uniform(ByteCount::kib(64), 40), 1);
    let fs = mount(&drive).expect("a mount");
    let zones = fs.zones().expect("a report");
    let next = zones.iter().find(|zone| zone.used_for == ZoneUse::Free).expect("a free zone").zone;
    let failing =
        (0..3).fold(FaultPlan::new(1), |plan, nth| plan.fail_in(next, RequestKind::Write, nth));
    drive.set_faults(Some(failing));
    for round in 0..40 {
        let mut transaction = Transaction::new();
        transaction.annotate(FileId::STORE, note(&"x".repeat(3000)));
        fs.commit(transaction).unwrap_or_else(|error| panic!("commit {round}: {error}"));
    }
    let used = fs.zones().expect("a report")[next.0 as usize].used_for;
    assert_eq!(used, ZoneUse::Retired);
}

#[test]
fn a_cut_while_the_journal_changes_zones_leaves_slots_enough_to_mount() {
    let drive = formatted(tight(), 1);
    let fs = mount(&drive).expect("a mount");
    for stream in 0..4 {
        table(&fs, stream, 5_000).expect("a table in a zone of its own");
    }
    let moments = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&moments);
    drive.set_observer(Some(Arc::new(move |event| {
        kept.lock().push(event.snapshot().expect("a medium in memory"));
    })));
    for _ in 0..90 {
        let mut transaction = Transaction::new();
        transaction.annotate(FileId::STORE, note(&"x".repeat(6000)));
        fs.commit(transaction).expect("a commit");
    }
    drive.set_observer(None);
    let moments = std::mem::take(&mut *moments.lock());
    for (number, snapshot) in moments.iter().enumerate() {
        let mut random = Random::seeded(number as u64);
        for cut in PowerCut::ALL {
            let drive = Arc::new(snapshot.cut(cut, &mut random));
            let fs = mount(&drive).unwrap_or_else(|e| panic!("{cut:?} at {number}: {e}"));
            table(&fs, 5, 5_000).unwrap_or_else(|e| panic!("{cut:?} at {number}: {e}"));
            assert_eq!(fs.audit(), Vec::<String>::new());
        }
    }
}

/// Enough of it makes the journal change zones several times.
fn write_to_the_journal(fs: &Fs) -> Result<(), StoreError> {
    for _ in 0..90 {
        let mut transaction = Transaction::new();
        transaction.annotate(FileId::STORE, note(&"x".repeat(6000)));
        fs.commit(transaction)?;
    }
    Ok(())
}

/// A log with a frame that does not fit the rest of any zone. Where all slots are taken, a table's
/// zone is finished for it.
fn log_in_a_fresh_zone(fs: &Fs) -> Result<Box<dyn FileWriter>, StoreError> {
    let mut log = create(fs, FileKind::Log, 9)?;
    let mut transaction = Transaction::new();
    transaction.create(log.id(), note("a log"));
    fs.commit(transaction)?;
    log.append(&pattern(log.id().0, 0, 230_000))?;
    log.sync()?;
    Ok(log)
}

/// The drive after a cut that undid everything that was not flushed.
fn cut(drive: &Arc<Emulator>) {
    drive.power_cut(PowerCut::DropUnflushed, &mut Random::seeded(1)).expect("a drive in memory");
    drive.power_on();
}

fn active_zones(drive: &Emulator) -> usize {
    let reports = drive.report(ZoneId(0), drive.geometry().zones).expect("a report");
    reports.iter().filter(|report| report.state.is_active()).count()
}

#[test]
fn the_journal_has_its_slots_after_a_cut_that_undid_a_finish() {
    let drive = formatted(tight(), 1);
    let fs = mount(&drive).expect("a mount");
    let tables: Vec<FileId> =
        (0..4).map(|stream| table(&fs, stream, 40_000).expect("a table in its own zone")).collect();
    // Forced writes are durable; the finish that made room for them is not.
    let log = log_in_a_fresh_zone(&fs).expect("a log");
    drop((log, fs));
    cut(&drive);
    assert_eq!(active_zones(&drive), 7, "the finish was undone, so all slots are taken");
    let fs = mount(&drive).expect("a mount");
    write_to_the_journal(&fs).expect("commits");
    assert_eq!(fs.audit(), Vec::<String>::new());
    tables.iter().for_each(|id| verify(&fs, *id));
}

#[test]
fn a_splice_finds_a_slot_where_the_one_before_was_cut() {
    let drive = formatted(tight(), 1);
    let fs = mount(&drive).expect("a mount");
    for stream in 0..4 {
        table(&fs, stream, 5_000).expect("a table in its own zone");
    }
    drop(fs);
    // Each time the last frame of the journal is torn, so that it goes on in another zone. The zone
    // before is finished; the next cut undoes that.
    for round in 0..6 {
        let fs = mount(&drive).unwrap_or_else(|error| panic!("round {round}: {error}"));
        let zones = fs.zones().expect("a report");
        let mut ends = zones.iter().filter(|zone| zone.used_for == ZoneUse::Journal);
        let end = ends.rfind(|zone| zone.state.is_active()).expect("the journal's end").zone;
        drop(fs);
        cut(&drive);
        let at = drive.report(end, 1).expect("a report")[0].write_pointer;
        drive.write(at, IoBuf::zeroed(4096), true, Cause::Client).expect("a torn frame");
    }
    let fs = mount(&drive).expect("a mount");
    write_to_the_journal(&fs).expect("commits");
    assert_eq!(fs.audit(), Vec::<String>::new());
}

#[test]
fn the_superblock_takes_one_slot_after_a_cut_that_undid_a_finish() {
    let drive = formatted(tight(), 1);
    let fs = mount(&drive).expect("a mount");
    let zones = fs.zones().expect("a report");
    let mut ends = zones.iter().filter(|zone| zone.used_for == ZoneUse::Superblock);
    let end = ends.find(|zone| zone.state.is_active()).expect("the newest superblock").zone;
    for stream in 0..4 {
        table(&fs, stream, 5_000).expect("a table in its own zone");
    }
    drop(fs);
    let at = drive.report(end, 1).expect("a report")[0].write_pointer;
    drive.write(at, IoBuf::zeroed(4096), true, Cause::Client).expect("a torn superblock");
    // Superblocks go on in the other zone. Forced writes are durable; the finish is not.
    let fs = mount(&drive).expect("a mount");
    fs.roll_journal().expect("a roll");
    drop(fs);
    cut(&drive);
    let fs = mount(&drive).expect("a mount");
    write_to_the_journal(&fs).expect("commits");
    assert_eq!(fs.audit(), Vec::<String>::new());
}

#[test]
fn a_zone_that_is_too_short_to_be_used_keeps_no_slot() {
    let last = ZoneId(data_zones_min(64) + 19);
    let geometry = Geometry {
        max_open: Some(OPEN_ZONES_MIN + 2),
        max_active: Some(OPEN_ZONES_MIN + 2),
        last_zone_size: Some(5),
        ..tight()
    };
    let drive = Arc::new(Emulator::in_memory(geometry.clone(), 1).expect("a possible shape"));
    let start = geometry.zone_start(last);
    drive.write(start, IoBuf::zeroed(4096), false, Cause::Client).expect("an older owner's write");
    format(&drive, 1);
    let fs = mount(&drive).expect("a mount");
    for stream in 0..6 {
        table(&fs, stream, 5_000).expect("a table in its own zone");
    }
    write_to_the_journal(&fs).expect("commits");
    assert_eq!(fs.audit(), Vec::<String>::new());
}

#[test]
fn zones_that_blocks_do_not_fill_keep_no_slots() {
    let plain = tight();
    let zone_size = plain.zone_size * 8;
    let geometry = Geometry {
        logical_block: 512,
        physical_block: 512,
        zone_size,
        zone_capacity: zone_size - 5,
        ..plain
    };
    let drive = formatted(geometry, 1);
    let fs = mount(&drive).expect("a mount");
    for _ in 0..6 {
        table(&fs, 0, 300_000).expect("a table of more than a zone");
        assert_eq!(fs.audit(), Vec::<String>::new());
    }
    write_to_the_journal(&fs).expect("commits");
    assert_eq!(fs.audit(), Vec::<String>::new());
    drop(fs);
    cut(&drive);
    let fs = mount(&drive).expect("a mount");
    assert_eq!(fs.audit(), Vec::<String>::new());
    write_to_the_journal(&fs).expect("commits");
}

#[test]
fn a_zone_that_cannot_be_finished_is_still_counted() {
    // A writer that waits for a slot waits in virtual time.
    runner::simulate(1, || {
        let drive = formatted(tight(), 1);
        let fs = mount(&drive).expect("a mount");
        for stream in 0..4 {
            table(&fs, stream, 40_000).expect("a table in its own zone");
        }
        let plan = FaultPlan::new(1);
        drive.set_faults(Some((0..9).fold(plan, |plan, nth| plan.fail(RequestKind::Finish, nth))));
        let refused = log_in_a_fresh_zone(&fs).err().expect("no slot comes free");
        assert!(matches!(refused, StoreError::Busy { .. }), "{refused}");
        drive.set_faults(None);
        write_to_the_journal(&fs).expect("commits");
        assert_eq!(fs.audit(), Vec::<String>::new());
    });
}

/// Commits until the journal has to change zones, on a host that has no room for another one until
/// `seconds` have passed. Returns the time of the longest commit, and the result.
fn commits_on_a_full_host(seconds: u64) -> (Duration, Result<(), StoreError>) {
    runner::simulate(1, || {
        let drive = formatted(tight(), 1);
        let fs = mount(&drive).expect("a mount");
        drive.set_faults(Some(FaultPlan::new(1).host_takes_no_new_zones()));
        let host = runner::spawn("host", {
            let drive = Arc::clone(&drive);
            move || {
                runner::sleep(Duration::from_secs(seconds));
                drive.set_faults(None);
            }
        });
        let began = runner::now();
        let result = write_to_the_journal(&fs);
        let took = runner::now().since(began);
        host.join();
        if result.is_ok() {
            let retired = |zone: &ZoneUsage| zone.used_for == ZoneUse::Retired;
            assert!(!fs.zones().expect("a report").iter().any(retired), "no zone has failed");
            assert_eq!(fs.audit(), Vec::<String>::new());
        }
        drop(fs);
        mount(&drive).expect("a mount");
        (took, result)
    })
}

#[test]
fn the_journal_waits_for_room_on_a_full_host() {
    let (took, result) = commits_on_a_full_host(20);
    result.expect("commits");
    assert!((20..22).contains(&took.as_secs()), "{took:?}");
}

#[test]
fn the_journal_does_not_wait_for_ever_for_room_on_a_full_host() {
    let (took, result) = commits_on_a_full_host(200);
    match result {
        Err(StoreError::Stopped(cause)) => {
            assert!(matches!(*cause, StoreError::HostFull { .. }), "{cause}");
        }
        other => panic!("expected a store that has stopped, found {other:?}"),
    }
    assert!((60..62).contains(&took.as_secs()), "{took:?}");
}

#[test]
fn a_full_store_keeps_room_for_a_snapshot_of_large_annotations() {
    let drive = formatted(Geometry::uniform(ByteCount::kib(64), 200), 1);
    let fs = mount(&drive).expect("a mount");
    let annotate = |id: FileId, text: &str| {
        let mut transaction = Transaction::new();
        transaction.annotate(id, note(&text.repeat(20_000)));
        fs.commit(transaction)
    };
    let first: Vec<FileId> = (0..60).map(|_| table(&fs, 0, 100).expect("a table")).collect();
    for id in &first {
        annotate(*id, "a").expect("room enough");
    }
    while let Ok(id) = table(&fs, 0, 60_000) {
        verify(&fs, id);
    }
    for round in 0..400 {
        let id = first[round % first.len()];
        annotate(id, "b").unwrap_or_else(|error| panic!("round {round}: {error}"));
    }
    drop(fs);
    mount(&drive).expect("a mount");
}

#[test]
fn a_store_full_of_tiny_files_can_be_emptied_again() {
    let drive = formatted(Geometry::uniform(ByteCount::kib(64), 100), 1);
    let fs = mount(&drive).expect("a mount");
    let mut files = Vec::new();
    while let Ok(id) = table(&fs, 0, 100) {
        files.push(id);
    }
    assert!(files.len() > 500, "full with only {} files", files.len());
    for id in files {
        let mut transaction = Transaction::new();
        transaction.delete(id);
        fs.commit(transaction).expect("a delete");
    }
    let space = fs.space();
    assert_eq!((space.live.0, space.free), (0, space.capacity));
}

#[test]
fn several_files_of_one_client_take_turns_in_fewer_zones_if_they_rest_in_between() {
    runner::simulate(1, || {
        let drive = formatted(tight(), 1);
        let fs = mount(&drive).expect("a mount");
        // Each append begins writes.
        fs.set_io_size(ByteCount::kib(128));
        let create = |stream| create(&fs, FileKind::Table, stream).expect("a table");
        let mut writers: Vec<_> = (0..6).map(create).collect();
        for round in 0..3 {
            for writer in &mut writers {
                let bytes = pattern(writer.id().0, round * 150_000, 150_000);
                writer.append(&bytes).expect("no other job is waited for");
                writer.rest().expect("writes that succeed");
            }
        }
        let mut transaction = Transaction::new();
        for writer in &mut writers {
            writer.finish().expect("the last bytes");
            transaction.seal(writer.id(), note("a table"));
        }
        fs.commit(transaction).expect("a commit");
        writers.iter().for_each(|writer| verify(&fs, writer.id()));
        assert_eq!(fs.audit(), Vec::<String>::new());
    });
}

#[test]
fn further_files_are_admitted_where_zones_and_slots_are_left() {
    let tight = mount(&formatted(tight(), 1)).expect("a mount");
    let reservation = tight.reserve(Rank::Compaction, ByteCount::kib(300)).expect("space");
    assert!(
        reservation.admits(1, TABLE) && !reservation.admits(2, TABLE),
        "an open zone is missing"
    );

    let zone = ByteCount::kib(256);
    let drive = formatted(Geometry::uniform(zone, data_zones_min(64) + 20), 1);
    let fs = mount(&drive).expect("a mount");
    let reservation = fs.reserve(Rank::Compaction, ByteCount::kib(300)).expect("space");
    let before = fs.space().reserved;
    assert!(reservation.admits(2, TABLE));
    assert_eq!(fs.space().reserved, before, "every reservation has a zone for a second file");
    assert!(reservation.admits(4, TABLE));
    assert_eq!(fs.space().reserved.0, before.0 + 2 * zone.0);
    assert!(!reservation.admits(200, TABLE));
    drop(reservation);
    assert_eq!(fs.space().reserved, ByteCount(0));

    // Files that nothing has been written to count too.
    let limits = Some(OPEN_ZONES_MIN + 4);
    let shape = Geometry::uniform(ByteCount::kib(256), data_zones_min(64) + 40);
    let drive = Geometry { max_open: limits, max_active: limits, ..shape };
    let fs = mount(&formatted(drive, 1)).expect("a mount");
    let reservation = fs.reserve(Rank::Compaction, ByteCount::kib(300)).expect("space");
    let admitted = (1..20).take_while(|files| reservation.admits(*files, TABLE)).count() as u32;
    assert!((2..=4).contains(&admitted), "{admitted} of {} zones open", OPEN_ZONES_MIN + 4);
}
