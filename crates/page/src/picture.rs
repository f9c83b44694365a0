//! [`Picture`]: a store at a moment, as the page shows it. Plain values, made of the same snapshots
//! that `terrace top` shows, and of the tables.
//!
//! The parts are read one after the other while others write, so one part can be ahead of another.

use std::collections::BTreeMap;

use terrace::live::{LiveSnapshot, TableMap, ZoneMap};
use terrace::{Db, Error};

use crate::gauges::Gauges;
use crate::table_row::{TableKey, TableRow, rows};
use crate::zone_cell::ZoneCell;

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// Bytes of a zone that can be written; 0 without zones.
    pub zone_capacity: u64,
    /// Whether levels are lifetimes of files with names.
    pub has_names: bool,
    /// The zones, by number.
    pub zones: Vec<ZoneCell>,
    /// The tables, by key.
    pub tables: BTreeMap<TableKey, TableRow>,
    /// The zones of compaction windows.
    pub windows: Vec<(u8, u32)>,
    /// Levels with a pointer, and the full key at which it stands.
    pub pointers: Vec<(u8, Vec<u8>)>,
    /// Everything else.
    pub gauges: Gauges,
}

impl Picture {
    /// The picture of a store that is open in this process. It walks the catalog, which may wait
    /// for the device.
    pub fn of(db: &Db) -> Result<Self, Error> {
        let snapshot = LiveSnapshot::of(db, u64::MAX)?;
        let map = db.fs().map(|fs| ZoneMap::of(fs)).transpose()?.unwrap_or_default();
        Ok(Self::of_parts(&snapshot, &map, &TableMap::of(db)))
    }

    /// The picture of these parts. From another process, [`Live`](terrace::live::Live) has
    /// snapshot and zones, and no tables.
    #[must_use]
    pub fn of_parts(snapshot: &LiveSnapshot, map: &ZoneMap, tables: &TableMap) -> Self {
        let windows = tables.marks.windows.iter().map(|(level, zone)| (*level, zone.0));
        Self {
            zone_capacity: map.zones.iter().map(|zone| zone.capacity.0).max().unwrap_or(0),
            has_names: map.has_names,
            zones: map.zones.iter().map(ZoneCell::of).collect(),
            tables: rows(tables),
            windows: windows.collect(),
            pointers: tables.marks.pointers.clone(),
            gauges: Gauges::of(snapshot),
        }
    }
}
