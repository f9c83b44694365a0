//! [`Room`]: before a group is appended to the log, its leader (the writer that writes it for all)
//! calls [`Room::make_room`]. The call slows the leader down, waits for a flush, reserves space for
//! the flush of the memtable, or changes to a new memtable and log, until the group may be written.
//!
//! - Space for the flush is reserved before the first group of a memtable. If space is short, it is
//!   reserved for a smaller memtable, which is full earlier.
//! - A group that finds the memtable full goes to a new one. It waits first if `memtables_max`
//!   memtables wait for their flush already. Puts also wait while the system stops writers
//!   ([`WriteRule::Stopped`](terrace_policy::WriteRule::Stopped)), unless space is short.
//! - For a large group, a memtable with entries is full if the group would make it exceed its
//!   limit. A large group also waits for a flush if all memtables together would exceed their share
//!   of memory.
//! - If there is no space, the leader waits for background jobs to free some. A put fails if no job
//!   can, or if the jobs make no progress for [`SPACE_WAIT_MAX`], or for [`JOB_WAIT_MAX`] while one
//!   of them runs. If an opening has flushed the whole log and no entry came since, a new log
//!   replaces it, which frees the old one.
//! - Deletes may also take the space that is kept for flushes: otherwise a full store could not
//!   free space. If even that is used up, and no job can free more, deletes fail too.
//! - A log that finds no space is *given up*. Its memtable is flushed, and after that another log
//!   begins, so that a power cut leaves no later writes without earlier ones.
//!
//! Threads: the leader of the writes, which holds no lock when it calls. Before it waits for jobs,
//! it begins to write the gathered bytes of the log to the medium, unless the log is given up. Any
//! thread may call the jobs for a file next to the keys ([`Room::call_jobs`]).

use std::sync::Arc;
use std::time::Duration;

use terrace_env::store::{Rank, Reservation, Store, Transaction};
use terrace_env::wait::{WaitCause, WaitClock};
use terrace_env::{ByteCount, reached, runner};
use terrace_policy::{Compaction, Pressure};

use super::log::{self, ActiveLog};
use super::preallocated_log::PreallocatedLogs;
use crate::Error;
use crate::canary::{self, Rule};
use crate::compact::{Board, Notifier, worst_case_of_memtable};
use crate::counters::Counters;
use crate::lifecycle::Lifecycle;
use crate::memory::Memory;
use crate::memtable::{FlushQueue, FlushQueueGuard, ImmutableMemtable, Memtable};
use crate::options::EngineOptions;
use crate::running::RunningJobs;
use crate::space::{Memtables, Space};
use crate::tree::{Committer, LogRecord, Tree};

/// The longest wait for jobs without progress, of a writer that finds no space while no job runs.
const SPACE_WAIT_MAX: Duration = Duration::from_secs(2);
/// The same while a job runs. On a slow disk, a step of a merge may take longer than two seconds.
const JOB_WAIT_MAX: Duration = Duration::from_secs(60);

/// Pause between two checks of a writer whose longest wait is over while jobs make progress.
const WAIT_MIN: Duration = Duration::from_millis(1);

/// The smallest memtable that takes puts: a smaller one would cost more for its flush than it
/// holds.
const ADMITTED_MIN: usize = 64 << 10;
/// Divisor of the store for the same, at most half a memtable. Each memtable may start a round of
/// merges for space, which costs about the same for any size of memtable.
const ADMITTED_PART: u64 = 128;
/// The smallest memtable that takes deletes. Its tables fit, in the worst case, into the space that
/// any store keeps for a flush.
const DELETES_MIN: usize = 4 << 10;

/// Divisor of a memtable for the size of a large group, whose effect on the memtable is checked
/// before it is written.
const LARGE_PART: usize = 8;
/// The least size of a large group, if the space for a full memtable was reserved.
const LARGE_MIN: usize = 64 << 10;

