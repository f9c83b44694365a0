//! [`GroupWriter`]: writes a group of batches for all of their writers, in the lead. It appends the
//! group to the log, syncs or writes out the log if a batch asks for it, puts the entries into the
//! memtable, and shows them to readers.
//!
//! - The batches of a group that go to the log are one append: after a power cut, the log has all
//!   of them or none. A batch that goes to no log becomes durable when its memtable is flushed.
//! - Before puts become visible, they are noted for readers that skip empty ranges
//!   ([`EmptyRanges`]).
//! - A group in which batches have [guards](super::guard) may be written in several parts.
//!
//! # Errors
//! - If there is no room for the group, or the append fails, its batches get the error, and are not
//!   seen. The next opening may still find them in the log. If space was lacking, there are further
//!   tries first: the append in another log, and the deletes of the group alone, in the end from
//!   space that is kept for flushes.
//! - If the sync or the write-out fails, the batches that asked for either get the error. All
//!   batches of the group are seen, and may be durable or not. If space was lacking, the memtable
//!   is flushed instead; if the flush succeeds, the write does, too.
//! - Lack of space does not stop writes. Other errors of the log stop all writes until the engine
//!   is resumed or opened again.
//!
//! Threads: the leader of the writes. It holds no lock, because it may wait for the device and for
//! jobs.

use std::sync::Arc;

use smallvec::SmallVec;
use terrace_env::SeqNo;
use terrace_env::sync::switch_point;

use super::gathering::Gathering;
use super::log::ActiveLog;
use super::preallocated_log::PreallocatedLogs;
use super::room::Room;
use super::write_lane::{Errand, Pending};
use crate::batch::{Entry, FrozenBatch};
use crate::canary::{self, Rule};
use crate::counters::Counters;
use crate::key::{self, Kind};
use crate::memory::Memory;
use crate::memtable::Memtable;
use crate::ranges::EmptyRanges;
use crate::tree::Tree;
use crate::{Durability, Error};

/// See the [module](self).
pub(crate) struct GroupWriter {
    pub(crate) memory: Arc<Memory>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) tree: Arc<Tree>,
    /// Ranges of keys that readers found empty.
    pub(crate) empty_ranges: Arc<EmptyRanges>,
    pub(crate) room: Arc<Room>,
    pub(crate) ahead: Arc<PreallocatedLogs>,
    pub(crate) gathering: Arc<Gathering>,
}

impl GroupWriter {
    /// Writes a group, or a part of one, whose guards hold; returns the tickets that failed.
    pub(super) fn write_part(&self, log: &mut ActiveLog, group: Vec<Pending>) -> Vec<(u64, Error)> {
        debug_assert!(!group.is_empty(), "a group of nothing");
        debug_assert!(group.is_sorted_by_key(|pending| pending.ticket), "batches in their order");
        let mut failed = Vec::new();
        // A group of one is the usual case, and needs no lists.
        if let [only] = &group[..]
            && !only.batch.only_deletes()
        {
            if let Err((error, refused)) = self.try_group(log, group, false, &mut failed) {
                failed.extend(refused.iter().map(|pending| (pending.ticket, error.clone())));
            }
            return failed;
        }
        let (deletes, puts): (Vec<_>, Vec<_>) =
            group.into_iter().partition(|pending| pending.batch.only_deletes());
        if puts.is_empty() {
            self.write_deletes(log, deletes, &mut failed);
            return failed;
        }
        let mut whole: Vec<Pending> = puts.into_iter().chain(deletes).collect();
        whole.sort_by_key(|pending| pending.ticket);
        if let Err((error, refused)) = self.try_group(log, whole, false, &mut failed) {
            let (deletes, puts): (Vec<_>, Vec<_>) = refused
                .into_iter()
                .partition(|pending| error.is_space() && pending.batch.only_deletes());
            failed.extend(puts.iter().map(|pending| (pending.ticket, error.clone())));
            self.write_deletes(log, deletes, &mut failed);
        }
        failed
    }

    /// Tries deletes again with more urgency, and then while jobs free space.
    fn write_deletes(
        &self,
        log: &mut ActiveLog,
        deletes: Vec<Pending>,
        failed: &mut Vec<(u64, Error)>,
    ) {
        if deletes.is_empty() {
            return;
        }
        let mut tree = self.tree.changes();
        let mut result = self.try_group(log, deletes, false, failed);
        let mut urgent = false;
        while let Err((error, refused)) = result {
            if !error.is_space() || (urgent && !self.room.wait_for_space(&mut tree)) {
                failed.extend(refused.iter().map(|pending| (pending.ticket, error.clone())));
                return;
            }
            urgent = true;
            result = self.try_group(log, refused, true, failed);
        }
    }

