//! Commit of an [`Edit`]: makes a change of the tree durable in the store, and then shows it to
//! readers.
//!
//! 1. The committer takes the turn of the [tree](super::tree). All parts that the edit takes out
//!    must be in the current version; the caller must have a claim on them, or the turn to choose a
//!    plan.
//! 2. One transaction holds the whole change: tables, the log of a memtable that was flushed, and
//!    the store's annotation, if a memtable was flushed or the decider (the compaction policy) has
//!    a new state.
//! 3. The next version is made: its tables can be opened only now.
//! 4. Readers see the version, and with it the sequence of an ingest. Then jobs and writers are
//!    told of the change.
//!
//! If step 1 or 2 fails, readers see nothing of the change. If step 3 fails, the store has the
//! change and readers do not see it. Then writing stops until the store is opened again: a second
//! try would take out what the store has no more.
//!
//! Any thread may commit; it holds the turn and no lock. A change of the store's annotation alone
//! (`commit_record`) takes a turn as well.

use std::sync::Arc;

use terrace_env::FileId;
use terrace_env::store::Transaction;

use super::annotation::LogRecord;
use super::edit::Edit;
use super::store_record::StoreRecord;
use super::tree::Turn;
use crate::Error;
use crate::canary::{self, Rule};
use crate::memtable::ImmutableMemtable;
use crate::options::EngineOptions;
use crate::shared::Shared;

/// State of the decider that a choice leaves.
#[derive(Clone, Debug)]
pub(crate) struct DeciderState {
    /// The number of the choice.
    pub(crate) choice: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Shared {
    /// Commits a change of the tree and lets readers see it. `decider_state` replaces the decider's
    /// state; `flushed` is the memtable whose tables are put in.
    pub(crate) fn commit(
        &self,
        edit: Edit,
        decider_state: Option<DeciderState>,
        flushed: Option<&ImmutableMemtable>,
    ) -> Result<(), Error> {
        let turn = self.take_turn();
        let before = self.tree.view().version.clone();
        let (kept, ingested) = (edit.kept(&before)?, edit.ingested());
        let mut transaction = Transaction::new();
        edit.record(&kept, &mut transaction);
        if let Some(flushed) = flushed {
            self.commit_log_of(flushed, &mut transaction)?;
        }
        // Plans that are under way at once may end in another order than they were chosen in.
        let decider_state = decider_state.filter(|state| turn.is_newest(state.choice));
        let choice = decider_state.as_ref().map(|state| state.choice);
        // The counts of written bytes go along with a record that is committed anyway.
        let record = (decider_state.is_some() || flushed.is_some()).then(|| {
            let lifetime = self.written_ever();
            let mut record = StoreRecord { lifetime, ..self.tree.record() };
            if let Some(state) = decider_state {
                (record.decider, record.state) = (self.options.system.clone(), state.bytes);
            }
            record
        });
        if let Some(record) = &record {
            transaction.annotate(FileId::STORE, record.annotation());
        }
        self.store.commit(transaction)?;
        if let Some(ImmutableMemtable { log, rest: None, .. }) = flushed {
            self.ahead.forget(*log);
        }
        let version = match edit.version(&before, kept, &*self.store, &self.memory) {
            Ok(version) => Arc::new(version),
            Err(error) => {
                drop(turn);
                self.lifecycle.make_final();
                self.fail("the tree", error.clone());
                return Err(error);
            }
        };
        let rule = self.decider.write_rule(version.view());
        let memtable = flushed.map(|flushed| &flushed.memtable);
        turn.show_version(version, record, choice, memtable, ingested);
        self.tree_has_changed(rule, flushed);
        Ok(())
    }

    /// Fate of a memtable's log at its flush: the log goes along, unless it holds more.
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
        self.check_open()?;
        self.commit_record_in(turn, change)
    }

    /// Commits the sums of the store's life once no client and no job is left.
    pub(crate) fn commit_last_record(&self) -> Result<(), Error> {
        self.commit_record_in(self.take_turn(), |_| {})
    }

    fn commit_record_in(
        &self,
        turn: Turn<'_>,
        change: impl FnOnce(&mut StoreRecord),
    ) -> Result<(), Error> {
        let mut record = self.tree.record();
        record.lifetime = self.written_ever();
        change(&mut record);
        let mut transaction = Transaction::new();
        transaction.annotate(FileId::STORE, record.annotation());
        self.store.commit(transaction)?;
        turn.show_record(record);
        Ok(())
    }

    /// The engine's options, with those that shape tables as the store remembers them now.
    pub(crate) fn options_now(&self) -> EngineOptions {
        let tables = self.tree.with_record(|record| record.tables);
        EngineOptions { tables, ..self.options.clone() }
    }

    /// The decider's state, if it is this decider's.
    pub(crate) fn decider_state(&self) -> Vec<u8> {
        self.tree.with_record(|record| {
            let own = record.decider == self.options.system;
            if own { record.state.clone() } else { Vec::new() }
        })
    }

    /// Waits until no other change of the tree is being committed.
    pub(crate) fn take_turn(&self) -> Turn<'_> {
        self.tree.take_turn(&self.counters.waits)
    }
}
