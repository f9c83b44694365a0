//! [`Owners`]: creates the owners of an engine, each with the other owners that it needs.
//!
//! An owner is created after the owners below it. Owners that actors wait for are registered with
//! the [`Lifecycle`], in a fixed order, so that a simulation always wakes them in the same order.
//! Nothing is read or written.

use std::sync::Arc;

use terrace_env::Claim;
use terrace_env::runner::JoinHandle;
use terrace_env::store::Store;
use terrace_env::sync::Mutex;
use terrace_policy::{Compaction, WriteRule};

use crate::compact::{Board, Compactor, LoadMeter, Notifier, Pacer, Signals, Workers};
use crate::counters::Counters;
use crate::engine::Engine;
use crate::event::Listeners;
use crate::lifecycle::Lifecycle;
use crate::lifetime_sums::LifetimeSums;
use crate::memory::Memory;
use crate::memtable::FlushQueue;
use crate::operands::Operands;
use crate::options::EngineOptions;
use crate::ranges::EmptyRanges;
use crate::read::Reader;
use crate::readers::Readers;
use crate::running::RunningJobs;
use crate::space::Space;
use crate::tree::{Committer, LostRange, SpaceChanges, Tree};
use crate::write::{
    Flusher, Gathering, GroupWriter, Intake, PreallocatedLogs, Room, WriteLane, Writer,
};

/// Store, policy, and the owners that need no other one.
pub(super) struct Base {
    pub(super) store: Arc<dyn Store>,
    pub(super) decider: Arc<dyn Compaction>,
    pub(super) options: EngineOptions,
    pub(super) memory: Arc<Memory>,
    pub(super) counters: Arc<Counters>,
    pub(super) sums: Arc<LifetimeSums>,
    pub(super) tree: Arc<Tree>,
}

/// See the [module](self).
pub(super) struct Owners {
    pub(super) lifecycle: Arc<Lifecycle>,
    pub(super) memtables: Arc<FlushQueue>,
    pub(super) board: Arc<Board>,
    pub(super) workers: Arc<Workers>,
    pub(super) lane: Arc<WriteLane>,
    pub(super) flusher: Arc<Flusher>,
    pub(super) writer: Arc<Writer>,
    pub(super) compactor: Arc<Compactor>,
    reader: Arc<Reader>,
    committer: Arc<Committer>,
    notifier: Arc<Notifier>,
    running: Arc<RunningJobs>,
}

