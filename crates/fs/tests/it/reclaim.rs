//! Tests of the reclaim policy's view, and of the zones that it empties by that.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::store::{Annotation, PlacementHint, Rank, Store, Transaction};
use terrace_env::{ByteCount, FileId, ZoneId, runner};
use terrace_fs::{Fs, MountOptions};
use terrace_policy::{Lean, Reclaim, Row, System};
use terrace_zone::{Emulator, Geometry};

use crate::drive::formatted;
use crate::full::{delete, options, table};

const ZONE: ByteCount = ByteCount::kib(512);

/// Tables that fill a zone of their own, of this level.
fn zone_of(fs: &Fs, level: u8) -> (ZoneId, Vec<FileId>) {
    let hint = PlacementHint { level: Some(level), ..PlacementHint::default() };
    let write = |_| {
        let id = table(fs, &options(Rank::Log, u16::from(level), None), 64 << 10).expect("room");
        let mut transaction = Transaction::new();
        transaction.annotate(id, Annotation { hint, ..Annotation::default() });
        fs.commit(transaction).expect("an annotation");
        id
    };
    let files: Vec<FileId> = (0..8).map(write).collect();
    let zones = fs.zones().expect("a report").into_iter();
    let full = |levels: &[(Option<u8>, ByteCount)]| levels == [(Some(level), ZONE)];
    let zone = zones.into_iter().find(|zone| full(&zone.levels)).expect("a zone of one level");
    (zone.zone, files)
}

fn mounted(reclaim: Arc<dyn Reclaim>, drive: &Arc<Emulator>) -> Arc<Fs> {
    let options = MountOptions { reclaim, background: false, ..MountOptions::default() };
    Fs::mount(Arc::clone(drive), &options).expect("a mounted store")
}

#[test]
fn cost_benefit_empties_deep_zones_before_shallow_ones_also_after_a_mount() {
    runner::simulate(1, || {
        let cases = [(Row::LeveldbGreedy, false), (Row::LeveldbCostBenefit, true)];
        for (row, takes_deep) in cases {
            let drive = formatted(Geometry::uniform(ZONE, 64), 1);
            let fs = mounted(System::of(row).reclaim(), &drive);
            let (shallow, files) = zone_of(&fs, 1);
            delete(&fs, &files[..5]);
            let (deep, files) = zone_of(&fs, 4);
            delete(&fs, &files[..4]);
            assert_eq!(fs.audit(), Vec::<String>::new());
            fs.unmount();
            drop(fs);
            let fs = mounted(System::of(row).reclaim(), &drive);
            assert!(fs.reclaim_one().expect("a store that takes commits"), "{row:?} found nothing");
            let zones = fs.zones().expect("a report");
            let is_empty = |zone: ZoneId| zones[zone.0 as usize].live == ByteCount(0);
            let emptied = [shallow, deep].map(is_empty);
            assert_eq!(emptied, [!takes_deep, takes_deep], "{row:?}");
            assert_eq!(fs.audit(), Vec::<String>::new());
            fs.unmount();
        }
    });
}

/// The parts cover all zones of files, and their live bytes are those of the files.
fn check_parts(fs: &Fs) {
    let parts = fs.space_parts().expect("a drive with zones");
    let all = [parts.full, parts.writing, parts.resting, parts.emptying, parts.free];
    let live: u64 = all.iter().map(|part| part.live.0).sum();
    let bytes = all.iter().map(|part| part.live.0 + part.dead.0 + part.room.0).sum();
    let space = fs.space();
    assert_eq!((live, ByteCount(bytes)), (space.live.0 + space.pinned.0, space.capacity));
    assert_eq!((parts.free.live, parts.free.dead), (ByteCount(0), ByteCount(0)));
}

#[test]
fn lean_reclaim_empties_the_older_zone_and_what_then_dies_at_once_was_moved_in_vain() {
    runner::simulate(1, || {
        let drive = formatted(Geometry::uniform(ZONE, 64), 1);
        let fs = mounted(Arc::new(Lean::default()), &drive);
        let (old, files) = zone_of(&fs, 1);
        let (young, later) = zone_of(&fs, 2);
        check_parts(&fs);
        delete(&fs, &files[..3]);
        delete(&fs, &later[..5]);
        check_parts(&fs);
        assert!(fs.reclaim_one().expect("a store that takes commits"), "nothing found");
        let zones = fs.zones().expect("a report");
        let is_empty = |zone: ZoneId| zones[zone.0 as usize].live == ByteCount(0);
        assert_eq!([old, young].map(is_empty), [true, false]);
        assert_eq!(fs.moved_in_vain(), ByteCount(0));
        check_parts(&fs);
        delete(&fs, &later[5..]);
        assert_eq!(fs.moved_in_vain(), ByteCount(0), "these were not moved");
        delete(&fs, &files[3..4]);
        assert_eq!(fs.moved_in_vain(), ByteCount::kib(64));
        assert_eq!(fs.audit(), Vec::<String>::new());
        fs.unmount();
    });
}