/// A group that is to be written.
#[derive(Clone, Copy)]
struct Group {
    puts: bool,
    bytes: usize,
    /// The least bytes that it takes in the memtable.
    memory: usize,
}

/// Next step of a leader.
enum Next {
    Go,
    /// Write out the gathered bytes of the log, before a wait.
    WriteOut,
    SlowDown(Duration, WaitCause),
    Waited,
    Rotate,
    Admit,
}

/// See the [module](self).
pub(crate) struct Room {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) decider: Arc<dyn Compaction>,
    pub(crate) options: EngineOptions,
    pub(crate) memory: Arc<Memory>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) lifecycle: Arc<Lifecycle>,
    pub(crate) tree: Arc<Tree>,
    pub(crate) committer: Arc<Committer>,
    pub(crate) memtables: Arc<FlushQueue>,
    pub(crate) space: Arc<Space>,
    pub(crate) board: Arc<Board>,
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) ahead: Arc<PreallocatedLogs>,
    pub(crate) running: Arc<RunningJobs>,
}

impl Room {
    /// Waits until a group of `bytes` may be written, which takes at least `memory` in the
    /// memtable. `puts`: whether it has more than deletes.
    pub(crate) fn make_room(
        &self,
        log: &mut ActiveLog,
        (bytes, memory): (usize, usize),
        puts: bool,
        urgent: bool,
    ) -> Result<(), Error> {
        let (mut admitted, mut handed_over) = (false, false);
        let mut wait = self.counters.waits.clock();
        loop {
            let hand_over = !handed_over && log.has_gathered();
            let group = Group { puts, bytes, memory };
            let next = self.next_step(log, group, &mut admitted, &mut wait, hand_over);
            if !matches!(next, Ok(Next::Waited)) {
                wait.off();
            }
            let done = match next {
                Ok(Next::Go) => {
                    debug_assert!(!log.is_given_up(), "a group for a log that was given up");
                    debug_assert!(bytes == 0 || log.admitted > 0, "no space for its flush");
                    debug_assert!(!puts || !(log.urgent || log.for_deletes), "space for deletes");
                    self.memory.share_out();
                    return Ok(());
                }
                Ok(Next::WriteOut) => {
                    handed_over = true;
                    self.write_out_before_wait(log);
                    Ok(())
                }
                Ok(Next::SlowDown(delay, cause)) => {
                    if log.due.is_some_and(|due| runner::now() + delay >= due) {
                        self.write_out_before_wait(log);
                    }
                    self.counters.waits.during(cause, || self.slow_down(delay, cause));
                    Ok(())
                }
                Ok(Next::Waited) => Ok(()),
                Ok(Next::Rotate) => {
                    let urgent = !puts && (urgent || self.space.is_short());
                    self.rotate(log, urgent)
                }
                Ok(Next::Admit) => self.admit(log, memory, puts),
                Err(error) => Err(error),
            };
            done?;
        }
    }

