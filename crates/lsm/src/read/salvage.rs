//! [`Salvage`]: reads the undamaged entries of a range if tables are damaged.
//!
//! 1. All tables of the range are read and verified, block by block, before the call returns. A
//!    table that cannot be opened counts as damaged in all of the range that it covers.
//! 2. A damaged block may have held the newest version of a key. So the keys of its range are
//!    looked up only in newer runs and in memtables: versions there hide those in the block.
//! 3. The other keys of that range are left out, even if older runs have versions of them, and the
//!    range is listed. Keys with only operands are left out, too. So no stale version is shown,
//!    unless tables were lost with their device before the opening
//!    ([`LostRange`](crate::LostRange)).
//!
//! A failed read counts as damage, even if it would succeed later; if the engine is closed
//! meanwhile, the call is an error. If a read fails after step 1, the salvage returns the error and
//! ends. A salvage changes nothing, and reads no logs.
//!
//! A salvage belongs to one thread at a time, which holds no lock. It holds memtables and files,
//! like a scan.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use terrace_env::{Cause, FileId, SeqNo};
use terrace_policy::Span;

use super::cursor::Cursor;
use super::reader::Reader;
use crate::Error;
use crate::bounds::Bounds;
use crate::key::{self, KeySpaceId, SPACE_BYTES};
use crate::operands::Combiner;
use crate::readers::{ReaderKind, Reading};
use crate::table::Damage;
use crate::tree::View;
use crate::tree::{Run, Segment};

/// A part of a table that could not be read, and the keys that were left out for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The table.
    pub file: FileId,
    /// The level that it is in.
    pub level: u8,
    /// Offset of the part in the file.
    pub offset: u64,
    /// Bytes of the part; 0 if that is not known, and the part is the rest of the table.
    pub bytes: u64,
    /// The first key that it may hold.
    pub start: Bytes,
    /// The first key after those; `None`: all later keys may be in it.
    pub end: Option<Bytes>,
    /// Why it could not be read.
    pub reason: String,
}

/// The undamaged entries of a range, in order, and the parts that are left out.
#[derive(Debug)]
pub struct Salvage {
    cursors: VecDeque<Cursor>,
    left_out: Vec<LeftOut>,
    /// Lists it until it ends.
    _reading: Reading,
}

impl Salvage {
    /// Ranges that are left out.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }
}

impl Iterator for Salvage {
    type Item = Result<(Bytes, Bytes), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let cursor = self.cursors.front_mut()?;
            match cursor.next() {
                Ok(true) => {
                    return Some(Ok((Bytes::copy_from_slice(cursor.key()), cursor.value())));
                }
                Ok(false) => drop(self.cursors.pop_front()),
                Err(error) => {
                    self.cursors.clear();
                    return Some(Err(error));
                }
            }
        }
    }
}

/// A range of a run that cannot be read.
struct Gap {
    /// Index of the run, newest first.
    run: usize,
    file: FileId,
    level: u8,
    damage: Damage,
}

impl Reader {
    /// The undamaged entries of a range.
    pub(crate) fn salvage(&self, space: KeySpaceId, bounds: &Bounds) -> Result<Salvage, Error> {
        let (view, sequence) = self.tree.view_at(None);
        view.closed.check()?;
        view.spaces.check_read(space)?;
        self.counters.scans.add(1);
        let reading = self.readers.begin(ReaderKind::Scan, sequence);
        let (start, end) = bounds.full_keys(space);
        let range = Span::new(start, end.unwrap_or_else(|| vec![0xff; SPACE_BYTES + 1]));
        if range.is_empty() {
            let (cursors, left_out) = (VecDeque::new(), Vec::new());
            return Ok(Salvage { cursors, left_out, _reading: reading });
        }
        let gaps = survey(&view, &range)?;
        let cursors = cursors(&view, sequence, (space, &self.combiner(space)), &range, &gaps);
        let left_out = gaps.iter().map(|gap| gap.left_out(space)).collect();
        Ok(Salvage { cursors, left_out, _reading: reading })
    }
}

