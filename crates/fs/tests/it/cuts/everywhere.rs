//! The test that cuts the power at each request that changes the drive, recovers the store, and
//! compares it with the facts that were noted for that moment.

use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::store::{IoCounts, Store};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Cause, test_seeds};
use terrace_fs::superblock::Role;
use terrace_fs::{Access, BLOCK, Fs, MountOptions, OPEN_ZONES_MIN};
use terrace_zone::emulator::{Drives, Snapshots};
use terrace_zone::{Emulator, Geometry, PowerCut, Tracks};

use super::client::Client;
use super::facts::Known;
use crate::drive;

/// Steps of the client before and between cuts.
const STEPS: u32 = 450;
const STEPS_AFTER: u32 = 12;

/// The moments of a run: the drives, and the state that must be found on them.
type Moments = Arc<Mutex<Vec<Moment>>>;
type Moment = (Snapshots, Known);

/// Recovery to try at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recovery {
    pub(crate) seed: u64,
    pub(crate) moment: usize,
    pub(crate) cut: PowerCut,
}

/// Counts of the work that the runs did: a suite that never reclaims proves nothing about reclaim.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    cuts: u64,
    copied_blocks: u64,
    journal_rolls: u64,
    zones_reset: u64,
    log_writes: u64,
}

impl Reach {
    fn add(&mut self, io: &IoCounts) {
        self.copied_blocks += io.written(Cause::Reclaim).0 / BLOCK as u64;
        self.journal_rolls += io.journal_rolls;
        self.zones_reset += io.zones_reset;
        self.log_writes += io.writes[Cause::Client as usize];
    }
}

/// A drive small enough that everything happens often, in a shape by seed; every fifth comes with a
/// plain one, for the journal and the logs or for offloaded tables.
fn drives(seed: u64) -> Drives {
    let make = |geometry| Emulator::in_memory(geometry, seed).expect("a possible shape");
    let plain = is_on_two(seed).then(|| Geometry::plain(ByteCount::mib(8)));
    std::iter::once(shape(seed)).chain(plain).map(make).collect::<Vec<_>>().into()
}

/// Whether the store of a seed is on two drives.
pub(super) fn is_on_two(seed: u64) -> bool {
    seed % 5 == 4
}

/// The role of the second drive of a seed, if there is one.
fn role(seed: u64) -> Role {
    if seed % 10 == 9 { Role::Offload } else { Role::Log }
}

/// Whether the store of a seed is on shingled tracks.
#[cfg(debug_assertions)]
pub(super) fn is_on_tracks(seed: u64) -> bool {
    shape(seed).layout.tracks().is_some()
}

fn shape(seed: u64) -> Geometry {
    let plain = Geometry::uniform(ByteCount::kib(256), 26);
    match seed % 7 {
        5 => return Geometry::tracks(ByteCount::mib(24), Tracks { blocks: 24, overlap: 2 }),
        6 => return Geometry::plain(ByteCount::mib(16)),
        _ => {}
    }
    match seed % 4 {
        0 => plain,
        1 => Geometry { conventional: vec![0..1, 9..11], ..plain },
        2 => Geometry {
            logical_block: 512,
            physical_block: 512,
            zone_size: 520,
            zone_capacity: 466,
            zones: 30,
            last_zone_size: Some(300),
            ..plain
        },
        _ => Geometry {
            max_open: Some(OPEN_ZONES_MIN + 1),
            max_active: Some(OPEN_ZONES_MIN + 2),
            ..plain
        },
    }
}

fn mount(drives: &Drives, access: Access) -> Result<Arc<Fs>, String> {
    let options = MountOptions { access, background: false, ..MountOptions::default() };
    Fs::mount(drives, &options).map_err(|error| format!("mount: {error}"))
}

/// Keeps copies of all drives before every change of one.
fn watch(drives: &Drives, known: &Arc<Mutex<Known>>) -> Moments {
    let moments = Moments::default();
    let (kept, known) = (Arc::clone(&moments), Arc::clone(known));
    drives.set_observer(Some(Arc::new(move |_, snapshots| {
        kept.lock().push((snapshots, known.lock().clone()));
    })));
    moments
}

fn stop_watching(drives: &Drives, moments: &Moments) -> Vec<Moment> {
    drives.set_observer(None);
    std::mem::take(&mut *moments.lock())
}

