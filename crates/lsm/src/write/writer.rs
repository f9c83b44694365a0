//! [`Writer`]: the owner of writes. Writers queue their batches in the [lane](super::write_lane),
//! and the leader among them writes a [group](super::group).
//!
//! - A batch is refused if its range deletes would take more memory than all memtables may.
//! - Before the first range delete of a store is queued, a commit records in the store that it has
//!   range deletes. The same holds for the first entry that expires, and for the first operand:
//!   then the store also remembers the name of its merge operator.
//! - A batch with a [guard](super::guard) is only written if the guard holds.
//!
//! Threads: any thread writes, and holds no lock: a write may wait for the device, for jobs and for
//! other writers.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::sync::QueueGuard;
use terrace_env::wait::{WaitLedger, Waits};
use terrace_env::{FileId, SeqNo, runner};

use super::gathering::Gathering;
use super::group::GroupWriter;
use super::guard::Guard;
use super::intake::Intake;
use super::log::ActiveLog;
use super::preallocated_log::PreallocatedLogs;
use super::room::Room;
use super::write_lane::{Answer, Errand, Queue, Unqueued, WriteLane};
use crate::batch::{Batch, Entry};
use crate::counters::Counters;
use crate::event::{Event, Listeners};
use crate::key::{KeySpaceId, Kind};
use crate::lifecycle::Lifecycle;
use crate::memory::Memory;
use crate::memtable::FlushQueue;
use crate::operands::{Combiner, Operands};
use crate::ranges::{EmptyRanges, MemoryRanges};
use crate::space::Space;
use crate::tree::{Committer, FEATURE_EXPIRY, FEATURE_RANGE_DELETES, Tree};
use crate::{Durability, Error};

/// See the [module](self).
pub(crate) struct Writer {
    pub(crate) read_only: bool,
    pub(crate) operands: Operands,
    pub(crate) memory: Arc<Memory>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) listeners: Arc<Listeners>,
    pub(crate) lifecycle: Arc<Lifecycle>,
    pub(crate) tree: Arc<Tree>,
    pub(crate) committer: Arc<Committer>,
    pub(crate) memtables: Arc<FlushQueue>,
    pub(crate) space: Arc<Space>,
    /// Ranges of keys that readers found empty.
    pub(crate) empty_ranges: Arc<EmptyRanges>,
    pub(crate) lane: Arc<WriteLane>,
    pub(crate) groups: GroupWriter,
    pub(crate) room: Arc<Room>,
    pub(crate) ahead: Arc<PreallocatedLogs>,
    pub(crate) gathering: Arc<Gathering>,
    pub(crate) intake: Arc<Intake>,
}

impl Writer {
    /// Writes a batch. When this returns, it has its durability, and is visible.
    pub(crate) fn write(&self, batch: Batch, durability: Durability) -> Result<(), Error> {
        self.write_with(batch, durability, None)
    }

    /// The same, if the guard holds; otherwise the error is [`Error::Conflict`].
    pub(crate) fn write_guarded(
        &self,
        batch: Batch,
        durability: Durability,
        mut guard: Guard,
    ) -> Result<(), Error> {
        self.groups.check_ahead(&mut guard)?;
        self.write_with(batch, durability, Some(Box::new(guard)))
    }

    fn write_with(
        &self,
        batch: Batch,
        durability: Durability,
        guard: Option<Box<Guard>>,
    ) -> Result<(), Error> {
        let Some(batch) = self.prepare(batch, durability)? else { return Ok(()) };
        let queue = self.lane.queue();
        let unqueued = self.admit(&queue, batch, durability, guard)?;
        self.wait_in_queue(queue, unqueued)
    }

    /// Writes batches as if as many threads each wrote one, and queued them in this order. Each is
    /// applied as a whole, if its guard holds, has an answer of its own, and its own durability.
    pub(crate) fn write_each(
        &self,
        writes: impl IntoIterator<Item = (Batch, Durability, Option<Guard>)>,
    ) -> Vec<Result<(), Error>> {
        let prepare = |(batch, durability, mut guard): (_, _, Option<Guard>)| {
            if let Some(guard) = &mut guard {
                self.groups.check_ahead(guard)?;
            }
            let batch = self.prepare(batch, durability)?;
            Ok(batch.map(|batch| (batch, durability, guard.map(Box::new))))
        };
        let prepared: Vec<Result<_, Error>> = writes.into_iter().map(prepare).collect();
        let (mut unqueued, queue) = (Vec::with_capacity(prepared.len()), self.lane.queue());
        // `None`: the answer comes from the lane.
        let mut answers: Vec<Option<Result<(), Error>>> = Vec::with_capacity(prepared.len());
        for prepared in prepared {
            let admitted = prepared.and_then(|prepared| {
                let Some((batch, durability, guard)) = prepared else { return Ok(None) };
                self.admit(&queue, batch, durability, guard).map(Some)
            });
            let admitted = admitted.map(|admitted| admitted.map(|batch| unqueued.push(batch)));
            answers.push(admitted.map_or_else(
                |error| Some(Err(error)),
                |queued| if queued.is_some() { None } else { Some(Ok(())) },
            ));
        }
        let (ledger, waits) = (WaitLedger::open(), &self.counters.waits);
        let write_group = |log: &mut ActiveLog, group| self.groups.write(log, group);
        let (written, Answer { led, .. }) =
            self.lane.write_each(queue, unqueued, waits, write_group);
        if let Some((time, waits)) = ledger.close() {
            self.note_waits(time, waits, led);
        }
        let mut written = written.into_iter();
        let next = |answer: Option<_>| answer.or_else(|| written.next());
        answers.into_iter().map(next).map(|answer| answer.expect("one for each batch")).collect()
    }

