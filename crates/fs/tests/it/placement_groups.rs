//! Placement groups: files that are written together lie together, on both kinds of device, and no
//! group costs other writers space.

use std::collections::BTreeSet;
use std::sync::Arc;

use terrace_env::random::Random;
use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, GroupOptions, MemoryStore, PlacementGroup, PlacementHint,
    Rank, Reservation, Store, StoreError, Transaction,
};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Cause, DeviceId, FileId, ZoneId, runner};
use terrace_fs::catalog::Extent;
use terrace_fs::inspect::Inspector;
use terrace_fs::{Access, BLOCK, Devices, Fs, MountOptions, OPEN_ZONES_MIN, ZoneGrid};
use terrace_zone::emulator::{FaultPlan, RequestKind};
use terrace_zone::{Device, Emulator, Geometry, PowerCut, ZoneState};

use crate::cuts::facts::{note, pattern};
use crate::drive::{audit, formatted, formatted_with_log, mount};

const ZONE: u64 = 1 << 20;
const HINT: PlacementHint = PlacementHint { level: Some(1), stream: 0 };

fn drive(seed: u64) -> Arc<Emulator> {
    formatted(Geometry::uniform(ByteCount(ZONE), 40), seed)
}

/// A mounted store that writes tables by 64 KiB, so that writers get in each other's way.
fn mounted(devices: impl Into<Devices>) -> Arc<Fs> {
    let fs = mount(devices);
    fs.set_io_size(ByteCount::kib(128));
    fs
}

fn begin_with(
    fs: &Fs,
    kind: FileKind,
    size: u64,
    reservation: Option<&Reservation>,
) -> PlacementGroup {
    let (hint, rank, cause) = (HINT, Rank::Log, Cause::Compaction);
    let options = GroupOptions { kind, hint, size: ByteCount(size), rank, reservation, cause };
    fs.begin_group(&options).expect("a group")
}

fn begin(fs: &Fs, size: u64) -> PlacementGroup {
    begin_with(fs, FileKind::Table, size, None)
}

/// A file that is being written.
struct Writing(Box<dyn FileWriter>);

impl Writing {
    fn new(fs: &Fs, kind: FileKind, group: Option<&PlacementGroup>) -> Result<Self, StoreError> {
        let (hint, rank, cause) = (HINT, Rank::Log, Cause::Compaction);
        let options = CreateOptions {
            kind,
            hint,
            size: None,
            rank,
            reservation: None,
            group,
            offload: false,
            cause,
        };
        fs.create(&options).map(Self)
    }

    fn append(&mut self, len: usize) -> Result<(), StoreError> {
        let (id, at) = (self.0.id().0, self.0.len());
        self.0.append(&pattern(id, at, len))
    }

    fn seal(mut self, fs: &Fs) -> Result<FileId, StoreError> {
        self.0.finish()?;
        let mut transaction = Transaction::new();
        transaction.seal(self.0.id(), note("grouped"));
        fs.commit(transaction).map(|()| self.0.id())
    }
}

fn write(
    fs: &Fs,
    kind: FileKind,
    group: Option<&PlacementGroup>,
    len: usize,
) -> Result<FileId, StoreError> {
    let mut file = Writing::new(fs, kind, group)?;
    for at in (0..len).step_by(50_000) {
        file.append((len - at).min(50_000))?;
        if kind == FileKind::Log {
            // A frame lies in one piece.
            file.0.sync()?;
        }
    }
    file.seal(fs)
}

fn table(fs: &Fs, group: Option<&PlacementGroup>, len: usize) -> FileId {
    write(fs, FileKind::Table, group, len).expect("a table")
}

fn holds(fs: &Fs, id: FileId) {
    let reader = fs.open(id).expect("a file");
    let mut bytes = vec![0; reader.len() as usize];
    reader.read_at(0, &mut bytes, Cause::Read).expect("a read");
    assert!(bytes == pattern(id.0, 0, bytes.len()), "file {id}");
}

