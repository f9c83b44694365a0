//! Facts about a range of keys that take little or no reading: whether it is empty, and its
//! approximate size.
//!
//! # Whether a range is empty
//! 1. Memtables are searched first, newest first. A put that no newer entry can hide is an answer.
//! 2. The annotations of tables are searched. If no table has a key in the range, it is empty. If a
//!    table lies in the range as a whole, and neither it nor anything newer there has a tombstone
//!    or an expired entry, the range is not empty.
//! 3. Otherwise a scan looks for the first entry, and reads like any scan.
//!
//! The answer is exact in each case, for one moment.
//!
//! # Size
//! The size is the sum of the stored bytes of tables in the range. If a table lies in the range in
//! part, its index is read if it is not in memory, and the blocks at both ends count as a whole.
//! Overwritten and deleted entries count until a merge drops them. Memtables do not count.
//!
//! Threads: any, without locks; a call may wait for the device.

use std::sync::Arc;

use terrace_env::{ByteCount, Cause, Date, SeqNo, runner};
use terrace_policy::Span;

use super::reader::Reader;
use crate::Error;
use crate::bounds::Bounds;
use crate::expiry;
use crate::key::{self, KeySpaceId, Kind, SPACE_BYTES, Trailer};
use crate::memtable::{MemoryCursor, Memtable};
use crate::tree::{Segment, Version, View};

/// The most entries of a memtable that are looked at: more cost as much as a scan.
const ENTRIES_MAX: usize = 64;

/// Knowledge that a memtable has of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    /// There is an entry.
    Something,
    /// It has no entry of the range.
    Nothing,
    /// It may hide older entries.
    Hides,
}

impl Reader {
    /// Whether the range is empty.
    pub(crate) fn is_empty(
        self: &Arc<Self>,
        space: KeySpaceId,
        bounds: &Bounds,
    ) -> Result<bool, Error> {
        let (view, sequence) = self.tree.view_at(None);
        view.closed.check()?;
        view.spaces.check_read(space)?;
        let span = span_of(space, bounds);
        if span.is_empty() {
            return Ok(true);
        }
        match known(&view, &span, sequence) {
            Some(is_empty) => Ok(is_empty),
            None => Ok(!self.scan(space, bounds, None)?.advance()?),
        }
    }

    /// Approximate bytes of tables in the range.
    pub(crate) fn size_of(&self, space: KeySpaceId, bounds: &Bounds) -> Result<ByteCount, Error> {
        let view = self.tree.view();
        view.closed.check()?;
        view.spaces.check_read(space)?;
        let (span, mut sum) = (span_of(space, bounds), 0);
        if span.is_empty() {
            return Ok(ByteCount(0));
        }
        for (_, run) in view.version.places() {
            for segment in run.overlapping(&span).1.iter() {
                let size = size_within(segment, &span);
                sum += size.map_err(|error| view.closed.explain(error))?.0;
            }
        }
        Ok(ByteCount(sum))
    }
}

fn span_of(space: KeySpaceId, bounds: &Bounds) -> Span {
    let (start, end) = bounds.full_keys(space);
    Span::new(start, end.unwrap_or_else(|| vec![0xff; SPACE_BYTES + 1]))
}

fn size_within(segment: &Segment, span: &Span) -> Result<ByteCount, Error> {
    if span.start <= segment.span.start && segment.span.end <= span.end {
        return Ok(segment.size);
    }
    let start = (&span.start).max(&segment.span.start).clone();
    let end = (&span.end).min(&segment.span.end).clone();
    segment.table.table(Cause::Read)?.blocks_of(&Span { start, end }, Cause::Read)
}

/// Whether the range is empty, if memtables and annotations can tell.
fn known(view: &View, span: &Span, sequence: SeqNo) -> Option<bool> {
    let date = runner::date();
    for memtable in view.memtables() {
        match memory_says(memtable, span, sequence, date) {
            Says::Something => return Some(false),
            Says::Nothing => {}
            Says::Hides => return None,
        }
    }
    tables_say(&view.version, span, date)
}

fn memory_says(memtable: &Arc<Memtable>, span: &Span, sequence: SeqNo, date: Date) -> Says {
    let mut cursor = MemoryCursor::new(Arc::clone(memtable));
    cursor.seek(&key::internal_key(&span.start, Trailer::NEWEST));
    let mut passed = Vec::new();
    for _ in 0..ENTRIES_MAX {
        let found = cursor.key().map(key::split);
        let Some((full_key, trailer)) = found.filter(|(key, _)| *key < &span.end[..]) else {
            let ranges = memtable.ranges().newer_than(SeqNo(0));
            let hides = ranges.into_iter().any(|tombstone| tombstone.span.overlaps(span));
            return if hides || !passed.is_empty() { Says::Hides } else { Says::Nothing };
        };
        // The newest visible entry of a key decides.
        if trailer.sequence() <= sequence && full_key != &passed[..] {
            let cover = memtable.ranges().cover(full_key, sequence);
            let is_there = match trailer.kind() {
                Some(Kind::Put | Kind::Operand) => true,
                Some(Kind::PutWithExpiry) => expiry::split(cursor.value_slice())
                    .is_some_and(|(expiry, _)| !expiry::has_expired(expiry, date)),
                Some(Kind::Delete | Kind::RangeDelete) | None => false,
            };
            if is_there && cover < Some(trailer.sequence()) {
                return Says::Something;
            }
            full_key.clone_into(&mut passed);
        }
        cursor.next();
    }
    Says::Hides
}

fn tables_say(version: &Version, span: &Span, date: Date) -> Option<bool> {
    let mut is_empty = true;
    for (_, run) in version.places() {
        for segment in run.overlapping(span).1.iter() {
            is_empty = false;
            let record = segment.table.record();
            let may_hide = record.expiries.may_have_expired(date) || segment.has_ranges();
            if record.tombstones > 0 || may_hide {
                return None;
            }
            let within =
                |of: &Span, first: &[u8], last: &[u8]| of.contains(first) && of.contains(last);
            let (first, last) = (&record.smallest, &record.largest);
            if within(span, first, last) && within(&segment.span, first, last) {
                return Some(false);
            }
        }
    }
    is_empty.then_some(true)
}
