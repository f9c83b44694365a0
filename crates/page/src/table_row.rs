//! [`TableRow`]: a range of a table that belongs to the tree, with its keys, and the zones in which
//! the table lies.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace::live::TableMap;

/// Bytes of a block, the unit of sizes.
pub(crate) const BLOCK: u64 = 4096;

/// Ranges of a table that are told apart; all others are one with the last of these.
const PARTS: u64 = 8;

/// A table, and one of its ranges: the table's number times eight, and the number of the range.
pub type TableKey = u64;

/// See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRow {
    /// Its level.
    pub level: u8,
    /// Age rank of its run: the larger, the newer.
    pub run: u64,
    /// The first full key.
    pub start: Arc<[u8]>,
    /// The first full key after it.
    pub end: Arc<[u8]>,
    /// Blocks of the table in the range.
    pub blocks: u32,
    /// Zones of the table, with its blocks in them.
    pub places: Vec<(u32, u32)>,
}

/// The rows of all tables.
pub(crate) fn rows(map: &TableMap) -> BTreeMap<TableKey, TableRow> {
    let blocks = |bytes: u64| u32::try_from(bytes.div_ceil(BLOCK)).unwrap_or(u32::MAX);
    let mut rows: BTreeMap<TableKey, TableRow> = BTreeMap::new();
    for segment in &map.segments {
        let first = map.places.partition_point(|(table, _, _)| *table < segment.table);
        let places = map.places[first..].iter().take_while(|place| place.0 == segment.table);
        let base = segment.table.0 * PARTS;
        let parts = rows.range(base..base + PARTS).count() as u64;
        let row = TableRow {
            level: segment.level,
            run: segment.run,
            start: Arc::clone(&segment.start),
            end: Arc::clone(&segment.end),
            blocks: blocks(segment.size.0),
            places: places.map(|(_, zone, bytes)| (zone.0, blocks(bytes.0))).collect(),
        };
        match rows.get_mut(&(base + PARTS - 1)) {
            Some(last) => {
                last.end = row.end;
                last.blocks = last.blocks.saturating_add(row.blocks);
            }
            None => drop(rows.insert(base + parts, row)),
        }
    }
    rows
}