/// Reads all tables of a range; returns the parts that cannot be read.
fn survey(view: &Arc<View>, range: &Span) -> Result<Vec<Gap>, Error> {
    let mut gaps = Vec::new();
    for (run, (place, segments)) in view.version.places().enumerate() {
        for segment in segments.overlapping(range).1.iter() {
            view.closed.check()?;
            let start = segment.span.start.to_vec().max(range.start.to_vec());
            let end = segment.span.end.to_vec().min(range.end.to_vec());
            let span = Span::new(start, end);
            let damage = match segment.table.table(Cause::Recovery) {
                Ok(table) => table.damage(&span, Cause::Recovery),
                Err(error) => vec![Damage { span, offset: 0, bytes: 0, error }],
            };
            // A read that failed because the engine closes is no damage.
            view.closed.check()?;
            let (file, level) = (segment.table.id(), place.level);
            gaps.extend(damage.into_iter().map(|damage| Gap { run, file, level, damage }));
        }
    }
    Ok(gaps)
}

/// A cursor for each piece of the range: over all runs if nothing is damaged, or else over those
/// that are newer than the newest damaged one.
fn cursors(
    view: &View,
    sequence: SeqNo,
    (space, combiner): (KeySpaceId, &Combiner),
    range: &Span,
    gaps: &[Gap],
) -> VecDeque<Cursor> {
    let ends = gaps.iter().flat_map(|gap| [&gap.damage.span.start, &gap.damage.span.end]);
    let ends: BTreeSet<_> = ends.chain([&range.start, &range.end]).cloned().collect();
    let ends: Vec<_> = ends.into_iter().collect();
    let newest_damaged = |start: &[u8]| {
        let damaged = gaps.iter().filter(|gap| gap.damage.span.contains(start));
        damaged.map(|gap| gap.run).min().unwrap_or(usize::MAX)
    };
    let pieces = ends.windows(2).map(|ends| {
        let piece = Span::new(&ends[0][..], &ends[1][..]);
        let newest_damaged = newest_damaged(&piece.start);
        let runs = view.version.places().take(newest_damaged);
        let runs: Vec<_> = runs.filter_map(|(_, run)| clip(run, &piece)).collect();
        let (start, end) = user_keys(&piece, space);
        let bounds = Bounds::starting_at(&start);
        let bounds = end.map_or(bounds.clone(), |end| bounds.until(&end));
        let keys = (space, &bounds);
        let cursor = Cursor::over(view, || runs.iter(), sequence, keys, combiner.clone());
        if newest_damaged == usize::MAX { cursor } else { cursor.without_unknown_bases() }
    });
    pieces.collect()
}

/// The part of a run within a piece. A cursor reads no keys after its runs' segments, because they
/// may be damaged.
fn clip(run: &Run, piece: &Span) -> Option<Arc<Run>> {
    let segments = run.overlapping(piece).1;
    let clipped = segments.iter().map(|segment| {
        let start = Arc::clone((&segment.span.start).max(&piece.start));
        let end = Arc::clone((&segment.span.end).min(&piece.end));
        Segment { span: Span { start, end }, ..segment.clone() }
    });
    let clipped: Vec<_> = clipped.filter(|segment| !segment.span.is_empty()).collect();
    (!clipped.is_empty()).then(|| Arc::new(Run::new(run.id, clipped)))
}

/// The user keys of a span: the first, and the first after it, unless the space ends there.
fn user_keys(span: &Span, space: KeySpaceId) -> (Bytes, Option<Bytes>) {
    let prefix = key::full_key(space, b"");
    let start = span.start.strip_prefix(&prefix[..]).unwrap_or_default();
    let end = span.end.strip_prefix(&prefix[..]).map(Bytes::copy_from_slice);
    (Bytes::copy_from_slice(start), end)
}

impl Gap {
    fn left_out(&self, space: KeySpaceId) -> LeftOut {
        let Self { file, level, damage, .. } = self;
        let (start, end) = user_keys(&damage.span, space);
        let (offset, bytes, reason) = (damage.offset, damage.bytes, damage.error.to_string());
        LeftOut { file: *file, level: *level, offset, bytes, start, end, reason }
    }
}
