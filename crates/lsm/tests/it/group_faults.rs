//! Calls of the log that fail, or panic, while a leader writes a group of several batches. One
//! writer syncs and is held there until the others have queued, so each group has several batches
//! by construction. They ask for durabilities of all kinds.
//!
//! - No batch is acknowledged if the step has failed that it asked for.
//! - A refused append is not seen. The group is found as a whole, or not at all, after a power cut.
//! - An acknowledged batch is read at once; after a power cut, if it was synced.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::store::{
    CrashMode, CreateOptions, FileKind, FileWriter, Layer, MemoryStore, Rank, Store, StoreError,
};
use terrace_env::sync::Mutex;
use terrace_env::{FileId, runner, test_seeds};
use terrace_lsm::{Batch, Durability, Engine, Error, KeySpaceId};

use crate::faults::no_space;
use crate::model::{decider, open, options, slow_store};

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;

/// A call of the log's writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    Append,
    WriteOut,
    Sync,
}

/// How the call ends, and whether it was carried out before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    Fails,
    HasNoSpace,
    Panics,
    FailsAfterwards,
}

/// Durabilities of batches in a group.
const DURABILITIES: [Durability; 4] =
    [Durability::Unlogged, Durability::Gathered, Durability::Written, Durability::Synced];

/// The next of these calls ends so.
#[derive(Default)]
struct Plan {
    next: Mutex<Option<(Call, End)>>,
    held: AtomicBool,
}

impl Plan {
    /// Carries out a call, or lets it fail if it is due.
    fn call(
        &self,
        call: Call,
        work: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let is_due = self.next.lock().take_if(|(due, _)| *due == call);
        let broken = || StoreError::io("the log", std::io::Error::other("an injected failure"));
        match is_due {
            None => work(),
            Some((_, End::Fails)) => Err(broken()),
            Some((_, End::HasNoSpace)) => Err(no_space(Rank::Log)),
            Some((_, End::Panics)) => panic!("an injected panic"),
            Some((_, End::FailsAfterwards)) => work().and(Err(broken())),
        }
    }
}

struct Faulty {
    store: MemoryStore,
    plan: Arc<Plan>,
}

impl Layer for Faulty {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        let (writer, plan) = (self.store.create(options)?, Arc::clone(&self.plan));
        let is_log = options.kind == FileKind::Log;
        Ok(if is_log { Box::new(FaultyLog { writer, plan }) } else { writer })
    }
}

struct FaultyLog {
    writer: Box<dyn FileWriter>,
    plan: Arc<Plan>,
}

impl FileWriter for FaultyLog {
    fn id(&self) -> FileId {
        self.writer.id()
    }

    fn len(&self) -> u64 {
        self.writer.len()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.plan.call(Call::Append, || self.writer.append(bytes))
    }

    fn write_out(&mut self) -> Result<(), StoreError> {
        self.plan.call(Call::WriteOut, || self.writer.write_out())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        if self.plan.held.load(Ordering::Relaxed) {
            while self.plan.held.load(Ordering::Relaxed) {
                runner::sleep(Duration::from_micros(1));
            }
            return self.writer.sync();
        }
        self.plan.call(Call::Sync, || self.writer.sync())
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.writer.finish()
    }
}

/// How a writer's call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Acknowledged,
    Refused,
    Panicked,
}

fn put(engine: &Arc<Engine>, key: u8, durability: Durability) -> runner::JoinHandle<Ended> {
    let engine = Arc::clone(engine);
    runner::spawn("writer", move || {
        let mut batch = Batch::new();
        batch.put(SPACE, &[key], &[key; 40]);
        match catch_unwind(AssertUnwindSafe(|| engine.write(batch, durability))) {
            Ok(Ok(())) => Ended::Acknowledged,
            Ok(Err(Error::Closed)) => panic!("the engine is open"),
            Ok(Err(_)) => Ended::Refused,
            Err(_) => Ended::Panicked,
        }
    })
}

/// Whether a batch of this durability asks for the step that the call is.
fn asks_for(durability: Durability, call: Call) -> bool {
    match call {
        Call::Append => durability > Durability::Unlogged,
        Call::WriteOut | Call::Sync => durability > Durability::Gathered,
    }
}

