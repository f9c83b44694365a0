//! [`SpaceOptions`]: the key spaces with options of their own, and these options.
//! [`ShapeOptions`]: the options by which jobs make tables, of the store and of these key spaces.
//!
//! A map in leaves of [`LEAF_IDS`] ids. A changed map shares all leaves but one with the map before
//! it, so a change copies one leaf and a pointer for each leaf.
//!
//! Never changed once they are made; any number of threads.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::ByteCount;

use super::key_space_options::KeySpaceOptions;
use super::options::EngineOptions;
use super::table_options::{TableOptions, TableShape};
use crate::key::KeySpaceId;

const LEAF_IDS: u32 = 256;

type Leaf = BTreeMap<KeySpaceId, KeySpaceOptions>;

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SpaceOptions {
    leaves: BTreeMap<u32, Arc<Leaf>>,
}

impl SpaceOptions {
    /// The options of a key space; none if it has none of its own.
    pub(crate) fn of(&self, space: KeySpaceId) -> KeySpaceOptions {
        let leaf = self.leaves.get(&(space.0 / LEAF_IDS));
        leaf.and_then(|leaf| leaf.get(&space)).copied().unwrap_or_default()
    }

    /// Whether no key space has options of its own.
    pub(crate) fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// The number of key spaces that have options of their own.
    pub(crate) fn len(&self) -> usize {
        self.leaves.values().map(|leaf| leaf.len()).sum()
    }

    /// Sets the options of a key space.
    pub(crate) fn set(&mut self, space: KeySpaceId, options: KeySpaceOptions) {
        let at = space.0 / LEAF_IDS;
        if options.is_none() {
            let Some(leaf) = self.leaves.get_mut(&at).filter(|leaf| leaf.contains_key(&space))
            else {
                return;
            };
            Arc::make_mut(leaf).remove(&space);
            if leaf.is_empty() {
                self.leaves.remove(&at);
            }
        } else {
            Arc::make_mut(self.leaves.entry(at).or_default()).insert(space, options);
        }
    }

    fn iter(&self) -> impl Iterator<Item = &KeySpaceOptions> {
        self.leaves.values().flat_map(|leaf| leaf.values())
    }
}

/// The options by which a job makes tables.
#[derive(Clone, Debug)]
pub(crate) struct ShapeOptions {
    /// The store's shape.
    pub(crate) shape: TableShape,
    /// The key spaces that have options of their own.
    pub(crate) spaces: Arc<SpaceOptions>,
    /// Least size of a data block in the last level, where the store's shape counts.
    last_block_size: ByteCount,
    /// The size of the tables that a flush writes.
    pub(crate) table_size: ByteCount,
    /// Bytes on their way to the medium at once.
    pub(crate) io_size: ByteCount,
}

impl ShapeOptions {
    /// Those of an engine, with the options that the store remembers, and those of its key spaces.
    pub(crate) fn new(
        options: &EngineOptions,
        remembered: &TableOptions,
        spaces: Arc<SpaceOptions>,
    ) -> Self {
        let EngineOptions { table_size, io_size, last_block_size, .. } = *options;
        let shape = options.table_shape(remembered);
        Self { shape, spaces, last_block_size, table_size, io_size }
    }

    /// The store's shape in a table of `level`, where `last` is the last level that holds anything.
    pub(crate) fn shape_in(&self, level: u8, last: u8) -> TableShape {
        let is_last = level > 0 && level >= last;
        let least = if is_last { self.last_block_size } else { ByteCount(0) };
        TableShape { block_size: self.shape.block_size.max(least), ..self.shape }
    }

    /// The shape that makes the largest tables: the smallest blocks and the most filter bits of
    /// all. (No compression is in a table's largest size anyway.)
    pub(crate) fn largest(&self) -> TableShape {
        let of = |options: &KeySpaceOptions| options.shape(self.shape);
        self.spaces.iter().map(of).fold(self.shape, |largest, shape| TableShape {
            block_size: largest.block_size.min(shape.block_size),
            filter_bits: largest.filter_bits.max(shape.filter_bits),
            ..largest
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_after_each_change_and_older_maps_keep_theirs() {
        let bits = |bits: u8| KeySpaceOptions::default().filter_bits(bits);
        let mut options = SpaceOptions::default();
        for id in [0, 1, 255, 256, 1000] {
            options.set(KeySpaceId(id), bits(id as u8 % 32));
        }
        let older = options.clone();
        options.set(KeySpaceId(1), bits(7));
        options.set(KeySpaceId(1000), KeySpaceOptions::default());
        options.set(KeySpaceId(2000), KeySpaceOptions::default());
        assert_eq!((options.of(KeySpaceId(1)), older.of(KeySpaceId(1))), (bits(7), bits(1)));
        assert_eq!(options.of(KeySpaceId(255)), bits(31));
        assert!(options.of(KeySpaceId(1000)).is_none() && !older.of(KeySpaceId(1000)).is_none());
        assert_eq!((options.leaves.len(), older.leaves.len()), (2, 3));
        assert_eq!((options.len(), older.len()), (4, 5));
        for id in [0, 1, 255, 256] {
            options.set(KeySpaceId(id), KeySpaceOptions::default());
        }
        assert!(options.is_empty());
    }

    #[test]
    fn the_largest_shape_has_the_smallest_blocks_and_the_most_filter_bits() {
        let mut spaces = SpaceOptions::default();
        spaces.set(KeySpaceId(1), KeySpaceOptions::default().block_size(ByteCount(512)));
        spaces.set(KeySpaceId(2), KeySpaceOptions::default().filter_bits(20));
        spaces.set(KeySpaceId(3), KeySpaceOptions::default().block_size(ByteCount::kib(64)));
        let (engine, spaces) = (EngineOptions::default(), Arc::new(spaces));
        let options = ShapeOptions::new(&engine, &engine.tables, spaces);
        let largest = options.largest();
        assert_eq!((largest.block_size, largest.filter_bits), (ByteCount(512), 20));
    }
}