    /// Next step of the leader. If that is a wait, this returns after it.
    fn next_step(
        &self,
        log: &ActiveLog,
        Group { puts, bytes, memory }: Group,
        admitted: &mut bool,
        wait: &mut WaitClock<'_>,
        hand_over: bool,
    ) -> Result<Next, Error> {
        let filled = self.tree.glance().active.bytes();
        let size = self.options.memtable_size.0 as usize;
        let immutable = self.memtables.lock();
        self.lifecycle.check_writable()?;
        if !std::mem::replace(admitted, true) {
            let memtables = self.pressed_memtables(&immutable, filled);
            let delay = self.space.admit(runner::now, bytes as u64, memtables.as_ref(), puts);
            if let Some((delay, cause)) = delay {
                return Ok(Next::SlowDown(delay, cause));
            }
        }
        let limit = if log.admitted > 0 { log.admitted.min(size) } else { size };
        // A group that would make the memtable much larger than its limit gets its own memtable.
        let large = (size / LARGE_PART).max(LARGE_MIN);
        let is_large = memory >= if limit < size { limit / LARGE_PART } else { large };
        let full = filled >= limit || (is_large && filled > 0 && filled + memory > limit);
        let crowded = is_large
            && !full
            && !immutable.is_empty()
            && self.memory.memtables_overflow_with(memory);
        if crowded || (full && immutable.len() >= self.options.memtables_max) {
            if hand_over {
                return Ok(Next::WriteOut);
            }
            wait.on(WaitCause::Memtables);
            return self.await_jobs(immutable).map(|()| Next::Waited);
        }
        if full && puts && self.space.stops_writers() {
            if hand_over {
                return Ok(Next::WriteOut);
            }
            wait.on(WaitCause::TreeStop);
            return self.await_jobs(immutable).map(|()| Next::Waited);
        }
        if full || log.is_given_up() || (puts && (log.urgent || log.for_deletes)) {
            return Ok(Next::Rotate);
        }
        Ok(if bytes > 0 && log.admitted == 0 { Next::Admit } else { Next::Go })
    }

    /// Waits for a delay. One for a flush ends with the flush.
    fn slow_down(&self, delay: Duration, cause: WaitCause) {
        if cause != WaitCause::MemoryDelay {
            return runner::sleep(delay);
        }
        let end = runner::now() + delay;
        let mut immutable = self.memtables.lock();
        let count = immutable.len();
        while immutable.len() == count && self.lifecycle.check_writable().is_ok() {
            let rest = end.since(runner::now());
            if rest.is_zero() {
                return;
            }
            immutable.wait_for(rest);
        }
    }

    /// The memtables, if they are so full that writers are to be slowed. `filled`: bytes of the
    /// active one.
    fn pressed_memtables(
        &self,
        immutable: &FlushQueueGuard<'_>,
        filled: usize,
    ) -> Option<Memtables> {
        let (count, size) = (immutable.len() as u64, self.options.memtable_size.0);
        let filled = count * size + filled as u64;
        let most = (self.options.memtables_max as u64 + 1) * size;
        let memtables =
            Memtables { filled, most, flushed: immutable.next_bytes()?, ..Memtables::default() };
        if memtables.pressure() <= Pressure::START {
            return None;
        }
        let (elapsed, share) = self.running.flush().unwrap_or_default();
        Some(Memtables { elapsed, share, ..memtables })
    }

    /// Writes the gathered bytes of the log to the medium: its writer waits, and no other actor can
    /// do it. The next write to the log finds an error again.
    fn write_out_before_wait(&self, log: &mut ActiveLog) {
        if let Err(error) = log.begin_write_out()
            && !error.is_space()
        {
            self.note(error);
        }
    }

    /// Reserves space for the flush of the memtable, with at least `memory` more bytes in it.
    fn admit(&self, log: &mut ActiveLog, memory: usize, puts: bool) -> Result<(), Error> {
        if !self.memtables.lock().all_have_space() {
            // An opening replayed these logs. The space that was reserved for their flushes has no
            // owner now, and must not go to another one.
            self.write_out_before_wait(log);
            self.wait_for_flushes()?;
        }
        let least = if puts { self.admitted_min() } else { DELETES_MIN };
        let least = least.max(self.tree.glance().active.bytes() + memory);
        let most = (self.options.memtable_size.0 as usize).max(least);
        let ranks: &[Rank] = if puts { &[Rank::Log] } else { &[Rank::Log, Rank::Flush] };
        // During the tries, a job may change the tree, and free the missing space.
        let before = self.before_lack();
        let mut refused = None;
        for &rank in ranks {
            match self.reserve_flush(rank, most, least) {
                Ok((size, reservation)) => {
                    debug_assert!((least..=most).contains(&size), "{least} to {most}: {size}");
                    debug_assert!(log.hold.is_none(), "{}: space is reserved twice", log.id());
                    (log.hold, log.admitted) = (Some(reservation), size);
                    log.for_deletes = rank == Rank::Flush;
                    return Ok(());
                }
                Err(error) if error.is_space() => refused = Some(error),
                Err(error) => return Err(error),
            }
        }
        let Some(refused) = refused else { return Ok(()) };
        self.write_out_before_wait(log);
        let immutable = self.memtables.lock();
        if !immutable.is_empty() {
            self.lifecycle.check_writable()?;
            return self
                .counters
                .waits
                .during(WaitCause::FlushSpace, || self.await_jobs(immutable));
        }
        drop(immutable);
        self.win_space(log, before, refused)
    }

