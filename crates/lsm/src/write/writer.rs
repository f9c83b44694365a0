//! [`Writer`]: the owner of writes. Writers queue their batches in the [lane](super::write_lane),
//! and the leader among them writes a [group](super::group).
//!
//! - A batch whose range deletes would take more memory than all memtables may is refused.
//! - Before the first range delete of a store is queued, a commit records in the store that it has
//!   range deletes. The same goes for the first entry that expires, and for the first operand: then
//!   the store remembers the name of its merge operator, too.
//! - A batch with a [guard](super::guard) is only written if the guard holds.
//!
//! Threads: any thread writes, and holds no lock: a write may wait for the device, for jobs and for
//! other writers.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::sync::QueueGuard;
use terrace_env::wait::{WaitLedger, Waits};

use super::gathering::Gathering;
use super::group::GroupWriter;
use super::guard::Guard;
use super::intake::Intake;
use super::log::ActiveLog;
use super::preallocated_log::PreallocatedLogs;
use super::room::Room;
use super::write_lane::{Answer, Errand, Queue, Unqueued, WriteLane};
use crate::batch::Batch;
use crate::counters::Counters;
use crate::event::{Event, Listeners};
use crate::lifecycle::Lifecycle;
use crate::memory::Memory;
use crate::memtable::FlushQueue;
use crate::operands::Operands;
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
    /// Writes a batch; it is as durable as it is to be, and visible when this returns.
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
        self.tree.check_open()?;
        batch.defect()?;
        if self.read_only {
            return Err(Error::ReadOnly("a write"));
        }
        if batch.has_ranges() {
            self.memory.check_ranges(MemoryRanges::least_of(&batch))?;
            self.announce(FEATURE_RANGE_DELETES)?;
        }
        if batch.has_expiries() {
            self.announce(FEATURE_EXPIRY)?;
        }
        if batch.has_operands() {
            self.announce_operator()?;
        }
        if batch.is_empty() && durability <= Durability::Gathered {
            return Ok(());
        }
        let queue = self.lane.queue();
        queue.check_clients()?;
        // Checked in the queue: what is queued before a key space is dropped is written before.
        self.tree.check_spaces(&batch)?;
        let memory = self.memory.batch(batch.byte_size());
        let errand = Errand::None;
        self.wait_in_queue(queue, Unqueued { batch, durability, errand, guard, memory })
    }

    /// Makes everything that is queued durable, with or without a log, for an engine that queues
    /// no more for clients.
    pub(crate) fn sync_last(&self) -> Result<(), Error> {
        self.lane.refuse_clients();
        // Afterwards all entries are in the memtables.
        self.run_errand(Durability::Synced, Errand::None)?;
        if self.tree.has_unlogged() { self.flush_all() } else { Ok(()) }
    }

    /// Flushes everything that is in memory now, and waits for it: not for entries that others
    /// write meanwhile. An error if flushes fail for lack of space twice meanwhile and space is
    /// still short, or if the engine stops or closes.
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

    /// Hands the bytes gathered in the log to the medium.
    pub(crate) fn hand_over_log(&self) -> Result<(), Error> {
        self.run_errand(Durability::Gathered, Errand::HandOver)
    }

    /// Writes the gathered bytes of the log, when the engine has no other user any more, and waits
    /// for it.
    pub(crate) fn write_out_last(&self) {
        self.lane.leading_at_once(|log| {
            if let Err(error) = log.write_out() {
                self.room.note(error);
            }
        });
    }

    /// Lets go of all logs: later writes get the error that the engine is closed.
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

    /// Records the name of the merge operator in the store, durably.
    fn announce_operator(&self) -> Result<(), Error> {
        let name = self.operands.operator()?.name();
        if self.tree.with_record(|record| record.merge_operator.is_some()) {
            return Ok(());
        }
        self.committer.commit_record(|record| record.merge_operator = Some(name.into()))
    }

    /// Hands the active memtable over to the flush, if there is anything in it.
    pub(crate) fn rotate_memtable(&self) -> Result<(), Error> {
        self.run_errand(Durability::Gathered, Errand::Rotate)
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
        // An errand to hand the log over is no client's write, unless it leads others.
        let counts = errand != Errand::HandOver || led_others;
        if let Some((time, waits)) = ledger.close().filter(|_| counts) {
            self.note_waits(time, waits, led);
        }
        result
    }

    /// A write has waited, and `led` its group or others.
    fn note_waits(&self, time: Duration, waits: Waits, led: bool) {
        self.counters.longest_write.meet(time, &waits);
        // Followers wait for their leader, and are told of with it.
        if led && time >= Event::STALL_MIN {
            self.listeners.tell(|| Event::Stalled { time, waits });
        }
    }
}