    /// Checks a batch, and announces its features; `None` if there is nothing to write.
    fn prepare(&self, batch: Batch, durability: Durability) -> Result<Option<Batch>, Error> {
        self.tree.check_open()?;
        batch.defect()?;
        if self.read_only {
            return Err(Error::ReadOnly("a write"));
        }
        let batch = self.with_default_expiry(batch)?;
        if batch.has_ranges() {
            self.memory.check_ranges(MemoryRanges::least_of(&batch))?;
            self.announce(FEATURE_RANGE_DELETES)?;
        }
        if batch.has_expiries() {
            self.announce(FEATURE_EXPIRY)?;
        }
        if batch.has_operands() {
            self.check_operands(&batch)?;
            self.announce_operator()?;
        }
        let is_done = batch.is_empty() && durability <= Durability::Gathered;
        Ok((!is_done).then_some(batch))
    }

    /// A batch for the locked queue. The check of its key spaces holds for this lock: a batch that
    /// is queued before a key space is dropped is written before.
    fn admit(
        &self,
        queue: &Queue,
        batch: Batch,
        durability: Durability,
        guard: Option<Box<Guard>>,
    ) -> Result<Unqueued, Error> {
        queue.check_clients()?;
        self.tree.check_spaces(&batch)?;
        let (memory, errand) = (self.memory.batch(batch.byte_size()), Errand::None);
        Ok(Unqueued { batch, durability, errand, guard, memory })
    }

    /// The batch, where a put without an expiry has that of its key space, if the key space gives
    /// its entries a time to live.
    fn with_default_expiry(&self, batch: Batch) -> Result<Batch, Error> {
        let view = self.tree.glance();
        let options = view.spaces.options();
        if options.is_empty() {
            return Ok(batch);
        }
        let ttl = |space| options.of(space).ttl_of_puts();
        if !batch.spaces().any(|space| ttl(space).is_some()) {
            return Ok(batch);
        }
        let now = runner::date();
        let batch = batch.with_default_expiry(|space| ttl(space).map(|ttl| now + ttl));
        batch.defect()?;
        Ok(batch)
    }

    /// Makes everything that is queued durable, with or without a log, for an engine that queues
    /// no more for clients.
    pub(crate) fn sync_last(&self) -> Result<(), Error> {
        self.lane.refuse_clients();
        // Then all entries are in the memtables.
        self.run_errand(Durability::Synced, Errand::None)?;
        if self.tree.has_unlogged() { self.flush_all() } else { Ok(()) }
    }

    /// Flushes all current memtables, and waits for it; not for entries that others write
    /// meanwhile. An error if flushes fail for lack of space twice meanwhile and space is still
    /// short, or if the engine stops or closes.
    pub(crate) fn flush_all(&self) -> Result<(), Error> {
        let errors = self.space.flush_errors();
        self.rotate_memtable()?;
        let mut immutable = self.memtables.lock();
        let Some(newest) = immutable.newest() else { return Ok(()) };
        while immutable.has(&newest) {
            let in_vain = self.space.flush_errors() > errors + 1;
            self.space.check_progress(&self.lifecycle, in_vain)?;
            immutable.wait();
        }
        Ok(())
    }

    /// Writes to key spaces that need not exist.
    pub(crate) fn submit_unchecked(
        &self,
        batch: Batch,
        durability: Durability,
    ) -> Result<(), Error> {
        let memory = self.memory.batch(batch.byte_size());
        let (errand, guard) = (Errand::None, None);
        let unqueued = Unqueued { batch, durability, errand, guard, memory };
        self.wait_in_queue(self.lane.queue(), unqueued)
    }

