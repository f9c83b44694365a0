//! [`Index`]: an index in memory, with one entry per block. The key of an entry is not before the
//! last key of the block, and before the first key of the next block. The top of an index of two
//! levels has one entry per partition instead.
//!
//! - The entries are decoded once when the index is made, and kept in a short form
//!   ([`IndexEntries`]), so that a search cannot fail. The value of an entry, the place of a block,
//!   is not checked then, and neither is the order of the keys.
//! - The entries of a table with first keys also have the first key of their block ([`first_key`]).
//!   When the index is made, each first key is checked to be after the entry before, and not after
//!   its own entry.
//! - A search compares eight bytes per entry, which lie close together in memory: those after the
//!   common prefix of all full keys. It compares whole keys if the eight bytes are equal.
//! - It begins where the entry lies if the eight bytes, as numbers, are evenly spread, and goes on
//!   with steps that double, and a binary search. So it takes few steps in the usual case, and at
//!   most twice those of a binary search (Perl, Itai, Avni: "Interpolation Search", 1978; Bentley,
//!   Yao: "An Almost Optimal Algorithm for Unbounded Searching", 1976).
//!
//! An index does not change: any number of threads.

use std::cmp::Ordering;

use bytes::Bytes;
use terrace_env::codec::DecodeError;

use super::block::Block;
use super::first_key;
use super::frame::{Handle, TableName};
use super::index_entries::{IndexEntries, head};
use crate::Error;
use crate::key;

/// An index, or a partition of one.
#[derive(Debug)]
pub(crate) struct Index {
    table: TableName,
    /// Its offset in its table.
    offset: u64,
    entries: IndexEntries,
    /// Whether its entries have the first keys of their blocks.
    first_keys: bool,
    /// Entries per unit of the eight bytes, if these are evenly spread.
    density: f64,
}

impl Index {
    /// An index from its contents, which lie at `offset` of `table`.
    pub(super) fn new(table: TableName, offset: u64, contents: Bytes) -> Result<Self, Error> {
        let block = Block::new(table, offset, contents)?;
        let mut begin = 0;
        let mut common = 0;
        let mut first: &[u8] = &[];
        for at in 0..block.restarts {
            let restart = block.restart(at)?;
            let (_, _, value) = block.entry(restart)?;
            if restart != begin {
                let region = table.region("index restart points");
                return Err(Error::corruption(region, offset, begin, restart));
            }
            begin = value.end;
            let (full_key, _) = key::split(block.restart_key(at)?);
            if at == 0 {
                (first, common) = (full_key, full_key.len());
            }
            let shared = first.iter().zip(full_key).take_while(|(a, b)| a == b).count();
            common = common.min(shared);
        }
        if begin != block.entries_end {
            let region = table.region("index entries");
            return Err(Error::corruption(region, offset, block.entries_end, begin));
        }
        let mut entries = Vec::with_capacity(block.restarts);
        for at in 0..block.restarts {
            let (_, _, value) = block.entry(block.restart(at)?)?;
            entries.push((block.restart_key(at)?, &block.contents[value]));
        }
        let entries = IndexEntries::new(&first[..common], entries.into_iter());
        let density = density(entries.heads());
        Ok(Self { table, offset, entries, density, first_keys: false })
    }

    /// The same index, with first keys of its blocks, which are checked.
    pub(super) fn with_first_keys(mut self) -> Result<Self, Error> {
        let mut first = Vec::new();
        for at in 0..self.len() {
            let separator = self.key(at);
            first_key::read(&self.value(at), &separator, &mut first)
                .map_err(|error| Error::decode(self.table.region("index"), self.offset, &error))?;
            let is_after = |before| self.entries.compare(before, &first).is_lt();
            let in_order = at.checked_sub(1).is_none_or(is_after);
            if !in_order || key::compare(&first, &separator).is_gt() {
                let expected = "a first key after the entry before and not after its own";
                let got = format!("{} at entry {at}", first.escape_ascii());
                let region = self.table.region("index");
                return Err(Error::corruption(region, self.offset, expected, got));
            }
        }
        self.first_keys = true;
        Ok(self)
    }

    /// Number of entries; 0 in a table without any.
    pub(super) fn len(&self) -> usize {
        self.entries.heads().len()
    }

    /// An error if it has no entries in a table with entries.
    pub(super) fn check_entries(&self, of_table: u64) -> Result<(), Error> {
        if self.len() > 0 || of_table == 0 {
            return Ok(());
        }
        let expected = format!("an entry, as the table has {of_table}");
        Err(Error::corruption(self.table.region("index"), self.offset, expected, "none"))
    }

