//! Commit of an [`Edit`]: makes a change of the tree durable in the store, and then shows it to
//! readers.
//!
//! 1. The committer takes the turn of the [tree](super::tree). All parts that the edit removes must
//!    be in the current version; the caller must have a claim on them, or the turn to choose a
//!    plan.
//! 2. One transaction holds the whole change: tables, the log of a memtable that was flushed, and
//!    the store's annotation, if a memtable was flushed or the decider (the compaction policy) has
//!    a new state.
//! 3. The next version is made: only now can its tables be opened.
//! 4. Readers see the version, and with it the sequence of an ingest. The caller gets a
//!    [`Committed`], and notifies jobs and writers of the change.
//!
//! If step 1 or 2 fails, readers see nothing of the change. If step 3 fails, the store has the
//! change and readers do not see it. Then writing stops until the store is opened again: a second
//! try would remove parts that the store no longer has.
//!
//! Any thread may commit; it holds the turn and no lock. A change of the store's annotation alone
//! ([`commit_record`](Committer::commit_record)) takes a turn as well.

use std::sync::Arc;

use terrace_env::store::{Store, Transaction};
use terrace_env::{FileId, SeqNo};
use terrace_policy::{Compaction, WriteRule};

use super::annotation::LogRecord;
use super::edit::Edit;
use super::store_record::StoreRecord;
use super::tree::{CommitTurn, Tree};
use super::version::Version;
use crate::Error;
use crate::canary::{self, Rule};
use crate::counters::Counters;
use crate::lifecycle::Lifecycle;
use crate::lifetime::Written;
use crate::lifetime_sums::LifetimeSums;
use crate::memory::Memory;
use crate::memtable::ImmutableMemtable;
use crate::options::{EngineOptions, ShapeOptions};

/// State of the decider after a choice.
#[derive(Clone, Debug)]
pub(crate) struct DeciderState {
    /// The number of the choice.
    pub(crate) choice: u64,
    pub(crate) bytes: Vec<u8>,
}

/// A change of the tree that readers see now. The committer notifies the waiting actors.
///
/// When this is dropped, files that only the version before held are freed, and then the turn to
/// commit ends. So actors learn of changes in the order of the commits, and before the store below
/// begins its work with the files.
#[must_use = "jobs and writers wait to be told of the change"]
pub(crate) struct Committed<'a> {
    _before: Arc<Version>,
    turn: CommitTurn<'a>,
    /// The number of the change.
    pub(crate) change: u64,
    /// Rule for writers from now on.
    pub(crate) rule: WriteRule,
}

impl<'a> Committed<'a> {
    /// Frees the files that only the version before held, and keeps the turn to commit.
    pub(crate) fn into_turn(self) -> CommitTurn<'a> {
        self.turn
    }
}

/// See the [module](self).
pub(crate) struct Committer {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) tree: Arc<Tree>,
    pub(crate) decider: Arc<dyn Compaction>,
    pub(crate) options: EngineOptions,
    pub(crate) memory: Arc<Memory>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) sums: Arc<LifetimeSums>,
    pub(crate) lifecycle: Arc<Lifecycle>,
}