/// Checks the contents of the files, and ends the store.
fn end(fs: &Fs, devices: impl Into<Devices>, files: &[FileId]) {
    files.iter().for_each(|id| holds(fs, *id));
    audit(fs, false);
    assert!(Fs::check(devices).expect("a check").is_clean());
}

/// The runs of blocks in which files of a store that has ended lie, in the files' order.
fn runs(devices: impl Into<Devices>, files: &[FileId]) -> Vec<Extent> {
    let seen = Inspector::device(devices).expect("a store");
    let mut runs: Vec<Extent> = Vec::new();
    for id in files {
        for extent in seen.record(*id).expect("a file").extents.extents() {
            match runs.last_mut() {
                Some(last) if last.ends_at(extent.first) => last.blocks += extent.blocks,
                _ => runs.push(extent),
            }
        }
    }
    runs
}

fn zones(drive: &Arc<Emulator>, files: &[FileId]) -> BTreeSet<ZoneId> {
    let grid = ZoneGrid::new(DeviceId::FIRST, drive.geometry());
    let seen = Inspector::device(drive).expect("a store");
    let extents = files.iter().flat_map(|id| seen.record(*id).expect("a file").extents.extents());
    extents.map(|extent| grid.zone(extent.first)).collect()
}

/// Writes files. Another file, without a group, is written after each piece of theirs, and one
/// after each of them.
fn among_others(fs: &Fs, kind: FileKind, group: Option<&PlacementGroup>) -> Vec<FileId> {
    let mut files = Vec::new();
    for len in [200_000, 4096, 350_001, 1, 90_000] {
        let mut file = Writing::new(fs, kind, group).expect("a file");
        let mut other = Writing::new(fs, kind, None).expect("a file");
        for at in (0..len).step_by(50_000) {
            file.append((len - at).min(50_000)).expect("an append");
            other.append(70_000).expect("an append");
            if kind == FileKind::Log {
                file.0.sync().expect("a sync");
                other.0.sync().expect("a sync");
            }
        }
        files.push(file.seal(fs).expect("a seal"));
        other.seal(fs).expect("a seal");
        write(fs, kind, None, 60_000).expect("a file");
    }
    files
}

#[test]
fn a_group_that_fits_a_zone_is_one_run_of_it_whatever_else_is_written() {
    for grouped in [true, false] {
        let drive = drive(1);
        let fs = mounted(&drive);
        let group = grouped.then(|| begin(&fs, 700_000));
        let files = among_others(&fs, FileKind::Table, group.as_ref());
        drop(group);
        end(&fs, &drive, &files);
        let found = runs(&drive, &files);
        assert_eq!(found.len() == 1, grouped, "{found:?}");
    }
}

#[test]
fn a_group_of_logs_is_one_run_of_a_plain_device() {
    for grouped in [true, false] {
        let geometry = Geometry::uniform(ByteCount::kib(256), 40);
        let drives = formatted_with_log(geometry, ByteCount::mib(16), 2);
        let fs = mounted(&drives);
        let group = grouped.then(|| begin_with(&fs, FileKind::Log, 800_000, None));
        let files = among_others(&fs, FileKind::Log, group.as_ref());
        drop(group);
        end(&fs, &drives, &files);
        let found = runs(&drives, &files);
        assert_eq!(found.len() == 1, grouped, "{found:?}");
        assert_eq!(found[0].device(), DeviceId(1));
    }
}

#[test]
fn a_large_group_begins_in_a_fresh_zone_and_meets_as_few_as_can_hold_it() {
    let drive = drive(3);
    let fs = mounted(&drive);
    let before = table(&fs, None, 500_000);
    let group = begin(&fs, 2_500_000);
    let files: Vec<FileId> = (0..5).map(|_| table(&fs, Some(&group), 499_000)).collect();
    drop(group);
    let behind = table(&fs, None, 300_000);
    end(&fs, &drive, &files);
    let found = zones(&drive, &files);
    assert_eq!(found.len(), 3, "{found:?}");
    let before = zones(&drive, &[before]);
    assert!(found.is_disjoint(&before), "{found:?} and {before:?}");
    let behind = zones(&drive, &[behind]);
    assert!(behind.is_subset(&(&found | &before)), "the rest of a zone is free for all again");
}

