//! The order of an opening: claims the store, finds its state, connects the owners, replays the
//! logs, and starts the actors of the background jobs (threads, or coroutines of a simulation).
//!
//! A read-only engine has no actors. An opening for writing ends by hiding the entries of dropped
//! key spaces, if an earlier engine did not. A full store opens even if that fails: the next drop
//! of a key space tries again.
//!
//! One thread opens. If the opening fails, the store can be opened again.

use std::io;
use std::sync::Arc;

use terrace_env::runner::{self, JoinHandle};
use terrace_env::store::{Store, StoreError};
use terrace_env::sync::Mutex;
use terrace_env::{Claim, SeqNo};
use terrace_policy::Compaction;

use super::found::{Found, delete_lost, forget_source, own_record, remember_tables};
use super::owners::{Base, Owners};
use super::replay::Replay;
use crate::Error;
use crate::compact::worker;
use crate::counters::Counters;
use crate::engine::Engine;
use crate::lifetime::Written;
use crate::lifetime_sums::LifetimeSums;
use crate::memory::Memory;
use crate::memtable::Memtable;
use crate::operands::Operands;
use crate::options::EngineOptions;
use crate::tree::{Closed, LostRange, Spaces, Tree, View, check_room};

/// Part of the memory budget that the process may keep as memory of dropped buffers.
const SPARE_PAGES_PART: u64 = 64;

/// Parts of an engine that has no actors yet.
pub(super) struct Parts {
    pub(super) base: Base,
    pub(super) owners: Owners,
    claim: Claim,
    lost: Vec<LostRange>,
}

impl Engine {
    /// Opens the engine of a store; an empty store becomes an empty engine.
    pub fn open(
        store: Arc<dyn Store>,
        decider: Arc<dyn Compaction>,
        options: EngineOptions,
    ) -> Result<Self, Error> {
        let Parts { base, owners, claim, lost } = Parts::open(store, decider, options)?;
        let mut actors = Vec::new();
        let started = if base.options.read_only { Ok(()) } else { start(&owners, &mut actors) };
        let engine = owners.into_engine(base, claim, lost, Mutex::new(actors));
        // If not all have started, the drop of the engine ends the others.
        started.map_err(|error| StoreError::io("opening the store", error))?;
        if !engine.options.read_only {
            match engine.hide_dropped_spaces() {
                Err(error) if !error.is_space() => return Err(error),
                _ => {}
            }
        }
        Ok(engine)
    }
}

impl Parts {
    /// Claims the store, finds its state, and replays the logs.
    pub(super) fn open(
        store: Arc<dyn Store>,
        decider: Arc<dyn Compaction>,
        options: EngineOptions,
    ) -> Result<Self, Error> {
        options.check()?;
        let before = Written::by(&*store);
        let users = store.users();
        let claim = if options.read_only { users.claim_to_read() } else { users.claim_to_write() };
        let claim = claim.ok_or(StoreError::InUse("the store".into()))?;
        let mut options = options.fitted();
        let (mut record, is_new) = own_record(&*store)?;
        let remembered = record.merge_operator.as_ref();
        let (given, ships) = (options.merge_operator.as_ref(), options.shipped_operators);
        let operands = Operands::new(given, ships, remembered)?;
        let changed = remember_tables(&mut record, &options)? | is_new;
        options.tables = record.tables;
        let memory = Memory::new(&options);
        terrace_env::keep_spare_pages((options.memory.0 / SPARE_PAGES_PART) as usize);
        memory.keep_queue_short(store.keeps_queue_short());
        let found = Found::in_store(&*store, &memory, (record, is_new), changed, &options)?;
        let Found { mut record, changed, spaces: list, version, logs, lost, next } = found;
        if !options.read_only {
            check_room(next, &version)?;
            forget_source(&*store, &mut record)?;
            delete_lost(&*store, &lost)?;
        }
        let rule = decider.write_rule(version.view());
        let counters = Arc::new(Counters::new());
        let at_open = record.lifetime.clone();
        let sums = LifetimeSums::new(Arc::clone(&store), Arc::clone(&counters), at_open, before);
        let (immutable, version) = (Vec::new(), Arc::new(version));
        let (spaces, closed) = (Spaces::of(&list, record.next_space), Closed::default());
        let active = Arc::new(Memtable::new(&memory.chunks));
        let view = View { active, immutable, version, spaces, closed };
        let tree = Arc::new(Tree::new(view, SeqNo(next.0 - 1), record, list));
        let base = Base { store, decider, options, memory, counters, sums: Arc::new(sums), tree };
        let owners = Owners::new(&base, rule, &operands);
        let replay = Replay {
            store: &*base.store,
            memory: &base.memory,
            tree: &base.tree,
            memtables: &owners.memtables,
            flusher: &owners.flusher,
            lane: &owners.lane,
            read_only: base.options.read_only,
        };
        let (logs, next) = replay.replay(logs, next)?;
        if !base.options.read_only {
            check_room(next, &base.tree.view().version)?;
        }
        replay.go_on(&logs, next, changed)?;
        Ok(Self { base, owners, claim, lost })
    }
}

/// Starts the actors of the jobs.
fn start(owners: &Owners, actors: &mut Vec<JoinHandle<()>>) -> io::Result<()> {
    let flusher = Arc::clone(&owners.flusher);
    actors.push(runner::try_spawn("flush", move || flusher.run())?);
    let ahead = Arc::clone(&owners.writer.ahead);
    actors.push(runner::try_spawn("next log", move || ahead.run())?);
    for _ in 0..owners.board.jobs_max() {
        let compactor = Arc::clone(&owners.compactor);
        actors.push(runner::try_spawn("compaction", move || compactor.run())?);
    }
    let writer = Arc::clone(&owners.writer);
    actors.push(runner::try_spawn("log writer", move || {
        writer.gathering.run(|| writer.hand_over_log());
    })?);
    // A single worker would have no work: the compaction's own actor does it.
    let workers = owners.workers.count();
    for _ in 0..if workers > 1 { workers } else { 0 } {
        let (workers, lifecycle) = (Arc::clone(&owners.workers), Arc::clone(&owners.lifecycle));
        let work = move || worker::run(&workers, &lifecycle);
        actors.push(runner::try_spawn("compaction worker", work)?);
    }
    Ok(())
}
