//! [`Disk`]: the timing model of a hard disk. It chooses the next action of the head, and computes
//! when commands complete.
//!
//! 1. Each command of the host takes the controller for its overhead, one after the other. A
//!    refused command takes nothing else.
//! 2. A read that a cache can answer completes when its bytes have gone over the cable. Another
//!    read waits for the head.
//! 3. A write is acknowledged when it is in the write cache and its bytes have come over the cable.
//!    If the cache is full, it waits first. A forced write completes when the head has written it,
//!    and the bytes before it in its dirty range. Without a write cache, every write is forced.
//! 4. When the head is free, it takes the candidate that it reaches first (seek, settling and
//!    rotation together), unless another one has been passed over too often. Candidates are the
//!    first reads of the queue, and some dirty ranges. Dirty ranges take part if a forced write or
//!    a flush waits for them, if a write waits for room, from the time the cache is more than half
//!    full until it is down to a quarter, or if there has been nothing to read for a while.
//! 5. After a read the head reads on, until it has something else to do or is a segment's size
//!    ahead of the host.
//! 6. A flush completes when everything is written that the cache held when the flush came. Later
//!    reads that need the head wait for the flush.
//! 7. Operations on zones take the controller, not the head. A reset drops the dirty ranges that
//!    lie wholly in the zone, except those for which a forced write waits.
//!
//! The model chooses an action when the head is free, from the commands submitted by then: see
//! [`Timing`]. The work of an idle disk is caught up with at the next call.

use std::collections::BTreeMap;

use terrace_env::{Cause, Time};

use super::buffer::WriteBuffer;
use super::parameters::{DiskParameters, Settings};
use super::queue::{Flush, Queue, Read, Write};
use super::segments::{Hit, Segments};
use super::surface::Surface;
use crate::Geometry;
use crate::emulator::{Command, Progress, RequestKind, Timing};
use crate::timing::{Scale, Work};

/// A hard disk.
#[derive(Clone, Debug)]
pub struct Disk {
    pub(super) settings: Settings,
    pub(super) surface: Surface,
    logical_block: u64,
    zone_bytes: u64,
    buffer: WriteBuffer,
    segments: Segments,
    pub(super) queue: Queue,
    /// Where the head is when it is not reading ahead: after this byte.
    pub(super) head: u64,
    pub(super) free_at: u64,
    pub(super) controller_free: u64,
    cable_free: u64,
    /// The write cache was half full and is not yet down to a quarter.
    crowded: bool,
    last_read: u64,
    /// Time spent writing since a revolution was last lost.
    written: u64,
    pub(super) decided: BTreeMap<u64, Progress>,
    work: Work,
    /// The cause of the head's last or present work, and the part of it that is transfer.
    last: (Cause, u64),
}

/// Next action of the head.
#[derive(Clone, Copy, Debug)]
enum Choice {
    /// Serves the read at this index.
    Read(usize),
    /// Writes the dirty range that starts here.
    Drain(u64),
}

impl Disk {
    /// A disk of the given geometry: that of the whole drive, not of the part that is used.
    pub(in crate::timing) fn new(
        parameters: &DiskParameters,
        geometry: &Geometry,
        scale: Scale,
    ) -> Self {
        let settings = parameters.settings(scale);
        let logical_block = u64::from(geometry.logical_block);
        let zone_bytes = geometry.zone_size * logical_block;
        let conventional = match geometry.conventional.first() {
            Some(run) if run.start == 0 => u64::from(run.end) * zone_bytes,
            _ => 0,
        };
        let capacity = geometry.blocks() * logical_block;
        let surface = Surface::new(&settings, capacity, conventional, zone_bytes);
        Self {
            segments: Segments::new(settings.read_segment, settings.read_segments),
            surface,
            settings,
            logical_block,
            zone_bytes,
            buffer: WriteBuffer::default(),
            queue: Queue::default(),
            head: 0,
            free_at: 0,
            controller_free: 0,
            cable_free: 0,
            crowded: false,
            last_read: 0,
            written: 0,
            decided: BTreeMap::new(),
            work: Work::default(),
            last: (Cause::Client, 0),
        }
    }