/// A leader's call ends in this way, in a group of two to five batches; whether it did.
fn a_group_meets(seed: u64, call: Call, end: End) -> bool {
    runner::simulate(seed, || {
        let mut random = Random::seeded(seed);
        let store = slow_store(seed);
        let plan = Arc::new(Plan::default());
        let faulty = Faulty { store: store.clone(), plan: Arc::clone(&plan) };
        let engine = Engine::open(Arc::new(faulty), decider(), options()).expect("an engine");
        let engine = Arc::new(engine);
        plan.held.store(true, Ordering::Relaxed);
        let first = put(&engine, 0, Durability::Synced);
        // It begins its sync, and stays there until the others have queued.
        runner::sleep(Duration::from_secs(1));
        let count = random.random_range(2..6_u8);
        let asked: Vec<Durability> =
            (0..count).map(|_| DURABILITIES[random.random_range(0..4)]).collect();
        let group: Vec<_> = (1..).zip(&asked).map(|(key, of)| put(&engine, key, *of)).collect();
        runner::sleep(Duration::from_secs(1));
        // The sync that is held is spared.
        *plan.next.lock() = Some((call, end));
        plan.held.store(false, Ordering::Relaxed);
        assert_eq!(first.join(), Ended::Acknowledged);
        let ended: Vec<Ended> = group.into_iter().map(runner::JoinHandle::join).collect();
        let has_met = plan.next.lock().take().is_none();
        let told = format!("{call:?} {end:?}: {asked:?} ended as {ended:?}");
        check_answers(&asked, &ended, (call, end), has_met, &told);
        let found = |engine: &Engine, key: u8| {
            engine.get(SPACE, &[key]).expect("a read").is_some_and(|value| *value == [key; 40])
        };
        for (key, ended) in (1..).zip(&ended) {
            let is_there = found(&engine, key);
            assert!(is_there || *ended != Ended::Acknowledged, "not seen, {told}");
            let is_refused = has_met && call == Call::Append && *ended == Ended::Refused;
            assert!(!is_there || !is_refused, "seen, {told}");
        }
        let power = [CrashMode::DropUnsynced, CrashMode::KeepUnsynced, CrashMode::TearUnsynced];
        for mode in power.into_iter().chain([CrashMode::EndProcess]) {
            let survivor = open(&store.crash(mode, &mut random));
            assert!(found(&survivor, 0), "the first write, {told}");
            let keys = || (1..).zip(asked.iter().zip(&ended));
            let least = match mode {
                CrashMode::EndProcess => Durability::Written,
                _ => Durability::Synced,
            };
            for (key, (asked, ended)) in keys() {
                let lasts = *asked >= least && *ended == Ended::Acknowledged;
                assert!(!lasts || found(&survivor, key), "{mode:?}: {key} is lost, {told}");
            }
            let logged = keys().filter(|(_, (asked, _))| **asked > Durability::Unlogged);
            let whole: BTreeSet<bool> = logged.map(|(key, _)| found(&survivor, key)).collect();
            assert!(whole.len() <= 1, "{mode:?}: a part of a group, {told}");
        }
        has_met
    })
}

/// Checks the answers to a group of batches that asked for these durabilities.
fn check_answers(
    asked: &[Durability],
    ended: &[Ended],
    (call, end): (Call, End),
    has_met: bool,
    told: &str,
) {
    let panics = ended.iter().filter(|ended| **ended == Ended::Panicked).count();
    assert_eq!(panics, usize::from(has_met && end == End::Panics), "{told}");
    if !has_met {
        assert!(ended.iter().all(|ended| *ended == Ended::Acknowledged), "{told}");
        return;
    }
    if end == End::Panics {
        assert!(!ended.contains(&Ended::Acknowledged), "{told}");
        return;
    }
    // Entries without a log go to tables.
    let is_mended = end == End::HasNoSpace;
    for (asked, ended) in asked.iter().zip(ended) {
        let must_fail = !is_mended && asks_for(*asked, call);
        assert!(!must_fail || *ended == Ended::Refused, "{told}");
        let must_succeed = is_mended || (call != Call::Append && !asks_for(*asked, call));
        assert!(!must_succeed || *ended == Ended::Acknowledged, "{told}");
    }
}

/// Each end of each call, in groups of several. Returns those that came.
pub(crate) fn groups_meet_faults(seeds: std::ops::Range<u64>) -> BTreeSet<(Call, End)> {
    let calls = [Call::Append, Call::WriteOut, Call::Sync];
    let ends = [End::Fails, End::HasNoSpace, End::Panics, End::FailsAfterwards];
    let mut met = BTreeSet::new();
    for seed in seeds {
        for call in calls {
            for end in ends {
                if a_group_meets(seed, call, end) {
                    met.insert((call, end));
                }
            }
        }
    }
    met
}

#[test]
fn no_batch_of_a_group_is_acknowledged_if_a_step_has_failed_that_it_asked_for() {
    let seeds = test_seeds(12);
    let is_alone = seeds.clone().count() < 12;
    let met = groups_meet_faults(seeds);
    assert!(is_alone || met.len() == 12, "only these were met: {met:?}");
}