#[test]
fn a_group_goes_on_in_a_zone_of_its_level_that_has_room_for_all_of_it() {
    let drive = drive(4);
    let fs = mounted(&drive);
    let before = table(&fs, None, 300_000);
    let mut groups = Vec::new();
    for size in [400_000, 600_000] {
        let group = begin(&fs, size);
        groups.push([(); 4].map(|()| table(&fs, Some(&group), size as usize / 4)));
    }
    end(&fs, &drive, &groups.concat());
    let before = zones(&drive, &[before]);
    assert_eq!(zones(&drive, &groups[0]), before);
    assert!(zones(&drive, &groups[1]).is_disjoint(&before));
    assert!(groups.iter().all(|files| runs(&drive, files).len() == 1));
}

#[test]
fn two_groups_at_once_lie_apart_and_each_in_one_run() {
    let drive = drive(5);
    let fs = mounted(&drive);
    let groups = [begin(&fs, 600_000), begin(&fs, 600_000)];
    let mut files = [Vec::new(), Vec::new()];
    for _ in 0..3 {
        let mut both =
            groups.each_ref().map(|group| Writing::new(&fs, FileKind::Table, Some(group)));
        for _ in 0..4 {
            for file in both.iter_mut().flatten() {
                file.append(45_000).expect("an append");
            }
        }
        for (file, files) in both.into_iter().zip(&mut files) {
            files.push(file.expect("a file").seal(&fs).expect("a seal"));
        }
    }
    drop(groups);
    end(&fs, &drive, &files.concat());
    for files in files {
        assert_eq!(runs(&drive, &files).len(), 1);
    }
}

#[test]
fn a_file_that_is_written_beside_another_of_its_group_does_not_tear_it() {
    let drive = drive(6);
    let fs = mounted(&drive);
    let group = begin(&fs, 900_000);
    let mut first = Writing::new(&fs, FileKind::Table, Some(&group)).expect("a file");
    let mut beside = Writing::new(&fs, FileKind::Table, Some(&group)).expect("a file");
    for _ in 0..5 {
        first.append(70_000).expect("an append");
        beside.append(50_000).expect("an append");
    }
    let (first, beside) = (first.seal(&fs).expect("a seal"), beside.seal(&fs).expect("a seal"));
    let last = table(&fs, Some(&group), 200_000);
    drop(group);
    end(&fs, &drive, &[first, beside, last]);
    assert_eq!(runs(&drive, &[first, last]).len(), 1);
    assert_eq!(runs(&drive, &[first, beside]).len(), 2);
}

/// Number of files that fit a store in which these groups are idle.
fn room(kind: FileKind, groups: usize, size: u64) -> usize {
    runner::simulate(7, || {
        let geometry = Geometry::uniform(ByteCount::kib(256), 60);
        let drives = formatted_with_log(geometry, ByteCount::mib(16), 7);
        let fs = mounted(&drives);
        let groups: Vec<_> = (0..groups).map(|_| begin_with(&fs, kind, size, None)).collect();
        let mut files = 0;
        let refused = loop {
            match write(&fs, kind, None, 100_000) {
                Ok(_) => files += 1,
                Err(error) => break error,
            }
        };
        assert!(refused.is_space(), "{refused}");
        let late = groups.iter().map(|group| write(&fs, kind, Some(group), 100_000));
        assert!(late.into_iter().all(|late| late.is_err_and(|error| error.is_space())));
        drop(groups);
        audit(&fs, false);
        files
    })
}

#[test]
fn a_group_that_nobody_writes_keeps_no_space_from_others() {
    for (kind, groups, size) in [(FileKind::Table, 4, 200 << 10), (FileKind::Log, 1, 4 << 20)] {
        let (beside, alone) = (room(kind, groups, size), room(kind, 0, size));
        // The order of writes differs, and so do the remainders at the ends.
        assert!(beside + 3 >= alone, "{kind:?}: {beside} files with groups, and {alone} without");
    }
}

