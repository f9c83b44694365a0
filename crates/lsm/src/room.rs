//! Making room for writes: the gentle slowdown, the wait for a flush or a compaction, and the
//! change to a new memtable and log.
//!
//! Runs as part of leading a group of writes. Nobody waits while space is short: then whoever
//! wants to put is told so, because waiting might never end.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::store::{Rank, Transaction};
use terrace_env::{ByteCount, runner};
use terrace_policy::Backlog;

use crate::Error;
use crate::annotation::LogRecord;
use crate::log::{self, ActiveLog};
use crate::memtable::Memtable;
use crate::shared::{Shared, Waiting};

/// How long a group waits when compaction has fallen behind a little: LevelDB's figure. It costs
/// each group a little instead of one of them a lot.
const SLOWDOWN: Duration = Duration::from_millis(1);
/// How many times its size a memtable may grow with deletes while space is short.
const DELETES_FACTOR: usize = 2;
/// How long a delete that finds no space waits for one job to free some.
const DELETES_WAIT_MAX: Duration = Duration::from_secs(2);
/// What must be free beyond a group's bytes before puts return to a log of their own.
const RETURN_MARGIN: ByteCount = ByteCount::mib(1);

/// What a leader does next.
enum Next {
    Go,
    SlowDown,
    Wait,
    Rotate { urgent: bool },
}

impl Shared {
    /// Waits until a group may be written. `puts`: its bytes, if it is more than deletes.
    pub(crate) fn make_room(
        &self,
        log: &mut ActiveLog,
        puts: Option<u64>,
        urgent: bool,
    ) -> Result<(), Error> {
        let (mut slowed, mut stall) = (false, None);
        let result = loop {
            match self.next_step(log, puts.is_some(), urgent, slowed) {
                Err(error) => break Err(error),
                Ok(Next::Go) => break Ok(()),
                Ok(Next::SlowDown) => {
                    slowed = true;
                    stall.get_or_insert_with(runner::now);
                    runner::sleep(SLOWDOWN);
                }
                Ok(Next::Wait) => {
                    stall.get_or_insert_with(runner::now);
                }
                Ok(Next::Rotate { urgent }) => {
                    if let Err(error) = self.leave_urgent_log(log, puts) {
                        break Err(error);
                    }
                    if let Err(error) = self.rotate(log, urgent) {
                        break Err(error);
                    }
                }
            }
        };
        if let Some(start) = stall {
            self.counters.stalled(runner::now().since(start));
        }
        result
    }

    /// What to do next; has waited already if it is to wait.
    fn next_step(
        &self,
        log: &ActiveLog,
        puts: bool,
        urgent: bool,
        slowed: bool,
    ) -> Result<Next, Error> {
        let filled = self.view().active.bytes();
        let size = self.options.memtable_size.0 as usize;
        let mut state = self.state.lock();
        state.check_writable()?;
        let must_wait = match state.backlog {
            Backlog::Stop => puts,
            Backlog::Slow if puts && !slowed => return Ok(Next::SlowDown),
            Backlog::Slow | Backlog::None => false,
        };
        let full = filled >= size;
        let no_room = full && state.waiting.len() >= self.options.memtables_max;
        if must_wait || no_room {
            if !puts && filled < size * DELETES_FACTOR && !log.finished {
                return Ok(Next::Go);
            }
            if let Some(error) = &state.no_space {
                return Err(error.clone());
            }
            self.changed.wait(&mut state);
            return Ok(Next::Wait);
        }
        if full || log.finished || (log.urgent && puts) {
            return Ok(Next::Rotate { urgent: urgent && !puts });
        }
        Ok(Next::Go)
    }

    /// Waits until a job has changed the tree since `tree`; `false` when none does.
    pub(crate) fn wait_for_space(&self, tree: &mut u64) -> bool {
        let start = runner::now();
        let mut state = self.state.lock();
        while state.tree_changes == *tree {
            let waited = runner::now().since(start);
            let helpless = state.spaceless_at == Some(*tree) && state.waiting.is_empty();
            if state.must_stop() || helpless || waited >= DELETES_WAIT_MAX {
                return false;
            }
            let _ = self.changed.wait_for(&mut state, DELETES_WAIT_MAX - waited);
        }
        *tree = state.tree_changes;
        true
    }

    /// Puts must not live off the space that is kept for flushes: there must be some for them.
    fn leave_urgent_log(&self, log: &ActiveLog, puts: Option<u64>) -> Result<(), Error> {
        if let (true, Some(bytes)) = (log.urgent, puts) {
            self.store.reserve(Rank::Log, ByteCount(bytes + RETURN_MARGIN.0))?;
        }
        Ok(())
    }

    /// Changes to a new memtable and log, unless the memtable is empty.
    pub(crate) fn rotate_if_filled(&self, log: &mut ActiveLog) -> Result<(), Error> {
        if self.view().active.is_empty() { Ok(()) } else { self.rotate(log, false) }
    }

    /// Changes to a new memtable and log. The old log is sealed and the new one created by one
    /// transaction; the old memtable waits for its flush.
    pub(crate) fn rotate(&self, log: &mut ActiveLog, urgent: bool) -> Result<(), Error> {
        let rank = if urgent { Rank::Flush } else { Rank::Log };
        let writer = log::create(&*self.store, rank)?;
        log.finish()?;
        let old = self.view().active.clone();
        let mut transaction = Transaction::new();
        if old.is_empty() {
            transaction.delete(log.id());
        } else {
            transaction.seal(log.id(), LogRecord { first: log.first }.annotation());
        }
        transaction.create(writer.id(), LogRecord { first: log.next }.annotation());
        self.store.commit(transaction)?;
        let waiting = Waiting { memtable: Arc::clone(&old), log: log.id() };
        *log = ActiveLog { urgent, ..ActiveLog::new(writer, log.next, log.next) };
        let mut state = self.state.lock();
        self.change_view(|view| {
            view.active = Arc::new(Memtable::new(&self.memory));
            if !old.is_empty() {
                view.waiting.insert(0, old);
            }
        });
        if !waiting.memtable.is_empty() {
            state.waiting.push_back(waiting);
        }
        self.changed.notify_all();
        Ok(())
    }
}
