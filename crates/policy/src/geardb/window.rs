//! The compaction window of a level (section 3.2): the tables of the level that gear compactions
//! may take. So tables of the level die in the zones of its window only, but for those that the
//! other compactions take ([`super`]) and that range deletes hide.
//!
//! 1. It holds 1/k of the level's bytes: whole zones, and of the last one as much as is missing, as
//!    equation 2 counts bytes.
//! 2. Zones take turns, from the oldest to the youngest and round again; what is written while a
//!    round goes on is younger, and waits for the next. Where the zones left in a round are too few
//!    for the window, others join it, oldest first.
//! 3. When all its tables are compacted, its whole zones hold nothing live, and the next zones
//!    become the window.
//! 4. A level that has not grown to its window's size is all window (of levels 0 and 1 that is
//!    always so).
//!
//! The paper leaves open what happens if the last tables of a window overlap no input. When a
//! window is nearly empty, the next zones therefore join it. After more than k compactions in a row
//! that overlapped nothing of the window, the window is replaced by zones whose tables overlap the
//! input; the tables left wait for their next turn. A compaction that begins in a level above its
//! limits does not wait for that: its window is replaced at once. The published form does neither.

use terrace_env::{ByteCount, FileId};

use super::layout::{Layout, LevelZone, home};
use super::state::{IdRange, NOWHERE, Turn};
use crate::tree::{RunView, SegmentView, Span};
use crate::zones::ZonesView;

/// A window of which less than this share is left is nearly empty.
const NEARLY_EMPTY_SHARE: u64 = 8;

/// The window of a level, as far as it is still there.
pub(super) struct Window<'a> {
    /// In key order.
    pub(super) tables: Vec<&'a SegmentView>,
}

impl<'a> Window<'a> {
    /// All of a level.
    pub(super) fn whole(run: Option<&'a RunView>) -> Self {
        Self { tables: run.iter().flat_map(|run| &run.segments).collect() }
    }

    /// The remembered window. Id ranges without a table are dropped from `turn`.
    pub(super) fn remembered(run: Option<&'a RunView>, view: &ZonesView, turn: &mut Turn) -> Self {
        let mut tables = Vec::new();
        let mut alive = vec![false; turn.window.len()];
        for table in run.iter().flat_map(|run| &run.segments) {
            let zone = home(view, table.file);
            let of = turn.window.iter().position(|range| range.holds(zone, table.file));
            if let Some(of) = of {
                alive[of] = true;
                tables.push(table);
            }
        }
        let mut alive = alive.into_iter();
        turn.window.retain(|_| alive.next() == Some(true));
        Self { tables }
    }

    pub(super) fn size(&self) -> ByteCount {
        ByteCount(self.tables.iter().map(|table| table.size.0).sum())
    }

    /// Whether so little is left that the next zones should join.
    pub(super) fn is_nearly_empty(&self, wanted: ByteCount) -> bool {
        self.size().0 <= wanted.0 / NEARLY_EMPTY_SHARE
    }

    pub(super) fn meets(&self, span: &Span) -> bool {
        let first = self.tables.partition_point(|table| table.span.end <= span.start);
        self.tables.get(first).is_some_and(|table| table.span.start < span.end)
    }

    pub(super) fn meets_any(&self, spans: &[Span]) -> bool {
        spans.iter().any(|span| self.meets(span))
    }

    /// Adds the zones whose turn is next, until the window holds `wanted` bytes. A zone is skipped
    /// if no table of it `serves`.
    pub(super) fn turn_on(
        &mut self,
        layout: &Layout<'a>,
        turn: &mut Turn,
        wanted: ByteCount,
        serves: impl Fn(&SegmentView) -> bool,
    ) {
        let of_window = |turn: &Turn, zone, file| turn.window.iter().any(|s| s.holds(zone, file));
        let of_round = |turn: &Turn, zone: &LevelZone<'_>| {
            turn.passed < zone.age() && zone.age() <= turn.round
        };
        if !layout.zones.iter().any(|zone| of_round(turn, zone)) {
            let newest = layout.zones.last().map_or(FileId(0), LevelZone::age);
            (turn.passed, turn.round) = (FileId(0), newest);
        }
        let (old, rest): (Vec<_>, Vec<_>) =
            layout.zones.iter().partition(|zone| of_round(turn, zone));
        let mut held = self.size().0;
        let mut joined = false;
        for zone in old.into_iter().chain(rest) {
            if held >= wanted.0 {
                break;
            }
            let fresh = zone.tables.iter().copied();
            let fresh: Vec<_> =
                fresh.filter(|table| !of_window(turn, zone.zone, table.file)).collect();
            if !fresh.iter().any(|table| serves(table)) {
                joined = false;
                continue;
            }
            let mut count = 0;
            for table in &fresh {
                if held >= wanted.0 {
                    break;
                }
                held += table.size.0;
                count += 1;
                self.tables.push(table);
            }
            remember(turn, zone, &fresh[..count], joined);
            joined = zone.zone == NOWHERE;
            turn.passed = if count == fresh.len() { zone.age() } else { fresh[count - 1].file };
        }
        turn.misses = 0;
        self.tables.sort_by(|a, b| a.span.start.cmp(&b.span.start));
    }
}

/// `joined`: the table before it in the level's order is the last of the window, and in no zone
/// either.
fn remember(turn: &mut Turn, zone: &LevelZone<'_>, tables: &[&SegmentView], joined: bool) {
    let (Some(first), Some(last)) = (tables.first(), tables.last()) else { return };
    match turn.window.last_mut() {
        Some(range) if joined && range.zone == zone.zone && range.last < first.file => {
            range.last = last.file;
        }
        _ => turn.window.push(IdRange { zone: zone.zone, first: first.file, last: last.file }),
    }
}

/// The largest id of a table.
pub(super) fn newest<'a>(tables: impl Iterator<Item = &'a SegmentView>) -> FileId {
    tables.map(|table| table.file).max().unwrap_or_default()
}