impl Owners {
    /// The owners of an engine. `rule`: rule for writers, by the current tree. `operands`: the
    /// merge operator.
    pub(super) fn new(base: &Base, rule: WriteRule, operands: &Operands) -> Self {
        let Base { store, decider, options, memory, counters, tree, .. } = base;
        let listeners = Arc::new(Listeners::default());
        let lifecycle = Arc::new(Lifecycle::new(Arc::clone(&listeners)));
        let committer = Arc::new(committer(base, &lifecycle));
        let memtables = Arc::new(FlushQueue::default());
        let space = Arc::new(Space::new(rule));
        let load = Arc::new(LoadMeter::new(store.rotational()));
        let signals = Signals {
            tree: Arc::clone(tree),
            space: Arc::clone(&space),
            lifecycle: Arc::clone(&lifecycle),
            counters: Arc::clone(counters),
            decider: Arc::clone(decider),
            load: Arc::clone(&load),
        };
        let jobs_max = options.jobs_of(&**decider);
        let board = Arc::new(Board::new(jobs_max, options.compact_at_rest, signals));
        let workers = Arc::new(Workers::new(options.workers, store.rotational()));
        let ahead = Arc::new(PreallocatedLogs::new(
            Arc::clone(store),
            Arc::clone(tree),
            Arc::clone(&committer),
            Arc::clone(&space),
            Arc::clone(&lifecycle),
            options.memtable_size,
        ));
        lifecycle.register(&memtables);
        lifecycle.register(&board);
        lifecycle.register(&space);
        lifecycle.register(&workers);
        lifecycle.register(&ahead);
        let notifier = Arc::new(Notifier::new(store, tree, &space, &memtables, &board, &listeners));
        let running = Arc::new(RunningJobs::new(Arc::clone(&listeners), Arc::clone(memory)));
        let compactor = Arc::new(Compactor {
            store: Arc::clone(store),
            decider: Arc::clone(decider),
            options: options.clone(),
            operands: operands.clone(),
            memory: Arc::clone(memory),
            counters: Arc::clone(counters),
            load: Arc::clone(&load),
            running: Arc::clone(&running),
            lifecycle: Arc::clone(&lifecycle),
            tree: Arc::clone(tree),
            committer: Arc::clone(&committer),
            space: Arc::clone(&space),
            board: Arc::clone(&board),
            workers: Arc::clone(&workers),
            pacer: Arc::new(Pacer::new(options.compaction_rate, Arc::clone(&space))),
            notifier: Arc::clone(&notifier),
        });
        let lane = Arc::new(WriteLane::new(Arc::clone(&lifecycle)));
        let empty_ranges = Arc::new(EmptyRanges::new(memory.positions(), options.memory));
        let intake = Arc::new(Intake {
            tree: Arc::clone(tree),
            decider: Arc::clone(decider),
            board: Arc::clone(&board),
            table_size: options.table_size,
        });
        let flusher = Arc::new(Flusher {
            store: Arc::clone(store),
            decider: Arc::clone(decider),
            operands: operands.clone(),
            memory: Arc::clone(memory),
            counters: Arc::clone(counters),
            load,
            running: Arc::clone(&running),
            lifecycle: Arc::clone(&lifecycle),
            tree: Arc::clone(tree),
            committer: Arc::clone(&committer),
            space: Arc::clone(&space),
            board: Arc::clone(&board),
            memtables: Arc::clone(&memtables),
            ahead: Arc::clone(&ahead),
            intake: Arc::clone(&intake),
            notifier: Arc::clone(&notifier),
        });
        let room = Arc::new(Room {
            store: Arc::clone(store),
            decider: Arc::clone(decider),
            options: options.clone(),
            memory: Arc::clone(memory),
            counters: Arc::clone(counters),
            lifecycle: Arc::clone(&lifecycle),
            tree: Arc::clone(tree),
            committer: Arc::clone(&committer),
            memtables: Arc::clone(&memtables),
            space: Arc::clone(&space),
            board: Arc::clone(&board),
            notifier: Arc::clone(&notifier),
            ahead: Arc::clone(&ahead),
            running: Arc::clone(&running),
        });
        let gathering = Gathering::new(options.gather_time, Arc::clone(&lifecycle));
        let gathering = Arc::new(gathering);
        let groups = GroupWriter {
            memory: Arc::clone(memory),
            counters: Arc::clone(counters),
            tree: Arc::clone(tree),
            empty_ranges: Arc::clone(&empty_ranges),
            room: Arc::clone(&room),
            ahead: Arc::clone(&ahead),
            gathering: Arc::clone(&gathering),
        };
        let writer = Arc::new(Writer {
            read_only: options.read_only,
            operands: operands.clone(),
            memory: Arc::clone(memory),
            counters: Arc::clone(counters),
            listeners: Arc::clone(&listeners),
            lifecycle: Arc::clone(&lifecycle),
            tree: Arc::clone(tree),
            committer: Arc::clone(&committer),
            memtables: Arc::clone(&memtables),
            space,
            empty_ranges: Arc::clone(&empty_ranges),
            lane: Arc::clone(&lane),
            groups,
            room,
            ahead,
            gathering,
            intake,
        });
        let reader = Arc::new(Reader {
            tree: Arc::clone(tree),
            operands: operands.clone(),
            memory: Arc::clone(memory),
            counters: Arc::clone(counters),
            readers: Readers::default(),
            empty_ranges,
            board: Arc::clone(&board),
            notifier: Arc::clone(&notifier),
            lane: Arc::clone(&lane),
        });
        Self {
            lifecycle,
            memtables,
            board,
            workers,
            lane,
            flusher,
            writer,
            compactor,
            reader,
            committer,
            notifier,
            running,
        }
    }

    /// The engine, with the claim on its store and these actors.
    pub(super) fn into_engine(
        self,
        base: Base,
        claim: Claim,
        lost: Vec<LostRange>,
        actors: Mutex<Vec<JoinHandle<()>>>,
    ) -> Engine {
        let Base { store, options, memory, counters, sums, tree, .. } = base;
        let key_spaces = SpaceChanges {
            store: Arc::clone(&store),
            tree: Arc::clone(&tree),
            committer: Arc::clone(&self.committer),
            sums: Arc::clone(&sums),
        };
        Engine {
            reader: self.reader,
            writer: self.writer,
            board: self.board,
            committer: self.committer,
            key_spaces,
            tree,
            lifecycle: self.lifecycle,
            notifier: self.notifier,
            running: self.running,
            memory,
            counters,
            sums,
            workers: self.workers.count(),
            store,
            options,
            claim: Mutex::new(Some(claim)),
            lost,
            actors,
        }
    }
}

fn committer(base: &Base, lifecycle: &Arc<Lifecycle>) -> Committer {
    Committer {
        store: Arc::clone(&base.store),
        tree: Arc::clone(&base.tree),
        decider: Arc::clone(&base.decider),
        options: base.options.clone(),
        memory: Arc::clone(&base.memory),
        counters: Arc::clone(&base.counters),
        sums: Arc::clone(&base.sums),
        lifecycle: Arc::clone(lifecycle),
    }
}