    /// Writes a group, or returns it with the error. If only a sync or a write-out of the log
    /// fails, the batches that asked for it get the error: they are applied, and may or may not be
    /// durable.
    fn try_group(
        &self,
        log: &mut ActiveLog,
        mut group: Vec<Pending>,
        urgent: bool,
        failed: &mut Vec<(u64, Error)>,
    ) -> Result<(), (Error, Vec<Pending>)> {
        if let Err(error) = self.append_group(log, &mut group, urgent)
            && !canary::is_broken(Rule::AppendFailsItsWrites)
        {
            self.room.note(error.clone());
            return Err((error, group));
        }
        let tickets = |wants: fn(&Pending) -> bool| -> SmallVec<[u64; 4]> {
            group.iter().filter(|pending| wants(pending)).map(|pending| pending.ticket).collect()
        };
        let lasting = tickets(|pending| pending.durability > Durability::Gathered);
        let rotated = tickets(|pending| pending.errand == Errand::Rotate);
        let hands_over = group.iter().any(|pending| pending.errand == Errand::HandOver);
        let durability = group.iter().map(|pending| pending.durability).max();
        let lasts = match durability.unwrap_or(Durability::Gathered) {
            Durability::Gathered if hands_over => log.begin_write_out(),
            Durability::Unlogged | Durability::Gathered => self.gathering.gather(log),
            Durability::Written => log.write_out(),
            Durability::Synced => log.sync(),
        };
        self.memory.note_log(log.memory());
        self.publish(log, group);
        self.ahead.look_ahead(log);
        if durability == Some(Durability::Gathered) {
            self.ahead.flush_early(log);
        }
        let lasts = self.room.written_or_flushed(log, lasts);
        let rotate = if rotated.is_empty() { Ok(()) } else { self.room.rotate_if_filled(log) };
        for (result, tickets) in [(lasts, lasting), (rotate, rotated)] {
            if let Err(error) = result {
                failed.extend(tickets.into_iter().map(|ticket| (ticket, error.clone())));
                self.room.note(error);
            }
        }
        Ok(())
    }

    fn append_group(
        &self,
        log: &mut ActiveLog,
        group: &mut [Pending],
        urgent: bool,
    ) -> Result<(), Error> {
        if group.iter().all(|pending| pending.errand == Errand::HandOver) {
            return Ok(());
        }
        let filled = group.iter().filter(|pending| !pending.batch.is_empty());
        let bytes = filled.clone().map(|pending| pending.batch.byte_size().0 as usize).sum();
        let memory = filled.map(|pending| Memtable::least_of(&pending.batch)).sum();
        let puts = group.iter().any(|pending| !pending.batch.only_deletes());
        self.room.make_room(log, (bytes, memory), puts, urgent)?;
        match append(log, group) {
            Err(error) if error.is_space() => {
                self.room.note(error);
                self.room.give_up_log(log);
                self.room.make_room(log, (bytes, memory), puts, urgent)?;
                append(log, group)
            }
            other => other,
        }
    }

    /// Notes the puts of a batch, before they become visible, for readers that skip empty ranges.
    fn note_puts(&self, batch: &FrozenBatch, puts: bool) {
        let bytes = batch.bytes();
        let entries = puts.then(|| batch.entries()).into_iter().flatten();
        let is_put = |kind| matches!(kind, Kind::Put | Kind::PutWithExpiry | Kind::Operand);
        let puts = entries.filter(|(_, entry)| is_put(entry.kind));
        let key = |entry: &Entry| key::full_key(entry.space, &bytes[entry.key.clone()]);
        self.empty_ranges
            .note(batch.first(), puts.map(|(sequence, entry)| (sequence, key(&entry))));
    }

    /// Puts the group's entries into the memtable and lets readers see them.
    fn publish(&self, log: &mut ActiveLog, group: Vec<Pending>) {
        let (mut entries, mut bytes) = (0, 0);
        let mut memtable = Arc::clone(&self.tree.glance().active);
        let active = Arc::as_ptr(&memtable);
        let count: u32 = group.iter().map(|pending| pending.batch.len() as u32).sum();
        let mut next = SeqNo(log.next.0 - u64::from(count));
        if count > 0 && canary::is_broken(Rule::InsertBeforePublish) {
            self.tree.make_visible(SeqNo(log.next.0 - 1));
        }
        for pending in group {
            if pending.batch.is_empty() {
                continue;
            }
            switch_point();
            if !pending.is_logged() {
                memtable.note_unlogged();
            }
            entries += pending.batch.len() as u64;
            bytes += pending.batch.payload().0;
            let puts = !pending.batch.only_deletes();
            let frozen = pending.batch.freeze(next);
            if self.empty_ranges.is_watching() {
                self.note_puts(&frozen, puts);
            }
            Memtable::insert_or_exchange(&mut memtable, &frozen, &self.memory.chunks);
            next = frozen.end();
        }
        debug_assert_eq!(next, log.next, "sequences as they were given out");
        debug_assert!(memtable.is_empty() || memtable.end() <= next, "a memtable of other writes");
        if !std::ptr::eq(active, Arc::as_ptr(&memtable)) {
            self.tree.exchange_active(memtable);
        }
        if entries > 0 {
            switch_point();
            self.tree.make_visible(SeqNo(next.0 - 1));
            self.counters.groups.add(1);
            self.counters.entries_written.add(entries);
            self.counters.user_bytes.add(bytes);
            crate::cost::charge_group(count);
        }
    }
}

/// Gives the entries their sequences, and appends the batches that go to the log as one. The other
/// batches leave gaps in the sequences of the log.
fn append(log: &mut ActiveLog, group: &mut [Pending]) -> Result<(), Error> {
    let mut next = log.next;
    let mut filled: SmallVec<[&mut Pending; 4]> =
        group.iter_mut().filter(|pending| !pending.batch.is_empty()).collect();
    for pending in &mut filled {
        pending.batch.set_sequence(next);
        next = SeqNo(next.0 + pending.batch.len() as u64);
    }
    assert!(next <= SeqNo::MAX, "sequence numbers are used up");
    // Even if the append fails, its sequences are not used again.
    log.next = next;
    filled.retain(|pending| pending.is_logged());
    match &filled[..] {
        [] => {}
        [only] => log.append(only.batch.log_bytes())?,
        several => {
            let whole: Vec<&[u8]> = several.iter().map(|p| p.batch.log_bytes()).collect();
            log.append(&whole.concat())?;
        }
    }
    Ok(())
}
