//! [`Compactor`]: the owner of compactions, and their actor, a background thread. The actor gets a
//! task from the [board](super::board), carries it out ([`super::compaction`]), and reports the
//! result.
//!
//! - A compaction that finds no space is tried again later; one for idle writers only after the
//!   tree has changed. A manual compaction is given up after [`REQUEST_TRIES`] of its tasks in a
//!   row found no space. Other errors stop the engine.
//! - When the engine closes or fails, a merge that is in flight may be dropped. Its committed parts
//!   stay.
//! - A change of the tree is committed first. Waiting actors and clients are notified afterwards
//!   ([`Compactor::commit`]).
//!
//! Several of these actors may run at once; they hold no lock while they work.

use std::sync::Arc;

use terrace_env::store::Store;
use terrace_policy::Compaction;

use super::board::{Board, Task};
use super::load::LoadMeter;
use super::notifier::Notifier;
use super::pacer::Pacer;
use super::worker::Workers;
use crate::Error;
use crate::counters::Counters;
use crate::lifecycle::{Lifecycle, PanicGuard};
use crate::memory::Memory;
use crate::operands::Operands;
use crate::options::EngineOptions;
use crate::running::RunningJobs;
use crate::space::{Retry, Space};
use crate::tree::{Committer, DeciderState, Edit, Tree};

/// Tasks of one request that find no space in a row, after which the request is given up.
const REQUEST_TRIES: u32 = 5;

/// See the [module](self).
pub(crate) struct Compactor {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) decider: Arc<dyn Compaction>,
    pub(crate) options: EngineOptions,
    pub(crate) operands: Operands,
    pub(crate) memory: Arc<Memory>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) load: Arc<LoadMeter>,
    pub(crate) running: Arc<RunningJobs>,
    pub(crate) lifecycle: Arc<Lifecycle>,
    pub(crate) tree: Arc<Tree>,
    pub(crate) committer: Arc<Committer>,
    pub(crate) space: Arc<Space>,
    pub(crate) board: Arc<Board>,
    pub(crate) workers: Arc<Workers>,
    pub(crate) pacer: Arc<Pacer>,
    pub(crate) notifier: Arc<Notifier>,
}

impl Compactor {
    /// Runs the actor until the engine closes.
    pub(crate) fn run(&self) {
        let _guard = PanicGuard { lifecycle: &self.lifecycle, job: "a compaction" };
        let mut retry = Retry::new();
        while let Some((task, choosing)) = self.board.await_task() {
            if task.is_for_rest() {
                self.memory.chunks.free_idle();
                self.memory.share_out();
            }
            let news = self.space.news();
            let result = self.carry_out(&task, choosing);
            self.board.end_task();
            self.space.compaction_ends(task.is_burden());
            self.notifier.compaction_has_ended();
            match result {
                Ok(()) => {
                    retry = Retry::new();
                    if let Task::Request(request) = &task {
                        self.board.note_progress(request);
                    }
                }
                Err(error) if error.is_space() => self.has_no_space(&task, error, &mut retry, news),
                Err(error) => self.lifecycle.fail("a compaction", error),
            }
        }
        let error = self.lifecycle.check_writable().err().unwrap_or(Error::Closed);
        self.board.end_requests(&error);
    }

    /// The task has found no space: waits until another try may find some. `news`: the space's
    /// counter before the task.
    fn has_no_space(&self, task: &Task, error: Error, retry: &mut Retry, news: u64) {
        if task.is_for_rest() {
            return self.board.note_rested(self.tree.changes());
        }
        if let Task::Pick { tree, .. } = task {
            self.space.note_refused(*tree);
        }
        self.notifier.no_space(&error);
        if let Task::Request(request) = task {
            self.board.note_no_space(request, error, REQUEST_TRIES);
        }
        retry.wait(&self.space, &self.lifecycle, &self.counters.waits, news);
    }

    /// Commits a change of the tree, and notifies those who wait for it.
    pub(super) fn commit(&self, edit: Edit, state: Option<DeciderState>) -> Result<(), Error> {
        let committed = self.committer.commit(edit, state, None, || {})?;
        self.notifier.tree_has_changed(committed, None);
        Ok(())
    }
}
