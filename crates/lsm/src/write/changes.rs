//! [`first_change`]: finds the first key or range of a conditional write's reads that was written
//! since a sequence number.
//!
//! - A key or a range counts as written if an entry or a range tombstone over it is newer than that
//!   sequence, even if the value is the same. Entries of an ingest have its global sequence.
//! - The search skips memtables, tables and segments without newer entries. So it mostly ends in
//!   the active memtable. A key costs a search in each place with newer entries; a range costs a
//!   walk over its entries there.
//! - Merges drop entries and tombstones that no reader needs. If a snapshot of the sequence is
//!   alive, a key whose value differs from the snapshot's has a newer entry or tombstone: either
//!   its newest value, or the one that hides the snapshot's value from newer readers. Without that
//!   snapshot, a change can be missed.
//!
//! One thread, which holds no lock: the search may read from the device.

use std::sync::Arc;

use terrace_env::{Cause, SeqNo};
use terrace_policy::Span;

use super::read_set::ReadSet;
use crate::key::{self, Trailer};
use crate::memory::Walk;
use crate::memtable::{MemoryCursor, Memtable};
use crate::merge::RunCursor;
use crate::table::PointReads;
use crate::tree::{Run, Segment, Sought, View};
use crate::{Error, ReadOptions};

/// A key or a range that was read, and then written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    /// A full key.
    Key(&'a [u8]),
    /// The first full key of a range, and the first after it.
    Range(&'a [u8], &'a [u8]),
}

/// The first of the keys and ranges that was written after a sequence.
pub(crate) fn first_change<'a>(
    view: &View,
    reads: &'a ReadSet,
    since: SeqNo,
) -> Result<Option<Change<'a>>, Error> {
    // Memtables with newer entries. A memtable's end is the sequence after its newest entry.
    let newer: Vec<&Arc<Memtable>> =
        view.memtables().filter(|memtable| memtable.end().0 > since.0 + 1).collect();
    for full_key in reads.keys() {
        let in_memory = newer.iter().any(|memtable| memtable.newest(full_key) > Some(since));
        if in_memory || key_is_changed(view, full_key, since)? {
            return Ok(Some(Change::Key(full_key)));
        }
    }
    for (start, end) in reads.ranges() {
        let span = Span::new(start, end);
        let in_memory = newer.iter().any(|memtable| memory_is_changed(memtable, &span, since));
        if in_memory || range_is_changed(view, &span, since)? {
            return Ok(Some(Change::Range(start, end)));
        }
    }
    Ok(None)
}

fn memory_is_changed(memtable: &Arc<Memtable>, span: &Span, since: SeqNo) -> bool {
    if memtable.ranges().newer_than(since).any(|tombstone| tombstone.span.overlaps(span)) {
        return true;
    }
    let mut cursor = MemoryCursor::new(Arc::clone(memtable));
    cursor.seek(&key::internal_key(&span.start, Trailer::NEWEST));
    while let Some(internal_key) = cursor.key() {
        let (full_key, trailer) = key::split(internal_key);
        if full_key >= &span.end[..] {
            return false;
        }
        if trailer.sequence() > since {
            return true;
        }
        cursor.next();
    }
    false
}

fn is_newer(segment: &Segment, since: SeqNo) -> bool {
    segment.table.record().last_sequence > since
}

/// Whether a table has a newer entry of the key, or a newer range tombstone over it.
fn key_is_changed(view: &View, full_key: &[u8], since: SeqNo) -> Result<bool, Error> {
    let seek_key = key::internal_key(full_key, Trailer::NEWEST);
    let mut sought = Sought::new(&seek_key);
    for (_, run) in view.version.places() {
        let segment = run.segment_of(full_key).filter(|segment| is_newer(segment, since));
        let Some(segment) = segment else { continue };
        if segment.has_ranges() {
            let table = segment.table.table(Cause::Read)?;
            if table.ranges().cover(full_key, SeqNo::MAX) > Some(since) {
                return Ok(true);
            }
        }
        let mut reads = PointReads::one(ReadOptions::default());
        if run.get(&mut sought, &mut reads, |_| ())?.is_none() {
            continue;
        }
        let mut cursor = RunCursor::new(Arc::clone(run), Walk::Scan);
        cursor.seek(&seek_key)?;
        let found = cursor.key().map(key::split).filter(|(found, _)| *found == full_key);
        if found.is_some_and(|(_, trailer)| trailer.sequence() > since) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether tables have a newer entry in the range, or a newer range tombstone that overlaps it.
fn range_is_changed(view: &View, span: &Span, since: SeqNo) -> Result<bool, Error> {
    for (_, run) in view.version.places() {
        let mut cursor = None;
        let (_, segments) = run.overlapping(span);
        for segment in segments.iter().filter(|segment| is_newer(segment, since)) {
            let ranges = segment.ranges(Cause::Read)?;
            let newer = |sequences: &[SeqNo]| sequences.first() > Some(&since);
            if ranges.iter().any(|one| newer(&one.sequences) && one.span.overlaps(span)) {
                return Ok(true);
            }
            let cursor = cursor.get_or_insert_with(|| walk(run));
            if entries_are_newer(cursor, segment, span, since)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn walk(run: &Arc<Run>) -> RunCursor {
    RunCursor::new(Arc::clone(run), Walk::Scan)
}

fn entries_are_newer(
    cursor: &mut RunCursor,
    segment: &Segment,
    span: &Span,
    since: SeqNo,
) -> Result<bool, Error> {
    let start = (&span.start).max(&segment.span.start);
    let end = (&span.end).min(&segment.span.end);
    cursor.seek(&key::internal_key(start, Trailer::NEWEST))?;
    while let Some(internal_key) = cursor.key() {
        let (full_key, trailer) = key::split(internal_key);
        if full_key >= &end[..] {
            break;
        }
        if trailer.sequence() > since {
            return Ok(true);
        }
        cursor.next()?;
    }
    Ok(false)
}
