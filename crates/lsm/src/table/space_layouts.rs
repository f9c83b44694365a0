//! [`SpaceLayouts`]: the form that the entries of each key space have in a table of some level.
//!
//! A table may have entries of several key spaces. Where two neighbours differ in their form, the
//! table's builder ends the data block between them, and a partition of the index where they differ
//! in their filters. So blocks and filters have the form of one key space. The rest of a table
//! (indexes, range tombstones) has the store's form.
//!
//! Plain values.

use std::sync::Arc;

use terrace_env::ByteCount;

use crate::compression::Compression;
use crate::key::{KeySpaceId, SPACE_BYTES};
use crate::options::{ShapeOptions, SpaceOptions, TableShape};

/// The form of data blocks, and of the filter of their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockLayout {
    /// A data block is closed when it has grown to this.
    pub(crate) block_size: ByteCount,
    pub(crate) compression: Compression,
    /// 0: no filter.
    pub(crate) filter_bits: u8,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct SpaceLayouts {
    options: Arc<SpaceOptions>,
    store: TableShape,
    level: u8,
    last: u8,
    /// The key space that came last.
    current: Option<KeySpaceId>,
}

impl SpaceLayouts {
    /// The forms in a table of `level`, where `last` is the last level that holds anything.
    pub(crate) fn new(options: &ShapeOptions, level: u8, last: u8) -> Self {
        let (store, options) = (options.shape_in(level, last), Arc::clone(&options.spaces));
        Self { options, store, level, last, current: None }
    }

    /// The form of an entry that is next in order, if its key space is another one than that of the
    /// entry before.
    pub(super) fn turn_to(&mut self, full_key: &[u8]) -> Option<BlockLayout> {
        if self.options.is_empty() {
            return None;
        }
        let space = full_key.first_chunk::<SPACE_BYTES>()?;
        let space = KeySpaceId(u32::from_be_bytes(*space));
        if self.current.replace(space) == Some(space) {
            return None;
        }
        let shape = self.options.of(space).shape(self.store);
        let compression = shape.compression.of(self.level, self.last);
        let TableShape { block_size, filter_bits, .. } = shape;
        Some(BlockLayout { block_size, compression, filter_bits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::LevelCompression;
    use crate::key::full_key;
    use crate::options::{EngineOptions, KeySpaceOptions, TableOptions};
    use crate::table::TableLayout;

    #[test]
    fn each_key_space_has_its_form_by_level_and_the_others_that_of_the_store() {
        let mut spaces = SpaceOptions::default();
        let mixed = KeySpaceOptions::default().compression(LevelCompression::MIXED);
        spaces.set(KeySpaceId(2), mixed.block_size(ByteCount(512)));
        spaces.set(KeySpaceId(3), KeySpaceOptions::default().filter_bits(0));
        let engine = EngineOptions::default();
        let options = ShapeOptions::new(&engine, &engine.tables, Arc::new(spaces));
        let usual = BlockLayout {
            block_size: ByteCount::kib(4),
            compression: Compression::None,
            filter_bits: 10,
        };
        for (level, compression) in [(0, Compression::Lz4), (2, Compression::Zstd)] {
            let mut layouts = SpaceLayouts::new(&options, level, 2);
            let mut turn_to = |space| layouts.turn_to(&full_key(KeySpaceId(space), b"key"));
            assert_eq!((turn_to(0), turn_to(0)), (Some(usual), None));
            let block_size = ByteCount(512);
            assert_eq!(turn_to(2), Some(BlockLayout { block_size, compression, ..usual }));
            assert_eq!(turn_to(3), Some(BlockLayout { filter_bits: 0, ..usual }));
            assert_eq!(turn_to(9), Some(usual));
        }
    }

    #[test]
    fn blocks_of_the_last_level_are_as_large_as_asked_unless_a_key_space_says_otherwise() {
        let mut spaces = SpaceOptions::default();
        spaces.set(KeySpaceId(2), KeySpaceOptions::default().block_size(ByteCount(512)));
        let last_block_size = ByteCount::kib(32);
        let engine = EngineOptions { last_block_size, ..EngineOptions::default() };
        let options = ShapeOptions::new(&engine, &engine.tables, Arc::new(spaces));
        for (level, last, expected) in [(0, 0, 4), (0, 3, 4), (2, 3, 4), (3, 3, 32), (4, 3, 32)] {
            let layout = TableLayout::of(&options, level, last);
            assert_eq!(layout.block_size, ByteCount::kib(expected), "level {level} of {last}");
            assert_eq!(layout.index, TableLayout::of(&options, 0, last).index);
            let mut layouts = SpaceLayouts::new(&options, level, last);
            let mut size = |space| {
                let layout = layouts.turn_to(&full_key(KeySpaceId(space), b"key"));
                layout.map(|layout| layout.block_size)
            };
            assert_eq!(size(1), Some(ByteCount::kib(expected)));
            assert_eq!(size(2), Some(ByteCount(512)));
        }
        // A store whose blocks are larger anyway.
        let tables = TableOptions { block_size: Some(ByteCount::kib(64)), ..engine.tables };
        let options = ShapeOptions::new(&engine, &tables, Arc::default());
        assert_eq!(TableLayout::of(&options, 3, 3).block_size, ByteCount::kib(64));
    }
}