    fn decide(&mut self, ticket: u64, start: u64, end: u64) {
        let progress = Progress::Decided { start: Time(start), end: Time(end) };
        self.decided.insert(ticket, progress);
    }

    /// Moves bytes over the cable from `now` on; gives when they have arrived.
    pub(super) fn cable(&mut self, now: u64, bytes: u64) -> u64 {
        self.cable_free = self.cable_free.max(now) + self.settings.interface_rate.nanos(bytes);
        self.cable_free
    }

    /// Makes the decisions that fall due by `now`, in their order.
    pub(super) fn advance(&mut self, now: u64) {
        while let Some(at) = self.next_decision()
            && at <= now
        {
            self.admit_writes(at);
            self.end_flushes(at);
            match self.choose(at) {
                Some(Choice::Read(index)) => self.serve(index, at),
                Some(Choice::Drain(start)) => self.drain(start, at),
                None => assert_ne!(self.next_decision(), Some(at), "nothing to decide at {at}"),
            }
        }
    }

    /// When there will be something to decide.
    pub(super) fn next_decision(&self) -> Option<u64> {
        let reads = self.queue.eligible(self.settings.queue_depth).map(|(_, read)| read.visible);
        let flush = self.queue.flushes.front().map(|flush| flush.visible);
        let write = self.queue.writes.front();
        let write = write.filter(|write| self.has_room(write.end - write.start));
        let write = write.map(|write| write.visible);
        let due = [reads.min(), flush, write, self.drain_due()];
        due.into_iter().flatten().min().map(|due| due.max(self.free_at))
    }

    /// When the head may turn to the write cache, were it free.
    fn drain_due(&self) -> Option<u64> {
        let oldest = self.buffer.oldest()?;
        let flush = self.queue.flushes.front().map_or(0, |flush| flush.limit);
        let hurry = oldest.number < flush || self.crowded || !self.queue.writes.is_empty();
        let idle = self.queue.flushes.is_empty() && self.queue.reads.is_empty();
        let due = match (hurry, idle) {
            (true, _) => Some(oldest.born),
            (_, true) => Some(oldest.born.max(self.last_read + self.settings.drain_delay)),
            _ => None,
        };
        due.into_iter().chain(self.buffer.forced_since()).min()
    }

    /// Lets writes into the cache as far as there is room.
    fn admit_writes(&mut self, now: u64) {
        while let Some(write) = self.queue.writes.front()
            && write.visible <= now
            && self.has_room(write.end - write.start)
        {
            let write = self.queue.writes.pop_front().expect("the write just seen");
            self.admit(&write, now);
        }
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.buffer.is_empty() || self.buffer.bytes() + bytes <= self.settings.write_cache
    }

    fn admit(&mut self, write: &Write, now: u64) {
        let Write { ticket, start, end, cause, .. } = *write;
        let arrived = if write.inside { now } else { self.cable(now, end - start) };
        let barrier = self.queue.flushes.back().map_or(0, |flush| flush.limit);
        let forced = (write.forced || self.settings.write_cache == 0).then_some(ticket);
        self.buffer.insert((start, end), cause, now, barrier, forced);
        if let Some(head) = self.segments.overwrite(&self.surface, now, start, end) {
            self.head = head;
        }
        self.crowded |= self.buffer.bytes() > self.settings.write_cache / 2;
        if forced.is_none() {
            self.decide(ticket, now, arrived);
        }
    }

    fn end_flushes(&mut self, now: u64) {
        while let Some(flush) = self.queue.flushes.front()
            && flush.visible <= now
            && self.buffer.oldest().is_none_or(|oldest| oldest.number >= flush.limit)
        {
            let (ticket, visible) = (flush.ticket, flush.visible);
            self.queue.flushes.pop_front();
            self.decide(ticket, visible, now);
        }
    }