#[test]
fn a_group_that_finds_no_run_is_written_in_pieces() {
    for (kind, size) in [(FileKind::Table, 250_000), (FileKind::Log, 1_000_000)] {
        runner::simulate(8, || {
            let geometry = Geometry::uniform(ByteCount::kib(256), 60);
            let drives = formatted_with_log(geometry, ByteCount::mib(16), 8);
            let fs = mounted(&drives);
            let mut files = Vec::new();
            while let Ok(id) = write(&fs, kind, None, 60_000) {
                files.push(id);
            }
            let mut transaction = Transaction::new();
            for id in files.iter().step_by(2) {
                transaction.delete(*id);
            }
            fs.commit(transaction).expect("a delete");
            let group = begin_with(&fs, kind, size, None);
            let files: Vec<FileId> = (0..5)
                .map(|_| write(&fs, kind, Some(&group), size as usize / 5).expect("a file"))
                .collect();
            drop(group);
            end(&fs, &drives, &files);
            let found = runs(&drives, &files);
            assert!(found.len() > 1 || kind == FileKind::Table, "{found:?}");
        });
    }
}

#[test]
fn the_unused_part_of_a_group_is_free_when_it_ends() {
    let space = |sizes: Option<[u64; 2]>| {
        let drive = drive(9);
        let fs = mounted(&drive);
        let groups = sizes.map(|sizes| sizes.map(|size| begin(&fs, size)));
        let group = groups.as_ref().map(|groups| &groups[0]);
        for _ in 0..3 {
            table(&fs, group, 100_000);
        }
        // Not sealed, and gone before the group is.
        let mut lost = Writing::new(&fs, FileKind::Table, group).expect("a file");
        lost.append(130_000).expect("an append");
        drop((lost, groups));
        let space = fs.space();
        audit(&fs, false);
        space
    };
    assert_eq!(space(Some([900_000, 2_000_000])), space(None));
}

#[test]
fn a_group_under_a_reservation_gives_its_right_to_zones_back() {
    let drive = drive(10);
    let fs = mounted(&drive);
    let reservation = fs.reserve(Rank::Log, ByteCount(2 * ZONE)).expect("space");
    let before = fs.space();
    for _ in 0..5 {
        let group = begin_with(&fs, FileKind::Table, 700_000, Some(&reservation));
        assert!(fs.space().reserved < before.reserved, "the group has taken a zone of it");
        drop(group);
        assert_eq!(fs.space(), before);
    }
    drop(reservation);
    assert_eq!(fs.space().reserved, ByteCount(0));
}

#[test]
fn many_groups_on_a_drive_of_few_open_zones_stop_nobody() {
    runner::simulate(11, || {
        let few = Some(OPEN_ZONES_MIN + 1);
        let geometry = Geometry {
            max_open: few,
            max_active: few,
            ..Geometry::uniform(ByteCount::kib(256), 60)
        };
        let drive = formatted(geometry, 11);
        let fs = mounted(&drive);
        let groups: Vec<PlacementGroup> =
            (0..3 * OPEN_ZONES_MIN).map(|_| begin(&fs, 100_000)).collect();
        let others: Vec<FileId> = (0..5).map(|_| table(&fs, None, 100_000)).collect();
        let mut files: Vec<FileId> =
            groups.iter().map(|group| table(&fs, Some(group), 90_000)).collect();
        let log = write(&fs, FileKind::Log, Some(&groups[0]), 60_000).expect("a log");
        drop(groups);
        files.extend(others);
        files.push(log);
        end(&fs, &drive, &files);
    });
}