    /// Writes out the gathered bytes of the log.
    pub(crate) fn hand_over_log(&self) -> Result<(), Error> {
        self.run_errand(Durability::Gathered, Errand::HandOver)
    }

    /// Writes out the gathered bytes of the log, when the engine has no other user any more, and
    /// waits for it.
    pub(crate) fn write_out_last(&self) {
        self.lane.leading_at_once(|log| {
            if let Err(error) = log.write_out() {
                self.room.note(error);
            }
        });
    }

    /// The active log and its next sequence, if it has no entries that are not in tables. `None`
    /// also if a writer leads.
    pub(crate) fn empty_log(&self) -> Option<(FileId, SeqNo)> {
        let mut found = None;
        self.lane.leading_at_once(|log| {
            if self.tree.glance().active.is_empty() && !log.is_given_up() {
                found = Some((log.id(), log.next));
            }
        });
        found
    }

    /// Drops all logs: later writes get the error that the engine is closed.
    pub(crate) fn end_logs(&self) {
        self.lane.close();
        self.ahead.give_up();
    }

    /// Records a feature in the store, durably. From then on, a version of the engine that does not
    /// know the feature refuses to open the store.
    fn announce(&self, feature: u32) -> Result<(), Error> {
        let features = self.tree.with_record(|record| record.features);
        if features & feature == feature {
            return Ok(());
        }
        self.committer.commit_record(|record| record.features |= feature)
    }

    /// Has the merge operator check the operands of a batch.
    fn check_operands(&self, batch: &Batch) -> Result<(), Error> {
        let is_operand = |entry: &Entry| entry.kind == Kind::Operand;
        let mut combiner: Option<(KeySpaceId, Combiner)> = None;
        for Entry { space, key, value, .. } in batch.entries().filter(is_operand) {
            if combiner.as_ref().is_none_or(|(of, _)| *of != space) {
                let key_space = self.tree.with_spaces(|list| list.name(space).map(Arc::from));
                let operands = self.operands.clone();
                combiner = Some((space, Combiner { operands, key_space }));
            }
            let (_, combiner) = combiner.as_ref().expect("made above");
            combiner.check(batch.bytes_of(&key), batch.bytes_of(&value))?;
        }
        Ok(())
    }

    /// Records the name of the merge operator in the store, durably.
    fn announce_operator(&self) -> Result<(), Error> {
        let name = self.operands.operator()?.name();
        if self.tree.with_record(|record| record.merge_operator.is_some()) {
            return Ok(());
        }
        self.committer.commit_record(|record| record.merge_operator = Some(name.into()))
    }

    /// Leaves the active memtable to the flush, if it has entries.
    pub(crate) fn rotate_memtable(&self) -> Result<(), Error> {
        self.run_errand(Durability::Gathered, Errand::Rotate)
    }

    /// Has the jobs free the space that deletes have made, for a client's file that was refused;
    /// whether some may have come. `flushes`: the deletes in the memtable are flushed first.
    pub(crate) fn win_space(&self, refused: &Error, flushes: bool) -> Result<bool, Error> {
        let before = self.room.before_lack();
        if flushes {
            match self.rotate_memtable() {
                // Without space for a log the deletes stay in the memtable; there may be others.
                Err(error) if !error.is_space() => return Err(error),
                _ => {}
            }
        }
        Ok(self.room.call_jobs(before, refused))
    }

    /// Queues an empty batch, and waits until it is answered.
    fn run_errand(&self, durability: Durability, errand: Errand) -> Result<(), Error> {
        let (batch, guard, memory) = (Batch::new(), None, None);
        let unqueued = Unqueued { batch, durability, errand, guard, memory };
        self.wait_in_queue(self.lane.queue(), unqueued)
    }

    fn wait_in_queue(&self, queue: QueueGuard<'_, Queue>, unqueued: Unqueued) -> Result<(), Error> {
        let (ledger, errand) = (WaitLedger::open(), unqueued.errand);
        let waits = &self.counters.waits;
        let write_group = |log: &mut ActiveLog, group| self.groups.write(log, group);
        let Answer { result, led, led_others } =
            self.lane.write(queue, unqueued, waits, write_group);
        // An errand to write out the log is no client's write, unless it leads others.
        let counts = errand != Errand::HandOver || led_others;
        if let Some((time, waits)) = ledger.close().filter(|_| counts) {
            self.note_waits(time, waits, led);
        }
        result
    }

    /// Notes the waits of a write; `led` says whether it led a group, its own or another.
    fn note_waits(&self, time: Duration, waits: Waits, led: bool) {
        self.counters.longest_write.meet(time, &waits);
        // Followers wait for their leader, and are reported with it.
        if led && time >= Event::STALL_MIN {
            self.listeners.tell(|| Event::Stalled { time, waits });
        }
    }
}
