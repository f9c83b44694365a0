//! The journal under power cuts: at every request that changes the drive, in every mode, again
//! during the recovery, and after a reformat that resets nothing.
//!
//! The state found must be the one after some transaction, at least the last acknowledged one, at
//! most the one that was on its way.

use std::sync::Arc;

use terrace_env::FileId;
use terrace_env::random::{Random, Rng};
use terrace_env::store::StoreError;
use terrace_env::sync::Mutex;
use terrace_env::test_seeds;
use terrace_fs::catalog::{Catalog, Record};
use terrace_fs::journal::{Journal, replay};
use terrace_fs::superblock::SPLICES_MAX;
use terrace_zone::{Device, Emulator, PowerCut, Snapshot};

use crate::changes::Changes;
use crate::journal_world::{make, open, resume, shape};

/// A client's knowledge: the states that a recovery may find.
#[derive(Clone)]
struct Known {
    /// The state after the last acknowledged transaction.
    acked: Catalog,
    /// The state after the one that is on its way.
    next: Option<Catalog>,
}

impl Known {
    fn allows(&self, found: &Catalog) -> bool {
        *found == self.acked || self.next.as_ref() == Some(found)
    }
}

/// A drive whose every moment is kept, with the client's knowledge then.
struct Watched {
    emulator: Arc<Emulator>,
    known: Arc<Mutex<Known>>,
    moments: Arc<Mutex<Vec<(Snapshot, Known)>>>,
    /// Splices when it was recovered.
    splices: usize,
}

impl Watched {
    fn new(emulator: Arc<Emulator>, acked: Catalog) -> Self {
        let known = Arc::new(Mutex::new(Known { acked, next: None }));
        let moments = Arc::new(Mutex::new(Vec::new()));
        let watched = (Arc::clone(&known), Arc::clone(&moments));
        emulator.set_observer(Some(Arc::new(move |event| {
            let snapshot = event.snapshot().expect("a drive in memory");
            let known = watched.0.lock().clone();
            watched.1.lock().push((snapshot, known));
        })));
        Self { emulator, known, moments, splices: 0 }
    }

    fn device(&self) -> Arc<dyn Device> {
        Arc::clone(&self.emulator) as Arc<dyn Device>
    }

    /// Mounts; the state after it differs from the one before by the mount's own record.
    fn open(&self) -> Result<Journal, StoreError> {
        let replayed = replay(&self.device(), true)?;
        let mut after = replayed.catalog.clone();
        // Every mount starts a range of file ids of its own.
        let epoch = replayed.epoch();
        let next_file = after.next_file().max(FileId(u64::from(epoch) << 24));
        after.stage(&mut [Record::Mount { epoch, next_file }])?;
        self.known.lock().next = Some(after.clone());
        let journal = resume(&self.device(), replayed)?;
        *self.known.lock() = Known { acked: after, next: None };
        Ok(journal)
    }

    fn commit(&self, journal: &Journal, changes: &mut Changes) {
        let mut after = journal.read(Clone::clone);
        let mut records = changes.transaction(&after);
        after.stage(&mut records).expect("a transaction that fits");
        self.known.lock().next = Some(after.clone());
        journal.commit(records, false).expect("a commit");
        *self.known.lock() = Known { acked: after, next: None };
    }

    fn moments(&self) -> Vec<(Snapshot, Known)> {
        self.emulator.set_observer(None);
        std::mem::take(&mut self.moments.lock())
    }
}

/// Recovers the state that a cut has left, checks it, and goes on for a while; gives all moments of
/// that.
fn recover(emulator: Emulator, known: &Known, changes: &mut Changes, what: &str) -> Watched {
    let emulator = Arc::new(emulator);
    let device = Arc::clone(&emulator) as Arc<dyn Device>;
    let found = replay(&device, false).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(
        known.allows(&found.catalog),
        "{what}: found {} files below {}, expected {} below {}",
        found.catalog.len(),
        found.catalog.next_file(),
        known.acked.len(),
        known.acked.next_file()
    );
    let mut watched = Watched::new(emulator, found.catalog);
    watched.splices = found.superblock.splices.len();
    let journal = watched.open().unwrap_or_else(|error| panic!("{what}: mount: {error}"));
    watched.commit(&journal, changes);
    watched.commit(&journal, changes);
    watched.emulator.set_observer(None);
    let expected = journal.read(Clone::clone);
    drop(journal);
    let found = replay(&device, false).unwrap_or_else(|error| panic!("{what}: again: {error}"));
    assert!(found.catalog == expected, "{what}: later commits are not there");
    watched
}

