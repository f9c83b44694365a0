//! [`Layout`]: the tables of one run of a level, grouped by the zones in which they begin (section
//! 3.1), oldest zone first.
//!
//! A zone is as old as the oldest table that the level has in it. A table whose zone is not known
//! counts as a zone of its own.
//!
//! [`Spread`] counts by extents instead. A table that reaches into a second zone is in both; a
//! table whose zone is not known is in none.

use std::collections::BTreeMap;

use terrace_env::{ByteCount, FileId, ZoneId};

use super::state::NOWHERE;
use crate::tree::{RunView, SegmentView};
use crate::zones::{ZoneView, ZonesView};

/// Tables of a level that begin in one zone.
pub(super) struct LevelZone<'a> {
    pub(super) zone: ZoneId,
    /// By id, which is the order in which they were written.
    pub(super) tables: Vec<&'a SegmentView>,
    /// Bytes written to the zone, where that is known; below, bytes that can be written to it in
    /// all.
    pub(super) written: Option<ByteCount>,
    pub(super) capacity: Option<ByteCount>,
}

impl LevelZone<'_> {
    pub(super) fn age(&self) -> FileId {
        self.tables.first().map_or(FileId(u64::MAX), |table| table.file)
    }

    /// Whether more may come into it: the level's writing zone.
    pub(super) fn is_writing(&self) -> bool {
        matches!((self.written, self.capacity), (Some(written), Some(all)) if written < all)
    }
}

/// A level's zones, oldest first.
pub(super) struct Layout<'a> {
    pub(super) zones: Vec<LevelZone<'a>>,
}

impl<'a> Layout<'a> {
    pub(super) fn of(run: Option<&'a RunView>, view: &ZonesView) -> Self {
        let mut known: BTreeMap<ZoneId, Vec<&SegmentView>> = BTreeMap::new();
        let mut zones = Vec::new();
        for table in run.iter().flat_map(|run| &run.segments) {
            match home(view, table.file) {
                NOWHERE => zones.push(LevelZone {
                    zone: NOWHERE,
                    tables: vec![table],
                    written: None,
                    capacity: None,
                }),
                zone => known.entry(zone).or_default().push(table),
            }
        }
        zones.extend(known.into_iter().map(|(zone, mut tables)| {
            tables.sort_by_key(|table| table.file);
            let (written, capacity) =
                view.zone(zone).map(|zone| (zone.written, zone.capacity)).unzip();
            LevelZone { zone, tables, written, capacity }
        }));
        zones.sort_by_key(LevelZone::age);
        debug_assert!(zones.iter().all(|zone| !zone.tables.is_empty()), "a zone without tables");
        Self { zones }
    }
}

/// A level's data in one zone, wherever its tables begin.
pub(super) struct Held<'a> {
    pub(super) zone: ZoneView,
    /// In key order.
    pub(super) tables: Vec<&'a SegmentView>,
    /// Bytes of these tables in this zone.
    pub(super) size: ByteCount,
}

/// The zones that a level has anything in.
pub(super) struct Spread<'a> {
    pub(super) zones: Vec<Held<'a>>,
}

impl<'a> Spread<'a> {
    pub(super) fn of(run: &'a RunView, view: &ZonesView) -> Self {
        let mut zones: BTreeMap<ZoneId, Held<'a>> = BTreeMap::new();
        for table in &run.segments {
            for extent in view.extents(table.file) {
                let Some(zone) = view.zone(extent.zone) else { continue };
                let nothing = || Held { zone: *zone, tables: Vec::new(), size: ByteCount(0) };
                let held = zones.entry(extent.zone).or_insert_with(nothing);
                held.size.0 += extent.size.0;
                if held.tables.last().is_none_or(|last| !std::ptr::eq(*last, table)) {
                    held.tables.push(table);
                }
            }
        }
        Self { zones: zones.into_values().collect() }
    }

    /// Bytes that could be written to all of these zones, in all.
    pub(super) fn capacity(&self) -> u64 {
        self.zones.iter().map(|held| held.zone.capacity.0).sum()
    }
}

/// The zone where a file begins.
pub(super) fn home(view: &ZonesView, file: FileId) -> ZoneId {
    view.extents(file).first().map_or(NOWHERE, |extent| extent.zone)
}
