//! Calls on a [`Disk`] for a translation layer, beside those of
//! [`Timing`](crate::emulator::Timing): to let time pass and get answers; reads and writes of its
//! own, for which the controller takes no time; transfers from and to the host; and work of the
//! head that the layer has timed itself.
//!
//! Addresses are bytes of the disk, times are nanoseconds. Times of calls must not go back.

use std::ops::Range;

use terrace_env::Cause;

use super::model::Disk;
use super::queue::{Read, Write};
use crate::emulator::Progress;

impl Disk {
    /// Makes the decisions that fall due by `now`.
    pub(in crate::timing) fn run_to(&mut self, now: u64) {
        self.advance(now);
    }

    /// When there will be something to decide.
    pub(in crate::timing) fn next(&self) -> Option<u64> {
        self.next_decision()
    }

    /// The answer to a command that was undecided, if there is one by now; it is given once.
    pub(in crate::timing) fn outcome(&mut self, ticket: u64) -> Option<Progress> {
        self.decided.remove(&ticket)
    }

    /// Reads without the host.
    pub(in crate::timing) fn read_inside(
        &mut self,
        now: u64,
        ticket: u64,
        range: Range<u64>,
        cause: Cause,
    ) {
        let start = self.surface.physical(range.start);
        let (end, place) = (start + range.end - range.start, self.surface.place(start));
        let read = Read { ticket, start, end, cause, place, visible: now, passed: 0 };
        self.queue.reads.push_back(read);
        self.advance(now);
    }

    /// Writes without the host. A forced write ends when the medium has it.
    pub(in crate::timing) fn write_inside(
        &mut self,
        now: u64,
        ticket: u64,
        range: Range<u64>,
        cause: Cause,
        forced: bool,
    ) {
        let start = self.surface.physical(range.start);
        let end = start + range.end - range.start;
        let write = Write { ticket, start, end, cause, visible: now, forced, inside: true };
        self.queue.writes.push_back(write);
        self.advance(now);
    }

    /// Time when the controller has understood a command and so many bytes have come or gone over
    /// the cable.
    pub(in crate::timing) fn take_in(&mut self, now: u64, bytes: u64) -> u64 {
        let visible = self.controller_free.max(now) + self.settings.command_overhead;
        self.controller_free = visible;
        self.cable(visible, bytes)
    }

    /// Gives the head something to do next that takes so long, besides the transfer of a range that
    /// the host sends, and leaves it behind that; gives the end.
    pub(in crate::timing) fn occupy(
        &mut self,
        now: u64,
        cost: u64,
        range: Range<u64>,
        cause: Cause,
    ) -> u64 {
        let bytes = range.end - range.start;
        let begin = self.free_at.max(self.take_in(now, bytes));
        self.leave(now);
        let start = self.surface.physical(range.start);
        let pass = self.surface.pass(start, bytes);
        self.worked(cause, cost, pass);
        self.head = start + bytes;
        self.free_at = begin + cost + pass;
        self.free_at
    }
}
