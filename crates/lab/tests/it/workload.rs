//! Clients on one sequence of operations: they do the same every time in a simulation, judge
//! rightly on threads, and notice a stale value.

use std::sync::Arc;

use terrace::{Db, FormatOptions, MemoryStore, Options};
use terrace_env::{ByteCount, runner};
use terrace_lab::workload::{
    Chooser, ClientError, Crowd, CrowdError, Defect, Entries, First, Held, Kind, Preset,
    Proportions, Sizes, Tally, Workload, World,
};
use terrace_zone::{Device, Emulator, Geometry};

use crate::serial::Serial;

const RECORDS: u64 = 3_000;
const VALUES: Sizes = Sizes::Uniform(50, 900);

fn world(db: &Db, preset: Preset) -> World {
    let keys = Sizes::Uniform(10, 30);
    let entries = Entries::new(1, keys, preset.key_order(), VALUES.max() as usize);
    World::new(db.clone(), Arc::new(entries))
}

fn fill(world: &World, preset: Preset) {
    let fill = First::new(preset.filled_by().workload(VALUES, RECORDS, 1), RECORDS);
    Crowd::new(1).play(world, fill, &mut |_| ()).expect("a fill");
}

fn small() -> Options {
    Options::default().memtable_size(ByteCount::kib(128))
}

/// A workload by three clients on a drive that takes time.
fn simulated(preset: Preset) -> (Option<u64>, Tally, Held) {
    runner::simulate(7, || {
        let drive = Emulator::in_memory(Geometry::uniform(ByteCount::mib(1), 200), 1);
        let drive = drive.expect("a usual geometry");
        drive.set_timing(Some(Box::<Serial>::default()));
        let drive: Arc<dyn Device> = Arc::new(drive);
        let db = Db::create_device(drive, &FormatOptions::default(), small()).expect("a store");
        let world = world(&db, preset);
        if !preset.begins_empty() {
            fill(&world, preset);
        }
        let source = First::new(preset.workload(VALUES, RECORDS, 2), RECORDS);
        let tally = Crowd::new(3).play(&world, source, &mut |_| ());
        let tally = tally.unwrap_or_else(|error| panic!("{preset}: {error}"));
        let held = world.ledger().held();
        assert_eq!(world.verify(&mut |_| ()).expect("a right store"), held.records);
        db.close().expect("a clean end");
        (runner::history(), tally, held)
    })
}

#[test]
fn every_workload_is_the_same_every_time_in_a_simulation() {
    for preset in Preset::ALL {
        let (history, tally, held) = simulated(preset);
        let (again, tally_again, held_again) = simulated(preset);
        assert_eq!((history, held), (again, held_again), "{preset}");
        assert_eq!(tally.operations(), RECORDS, "{preset}");
        for kind in Kind::ALL {
            assert_eq!(tally.latencies(kind), tally_again.latencies(kind), "{preset}");
        }
        assert_eq!(tally.written, tally_again.written, "{preset}");
        if preset != Preset::Queue {
            let deletes = matches!(preset.name(), "deleterandom" | "overwritedelete");
            assert_eq!(held.records < RECORDS, deletes || preset == Preset::FillRandom, "{preset}");
        }
        let beyond = ["scaninsertupdate", "fillseqoverwrite", "ycsb-d", "ycsb-e"];
        let beyond = beyond.contains(&preset.name());
        if preset != Preset::Queue {
            assert_eq!(held.records > RECORDS, beyond, "{preset}: {held:?}");
        }
    }
}

#[test]
fn virtual_time_is_what_latencies_are_in() {
    let (_, tally, _) = simulated(Preset::ReadRandom);
    let latencies = tally.latencies(Kind::Read);
    // The drive takes a tenth of a millisecond for each request, on any machine.
    assert!(latencies.max() >= 100_000, "{} ns", latencies.max());
    let (_, again, _) = simulated(Preset::ReadRandom);
    assert_eq!(latencies, again.latencies(Kind::Read));
}

#[test]
fn clients_that_fight_for_a_few_records_find_what_they_wrote_on_threads() {
    let db = Db::open(Arc::new(MemoryStore::new()), small()).expect("a store");
    let world = world(&db, Preset::Overwrite);
    let proportions = Proportions {
        read: 4.0,
        update: 3.0,
        scan: 0.2,
        read_modify_write: 1.0,
        delete: 1.0,
        ..Proportions::default()
    };
    let workload = Workload::new(proportions, Chooser::Uniform, VALUES, 20, 3);
    let source = First::new(workload.with_scans(Sizes::Constant(10)), 60_000);
    let tally = Crowd::new(4).play(&world, source, &mut |_| ()).expect("right answers");
    assert_eq!(tally.operations(), 60_000);
    assert!(tally.misses > 0 && tally.scanned > 0, "{tally:?}");
    // One client's write after all others settles each record.
    let settle = First::new(Preset::FillUniqueRandom.workload(VALUES, 20, 4), 20);
    Crowd::new(1).play(&world, settle, &mut |_| ()).expect("writes");
    assert_eq!(world.verify(&mut |_| ()).expect("a right store"), 20);
    db.close().expect("a clean end");
}

/// Puts first generations back, unknown to the clients, once they are half-way; returns the error
/// that stopped them.
fn sabotaged(clients: usize, preset: Preset) -> CrowdError {
    let db = Db::open(Arc::new(MemoryStore::new()), small()).expect("a store");
    let world = world(&db, preset);
    // Everything has a second generation.
    fill(&world, preset);
    fill(&world, preset);
    let source = First::new(preset.workload(VALUES, RECORDS, 1), RECORDS);
    let mut half_way = false;
    let played = Crowd::new(clients).play(&world, source, &mut |done| {
        if half_way || done < RECORDS / 2 {
            return;
        }
        half_way = true;
        let (mut key, mut value) = (Vec::new(), Vec::new());
        for record in 0..RECORDS {
            world.entries().key(record, &mut key);
            world.entries().value(record, 1, 100, &mut value);
            db.put(&key, &value).expect("a put");
        }
    });
    assert!(half_way, "stopped too early");
    db.close().expect("a clean end");
    played.expect_err("a canary")
}

#[test]
fn canary_a_stale_value_stops_every_client() {
    for (clients, name) in [(1, "readrandom"), (3, "ycsb-c"), (3, "ycsb-e")] {
        let preset: Preset = name.parse().expect("a name");
        let error = runner::simulate(1, || sabotaged(clients, preset));
        let CrowdError::Client(ClientError::Mismatch { defect, .. }) = error else {
            panic!("{preset}: {error}")
        };
        assert_eq!(defect, Defect::Generation(2, 2, 1), "{preset}");
    }
}
