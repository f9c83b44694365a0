//! [`TableMap`]: the tables of a tree with their keys and the zones in which they lie, and the
//! marks of the compaction decider. It is for pictures of a store.
//!
//! - A table is listed once for each of its segments: the ranges of keys that belong to the tree.
//! - Tree, places and marks are read one after the other while others write. A table that was
//!   deleted in between has no place.
//! - On a device without zones, and in a directory, tables have no places.
//!
//! The walk is over the tables of the tree alone, not over the catalog.

use terrace_env::{ByteCount, FileId, ZoneId};
use terrace_fs::Fs;
use terrace_lsm::Engine;
use terrace_policy::{Key, Marks, ZonesSource as _, ZonesView};

use crate::Db;

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableMap {
    /// The segments of all tables, by level, by run from the newest to the oldest, and by key.
    pub segments: Vec<PlacedSegment>,
    /// The zones of each table, by table, with the table's bytes in them.
    pub places: Vec<(FileId, ZoneId, ByteCount)>,
    /// Windows and pointers of the compaction decider.
    pub marks: Marks,
}

/// A range of a table that belongs to the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedSegment {
    /// The table.
    pub table: FileId,
    /// Its level; 0 is the newest.
    pub level: u8,
    /// The age rank of its run within the level: the larger, the newer.
    pub run: u64,
    /// Approximate bytes of the table in the range.
    pub size: ByteCount,
    /// The first full key of the range: key space and user key.
    pub start: Key,
    /// The first full key after the range.
    pub end: Key,
}

impl TableMap {
    /// The tables of a store that is open in this process.
    #[must_use]
    pub fn of(db: &Db) -> Self {
        Self::of_parts(&db.inner.engine, db.fs().map(|fs| &**fs))
    }

    fn of_parts(engine: &Engine, fs: Option<&Fs>) -> Self {
        let (tree, marks) = (engine.tree_view(), engine.marks());
        let mut segments = Vec::new();
        for (level, runs) in tree.levels.iter().enumerate() {
            for run in &runs.runs {
                segments.extend(run.segments.iter().map(|segment| PlacedSegment {
                    table: segment.file,
                    level: level as u8,
                    run: run.id.0,
                    size: segment.size,
                    start: segment.span.start.clone(),
                    end: segment.span.end.clone(),
                }));
            }
        }
        let mut tables: Vec<FileId> = segments.iter().map(|segment| segment.table).collect();
        tables.sort_unstable();
        tables.dedup();
        let placed = fs.map_or_else(ZonesView::default, |fs| fs.placed(&tables));
        let mut places: Vec<(FileId, ZoneId, ByteCount)> = Vec::with_capacity(tables.len());
        for table in tables {
            for extent in placed.extents(table) {
                match places.last_mut() {
                    Some(last) if (last.0, last.1) == (table, extent.zone) => {
                        last.2.0 += extent.size.0;
                    }
                    _ => places.push((table, extent.zone, extent.size)),
                }
            }
        }
        Self { segments, places, marks }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Emulator, FormatOptions, Geometry, Options};

    #[test]
    fn tables_of_a_drive_have_their_keys_and_lie_in_its_zones() {
        let drive =
            Arc::new(Emulator::in_memory(Geometry::uniform(ByteCount::mib(1), 64), 1).unwrap());
        let db = Db::create_device(drive, &FormatOptions::default(), Options::default()).unwrap();
        db.put(b"a", &[1; 100_000]).unwrap();
        db.put(b"c", &[2; 100_000]).unwrap();
        assert_eq!(TableMap::of(&db), TableMap::default());
        db.flush().unwrap();
        let map = TableMap::of(&db);
        assert_eq!(map.segments.len(), 1);
        let segment = &map.segments[0];
        assert_eq!((&segment.start[4..], segment.level), (&b"a"[..], 0));
        assert!(segment.end[4..] > b"c"[..]);
        let placed: u64 = map.places.iter().map(|(_, _, bytes)| bytes.0).sum();
        assert!(placed >= 200_000, "{map:?}");
        assert!(map.places.iter().all(|(table, _, _)| *table == segment.table));
        db.close().unwrap();
    }
}