/// Runs a client, cuts at every moment, and recovers; returns how many cuts that were.
pub(crate) fn cut_everywhere(seed: u64, commits: u32, opaque: usize) -> u32 {
    let emulator = Emulator::in_memory(shape(seed), seed).expect("a possible shape");
    let emulator = Arc::new(emulator);
    let device = Arc::clone(&emulator) as Arc<dyn Device>;
    make(&device, seed);
    let start = replay(&device, true).expect("an empty store").catalog;
    let watched = Watched::new(emulator, start);
    let mut changes = Changes::new(seed, opaque);
    let mut random = Random::seeded(seed ^ 0xc0ffee);
    let mut left = commits;
    while left > 0 {
        // Several mounts, so that the suite meets clean ends too.
        let journal = watched.open().expect("a mount");
        for _ in 0..left.min(1 + commits / 3) {
            if random.random_bool(0.05) {
                journal.request_roll();
            }
            watched.commit(&journal, &mut changes);
            left -= 1;
        }
    }
    let mut cuts = 0;
    for (number, (snapshot, known)) in watched.moments().into_iter().enumerate() {
        let mode = PowerCut::any(&mut random);
        let what = format!("seed {seed}, moment {number}, {mode:?}");
        let emulator = snapshot.cut(mode, &mut random);
        let recovered = recover(emulator, &known, &mut changes, &what);
        cuts += 1;
        if random.random_bool(0.25) {
            cuts += cut_again(&recovered, &mut changes, &mut random, &what, 12).0;
        }
    }
    cuts
}

/// Cuts at a random moment of a recovery, and so on: each may leave a splice. Returns how many cuts
/// that were, and the most splices seen.
fn cut_again(
    watched: &Watched,
    changes: &mut Changes,
    random: &mut Random,
    what: &str,
    depth: u32,
) -> (u32, usize) {
    let mut moments = watched.moments();
    let number = random.random_range(0..moments.len());
    let (snapshot, known) = moments.swap_remove(number);
    let mode = PowerCut::any(random);
    let what = format!("{what}; then moment {number}, {mode:?}");
    let recovered = recover(snapshot.cut(mode, random), &known, changes, &what);
    if depth > 1 && random.random_bool(0.8) {
        let (cuts, splices) = cut_again(&recovered, changes, random, &what, depth - 1);
        return (1 + cuts, splices.max(recovered.splices));
    }
    (1, recovered.splices)
}

#[test]
fn a_cut_at_any_write_leaves_the_state_after_some_transaction() {
    let mut cuts = 0;
    for seed in test_seeds(12) {
        cuts += cut_everywhere(seed, 60, 200);
    }
    println!("{cuts} cuts");
}

#[test]
fn a_cut_during_transactions_of_many_frames_leaves_all_or_nothing() {
    for seed in test_seeds(4) {
        cut_everywhere(seed, 15, 40_000);
    }
}

/// Snapshots of several chunks, with transactions between them that concern files on both sides of
/// the cursor, names that move across it, and files that come and go.
#[test]
fn a_cut_during_a_roll_of_many_chunks_loses_nothing() {
    let (mut chunks, mut most) = (0, 0);
    let seeds = test_seeds(3);
    let is_whole_run = seeds.end - seeds.start >= 3;
    for seed in seeds {
        let emulator = Emulator::in_memory(shape(3), seed).expect("a possible shape");
        let emulator = Arc::new(emulator);
        let device = Arc::clone(&emulator) as Arc<dyn Device>;
        make(&device, seed);
        let mut changes = Changes::new(seed, 10_000);
        let journal = open(&device).expect("a mount");
        for _ in 0..800 {
            let records = journal.read(|catalog| changes.transaction(catalog));
            journal.commit(records, false).expect("a commit");
        }
        journal.roll().expect("a roll");
        let watched = Watched::new(emulator, journal.read(Clone::clone));
        let rolls = journal.rolls();
        journal.request_roll();
        while journal.rolls() == rolls {
            watched.commit(&journal, &mut changes);
            chunks += 1;
        }
        drop(journal);
        let mut random = Random::seeded(seed);
        for (number, (snapshot, known)) in watched.moments().into_iter().enumerate() {
            let mode = PowerCut::any(&mut random);
            let what = format!("seed {seed}, moment {number}, {mode:?}");
            let emulator = snapshot.cut(mode, &mut random);
            let recovered = recover(emulator, &known, &mut changes, &what);
            let (_, splices) = cut_again(&recovered, &mut changes, &mut random, &what, 20);
            most = most.max(splices);
        }
    }
    if is_whole_run {
        assert!(chunks >= 12, "{chunks} steps: the snapshots were too small for this test");
        assert_eq!(most, SPLICES_MAX, "no chain of recoveries used up all splices");
    }
}

#[test]
fn nothing_of_an_older_store_comes_back_after_a_format() {
    for seed in test_seeds(8) {
        let emulator = Emulator::in_memory(shape(seed), seed).expect("a possible shape");
        let emulator = Arc::new(emulator);
        let device = Arc::clone(&emulator) as Arc<dyn Device>;
        make(&device, seed);
        let mut changes = Changes::new(seed, 500);
        let journal = open(&device).expect("a mount");
        for _ in 0..50 {
            let records = journal.read(|catalog| changes.transaction(catalog));
            journal.commit(records, false).expect("a commit");
        }
        drop(journal);
        make(&device, seed + 1000);
        let empty = replay(&device, false).expect("an empty store").catalog;
        assert!(empty.is_empty());
        let watched = Watched::new(emulator, empty);
        let journal = watched.open().expect("a mount");
        for _ in 0..10 {
            watched.commit(&journal, &mut changes);
        }
        let mut random = Random::seeded(seed);
        for (number, (snapshot, known)) in watched.moments().into_iter().enumerate() {
            let what = format!("seed {seed}, moment {number}");
            let emulator = snapshot.cut(PowerCut::Blocks, &mut random);
            let recovered = recover(emulator, &known, &mut changes, &what);
            cut_again(&recovered, &mut changes, &mut random, &what, 2);
        }
    }
}
