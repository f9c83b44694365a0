//! [`Spaces`]: whether a key space exists, and its options, for readers, writers and jobs.
//!
//! - Ids are not used twice. A write to a key space that does not exist is refused. A read is
//!   refused if the key space was dropped; under an id that was never given out, it finds nothing.
//! - It is a set of bits, in leaves of [`LEAF_IDS`] ids. A changed set shares all leaves but one
//!   with the set before it, so a change copies one leaf and a pointer for each leaf. Leaves
//!   without a key space are left out, so its size does not depend on the largest id.
//!
//! It never changes once it is made; any number of threads.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::space_list::{SpaceEdit, SpaceList};
use crate::options::{KeySpaceOptions, SpaceOptions};
use crate::{Error, KeySpaceId};

const LEAF_WORDS: usize = 64;
const LEAF_IDS: u32 = LEAF_WORDS as u32 * u64::BITS;

/// The existing key spaces.
#[derive(Clone, Debug)]
pub(crate) struct Spaces {
    /// End of the ids that were ever given out.
    end: u32,
    /// Number of existing key spaces.
    count: u32,
    /// Bits of the existing ones, by id / [`LEAF_IDS`].
    leaves: BTreeMap<u32, Arc<[u64; LEAF_WORDS]>>,
    /// Options of those that have some of their own.
    options: Arc<SpaceOptions>,
}

impl Spaces {
    /// The key spaces of a list; `end` is the id that the next one gets.
    pub(crate) fn of(list: &SpaceList, end: u32) -> Arc<Self> {
        let options = Arc::default();
        let mut spaces = Self { end, count: 0, leaves: BTreeMap::new(), options };
        for space in list.iter() {
            spaces.insert(space.id);
            spaces.shape(space.id, space.options);
        }
        Arc::new(spaces)
    }

    /// The same after a change.
    pub(crate) fn after(&self, edit: &SpaceEdit, end: u32) -> Arc<Self> {
        let mut next = Self { end, ..self.clone() };
        match edit {
            SpaceEdit::Made(space, _) => {
                next.insert(space.id);
                next.shape(space.id, space.options);
            }
            SpaceEdit::Dropped(id) => {
                next.remove(*id);
                next.shape(*id, KeySpaceOptions::default());
            }
            SpaceEdit::Shaped(id, options) => next.shape(*id, *options),
            SpaceEdit::Moved(_) => {}
        }
        debug_assert!(self.end <= end, "an id is not given out again");
        debug_assert_eq!(next.count, next.bits(), "existing key spaces");
        Arc::new(next)
    }

    /// Options of the key spaces that have some of their own.
    pub(crate) fn options(&self) -> &Arc<SpaceOptions> {
        &self.options
    }

    fn shape(&mut self, id: KeySpaceId, options: KeySpaceOptions) {
        if self.options.of(id) != options {
            Arc::make_mut(&mut self.options).set(id, options);
        }
    }

    fn insert(&mut self, id: KeySpaceId) {
        let (leaf, word, bit) = place(id);
        let leaf = self.leaves.entry(leaf).or_insert_with(|| Arc::new([0; LEAF_WORDS]));
        self.count += u32::from(leaf[word] & bit == 0);
        Arc::make_mut(leaf)[word] |= bit;
    }

    fn remove(&mut self, id: KeySpaceId) {
        let (at, word, bit) = place(id);
        let Some(leaf) = self.leaves.get_mut(&at) else { return };
        self.count -= u32::from(leaf[word] & bit > 0);
        let leaf = Arc::make_mut(leaf);
        leaf[word] &= !bit;
        if leaf.iter().all(|word| *word == 0) {
            self.leaves.remove(&at);
        }
    }

    /// Number of bits.
    fn bits(&self) -> u32 {
        self.leaves.values().flat_map(|leaf| leaf.iter()).map(|word| word.count_ones()).sum()
    }

    /// Whether it existed once.
    fn was_dropped(&self, space: KeySpaceId) -> bool {
        if space.0 >= self.end || self.count == self.end {
            return false;
        }
        let (leaf, word, bit) = place(space);
        self.leaves.get(&leaf).is_none_or(|leaf| leaf[word] & bit == 0)
    }

    /// Checks that a key space may be read: it was not dropped.
    pub(crate) fn check_read(&self, space: KeySpaceId) -> Result<(), Error> {
        if self.was_dropped(space) { Err(Error::UnknownKeySpace(space)) } else { Ok(()) }
    }

    /// Checks that a key space may be written to: it exists.
    pub(crate) fn check_write(&self, space: KeySpaceId) -> Result<(), Error> {
        let unknown = space.0 >= self.end || self.was_dropped(space);
        if unknown { Err(Error::UnknownKeySpace(space)) } else { Ok(()) }
    }
}

/// Leaf of an id, with its word and bit there.
fn place(id: KeySpaceId) -> (u32, usize, u64) {
    let within = id.0 % LEAF_IDS;
    (id.0 / LEAF_IDS, (within / u64::BITS) as usize, 1 << (within % u64::BITS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{KeySpaceEntry, SpaceHome};

    #[test]
    fn a_key_space_that_was_dropped_is_told_apart_from_one_that_never_was() {
        let mut spaces = Spaces::of(&SpaceList::default(), 0);
        let made = |id| SpaceEdit::Made(KeySpaceEntry::new(KeySpaceId(id), ""), SpaceHome::Record);
        for id in 0..3 * LEAF_IDS {
            spaces = spaces.after(&made(id), id + 1);
        }
        assert_eq!((spaces.count, spaces.leaves.len()), (3 * LEAF_IDS, 3));
        let all = Arc::clone(&spaces);
        for id in (LEAF_IDS..2 * LEAF_IDS).chain([7]) {
            spaces = spaces.after(&SpaceEdit::Dropped(KeySpaceId(id)), all.end);
        }
        assert_eq!(spaces.leaves.len(), 2, "a leaf without a key space");
        for (id, exists, was_dropped) in [
            (6, true, false),
            (7, false, true),
            (LEAF_IDS, false, true),
            (3 * LEAF_IDS, false, false),
        ] {
            assert_eq!(spaces.check_write(KeySpaceId(id)).is_ok(), exists, "{id}");
            assert_eq!(spaces.check_read(KeySpaceId(id)).is_err(), was_dropped, "{id}");
        }
        assert!(all.check_write(KeySpaceId(7)).is_ok(), "an older view");
    }

    #[test]
    fn an_id_at_the_end_of_the_range_takes_one_leaf() {
        let none = Spaces::of(&SpaceList::default(), 0);
        let last = KeySpaceEntry::new(KeySpaceId(u32::MAX - 1), "last");
        let made = SpaceEdit::Made(last, SpaceHome::Record);
        assert_eq!(none.after(&made, u32::MAX).leaves.len(), 1);
    }
}
