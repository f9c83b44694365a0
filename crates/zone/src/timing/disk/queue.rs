//! [`Queue`]: the commands of a modelled disk that wait: reads for the head, writes for room in the
//! write cache, and flushes for the cache to reach the medium.
//!
//! Each kind is kept in the order of submission. [`Queue::eligible`] gives the reads that the drive
//! may choose among: up to the depth of its queue, and none that came after a flush that still
//! waits.

use std::collections::VecDeque;

use terrace_env::Cause;

use super::surface::Place;

/// A read that the cache cannot answer.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) ticket: u64,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) cause: Cause,
    pub(super) place: Place,
    /// Time at which the controller has understood the request.
    pub(super) visible: u64,
    /// How often newer ones were served before it.
    pub(super) passed: u32,
    /// It is the drive's own, and does not go over the cable.
    pub(super) inside: bool,
}

/// A write that waits for room.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) ticket: u64,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) cause: Cause,
    pub(super) visible: u64,
    pub(super) forced: bool,
    /// It is the drive's own, and does not come over the cable.
    pub(super) inside: bool,
}

/// A flush that waits for the cache to reach the medium.
#[derive(Clone, Debug)]
pub(super) struct Flush {
    pub(super) ticket: u64,
    /// The flush covers writes with smaller numbers.
    pub(super) limit: u64,
    pub(super) visible: u64,
}

/// All waiting requests, each kind in the order of submission.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    pub(super) reads: VecDeque<Read>,
    pub(super) writes: VecDeque<Write>,
    pub(super) flushes: VecDeque<Flush>,
}

impl Queue {
    /// The reads that the drive may choose among: the first `depth`, and none that came after a
    /// flush that still waits (drives take no new command while they flush).
    pub(super) fn eligible(&self, depth: usize) -> impl Iterator<Item = (usize, &Read)> {
        let flush = self.flushes.front().map_or(u64::MAX, |flush| flush.ticket);
        let reads = self.reads.iter().enumerate().take(depth);
        reads.take_while(move |(_, read)| read.ticket < flush)
    }

    /// Takes out a read; those before it have been passed over.
    pub(super) fn take_read(&mut self, index: usize) -> Read {
        self.reads.iter_mut().take(index).for_each(|read| read.passed += 1);
        self.reads.remove(index).expect("a read that is in the queue")
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