/// Runs a client on a drive, and returns every moment of it. A drive that was used before is
/// formatted without a reset.
fn run(seed: u64, steps: u32, reach: &mut Reach) -> Vec<Moment> {
    let mut random = Random::seeded(seed);
    let drive = &drives(seed);
    if seed.is_multiple_of(3) {
        drive::format_as(drive, role(seed ^ 0x5eed), seed ^ 0x5eed);
        let known = Arc::new(Mutex::new(Known::default()));
        let fs = mount(drive, Access::ReadWrite).expect("an older store");
        let mut client = Client::new(fs, random.fork(), known);
        (0..steps).for_each(|_| client.step());
    }
    drive::format_as(drive, role(seed), seed);
    let known = Arc::new(Mutex::new(Known::default()));
    let moments = watch(drive, &known);
    for _ in 0..3 {
        let fs = mount(drive, Access::ReadWrite).expect("a mount");
        // Appended bytes that were not synced may be gone, as after any unmount.
        let expected = known.lock().clone();
        let found = expected.verify(&fs).expect("the state before the unmount");
        known.lock().acked = Arc::new(found);
        let mut client = Client::new(Arc::clone(&fs), random.fork(), Arc::clone(&known));
        for step in 0..steps / 3 {
            client.step();
            assert_eq!(fs.audit(), Vec::<String>::new(), "seed {seed}: after step {step}");
        }
        drop(client);
        assert_eq!(fs.audit(), Vec::<String>::new());
        reach.add(&fs.io());
    }
    stop_watching(drive, &moments)
}

/// Recovers a drive; with `again`, goes on and returns the moments of all that.
fn recover(
    drives: &Drives,
    known: &Known,
    random: &mut Random,
    again: bool,
) -> Result<Vec<Moment>, String> {
    if random.random_ratio(1, 16) {
        let changes = |drive: &Arc<Emulator>| {
            let io = drive.io();
            (io.writes, io.flushes, io.zones_reset)
        };
        let before: Vec<_> = drives.all().iter().map(changes).collect();
        let fs = mount(drives, Access::ReadOnly)?;
        known.verify(&fs)?;
        drop(fs);
        if drives.all().iter().map(changes).ne(before) {
            return Err("a read-only mount wrote something".into());
        }
    }
    let known = Arc::new(Mutex::new(known.clone()));
    let moments = if again { watch(drives, &known) } else { Moments::default() };
    let fs = mount(drives, Access::ReadWrite)?;
    let expected = known.lock().clone();
    let found = expected.verify(&fs)?;
    *known.lock() = Known { acked: Arc::new(found), next: None };
    if again {
        let mut client = Client::new(Arc::clone(&fs), random.fork(), Arc::clone(&known));
        (0..STEPS_AFTER).for_each(|_| client.step());
        drop(client);
        let now = known.lock().clone();
        now.verify(&fs).map_err(|what| format!("after going on: {what}"))?;
    }
    let problems = fs.audit();
    drop(fs);
    let moments = stop_watching(drives, &moments);
    let report = Fs::check(drives).map_err(|error| error.to_string())?;
    match (problems.first(), report.problems.first()) {
        (None, None) => Ok(moments),
        (Some(problem), _) => Err(format!("counts: {problem}")),
        (_, Some(problem)) => Err(format!("check: {problem}")),
    }
}

/// Cuts at one moment and recovers, then cuts once more; how many cuts that were.
fn cut_at(moment: &Moment, recovery: Recovery) -> Result<u64, String> {
    let mut random = Random::seeded(recovery.seed ^ (recovery.moment as u64) << 32);
    let (snapshots, known) = moment;
    let drives = snapshots.cut_some(recovery.moment, recovery.cut, &mut random);
    let moments = recover(&drives, known, &mut random, true)?;
    if moments.is_empty() {
        return Ok(1);
    }
    let (snapshots, known) = &moments[random.random_range(0..moments.len())];
    let cut = PowerCut::any(&mut random);
    let drives = snapshots.cut_some(recovery.moment / 3, cut, &mut random);
    recover(&drives, known, &mut random, false)
        .map_err(|what| format!("cut again ({cut:?}): {what}"))?;
    Ok(2)
}

/// Cuts the run of a seed at every moment; the first cut that failed, and how.
pub(crate) fn cut_everywhere(seed: u64, reach: &mut Reach) -> Result<(), (Recovery, String)> {
    for (number, moment) in run(seed, STEPS, reach).iter().enumerate() {
        let cut = PowerCut::ALL[(number + seed as usize) % PowerCut::ALL.len()];
        let recovery = Recovery { seed, moment: number, cut };
        reach.cuts += cut_at(moment, recovery).map_err(|what| (recovery, what))?;
    }
    Ok(())
}

#[test]
fn a_cut_at_any_write_loses_nothing_that_was_acknowledged() {
    let seeds = test_seeds(24);
    let whole = seeds.end - seeds.start >= 24;
    let mut reach = Reach::default();
    for seed in seeds {
        if let Err((recovery, what)) = cut_everywhere(seed, &mut reach) {
            panic!(
                "{recovery:?}: {what}\nrepeat with TERRACE_TEST_SEED={seed} cargo test -p \
                 terrace-fs a_cut_at_any_write_loses"
            );
        }
    }
    println!("{reach:?}");
    assert!(!whole || reach.cuts >= 10_000, "too few cuts: {reach:?}");
    let everything =
        [reach.copied_blocks, reach.journal_rolls, reach.zones_reset, reach.log_writes];
    assert!(!whole || everything.iter().all(|count| *count >= 100), "too little: {reach:?}");
}
