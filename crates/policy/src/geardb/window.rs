//! [`Window`]: the compaction window of a level (section 3.2), as the tables of the level that gear
//! compactions may take.
//!
//! 1. A window is a whole level, or a group of its zones. The variant says how many zones
//!    ([`Window::of_oldest`]) or how many bytes of tables ([`Window::turn_on`]), and whether it
//!    takes the last zone whole or in part.
//! 2. By [`Window::turn_on`] zones take turns, from the oldest to the youngest and round again.
//!    Zones written during a round wait for the next one. If too few zones are left in a round,
//!    others join, oldest first. [`Window::of_oldest`] knows no rounds.
//! 3. When all its tables are compacted, a zone that it had whole holds few live bytes of the
//!    level: ends of tables that begin in another zone, and data written or moved there since.
//!
//! A group is remembered by the zones and ids of its tables: see [`state`](super::state).

use std::collections::BTreeSet;

use terrace_env::{ByteCount, FileId};

use super::layout::{Layout, LevelZone, home};
use super::state::{IdRange, NOWHERE, Turn};
use crate::tree::{RunView, SegmentView, Span};
use crate::zones::ZonesView;

/// How much a window takes of the zone that makes it large enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastZone {
    /// The tables that make up the rest.
    Part,
    /// All of it.
    Whole,
}

/// The window of a level, as far as it is still there.
pub(super) struct Window<'a> {
    /// In key order.
    pub(super) tables: Vec<&'a SegmentView>,
}

impl<'a> Window<'a> {
    /// Nothing of a level.
    pub(super) fn none() -> Self {
        Self { tables: Vec::new() }
    }

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

    /// Whether so little is left that the next zones should join: one in `part`.
    pub(super) fn is_nearly_empty(&self, wanted: ByteCount, part: u16) -> bool {
        self.size().0 <= wanted.0 / u64::from(part)
    }

    pub(super) fn meets(&self, span: &Span) -> bool {
        let first = self.tables.partition_point(|table| table.span.end <= span.start);
        self.tables.get(first).is_some_and(|table| table.span.start < span.end)
    }

    pub(super) fn meets_any(&self, spans: &[Span]) -> bool {
        spans.iter().any(|span| self.meets(span))
    }

    /// How many of a level's zones hold anything of it; a table in no zone counts as one.
    pub(super) fn zones(&self, layout: &Layout<'a>) -> usize {
        let files: BTreeSet<FileId> = self.tables.iter().map(|table| table.file).collect();
        let holds = |zone: &&LevelZone<'_>| zone.tables.iter().any(|t| files.contains(&t.file));
        layout.zones.iter().filter(holds).count()
    }

    /// The `count` oldest zones of a level, whole, as the window from now on.
    pub(super) fn of_oldest(layout: &Layout<'a>, count: usize, turn: &mut Turn) -> Self {
        let mut window = Self::none();
        turn.window.clear();
        let mut joined = false;
        for zone in layout.zones.iter().take(count) {
            remember(turn, zone, &zone.tables, joined);
            joined = zone.zone == NOWHERE;
            window.tables.extend(&zone.tables);
        }
        window.tables.sort_by(|a, b| a.span.start.cmp(&b.span.start));
        window
    }

    /// Adds the zones whose turn is next, until the window holds `wanted` bytes. A zone is skipped
    /// if no table of it `serves`.
    pub(super) fn turn_on(
        &mut self,
        layout: &Layout<'a>,
        turn: &mut Turn,
        wanted: ByteCount,
        last: LastZone,
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
                if held >= wanted.0 && last == LastZone::Part {
                    break;
                }
                held += table.size.0;
                count += 1;
                self.tables.push(table);
            }
            debug_assert!(count > 0, "a zone joins with a table at least");
            remember(turn, zone, &fresh[..count], joined);
            joined = zone.zone == NOWHERE;
            turn.passed = if count == fresh.len() { zone.age() } else { fresh[count - 1].file };
        }
        turn.misses = 0;
        self.tables.sort_by(|a, b| a.span.start.cmp(&b.span.start));
        debug_assert!(
            self.tables.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start),
            "a table is twice in the window"
        );
    }
}

/// `joined`: the table before it in the level's order is the last of the window, and in no zone
/// either.
fn remember(turn: &mut Turn, zone: &LevelZone<'_>, tables: &[&SegmentView], joined: bool) {
    let (Some(first), Some(last)) = (tables.first(), tables.last()) else { return };
    debug_assert!(first.file <= last.file, "tables of zone {} by id", zone.zone);
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
