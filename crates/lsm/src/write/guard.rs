//! [`Guard`]: the condition of a conditional write. It holds if no key or range of a read set has
//! been written since a sequence number.
//!
//! 1. The writer checks the guard itself, up to the writes that are visible then. It may read from
//!    the device, and delays no other writer. After this check, the guard covers later writes only.
//! 2. The batch joins the queue of the write lane with its guard.
//! 3. The leader goes through its group in order. If accepted batches write a key that a guard has
//!    read, the leader writes these batches first, as a part of their own. Then it checks the guard
//!    against the writes that are visible now. If the guard does not hold, the batch fails with
//!    [`Error::Conflict`], and none of its entries is written.
//!
//! - A guard is checked against visible writes only. So a write that is refused later, for lack of
//!   space, fails no guard. Of two batches of one group whose guards read each other's writes, the
//!   first is written, and the second fails.
//! - A guard also fails if a value that was read has expired before the batch is led.
//! - A guard also fails if a key space that it reads, or that its batch writes to, has been
//!   dropped. The drop is committed in the lead, so no drop comes between the check and the write.
//! - Until its batch is written, a snapshot of the sequence of its reads must be alive
//!   ([`first_change`]).
//! - A group without guards costs one check of each of its batches.
//!
//! Threads: as in [`group`](super::group), and any thread for step 1.

use terrace_env::{MemoryLease, SeqNo};

use super::changes::{Change, first_change};
use super::group::GroupWriter;
use super::log::ActiveLog;
use super::read_set::{GroupWrites, ReadSet};
use super::write_lane::Pending;
use crate::Error;
use crate::canary::{self, Rule};
use crate::error::Conflict;
use crate::key;
use crate::tree::View;

/// Condition of a write: no key or range of the read set was written after the sequence.
#[derive(Debug)]
pub(crate) struct Guard {
    reads: ReadSet,
    since: SeqNo,
    /// Lease that counts the read set.
    _memory: Option<MemoryLease>,
}

impl Guard {
    pub(crate) fn new(reads: ReadSet, since: SeqNo, memory: Option<MemoryLease>) -> Self {
        Self { reads, since, _memory: memory }
    }
}

impl GroupWriter {
    /// Checks a guard up to the writes that are visible now, before its batch is queued. Then the
    /// guard covers later writes only.
    pub(super) fn check_ahead(&self, guard: &mut Guard) -> Result<(), Error> {
        let (view, visible) = self.tree.view_at(None);
        view.closed.check()?;
        self.check_guard(&view, guard).map_err(|error| view.closed.explain(error))?;
        guard.since = guard.since.max(visible);
        Ok(())
    }

    fn check_guard(&self, view: &View, guard: &Guard) -> Result<(), Error> {
        guard.reads.spaces().try_for_each(|space| view.spaces.check_read(space))?;
        self.check_expiry(guard)?;
        match first_change(view, &guard.reads, guard.since)? {
            None => Ok(()),
            Some(change) => Err(self.conflict(change)),
        }
    }

    /// Checks whether a value that was read has expired since: that counts as a write.
    fn check_expiry(&self, guard: &Guard) -> Result<(), Error> {
        let expired = guard.reads.expired().map(Change::Key);
        expired.map_or(Ok(()), |change| Err(self.conflict(change)))
    }

    fn conflict(&self, change: Change<'_>) -> Error {
        self.counters.conflicts.add(1);
        let (start, end) = match change {
            Change::Key(key) => (key, None),
            Change::Range(start, end) => (start, Some(end)),
        };
        let space = key::space_of(start);
        let name = self.tree.with_spaces(|list| list.name(space).map(str::to_owned));
        let user_key = |key: &[u8]| key[key::SPACE_BYTES..].to_vec();
        let end = end.map(|end| (key::space_of(end) == space).then(|| user_key(end)));
        let name = name.unwrap_or_default();
        Error::Conflict(Box::new(Conflict { space, name, start: user_key(start), end }))
    }

    /// Writes a group in which batches may have guards; returns the tickets that failed.
    pub(super) fn write(&self, log: &mut ActiveLog, group: Vec<Pending>) -> Vec<(u64, Error)> {
        if group.iter().all(|pending| pending.guard.is_none()) {
            return self.write_part(log, group);
        }
        let (mut failed, mut part) = (Vec::new(), Vec::new());
        let mut writes = GroupWrites::default();
        for mut pending in group {
            if let Some(guard) = pending.guard.take() {
                if writes.meet(&guard.reads) && !canary::is_broken(Rule::GuardsSeeTheirGroup) {
                    failed.extend(self.write_part(log, std::mem::take(&mut part)));
                    writes.clear();
                }
                if let Err(error) = self.check_led(&pending, &guard) {
                    failed.push((pending.ticket, error));
                    continue;
                }
            }
            writes.add(&pending.batch);
            part.push(pending);
        }
        if !part.is_empty() {
            failed.extend(self.write_part(log, part));
        }
        failed
    }

    /// Checks a guard in the lead, during which no other write becomes visible.
    fn check_led(&self, pending: &Pending, guard: &Guard) -> Result<(), Error> {
        self.tree.check_spaces(&pending.batch)?;
        let view = self.tree.view();
        guard.reads.spaces().try_for_each(|space| view.spaces.check_read(space))?;
        if self.tree.visible() <= guard.since || canary::is_broken(Rule::GuardsHeldInTheLead) {
            return self.check_expiry(guard);
        }
        self.check_guard(&view, guard)
    }
}