    /// Next action of the head at `now`: the command that it reaches first, unless another one has
    /// been overtaken too often.
    fn choose(&self, now: u64) -> Option<Choice> {
        let head = self.segments.position(&self.surface, now).unwrap_or(self.head);
        let from = self.surface.place(head.saturating_sub(1)).track;
        let mut best: Option<((bool, u64), Choice)> = None;
        let mut offer = |cost: u64, passed: u32, choice: Choice| {
            let rank = (passed < self.settings.overtaking_max, cost);
            if best.is_none_or(|(least, _)| rank < least) {
                best = Some((rank, choice));
            }
        };
        for (index, read) in self.queue.eligible(self.settings.queue_depth) {
            if read.visible <= now {
                let hit = self.segments.find(&self.surface, now, read.start, read.end);
                let cost = match hit {
                    Some(_) => 0,
                    None => self.surface.reach(from, &read.place, now, false),
                };
                offer(cost, read.passed, Choice::Read(index));
            }
        }
        for start in self.drainable(now, head) {
            let range = self.buffer.range(start);
            if range.born <= now {
                let cost = self.surface.reach(from, &self.surface.place(start), now, true);
                offer(cost, range.passed, Choice::Drain(start));
            }
        }
        best.map(|(_, choice)| choice)
    }

    /// The dirty ranges that the head may turn to.
    fn drainable(&self, now: u64, head: u64) -> Vec<u64> {
        let window = self.settings.write_window;
        if self.drain_due().is_none_or(|due| now < due) {
            return Vec::new();
        }
        let there = |start: &u64| self.buffer.range(*start).born <= now;
        let mut starts: Vec<u64> = self.buffer.forced().filter(there).collect();
        // A flush wants the writes that it covers, and nothing else before.
        let flush = self.queue.flushes.front().map_or(0, |flush| flush.limit);
        let forced = starts.len();
        starts.extend(self.buffer.by_age(flush, window));
        if starts.len() > forced {
            return starts;
        }
        let hurry = self.crowded || !self.queue.writes.is_empty();
        let idle = self.queue.flushes.is_empty() && self.queue.reads.is_empty() && forced == 0;
        if hurry || idle {
            starts.extend(self.buffer.by_age(u64::MAX, window));
            starts.extend(self.buffer.from(head));
        }
        starts
    }

    fn serve(&mut self, index: usize, now: u64) {
        let Read { ticket, start, end, cause, place, inside, .. } = self.queue.take_read(index);
        let free = match self.segments.find(&self.surface, now, start, end) {
            Some(Hit::Cached) => {
                self.segments.taken(&self.surface, now, start, end);
                let arrived = if inside { now } else { self.cable(now, end - start) };
                return self.decide(ticket, now, arrived);
            }
            Some(Hit::Streaming { end: passed }) => {
                self.worked(cause, 0, passed.saturating_sub(now));
                passed.max(now)
            }
            None => {
                let from = self.leave(now);
                let reach = self.surface.reach(from, &place, now, false);
                let pass = self.surface.pass(start, end - start);
                self.worked(cause, reach, pass);
                now + reach + pass
            }
        };
        self.segments.read(&self.surface, free, start, end);
        self.head = end;
        self.free_at = free;
        self.last_read = free;
        self.decide(ticket, now, free);
    }

    pub(super) fn worked(&mut self, cause: Cause, reach: u64, pass: u64) {
        self.work.add(cause, reach, pass);
        self.last = (cause, pass);
    }

    /// Ends reading ahead; gives the track that the head is on.
    pub(super) fn leave(&mut self, now: u64) -> u64 {
        self.head = self.segments.stop(&self.surface, now).unwrap_or(self.head);
        self.surface.place(self.head.saturating_sub(1)).track
    }

    fn drain(&mut self, start: u64, now: u64) {
        let from = self.leave(now);
        let taken = self.buffer.take(start, self.settings.drain_size);
        let reach = self.surface.reach(from, &self.surface.place(start), now, true);
        let mut pass = self.surface.pass(start, taken.end - start);
        for waiter in taken.waiters {
            let written = now + reach + self.surface.pass(start, waiter.end - start);
            self.decide(waiter.ticket, now, written);
        }
        self.written += pass;
        let retry = self.settings.write_retry * self.surface.revolution();
        if retry > 0 && self.written >= retry {
            let lost = self.written / retry;
            self.written %= retry;
            pass += lost * self.surface.revolution();
        }
        self.worked(taken.cause, reach, pass);
        self.head = taken.end;
        self.free_at = now + reach + pass;
        self.crowded &= self.buffer.bytes() > self.settings.write_cache / 4;
    }