#[test]
fn the_rest_of_a_group_is_written_elsewhere_when_its_zone_fails() {
    for state in [ZoneState::Offline, ZoneState::ReadOnly] {
        for spared in 0..9 {
            let drive = drive(12);
            let fs = mounted(&drive);
            let group = begin(&fs, 800_000);
            let first = table(&fs, Some(&group), 100_000);
            let (_, zone) = fs.place_of(first, 0).expect("a place");
            let zone = zone.expect("a zone");
            drive.set_faults(Some(FaultPlan::new(1).fail_in(zone, RequestKind::Write, spared)));
            if spared == 8 {
                drive.set_faults(Some(FaultPlan::new(1).zones_fail(0, zone.0..zone.0 + 1, state)));
            }
            let files: Vec<FileId> = (0..3).map(|_| table(&fs, Some(&group), 200_000)).collect();
            drive.set_faults(None);
            drop(group);
            files.iter().filter(|_| spared < 8).for_each(|id| holds(&fs, *id));
            let zones: BTreeSet<_> = files
                .iter()
                .flat_map(|id| (0..200_000).step_by(BLOCK).map(|at| fs.place_of(*id, at)))
                .map(|place| place.expect("a block").1)
                .collect();
            let most = 1 + usize::from(spared > 0 && spared < 8);
            assert!(zones.len() <= most, "{state:?}, {spared} spared: {zones:?}");
            audit(&fs, false);
        }
    }
}

#[test]
fn a_cut_amid_a_group_leaves_all_of_it_or_nothing() {
    let drive = drive(13);
    let fs = mounted(&drive);
    let moments = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&moments);
    drive.set_observer(Some(Arc::new(move |event| {
        kept.lock().push(event.snapshot().expect("a drive in memory"));
    })));
    let group = begin(&fs, 900_000);
    let mut transaction = Transaction::new();
    let mut writers = Vec::new();
    for _ in 0..3 {
        let mut file = Writing::new(&fs, FileKind::Table, Some(&group)).expect("a file");
        file.append(250_000).expect("an append");
        file.0.finish().expect("a finish");
        transaction.seal(file.0.id(), note("grouped"));
        writers.push(file);
    }
    fs.commit(transaction).expect("a commit");
    drop((group, writers));
    let mut later = Transaction::new();
    later.annotate(FileId::STORE, note("later"));
    fs.commit(later).expect("a commit");
    drive.set_observer(None);
    fs.unmount();
    let moments = std::mem::take(&mut *moments.lock());
    let (mut random, mut found) = (Random::seeded(13), BTreeSet::new());
    for snapshot in moments {
        for cut in [PowerCut::Blocks, PowerCut::Prefixes, PowerCut::DropUnflushed] {
            let drive = Arc::new(snapshot.cut(cut, &mut random)) as Arc<dyn Device>;
            let options = MountOptions { background: false, ..MountOptions::default() };
            let fs = Fs::mount(drive, &options).expect("a mount");
            let files = fs.list();
            files.iter().for_each(|file| holds(&fs, file.id));
            found.insert(files.len());
            if files.is_empty() {
                assert_eq!(fs.space().live, ByteCount(0));
            }
            audit(&fs, false);
        }
    }
    assert_eq!(found, BTreeSet::from([0, 3]), "numbers of files");
}

#[test]
fn a_group_of_another_store_is_refused_and_so_is_one_without_writing() {
    let drive = drive(14);
    let fs = mounted(&drive);
    let (hint, rank, cause) = (HINT, Rank::Log, Cause::Client);
    let (kind, size) = (FileKind::Table, ByteCount(1000));
    let options = GroupOptions { kind, hint, size, rank, reservation: None, cause };
    let other = MemoryStore::new().begin_group(&options).expect("a group of any store");
    assert!(matches!(write(&fs, kind, Some(&other), 10), Err(StoreError::Invalid(_))));
    fs.unmount();
    drop(fs);
    let options_of = MountOptions { access: Access::ReadOnly, ..MountOptions::default() };
    let fs = Fs::mount(Arc::clone(&drive) as Arc<dyn Device>, &options_of).expect("a mount");
    assert!(matches!(fs.begin_group(&options), Err(StoreError::ReadOnly(_))));
}