#[test]
fn a_zone_remembers_the_levels_of_its_dead_tables_until_the_next_mount() {
    runner::simulate(1, || {
        let cases = [("live", false), ("written", true), ("mean", true)];
        for (age, takes_emptier) in cases {
            let system: System = format!("leveldb-cost-benefit:zone_age={age}").parse().unwrap();
            for is_remounted in [false, true] {
                let drive = formatted(Geometry::uniform(ZONE, 64), 1);
                let mut fs = mounted(system.reclaim(), &drive);
                let (emptier, files) = zone_of(&fs, 3);
                delete(&fs, &files[..6]);
                let (fuller, files) = zone_of(&fs, 3);
                delete(&fs, &files[..4]);
                assert_eq!(fs.audit(), Vec::<String>::new());
                if is_remounted {
                    fs.unmount();
                    drop(fs);
                    fs = mounted(system.reclaim(), &drive);
                }
                assert!(fs.reclaim_one().expect("a store that takes commits"), "{age}");
                let zones = fs.zones().expect("a report");
                let is_empty = |zone: ZoneId| zones[zone.0 as usize].live == ByteCount(0);
                // After a mount, earlier deaths are not known: as by the live tables.
                let emptier_goes = takes_emptier && !(is_remounted && age == "written");
                let emptied = [emptier, fuller].map(is_empty);
                assert_eq!(emptied, [emptier_goes, !emptier_goes], "{age}, {is_remounted}");
                assert_eq!(fs.audit(), Vec::<String>::new());
                fs.unmount();
            }
        }
    });
}

#[test]
fn whoever_waits_for_reclaim_to_rest_finds_nothing_dead_that_it_would_take() {
    runner::simulate(1, || {
        let drive = formatted(Geometry::uniform(ZONE, 48), 1);
        let system: System = "leveldb-greedy:free_min=90".parse().unwrap();
        let options = MountOptions { reclaim: system.reclaim(), ..MountOptions::default() };
        let fs = Fs::mount(Arc::clone(&drive), &options).expect("a mounted store");
        fs.wait_reclaim_idle();
        let zones: Vec<_> = (1..=10).map(|level| zone_of(&fs, level)).collect();
        for (_, files) in &zones {
            delete(&fs, &files[..4]);
        }
        let held = || {
            let zones = fs.zones().expect("a report").into_iter();
            zones.filter(|zone| zone.live > ByteCount(0)).count()
        };
        let before = held();
        fs.wait_reclaim_idle();
        // Ten zones half dead fill five.
        assert!(held() <= before - 4, "{} of {before} zones", held());
        assert!(!fs.reclaim_one().expect("a store that takes commits"), "more to be gained");
        assert_eq!(fs.audit(), Vec::<String>::new());
        fs.unmount();
        fs.wait_reclaim_idle();
    });
}

#[test]
fn whoever_waits_for_reclaim_to_rest_calls_it_where_it_came_due_while_zones_were_filled() {
    runner::simulate(1, || {
        let drive = formatted(Geometry::uniform(ZONE, 48), 1);
        let system: System = "leveldb-greedy:free_min=80".parse().unwrap();
        let options = MountOptions { reclaim: system.reclaim(), ..MountOptions::default() };
        let fs = Fs::mount(Arc::clone(&drive), &options).expect("a mounted store");
        let (_, files) = zone_of(&fs, 1);
        delete(&fs, &files[..6]);
        let dead = || {
            let parts = fs.space_parts().expect("a drive with zones");
            let all = [parts.full, parts.writing, parts.resting, parts.emptying, parts.free];
            ByteCount(all.iter().map(|part| part.dead.0).sum())
        };
        runner::sleep(Duration::from_secs(1));
        assert_eq!(dead(), ByteCount::kib(6 * 64), "enough is free");
        // Nothing is freed from here on, so that nothing calls reclaim.
        (2..=12).for_each(|level| drop(zone_of(&fs, level)));
        fs.wait_reclaim_idle();
        assert_eq!(dead(), ByteCount(0));
        fs.unmount();
    });
}
