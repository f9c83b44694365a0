//! Calls on a [`Disk`] for a translation layer, in addition to those of
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
        let (visible, passed, inside) = (now, 0, true);
        let read = Read { ticket, start, end, cause, place, visible, passed, inside };
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

    /// Time at which the controller has understood a command and moved `bytes` over the cable.
    pub(in crate::timing) fn take_in(&mut self, now: u64, bytes: u64) -> u64 {
        let visible = self.controller_free.max(now) + self.settings.command_overhead;
        self.controller_free = visible;
        self.cable(visible, bytes)
    }

    /// Makes the head work next for `cost` and the transfer of a range that the host sends, and
    /// leaves it at the end of that range; returns the end in time.
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

#[cfg(test)]
mod tests {
    use terrace_env::{ByteCount, Lba, Time};

    use super::*;
    use crate::Geometry;
    use crate::emulator::{Command, RequestKind, Timing};
    use crate::timing::{Drive, Scale};

    #[test]
    fn a_read_of_the_drives_own_takes_what_was_read_ahead_without_the_cable() {
        let drive = Drive::find("seagate-st1000dm003").unwrap();
        let geometry = Geometry::plain(ByteCount::gib(4));
        let mut disk = Disk::new(drive.disk_parameters(), &geometry, Scale::FULL);
        let read = |lba: u64| Command {
            kind: RequestKind::Read,
            cause: Cause::Read,
            lba: Lba(lba),
            blocks: 16,
            zone: None,
            append: false,
            forced: false,
            refused: false,
        };
        let mut progress = disk.submit(Time(0), 0, &read(0));
        let mut now = loop {
            match progress {
                Progress::Decided { end, .. } => break end.0,
                Progress::Undecided { ask } => progress = disk.poll(ask, 0),
            }
        };
        // While the host asks for nothing, the head reads on.
        now += 1_000_000_000;
        let bytes = 16 * 4096;
        disk.read_inside(now, 1, bytes..2 * bytes, Cause::Reclaim);
        let at_once = Progress::Decided { start: Time(now), end: Time(now) };
        assert_eq!(disk.outcome(1), Some(at_once));
        match disk.submit(Time(now), 2, &read(32)) {
            Progress::Decided { end, .. } => assert!(end.0 > now, "the host's goes over it"),
            Progress::Undecided { .. } => panic!("a read that finds its bytes waits"),
        }
    }
}