    /// Memory of the index.
    pub(super) fn bytes(&self) -> usize {
        self.entries.bytes()
    }

    /// Its offset in its table.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The first entry at or after `target`, an internal key; [`len`](Self::len) if there is none.
    pub(super) fn seek(&self, target: &[u8]) -> usize {
        let (heads, common) = (self.entries.heads(), self.entries.common());
        if heads.is_empty() {
            return 0;
        }
        let (full_key, _) = key::split(target);
        match full_key[..full_key.len().min(common.len())].cmp(common) {
            Ordering::Less => return 0,
            Ordering::Greater => return self.len(),
            Ordering::Equal => {}
        }
        let sought = head(full_key, common.len());
        let mut low = self.first_from(sought);
        if heads.get(low) != Some(&sought) {
            return low;
        }
        let mut high = low + heads[low..].partition_point(|&head| head == sought);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entries.compare(middle, target).is_lt() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The first entry whose eight bytes are not less than `sought`.
    fn first_from(&self, sought: u64) -> usize {
        let heads = self.entries.heads();
        let Some(&first) = heads.first() else { return 0 };
        let guess = (sought.saturating_sub(first) as f64 * self.density) as usize;
        let guess = guess.min(heads.len() - 1);
        let (mut low, mut high, mut step) = (guess, guess, 1);
        if heads[guess] < sought {
            // All entries before `low` are less.
            while high < heads.len() && heads[high] < sought {
                (low, high, step) = (high + 1, high + step, step * 2);
            }
        } else {
            // The entry at `high` is not less.
            while low > 0 && heads[low - 1] >= sought {
                (high, low, step) = (low - 1, low.saturating_sub(step), step * 2);
            }
        }
        let high = high.min(heads.len());
        low + heads[low..high].partition_point(|&head| head < sought)
    }

    /// The internal key of an entry.
    pub(super) fn key(&self, at: usize) -> Vec<u8> {
        self.entries.key(at)
    }

    /// The order of an entry's full key and another one.
    pub(super) fn compare_full_key(&self, at: usize, other: &[u8]) -> Ordering {
        self.entries.compare_full_key(at, other)
    }

    /// Reads the first key of an entry's block into `into`; `false`: the index does not have it.
    pub(super) fn first_key(&self, at: usize, into: &mut Vec<u8>) -> bool {
        if self.first_keys {
            first_key::read(&self.value(at), &self.key(at), into)
                .expect("checked when the index was made");
        }
        self.first_keys
    }

    /// The block that an entry names, which must end by `limit`.
    pub(super) fn handle(&self, at: usize, limit: u64) -> Result<Handle, DecodeError> {
        self.entries.handle(at, limit, self.first_keys)
    }

    /// The value of an entry.
    pub(super) fn value(&self, at: usize) -> Vec<u8> {
        self.entries.value(at)
    }
}

/// Entries per unit of a sequence of ascending numbers.
fn density(heads: &[u64]) -> f64 {
    let (Some(first), Some(last)) = (heads.first(), heads.last()) else { return 0.0 };
    match last.saturating_sub(*first) {
        0 => 0.0,
        spread => (heads.len() - 1) as f64 / spread as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{KeySpaceId, Kind, Trailer, full_key, internal_key};
    use crate::table::block_builder::BlockBuilder;
    use terrace_env::random::{Random, Rng};
    use terrace_env::{FileId, SeqNo, test_seeds};

    const NAME: TableName = TableName { file: FileId(1), tag: 1 };

    fn index(keys: &[Vec<u8>]) -> Index {
        let mut builder = BlockBuilder::new(1);
        keys.iter().for_each(|key| builder.add(key, &key[..1]));
        Index::new(NAME, 0, builder.finish().into()).unwrap()
    }

    /// Keys with common prefixes of all lengths, that end within the eight bytes, and have zeros.
    fn any_key(random: &mut Random, prefix: &[u8]) -> Vec<u8> {
        let mut user_key = prefix[..random.random_range(0..=prefix.len())].to_vec();
        let rest = random.random_range(0..12);
        user_key.extend((0..rest).map(|_| random.random_range(0..3u8)));
        let full = full_key(KeySpaceId(random.random_range(0..2)), &user_key);
        internal_key(&full, Trailer::new(SeqNo(random.random_range(0..3)), Kind::Put))
    }

    #[test]
    fn every_seek_finds_what_a_search_by_whole_keys_finds() {
        for seed in test_seeds(300) {
            let mut random = Random::seeded(seed);
            let prefix: Vec<u8> =
                (0..random.random_range(0..20)).map(|_| random.random()).collect();
            let count = random.random_range(1..40);
            let mut keys: Vec<_> = (0..count).map(|_| any_key(&mut random, &prefix)).collect();
            keys.sort_by(|a, b| key::compare(a, b));
            keys.dedup();
            let index = index(&keys);
            let others: Vec<_> = (0..40).map(|_| any_key(&mut random, &prefix)).collect();
            for target in keys.iter().chain(&others) {
                let expected = keys.partition_point(|key| key::compare(key, target).is_lt());
                assert_eq!(index.seek(target), expected, "seed {seed}, {target:?} in {keys:?}");
            }
        }
    }

    #[test]
    fn no_flipped_bit_and_no_truncation_makes_it_panic() {
        let key =
            |i: u32| internal_key(&full_key(KeySpaceId(0), &i.to_be_bytes()), Trailer::NEWEST);
        let mut builder = BlockBuilder::new(1);
        (0..9).for_each(|i| builder.add(&key(i), &[7; 3]));
        let whole = builder.finish();
        refuses_damage(&whole, |bytes| Index::new(NAME, 0, bytes));
        let mut builder = BlockBuilder::new(1);
        for i in 0..9u32 {
            let mut value = Handle { offset: 0, size: 100 }.encode();
            let put = Trailer::new(SeqNo(1), Kind::Put);
            let first = internal_key(&full_key(KeySpaceId(0), &i.to_be_bytes()), put);
            first_key::append(&mut value, &key(i + 1), &first);
            builder.add(&key(i + 1), &value);
        }
        refuses_damage(&builder.finish(), |bytes| Index::new(NAME, 0, bytes)?.with_first_keys());
    }

    /// Flips each bit and cuts at each length: most results are refused, and the others can be
    /// read.
    fn refuses_damage(whole: &[u8], make: impl Fn(Bytes) -> Result<Index, Error>) {
        let key =
            |i: u32| internal_key(&full_key(KeySpaceId(0), &i.to_be_bytes()), Trailer::NEWEST);
        let mut refused = 0;
        let flipped = (0..whole.len() * 8).map(|bit| {
            let mut bytes = whole.to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            bytes
        });
        for bytes in flipped.chain((0..whole.len()).map(|len| whole[..len].to_vec())) {
            match make(bytes.into()) {
                Ok(index) => {
                    let found = index.seek(&key(4));
                    (found.min(index.len() - 1)..index.len()).for_each(|at| {
                        let _ = index.value(at);
                        index.first_key(at, &mut Vec::new());
                    });
                }
                Err(error) => {
                    assert!(error.is_corruption(), "{error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > whole.len(), "most must be refused: {refused}");
    }

    /// An index of three blocks with these first keys; the entries' keys are 10, 20 and 30.
    fn with_first_keys(first_keys: [u8; 3]) -> Result<Index, Error> {
        let key = |i: u8| internal_key(&full_key(KeySpaceId(0), &[i]), Trailer::NEWEST);
        let put = |i: u8| {
            let trailer = Trailer::new(SeqNo(1), Kind::Put);
            internal_key(&full_key(KeySpaceId(0), &[i]), trailer)
        };
        let mut builder = BlockBuilder::new(1);
        for (at, first) in first_keys.into_iter().enumerate() {
            let separator = key(10 * (at as u8 + 1));
            let mut value = Handle { offset: 100 * at as u64, size: 100 }.encode();
            first_key::append(&mut value, &separator, &put(first));
            builder.add(&separator, &value);
        }
        Index::new(NAME, 0, builder.finish().into())?.with_first_keys()
    }

    #[test]
    fn first_keys_out_of_order_are_refused() {
        // The entries of a full key come after the newest place of that full key.
        let index = with_first_keys([1, 11, 20]).unwrap();
        let mut first = Vec::new();
        for (at, number) in [1, 11, 20].into_iter().enumerate() {
            assert!(index.first_key(at, &mut first));
            assert_eq!(key::split(&first).0[4..], [number]);
        }
        for wrong in [[11, 12, 21], [1, 9, 21], [1, 11, 31], [1, 20, 25]] {
            let is_refused = with_first_keys(wrong).is_err_and(|error| error.is_corruption());
            assert!(is_refused, "{wrong:?}");
        }
    }
}
