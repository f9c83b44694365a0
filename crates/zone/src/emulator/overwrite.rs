//! [`Overwrite`]: the change of a write in place, as long as a power cut may take it back.
//! [`Progress`] tells how far the write has come.
//!
//! A write to a conventional zone, a plain device or shingled tracks leaves overwrites for the
//! bytes that it wrote. On shingled tracks it leaves others for the bytes that it destroyed, its
//! *harm*. All overwrites of a write have its ticket.
//!
//! An overwrite holds a copy of the old bytes. On shingled tracks, bytes of which the drive knows
//! that they were never written ([`Old::Unwritten`]), or are destroyed already
//! ([`Old::Destroyed`]), are not copied: the overwrite says only how many there are. These are
//! plain values, without locks or I/O.

use std::ops::Range;
use std::sync::Arc;

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The write was not waited for yet.
    InFlight { ticket: u64 },
    /// Complete, when this many flushes had been submitted.
    Complete { flushes: u64 },
}

impl Progress {
    pub(super) fn complete(&mut self, ticket: u64, flushes: u64) -> bool {
        let found = *self == Self::InFlight { ticket };
        if found {
            *self = Self::Complete { flushes };
        }
        found
    }

    /// Whether the flush that was submitted as number `flush` covers it.
    pub(super) fn covered(self, flush: u64) -> bool {
        matches!(self, Self::Complete { flushes } if flushes <= flush)
    }
}

/// Bytes from before a write.
#[derive(Clone, Debug)]
pub(super) enum Old {
    Bytes(Arc<[u8]>),
    /// A number of bytes of shingled tracks that were never written, and read as zeros.
    Unwritten(u64),
    /// A number of bytes of shingled tracks that had been destroyed.
    Destroyed(u64),
}

impl Old {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Unwritten(len) | Self::Destroyed(len) => *len,
        }
    }

    fn part(&self, within: Range<u64>) -> Self {
        match self {
            Self::Bytes(bytes) => {
                Self::Bytes(bytes[within.start as usize..within.end as usize].into())
            }
            Self::Unwritten(_) => Self::Unwritten(within.end - within.start),
            Self::Destroyed(_) => Self::Destroyed(within.end - within.start),
        }
    }
}

/// Bytes that a write has changed or destroyed, as they were before.
#[derive(Clone, Debug)]
pub(super) struct Before {
    /// The first byte, from the zone's start.
    pub(super) offset: u64,
    pub(super) old: Old,
    /// Whether they were destroyed, and not written.
    pub(super) harm: bool,
}

/// Bytes of a conventional zone that a power cut may give back.
#[derive(Clone, Debug)]
pub(super) struct Overwrite {
    pub(super) before: Before,
    /// The write's ticket.
    pub(super) ticket: u64,
    pub(super) progress: Progress,
    pub(super) forced: bool,
}

impl Overwrite {
    pub(super) fn new(before: Before, ticket: u64, forced: bool) -> Self {
        Self { before, ticket, progress: Progress::InFlight { ticket }, forced }
    }

    /// The bytes, from the zone's start.
    pub(super) fn range(&self) -> Range<u64> {
        self.before.offset..self.before.offset + self.before.old.len()
    }

    /// The overwrite's share of the drive's cache: the written bytes, and the destroyed ones that
    /// are kept.
    pub(super) fn cached(&self) -> u64 {
        match &self.before {
            Before { harm: true, old: Old::Unwritten(_) | Old::Destroyed(_), .. } => 0,
            Before { old, .. } => old.len(),
        }
    }

    /// The parts of it that lie outside all of `ranges`.
    pub(super) fn without(self, ranges: &[Range<u64>]) -> Vec<Self> {
        let mut parts = vec![self];
        for range in ranges {
            parts = parts.into_iter().flat_map(|part| part.outside(range)).collect();
        }
        parts
    }

    fn outside(self, range: &Range<u64>) -> Vec<Self> {
        let own = self.range();
        if own.end <= range.start || range.end <= own.start {
            return vec![self];
        }
        let part = |from: u64, to: u64| {
            (from < to).then(|| {
                let old = self.before.old.part(from - own.start..to - own.start);
                Self { before: Before { offset: from, old, ..self.before }, ..self }
            })
        };
        [part(own.start, range.start), part(range.end, own.end)].into_iter().flatten().collect()
    }
}
