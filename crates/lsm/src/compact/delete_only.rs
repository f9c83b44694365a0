//! Delete-only compaction: drops segments (tables, or the ranges of tables that belong to the tree)
//! that range tombstones cover, up to [`SEGMENTS_MAX`] by one transaction. It reads the range
//! tombstones of tables and none of their other entries.
//!
//! A segment is dropped in two cases. In both, every snapshot must see the range tombstones:
//! 1. Range tombstones of newer runs cover the whole key range of the segment.
//! 2. The segment's own range tombstones cover its whole key range, no entry of its table is newer
//!    than they are, and no older segment overlaps its key range.
//!
//! A segment stays if a plan in flight has a claim on it ([`Claims`]). For this the caller must
//! have the turn to choose a plan, and take the claims before the version. If only snapshots keep
//! segments from being dropped, the answer is the oldest of these snapshots ([`Found::KeptBy`]).
//! The segments are to be looked at again when it ends.

use terrace_env::{ByteCount, Cause, SeqNo};
use terrace_policy::{Claims, Part, Place, Span};

use crate::Error;
use crate::ranges::{Fragment, unite};
use crate::tree::Edit;
use crate::tree::Segment;
use crate::tree::Version;

/// The most segments that one transaction takes out: some hundred KiB of journal.
const SEGMENTS_MAX: usize = 4096;

/// Segments that can be dropped now.
pub(super) struct Covered {
    /// Takes the segments out of the tree.
    pub(super) edit: Edit,
    /// Number of segments.
    pub(super) segments: u64,
    pub(super) bytes: ByteCount,
}

/// Result of a look for covered segments.
pub(super) enum Found {
    /// There are covered segments that no plan claims.
    Covered(Covered),
    /// All covered segments are kept by this snapshot, the oldest one.
    KeptBy(SeqNo),
    None,
}

/// Finds segments that are covered and not claimed. The claims were taken before the version.
/// `snapshots`: all live ones, ascending.
pub(super) fn find(
    version: &Version,
    claims: &Claims,
    snapshots: &[SeqNo],
) -> Result<Found, Error> {
    if !version.places().any(|(_, run)| run.has_ranges()) {
        return Ok(Found::None);
    }
    let oldest = snapshots.first().copied();
    let mut covered = covered(version, oldest.unwrap_or(SeqNo::MAX))?;
    covered.retain(|(place, segment)| claims.allow_taking(*place, &segment.span));
    match oldest {
        _ if !covered.is_empty() => Ok(Found::Covered(Covered::of(&covered))),
        Some(oldest) if !self::covered(version, SeqNo::MAX)?.is_empty() => {
            Ok(Found::KeptBy(oldest))
        }
        _ => Ok(Found::None),
    }
}

impl Covered {
    fn of(covered: &[(Place, &Segment)]) -> Self {
        debug_assert!(!covered.is_empty(), "a change of nothing");
        let (mut edit, mut bytes) = (Edit::default(), 0);
        let now = &covered[..covered.len().min(SEGMENTS_MAX)];
        for (place, segment) in now {
            let (file, span) = (segment.table.id(), segment.span.clone());
            edit.take(*place, &Part { file, span });
            bytes += segment.size.0;
        }
        Self { edit, segments: now.len() as u64, bytes: ByteCount(bytes) }
    }
}

/// The segments of which a reader of this sequence, or of a later one, sees no entry.
fn covered(version: &Version, oldest: SeqNo) -> Result<Vec<(Place, &Segment)>, Error> {
    let mut covered = Vec::new();
    let mut covers: Vec<Span> = Vec::new();
    for (place, run) in version.places() {
        let mut own = Vec::new();
        for segment in &run.segments {
            let ranges: Vec<Fragment> = segment
                .ranges(Cause::Compaction)?
                .into_iter()
                .filter(|fragment| fragment.cover(oldest).is_some())
                .collect();
            if covers_all(&covers, &segment.span)
                || hides_itself(segment, &ranges, oldest) && !hides_others(version, place, segment)
            {
                covered.push((place, segment));
            } else {
                own.extend(ranges.into_iter().map(|fragment| fragment.span));
            }
        }
        if !own.is_empty() {
            covers.extend(own);
            covers = unite(covers);
        }
    }
    Ok(covered)
}

/// Whether one of these ranges, merged as far as possible, contains a span.
fn covers_all(covers: &[Span], span: &Span) -> bool {
    let before = covers.partition_point(|cover| cover.start <= span.start);
    before.checked_sub(1).is_some_and(|last| span.end <= covers[last].end)
}

/// Whether a segment's range tombstones cover all of it and are newer than all its entries.
fn hides_itself(segment: &Segment, ranges: &[Fragment], oldest: SeqNo) -> bool {
    let newest = segment.table.record().last_sequence;
    let over = ranges.iter().filter(|fragment| fragment.cover(oldest) == Some(newest));
    covers_all(&unite(over.map(|fragment| fragment.span.clone()).collect()), &segment.span)
}

/// Whether older entries lie below a segment.
fn hides_others(version: &Version, place: Place, segment: &Segment) -> bool {
    let mut older = version.places().skip_while(|(other, _)| *other != place).skip(1);
    older.any(|(_, run)| !run.overlapping(&segment.span).1.is_empty())
}