    /// The bytes on the platters that a command is about.
    fn bytes(&self, command: &Command) -> (u64, u64) {
        let start = self.surface.physical(command.lba.0 * self.logical_block);
        (start, start + command.blocks * self.logical_block)
    }

    fn submit_read(&mut self, ticket: u64, now: u64, visible: u64, command: &Command) {
        let (start, end) = self.bytes(command);
        let read_ahead = self.segments.find(&self.surface, now, start, end);
        if self.buffer.holds(start, end) || read_ahead == Some(Hit::Cached) {
            self.segments.taken(&self.surface, now, start, end);
            let arrived = self.cable(visible, end - start);
            return self.decide(ticket, now, arrived);
        }
        let (place, cause) = (self.surface.place(start), command.cause);
        let (passed, inside) = (0, false);
        let read = Read { ticket, start, end, cause, place, visible, passed, inside };
        self.queue.reads.push_back(read);
    }

    fn submit_write(&mut self, ticket: u64, visible: u64, command: &Command) {
        let (start, end) = self.bytes(command);
        let (cause, forced) = (command.cause, command.forced);
        let write = Write { ticket, start, end, cause, visible, forced, inside: false };
        if self.queue.writes.is_empty() && self.has_room(end - start) {
            self.admit(&write, visible);
        } else {
            self.queue.writes.push_back(write);
        }
    }

    /// An operation on a zone takes the controller for so long.
    fn operate(&mut self, ticket: u64, visible: u64, command: &Command, cost: u64) {
        if let (RequestKind::Reset, Some((zone, _))) = (command.kind, command.zone) {
            let start = self.surface.physical(u64::from(zone.0) * self.zone_bytes);
            self.buffer.discard(start, start + self.zone_bytes);
        }
        self.controller_free = visible + cost;
        self.decide(ticket, visible, visible + cost);
    }

    fn progress(&mut self, ticket: u64, now: Time) -> Progress {
        if let Some(progress) = self.decided.remove(&ticket) {
            return progress;
        }
        let next = self.next_decision();
        let ask = Time(next.expect("a decision ahead while a command waits"));
        assert!(ask > now, "ticket {ticket} is undecided at {now} with a decision due at {ask}");
        Progress::Undecided { ask }
    }
}

impl Timing for Disk {
    fn submit(&mut self, now: Time, ticket: u64, command: &Command) -> Progress {
        self.advance(now.0);
        let visible = self.controller_free.max(now.0) + self.settings.command_overhead;
        self.controller_free = visible;
        match command.kind {
            _ if command.refused => self.decide(ticket, now.0, visible),
            RequestKind::Read => self.submit_read(ticket, now.0, visible, command),
            RequestKind::Write => self.submit_write(ticket, visible, command),
            RequestKind::Flush => {
                let limit = self.buffer.next_number();
                self.queue.flushes.push_back(Flush { ticket, limit, visible });
            }
            RequestKind::Reset => {
                self.operate(ticket, visible, command, self.settings.zone_reset);
            }
            RequestKind::Finish => {
                self.operate(ticket, visible, command, self.settings.zone_finish);
            }
            RequestKind::Open | RequestKind::Close => self.operate(ticket, visible, command, 0),
        }
        self.advance(now.0);
        self.progress(ticket, now)
    }

    fn poll(&mut self, now: Time, ticket: u64) -> Progress {
        self.advance(now.0);
        self.progress(ticket, now)
    }

    fn power_cut(&mut self, now: Time) {
        self.advance(now.0);
        self.buffer.clear();
        self.segments.clear();
        self.queue.clear();
        self.decided.clear();
        self.crowded = false;
        self.free_at = now.0;
        self.controller_free = now.0;
        self.cable_free = now.0;
    }

    fn work(&mut self, now: Time) -> Work {
        self.advance(now.0);
        let mut work = self.work.clone();
        let ahead = self.free_at.saturating_sub(now.0);
        let (cause, pass) = self.last;
        work.take_back(cause, ahead.saturating_sub(pass), ahead.min(pass));
        work
    }
}
