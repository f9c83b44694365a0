//! [`Stretch`]: the entries that a cursor passes without showing one: deleted, hidden and
//! overwritten ones, and those that are newer than its sequence.
//!
//! - It counts them, for the stats and for [`EmptyRanges`](crate::ranges::EmptyRanges), and knows
//!   the start of the stretch, in the direction of the walk.
//! - Every [`LOOK_EVERY`] entries it looks up whether the keys ahead are known to be empty, so that
//!   the cursor can skip them.
//! - A stretch of [`REMEMBER_MIN`] entries or more is remembered as an empty range when it ends; so
//!   is a shorter one if it leads to a range that is skipped. A long one is remembered in parts, so
//!   that recent puts need not be kept for long.
//! - Once it has passed an expired entry, its ranges serve readers of the same date and later ones.
//!
//! A stretch belongs to one cursor, on one thread at a time, which holds no lock.

use std::sync::Arc;

use terrace_env::{Date, SeqNo};

use super::reader::Reader;
use crate::key;
use crate::ranges::Found;

/// Entries between two lookups: a skip costs each source of a merge a search, about as much as ten
/// steps.
const LOOK_EVERY: u64 = 8;
/// Shorter stretches are not worth remembering.
const REMEMBER_MIN: u64 = 16;
/// Entries after which a part of a stretch is remembered.
const PART: u64 = 1024;

/// See the [module](self).
pub(super) struct Stretch {
    reader: Arc<Reader>,
    sequence: SeqNo,
    /// Date of the cursor.
    date: Date,
    /// Whether it has passed an entry that had expired at this date.
    has_expired: bool,
    /// The bound at its start: forward its first full key, backward the first one after it. Empty:
    /// the first entry that was passed.
    bound: Vec<u8>,
    /// Entries passed since then, and those that are not in the stats yet.
    passed: u64,
    uncounted: u64,
    /// Ranges skipped that are not in the stats yet.
    skipped: u64,
}

impl Stretch {
    /// A stretch that has not begun.
    pub(super) fn new(reader: &Arc<Reader>, sequence: SeqNo, date: Date) -> Self {
        let (reader, bound) = (Arc::clone(reader), Vec::new());
        let (has_expired, passed, uncounted, skipped) = (false, 0, 0, 0);
        Self { reader, sequence, date, has_expired, bound, passed, uncounted, skipped }
    }

    /// The same, for a cursor of another date.
    pub(super) fn dated(self, date: Date) -> Self {
        Self { date, ..self }
    }

    /// Notes that the entry that is passed has expired.
    pub(super) fn note_expired(&mut self) {
        self.has_expired = true;
    }

    /// Sequence and date of the cursor.
    fn at(&self) -> (SeqNo, Date) {
        (self.sequence, self.date)
    }

    /// Notes that a walk forward begins at a full key. Returns a later key at which it may begin
    /// instead.
    pub(super) fn begin_forward(&mut self, from: &[u8]) -> Option<Vec<u8>> {
        let skip = self.reader.empty_ranges.end_from(from, self.at());
        self.begin(skip.as_deref().unwrap_or(from), skip.is_some());
        skip
    }

    /// Notes that a walk backward begins before a full key. Returns an earlier key before which it
    /// may begin instead.
    pub(super) fn begin_backward(&mut self, before: &[u8]) -> Option<Vec<u8>> {
        let skip = self.reader.empty_ranges.start_before(before, self.at());
        self.begin(skip.as_deref().unwrap_or(before), skip.is_some());
        skip
    }

    fn begin(&mut self, bound: &[u8], skipped: bool) {
        self.bound.clear();
        self.bound.extend_from_slice(bound);
        self.passed = 0;
        self.skipped += u64::from(skipped);
    }

    /// Passes an entry of a key, forward. Returns a later key at which the walk may go on instead.
    /// `is_behind`: a newer entry of the key came before, and may have been shown.
    #[inline]
    pub(super) fn pass_forward(&mut self, full_key: &[u8], is_behind: bool) -> Option<Vec<u8>> {
        if self.count(full_key, is_behind) {
            return None;
        }
        let skip = self.reader.empty_ranges.end_from(full_key, self.at());
        if self.bound[..] < *full_key && (skip.is_some() || self.passed >= PART) {
            let from = std::mem::take(&mut self.bound);
            self.remember(&from, full_key);
            self.begin(skip.as_deref().unwrap_or(full_key), skip.is_some());
        }
        skip
    }

    /// Passes an entry of a key, backward. Returns an earlier key before which the walk may go on.
    #[inline]
    pub(super) fn pass_backward(&mut self, full_key: &[u8]) -> Option<Vec<u8>> {
        if self.count(full_key, true) {
            return None;
        }
        let behind = key::successor(full_key);
        let skip = self.reader.empty_ranges.start_before(&behind, self.at());
        if behind <= self.bound && (skip.is_some() || self.passed >= PART) {
            let until = std::mem::take(&mut self.bound);
            self.remember(&behind, &until);
            self.begin(skip.as_deref().unwrap_or(&behind), skip.is_some());
        }
        skip
    }

    /// Counts an entry; returns whether no lookup is due yet. `is_behind`: if the stretch begins
    /// with the entry, it begins directly after the key, not at it.
    fn count(&mut self, full_key: &[u8], is_behind: bool) -> bool {
        self.passed += 1;
        self.uncounted += 1;
        if self.passed == 1 && self.bound.is_empty() {
            self.bound.extend_from_slice(full_key);
            if is_behind {
                self.bound.push(0);
            }
        }
        if !self.passed.is_multiple_of(LOOK_EVERY) {
            return true;
        }
        if self.passed >= REMEMBER_MIN && !self.reader.empty_ranges.is_watching() {
            self.reader.watch_puts();
        }
        false
    }

    /// Ends the stretch before a full key, forward.
    #[inline]
    pub(super) fn end_forward(&mut self, until: &[u8]) {
        if self.passed >= REMEMBER_MIN {
            let found = (std::mem::take(&mut self.bound), until.to_vec());
            self.remember(&found.0, &found.1);
        }
        self.end();
    }

    /// Ends the stretch at a full key that is shown, backward.
    #[inline]
    pub(super) fn end_backward_at(&mut self, shown: &[u8]) {
        if self.passed >= REMEMBER_MIN {
            return self.end_backward(&key::successor(shown));
        }
        self.end();
    }

    /// Ends the stretch at a full key, backward: there was no key to show from there on.
    #[inline]
    pub(super) fn end_backward(&mut self, from: &[u8]) {
        if self.passed >= REMEMBER_MIN {
            let found = (from.to_vec(), std::mem::take(&mut self.bound));
            self.remember(&found.0, &found.1);
        }
        self.end();
    }

    /// Ends the stretch, and adds its counts to the stats.
    #[inline]
    pub(super) fn end(&mut self) {
        self.bound.clear();
        (self.passed, self.has_expired) = (0, false);
        if self.uncounted + self.skipped > 0 {
            let counters = &self.reader.counters;
            counters.scan_entries_passed.add(std::mem::take(&mut self.uncounted));
            counters.scan_ranges_skipped.add(std::mem::take(&mut self.skipped));
        }
    }

    fn remember(&self, from: &[u8], until: &[u8]) {
        let Self { sequence: at, date, has_expired, passed: weight, .. } = *self;
        let snapshots = self.reader.tree.snapshots();
        let found = Found { from, until, at, date, has_expired, weight };
        self.reader.empty_ranges.remember(&found, &snapshots);
    }
}