impl Committer {
    /// Commits a change of the tree and lets readers see it. `decider_state` replaces the decider's
    /// state; `flushed` is the memtable whose tables are added. `when_durable` is called once the
    /// store has the change, before readers see it.
    pub(crate) fn commit(
        &self,
        edit: Edit,
        decider_state: Option<DeciderState>,
        flushed: Option<&ImmutableMemtable>,
        when_durable: impl FnOnce(),
    ) -> Result<Committed<'_>, Error> {
        let turn = self.take_turn();
        let before = self.tree.view().version.clone();
        let (kept, ingested) = (edit.kept(&before)?, edit.ingested());
        debug_assert!(
            ingested.is_none_or(|ingested| ingested > self.tree.visible()),
            "an ingest is newer than all that is visible"
        );
        let mut transaction = Transaction::new();
        edit.record(&kept, &mut transaction);
        if let Some(flushed) = flushed {
            self.commit_log_of(flushed, &mut transaction)?;
        }
        // Plans in flight may end in another order than they were chosen.
        let decider_state = decider_state.filter(|state| turn.is_newest(state.choice));
        let choice = decider_state.as_ref().map(|state| state.choice);
        // The counts of written bytes are added to a record that is committed anyway.
        let record = (decider_state.is_some() || flushed.is_some()).then(|| {
            let lifetime = self.sums.ever();
            let mut record = StoreRecord { lifetime, ..self.tree.record() };
            if let Some(state) = decider_state {
                (record.decider, record.state) = (self.options.system.clone(), state.bytes);
            }
            record
        });
        if let Some(record) = &record {
            transaction.annotate(FileId::STORE, record.annotation());
        }
        let log = flushed.map(|flushed| (flushed.log, flushed.rest.is_some()));
        self.store.commit(transaction)?;
        debug_assert!(
            log.is_none_or(|(log, stays)| self.store.info(log).is_some() == stays),
            "the log goes with its tables: {log:?}"
        );
        when_durable();
        let version = match edit.version(&before, kept, &*self.store, &self.memory) {
            Ok(version) => Arc::new(version),
            Err(error) => {
                drop(turn);
                self.lifecycle.make_final();
                self.lifecycle.fail("the tree", error.clone());
                return Err(error);
            }
        };
        let rule = self.decider.write_rule(version.view());
        debug_assert!(
            version.segments().all(|(_, segment)| segment.size <= segment.table.size()),
            "a segment is not larger than its file"
        );
        let memtable = flushed.map(|flushed| &flushed.memtable);
        let change = turn.show_version(version, record, choice, memtable, ingested);
        Ok(Committed { _before: before, turn, change, rule })
    }

    /// Adds the log of a flushed memtable to the transaction: it is deleted, unless it holds more.
    fn commit_log_of(
        &self,
        flushed: &ImmutableMemtable,
        transaction: &mut Transaction,
    ) -> Result<(), Error> {
        match flushed.rest {
            Some(first) => {
                transaction.annotate(flushed.log, LogRecord { first }.annotation());
            }
            None if canary::is_broken(Rule::LogGoesWithItsTables) => {
                let mut early = Transaction::new();
                early.delete(flushed.log);
                self.store.commit(early)?;
            }
            None => {
                transaction.delete(flushed.log);
            }
        }
        Ok(())
    }

    /// Changes the engine's own record.
    pub(crate) fn commit_record(&self, change: impl FnOnce(&mut StoreRecord)) -> Result<(), Error> {
        let turn = self.take_turn();
        self.tree.check_open()?;
        let changed = self.commit_record_in(turn, Transaction::new(), change);
        changed.inspect_err(|error| self.stop_unless_space(error))
    }

    /// Makes the sums of the store's life durable, when the engine ends and no job is left, if
    /// clients or jobs have written since the last record; and the next sequence, if `log` is the
    /// active log without entries, and was preallocated at an earlier sequence. Otherwise the
    /// sequence would go back at the next opening if merges have dropped the newest entries. After
    /// a failure nothing is written.
    pub(crate) fn record_end(&self, log: Option<(FileId, SeqNo)>) {
        let done = |written: &Written| (written.entries, written.jobs());
        let is_known = done(&self.sums.ever()) == done(&self.tree.record().lifetime);
        let log = log.filter(|(id, next)| {
            let recorded = self.store.info(*id);
            let recorded = recorded.map(|info| LogRecord::decode(*id, &info.annotation.opaque));
            recorded.is_some_and(|record| record.is_ok_and(|record| record.first < *next))
        });
        if (!is_known || log.is_some()) && self.lifecycle.failure().is_none() {
            let mut transaction = Transaction::new();
            if let Some((id, first)) = log {
                transaction.annotate(id, LogRecord { first }.annotation());
            }
            // An error is ignored: the next commit has the sums.
            let _ = self.commit_record_in(self.take_turn(), transaction, |_| {});
        }
    }

    fn commit_record_in(
        &self,
        turn: CommitTurn<'_>,
        mut transaction: Transaction,
        change: impl FnOnce(&mut StoreRecord),
    ) -> Result<(), Error> {
        let mut record = self.tree.record();
        record.lifetime = self.sums.ever();
        change(&mut record);
        transaction.annotate(FileId::STORE, record.annotation());
        self.store.commit(transaction)?;
        turn.show_record(record);
        Ok(())
    }

    /// Stops all writing after a commit that has failed, unless it failed for lack of space: the
    /// store may have the change, although readers do not see it.
    pub(crate) fn stop_unless_space(&self, error: &Error) {
        if !error.is_space() {
            self.lifecycle.fail("a commit", error.clone());
        }
    }

    /// The options by which tables are made, as the store remembers them now.
    pub(crate) fn options_now(&self) -> ShapeOptions {
        let tables = self.tree.with_record(|record| record.tables);
        let spaces = Arc::clone(self.tree.view().spaces.options());
        ShapeOptions::new(&self.options, &tables, spaces)
    }

    /// The decider's state, if this decider left it.
    pub(crate) fn decider_state(&self) -> Vec<u8> {
        self.tree.with_record(|record| {
            let own = record.decider == self.options.system;
            if own { record.state.clone() } else { Vec::new() }
        })
    }

    /// Waits until no other change of the tree is being committed.
    pub(crate) fn take_turn(&self) -> CommitTurn<'_> {
        self.tree.take_turn(&self.counters.waits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use terrace_env::store::{CreateOptions, Failure, FileKind, MemoryStore, Rank, StoreError};
    use terrace_env::{ByteCount, Cause, runner};
    use terrace_policy::{Place, RunId};

    use crate::compression::Compression;
    use crate::key::{self, KeySpaceId, Kind, Trailer};
    use crate::planless::Planless;
    use crate::table::{TableBuilder, TableLayout};
    use crate::tree::{NewTable, TableRecord, empty_tree, table_hint};

    /// A committer over a store in memory.
    fn committer(store: &MemoryStore) -> Committer {
        let options = EngineOptions { system: "planless".into(), ..EngineOptions::default() };
        let (memory, counters) = (Memory::new(&options), Arc::new(Counters::new()));
        let store: Arc<dyn Store> = Arc::new(store.clone());
        let (life, before) = (Written::default(), Written::by(&*store));
        let sums = LifetimeSums::new(Arc::clone(&store), Arc::clone(&counters), life, before);
        Committer {
            store,
            tree: Arc::new(empty_tree()),
            decider: Arc::new(Planless::default()),
            options,
            memory,
            counters,
            sums: Arc::new(sums),
            lifecycle: Arc::default(),
        }
    }

    fn state(choice: u64, bytes: &[u8]) -> Option<DeciderState> {
        Some(DeciderState { choice, bytes: bytes.to_vec() })
    }

    /// An edit that adds a table of one entry, and the table's writer.
    fn new_table(of: &Committer, spoiled: bool) -> (Edit, crate::table::BuiltTable) {
        let options = CreateOptions {
            kind: FileKind::Table,
            hint: table_hint(0, 0),
            size: None,
            rank: Rank::Flush,
            reservation: None,
            group: None,
            offload: false,
            cause: Cause::Flush,
        };
        let layout = TableLayout::new(ByteCount::kib(4), Compression::None, 0);
        let writer = of.store.create(&options).unwrap();
        let mut builder = TableBuilder::new(writer, layout, &of.memory.jobs);
        let full_key = key::full_key(KeySpaceId::DEFAULT, b"key");
        let internal = key::internal_key(&full_key, Trailer::new(SeqNo(8), Kind::Put));
        builder.add(&internal, b"value").unwrap();
        let built = builder.finish().unwrap();
        let tail =
            built.tail.clone().map(|tail| if spoiled { vec![0; tail.len()].into() } else { tail });
        let record = TableRecord::new(built.tag, &built.properties);
        let place = Place { level: 0, run: RunId(9) };
        let mut edit = Edit::default();
        let (id, size) = (built.writer.id(), built.size);
        edit.put(NewTable { id, size, stream: 0, place, record, tail });
        (edit, built)
    }

    #[test]
    fn readers_see_a_table_once_its_commit_has_succeeded() {
        runner::simulate(1, || {
            let store = MemoryStore::new();
            let of = committer(&store);
            let (edit, _writer) = new_table(&of, false);
            store.fail_at(store.operations(), Failure::Once);
            assert!(of.commit(edit, state(1, b"one"), None, || {}).is_err());
            assert_eq!((of.tree.changes(), of.tree.view().version.segments().count()), (0, 0));
            assert_eq!(of.decider_state(), b"", "the state goes with its commit");
            assert!(
                of.lifecycle.check_writable().is_ok(),
                "the caller decides what an error means"
            );
            let (edit, _writer) = new_table(&of, false);
            let committed = of.commit(edit, state(1, b"one"), None, || {}).unwrap();
            assert_eq!(committed.change, 1);
            assert_eq!((of.tree.changes(), of.tree.view().version.segments().count()), (1, 1));
            assert_eq!(of.decider_state(), b"one");
        });
    }

    #[test]
    fn a_change_that_is_committed_and_cannot_be_shown_stops_writing_for_good() {
        runner::simulate(1, || {
            let of = committer(&MemoryStore::new());
            let (edit, _writer) = new_table(&of, true);
            let error = of.commit(edit, None, None, || {}).err().expect("the tail is all zeros");
            assert!(matches!(error, Error::Corruption { .. }), "{error}");
            assert_eq!(of.tree.changes(), 0);
            assert!(of.lifecycle.check_writable().is_err());
            assert!(of.lifecycle.take_failure_back().is_err(), "the store has the change");
        });
    }

    #[test]
    fn writing_stops_after_a_failed_commit_of_the_record_but_not_for_lack_of_space() {
        runner::simulate(1, || {
            let store = MemoryStore::new();
            let of = committer(&store);
            store.fail_at(store.operations(), Failure::Once);
            assert!(of.commit_record(|record| record.features |= 1).is_err());
            let stopped = of.lifecycle.check_writable();
            assert!(matches!(stopped, Err(Error::Stopped { job: "a commit", .. })), "{stopped:?}");
            assert!(of.lifecycle.take_failure_back().unwrap());
            let needed = ByteCount::kib(4);
            let short = StoreError::Busy { needed, pinned: needed, device: None };
            of.stop_unless_space(&short.into());
            assert!(of.lifecycle.check_writable().is_ok());
        });
    }

    #[test]
    fn the_state_of_a_later_choice_is_not_replaced_by_that_of_an_earlier_one() {
        runner::simulate(1, || {
            let of = committer(&MemoryStore::new());
            drop(of.commit(Edit::default(), state(2, b"two"), None, || {}).unwrap());
            drop(of.commit(Edit::default(), state(1, b"one"), None, || {}).unwrap());
            assert_eq!((of.tree.changes(), of.decider_state()), (2, b"two".to_vec()));
            drop(of.commit(Edit::default(), state(3, b"three"), None, || {}).unwrap());
            assert_eq!(of.decider_state(), b"three");
        });
    }

    #[test]
    fn the_next_commit_begins_once_those_who_wait_were_told_of_the_one_before() {
        runner::simulate(1, || {
            let of = Arc::new(committer(&MemoryStore::new()));
            let first = of.commit(Edit::default(), state(1, b"one"), None, || {}).unwrap();
            let other = Arc::clone(&of);
            let actor = runner::spawn("committer", move || {
                other.commit(Edit::default(), state(2, b"two"), None, || {}).unwrap().change
            });
            runner::sleep(Duration::from_millis(1));
            assert_eq!((first.change, of.tree.changes()), (1, 1), "its turn lasts");
            drop(first);
            assert_eq!(actor.join(), 2);
        });
    }

    #[test]
    fn a_record_is_not_changed_after_the_close() {
        runner::simulate(1, || {
            let of = committer(&MemoryStore::new());
            of.commit_record(|record| record.features |= 1).unwrap();
            assert_eq!(of.tree.with_record(|record| record.features & 1), 1);
            of.tree.glance().closed.set();
            let changed = of.commit_record(|record| record.features = 0);
            assert!(matches!(changed, Err(Error::Closed)));
            assert_eq!(of.tree.with_record(|record| record.features & 1), 1);
        });
    }
}