    /// The smallest memtable that takes puts.
    fn admitted_min(&self) -> usize {
        let part = self.store.space().capacity.0 / ADMITTED_PART;
        let half = self.options.memtable_size.0 / 2;
        ADMITTED_MIN.max(part.min(half) as usize)
    }

    /// Waits for a change by jobs; an error if none finds space.
    fn await_jobs(&self, mut immutable: FlushQueueGuard<'_>) -> Result<(), Error> {
        let Some(error) = self.out_of_space() else {
            immutable.wait();
            return Ok(());
        };
        // A flush that has its space frees its log, and a compaction tries again.
        let held = immutable.next_has_space();
        let mut tree = self.tree.changes();
        drop(immutable);
        if held && self.wait_for_change(&mut tree) { Ok(()) } else { Err(error) }
    }

    /// The error for lack of space, if no compaction that may free some is in flight or to be
    /// tried.
    fn out_of_space(&self) -> Option<Error> {
        let error = self.space.lack()?;
        let in_vain = self.space.lack_in_vain(self.tree.changes()).is_some();
        (in_vain && !self.board.is_compacting()).then_some(error)
    }

    /// Lets the jobs fetch the space that deletes have made, including the newest ones; an error if
    /// they find none. `before`: the change of the tree, and the free space, before space was
    /// refused.
    fn win_space(
        &self,
        log: &mut ActiveLog,
        before: (u64, ByteCount),
        refused: Error,
    ) -> Result<(), Error> {
        if self.tree.glance().active.is_empty() && log.has_bytes() {
            // An opening has flushed the whole log that it continues.
            return self.rotate(log, false);
        }
        self.rotate_if_filled(log)?;
        if self.call_jobs(before, &refused) { Ok(()) } else { Err(refused) }
    }

    /// The change of the tree, and the free space, for [`call_jobs`](Self::call_jobs).
    pub(crate) fn before_lack(&self) -> (u64, ByteCount) {
        (self.tree.changes(), self.store.space().free)
    }

    /// Has the jobs free space, and waits for it; whether there may be more than `before`.
    pub(crate) fn call_jobs(&self, (mut tree, free): (u64, ByteCount), refused: &Error) -> bool {
        self.notifier.no_space(refused);
        // A job keeps the tables that it has merged until it ends, after its change of the tree.
        self.wait_for_space(&mut tree) || self.store.space().free > free
    }

    /// Reserves space for the flush of a memtable of a size between these.
    fn reserve_flush(
        &self,
        rank: Rank,
        most: usize,
        least: usize,
    ) -> Result<(usize, Reservation), Error> {
        let routes = self.decider.flush_routes_max();
        let options = self.committer.options_now();
        let (mut size, start) = (most, runner::now());
        loop {
            let worst = worst_case_of_memtable(&options, routes, size as u64);
            match self.store.reserve(rank, worst) {
                Ok(reservation) => return Ok((size, reservation)),
                Err(error) if error.is_space() && size > least => {
                    // A wait without success is not repeated for each smaller size.
                    let in_vain = runner::now().since(start) >= SPACE_WAIT_MAX;
                    size = if in_vain { least } else { (size / 2).max(least) };
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for a job to free space: until the tree has changed since `tree`; `false` if it does
    /// not.
    pub(crate) fn wait_for_space(&self, tree: &mut u64) -> bool {
        self.counters.waits.during(WaitCause::FlushSpace, || self.wait_for_change(tree))
    }

    fn wait_for_change(&self, tree: &mut u64) -> bool {
        let start = runner::now();
        loop {
            let began = runner::now();
            let has_changed = self.space.await_tree_change(tree, SPACE_WAIT_MAX, |exhausted| {
                let helpless = exhausted && !self.tree.has_immutable();
                self.lifecycle.must_stop() || helpless
            });
            let now = runner::now();
            let gives_up = now.since(began) < SPACE_WAIT_MAX || now.since(start) >= JOB_WAIT_MAX;
            if has_changed || gives_up || !self.is_job_running() {
                return has_changed;
            }
        }
    }

    /// Whether a compaction or a flush is running, which may free space when it ends.
    fn is_job_running(&self) -> bool {
        self.board.is_compacting() || self.running.flush().is_some()
    }

    /// Changes to a new memtable and log, unless the memtable is empty.
    pub(crate) fn rotate_if_filled(&self, log: &mut ActiveLog) -> Result<(), Error> {
        if self.tree.glance().active.is_empty() { Ok(()) } else { self.rotate(log, false) }
    }

    /// Changes to a new memtable and log; the old memtable waits for its flush. If a step finds no
    /// space, the old log is given up.
    fn rotate(&self, log: &mut ActiveLog, urgent: bool) -> Result<(), Error> {
        if log.is_given_up() {
            return self.begin_again(log, urgent);
        }
        match self.change_log(log, urgent) {
            Err(error) if error.is_space() => {
                self.give_up_log(log);
                self.begin_again(log, urgent)
            }
            other => other,
        }
    }

    /// Changes to the preallocated log. If there is none, one transaction seals the old log and
    /// creates the new one, directly after the old one. After an error, the old log may be
    /// complete, and there is no new one.
    fn change_log(&self, log: &mut ActiveLog, urgent: bool) -> Result<(), Error> {
        let empty = self.tree.glance().active.is_empty();
        if !urgent && !empty && self.switch_log(log)? {
            return Ok(());
        }
        log.finish()?;
        let writer = log::create(&*self.store, rank(urgent), None)?;
        let mut transaction = Transaction::new();
        if empty {
            transaction.delete(log.id());
        } else {
            transaction.seal(log.id(), LogRecord { first: log.first }.annotation());
        }
        transaction.create(writer.id(), LogRecord { first: log.next }.annotation());
        self.store.commit(transaction)?;
        self.ahead.overtake(writer.id());
        self.hand_over_memtable(log);
        *log = ActiveLog::new(writer, log.next, log.next);
        log.urgent = urgent;
        Ok(())
    }

    /// Continues in the preallocated log; `false` if there is none.
    fn switch_log(&self, log: &mut ActiveLog) -> Result<bool, Error> {
        let Some(next) = self.ahead.take() else { return Ok(false) };
        debug_assert!(next.is_empty(), "{} was preallocated, and has bytes", next.id());
        debug_assert!(log.id() < next.id(), "a log that was overtaken");
        if let Err(error) = log.sync_whole(self.store.rotational()).and_then(|()| log.finish()) {
            let next = Some(next).filter(|_| !canary::is_broken(Rule::LogAheadIsKept));
            self.ahead.give_back(next);
            return Err(error);
        }
        self.hand_over_memtable(log);
        let (first, sequence, before) = (log.first, log.next, log.as_predecessor());
        let old = std::mem::replace(log, ActiveLog::following(next, sequence, before));
        if let Some(writer) = old.into_writer() {
            self.ahead.leave(writer, first);
        }
        Ok(true)
    }

    /// Leaves the log to the flush of its memtable, which deletes it.
    pub(crate) fn give_up_log(&self, log: &mut ActiveLog) {
        reached!("lsm: a log that finds no space is given up");
        log.give_up();
        self.hand_over_memtable(log);
    }

    /// Makes all earlier writes durable, except batches without a log.
    pub(crate) fn make_durable(&self, log: &mut ActiveLog) -> Result<(), Error> {
        if log.is_given_up() {
            return self.wait_for_flushes();
        }
        let synced = log.sync();
        self.written_or_flushed(log, synced)
    }

    /// Takes the result of a write of the log. If the log has no space, its bytes become durable in
    /// tables: the log is given up, and its memtable flushed.
    pub(crate) fn written_or_flushed(
        &self,
        log: &mut ActiveLog,
        written: Result<(), Error>,
    ) -> Result<(), Error> {
        match written {
            Err(error) if error.is_space() => {
                self.give_up_log(log);
                self.wait_for_flushes()
            }
            other => other,
        }
    }

    /// Begins a log after one was given up, once all earlier entries are in tables. Then all logs
    /// are gone: the preallocated one frees its space, too.
    pub(crate) fn begin_again(&self, log: &mut ActiveLog, urgent: bool) -> Result<(), Error> {
        self.wait_for_flushes()?;
        self.ahead.call_off()?;
        let writer = log::create(&*self.store, rank(urgent), None)?;
        let mut transaction = Transaction::new();
        if self.store.info(log.id()).is_some() {
            transaction.delete(log.id());
        }
        transaction.create(writer.id(), LogRecord { first: log.next }.annotation());
        self.store.commit(transaction)?;
        *log = ActiveLog::new(writer, log.next, log.next);
        log.urgent = urgent;
        Ok(())
    }

    /// Waits until no memtable waits for its flush, as long as there is progress.
    pub(crate) fn wait_for_flushes(&self) -> Result<(), Error> {
        let (mut last, mut since) = (usize::MAX, runner::now());
        let mut wait = self.counters.waits.clock();
        let mut immutable = self.memtables.lock();
        while !immutable.is_empty() {
            self.lifecycle.check_writable()?;
            if immutable.len() < last {
                (last, since) = (immutable.len(), runner::now());
            }
            let waited = runner::now().since(since);
            let limit = if self.is_job_running() { JOB_WAIT_MAX } else { SPACE_WAIT_MAX };
            if waited >= limit
                && let Some(error) = self.space.lack()
            {
                return Err(error);
            }
            wait.on(WaitCause::LogSwitch);
            let rest = SPACE_WAIT_MAX.saturating_sub(waited).max(WAIT_MIN);
            immutable.wait_for(rest);
        }
        Ok(())
    }

    /// Notes an error of the log: lack of space for the jobs, any other as a failure.
    pub(crate) fn note(&self, error: Error) {
        match error {
            Error::Closed | Error::Stopped { .. } => {}
            error if error.is_of_log_device() => {}
            error if error.is_space() => self.notifier.no_space(&error),
            error => self.lifecycle.fail("the log", error),
        }
    }

    /// Leaves the active memtable to the flush and begins an empty one.
    pub(crate) fn hand_over_memtable(&self, log: &mut ActiveLog) {
        let old = self.tree.view().active.clone();
        if old.is_empty() {
            return;
        }
        debug_assert!(
            old.end() <= log.next,
            "the memtable of the log that is led has its entries alone"
        );
        debug_assert!(log.first < old.end(), "{}: no entry since {}", log.id(), log.first);
        let hold = log.hold.take().map(Arc::new);
        let (memtable, log) = (Arc::clone(&old), log.id());
        let immutable = ImmutableMemtable { memtable, log, hold, rest: None };
        self.tree.replace_active(Arc::new(Memtable::following(&old, &self.memory.chunks)));
        self.memtables.push(immutable);
    }
}

fn rank(urgent: bool) -> Rank {
    if urgent { Rank::UrgentLog } else { Rank::Log }
}
