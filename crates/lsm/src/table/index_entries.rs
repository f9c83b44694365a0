//! [`IndexEntries`]: the entries of an index in memory, in about fourteen bytes each instead of
//! the forty that they take as they are stored.
//!
//! An entry is in two places:
//!
//! - Its *head*: the eight bytes of its full key after the common prefix of all full keys, as a
//!   number. The heads lie close together for searches.
//! - Its *record*: the bytes of the key after the head, if there are any; the trailer, if that is
//!   not the newest; and the value. Most values are the place of a block that follows the one
//!   before: then the record has the block's size alone.
//!
//! Records have no fixed length. Each [`GROUP`]th has an anchor, and an access goes on from there.
//!
//! An entry reads back as it was given, whatever its key and value are: a value that is no place of
//! a block is kept as it is. Plain data, for any number of threads.

use std::cmp::Ordering;

use terrace_env::codec::{DecodeError, Reader, Writer};

use super::frame::Handle;
use crate::key::{self, Trailer};

/// Records for each anchor: an access decodes half of them on average.
const GROUP: usize = 4;
/// Bytes of a head.
const HEAD: usize = size_of::<u64>();

/// Parts of a record, as bits of its first byte. The other bits are the number of key bytes in the
/// head, or [`LONG`].
const HAS_TRAILER: u8 = 1 << 4;
const HAS_PLACE: u8 = 1 << 5;
const HAS_REST: u8 = 1 << 6;
/// Number of key bytes of a key that is longer than its head.
const LONG: u8 = HEAD as u8 + 1;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct IndexEntries {
    common: Box<[u8]>,
    heads: Box<[u64]>,
    records: Box<[u8]>,
    /// Where the records of each group begin, and the end of the block before them.
    anchors: Box<[(u32, BlockEnd)]>,
}

/// A 64-bit number that needs no alignment.
type BlockEnd = [u8; 8];

/// A record, decoded.
#[derive(Clone, Copy, Debug)]
struct Record<'a> {
    /// Bytes of the key in the head.
    in_head: usize,
    /// The bytes after these.
    tail: &'a [u8],
    trailer: Trailer,
    /// The place of a block that follows the one before.
    place: Option<(u64, u64)>,
    /// The value, or the part of it after the place.
    rest: &'a [u8],
}

impl IndexEntries {
    /// Entries whose full keys begin with `common`, all of them.
    pub(super) fn new<'a>(
        common: &[u8],
        entries: impl ExactSizeIterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Self {
        let mut heads = Vec::with_capacity(entries.len());
        let mut anchors = Vec::with_capacity(entries.len().div_ceil(GROUP));
        let (mut records, mut offset) = (Vec::new(), 0);
        for (at, (internal_key, value)) in entries.enumerate() {
            if at == 0 {
                offset = place_of(value).map_or(0, |place| place.offset);
            }
            if at % GROUP == 0 {
                let start = u32::try_from(records.len()).expect("an index below 4 GiB");
                anchors.push((start, offset.to_le_bytes()));
            }
            let (full_key, trailer) = key::split(internal_key);
            debug_assert!(full_key.starts_with(common), "the common prefix");
            heads.push(head(full_key, common.len()));
            offset = append(&mut records, &full_key[common.len()..], trailer, value, offset);
        }
        let (heads, anchors) = (heads.into(), anchors.into());
        Self { common: common.into(), heads, records: records.into(), anchors }
    }

    /// The common prefix of all full keys.
    pub(super) fn common(&self) -> &[u8] {
        &self.common
    }

    /// The head of each entry.
    pub(super) fn heads(&self) -> &[u64] {
        &self.heads
    }

    /// Memory of the entries.
    pub(super) fn bytes(&self) -> usize {
        let (heads, anchors) = (size_of_val(&self.heads[..]), size_of_val(&self.anchors[..]));
        self.common.len() + heads + self.records.len() + anchors
    }

    /// The internal key of an entry.
    pub(super) fn key(&self, at: usize) -> Vec<u8> {
        let record = self.record(at);
        let mut key = Vec::with_capacity(self.common.len() + HEAD + record.tail.len() + HEAD);
        key.extend_from_slice(&self.common);
        key.extend_from_slice(&self.heads[at].to_be_bytes()[..record.in_head]);
        key.extend_from_slice(record.tail);
        key::internal_key(&key, record.trailer)
    }

    /// The order of an entry's full key and another one.
    pub(super) fn compare_full_key(&self, at: usize, other: &[u8]) -> Ordering {
        let record = self.record(at);
        let head = self.heads[at].to_be_bytes();
        let parts = [&self.common[..], &head[..record.in_head], record.tail];
        parts.into_iter().flatten().cmp(other)
    }

    /// The order of an entry's internal key and another one.
    pub(super) fn compare(&self, at: usize, other: &[u8]) -> Ordering {
        let (full_key, trailer) = key::split(other);
        let of_keys = self.compare_full_key(at, full_key);
        of_keys.then_with(|| self.record(at).trailer.cmp(&trailer))
    }

    /// The value of an entry.
    pub(super) fn value(&self, at: usize) -> Vec<u8> {
        let record = self.record(at);
        let mut value = Vec::new();
        if let Some((offset, size)) = record.place {
            value.put_varint(offset);
            value.put_varint(size);
        }
        value.extend_from_slice(record.rest);
        value
    }

    /// The block that an entry's value names, which must end by `limit`. With `first_keys`, more
    /// bytes may follow.
    pub(super) fn handle(
        &self,
        at: usize,
        limit: u64,
        first_keys: bool,
    ) -> Result<Handle, DecodeError> {
        let record = self.record(at);
        if let Some((offset, size)) = record.place
            && let Ok(size) = u32::try_from(size)
            && (first_keys || record.rest.is_empty())
        {
            return Handle { offset, size }.before(limit);
        }
        let value = self.value(at);
        match first_keys {
            true => Handle::read(&mut Reader::new(&value), limit),
            false => Handle::decode(&value, limit),
        }
    }

    fn record(&self, at: usize) -> Record<'_> {
        let (start, offset) = self.anchors[at / GROUP];
        let mut offset = u64::from_le_bytes(offset);
        let mut reader = Reader::new(&self.records[start as usize..]);
        for _ in 0..at % GROUP {
            let skipped = read(&mut reader, offset).expect("written by `append`");
            offset = end_of(&skipped, offset);
        }
        read(&mut reader, offset).expect("written by `append`")
    }
}

/// The eight bytes of a full key after `common` bytes, with zeros after its end.
pub(super) fn head(full_key: &[u8], common: usize) -> u64 {
    let rest = full_key.get(common..).unwrap_or(&[]);
    match rest.first_chunk::<HEAD>() {
        Some(whole) => u64::from_be_bytes(*whole),
        None => {
            let mut bytes = [0; HEAD];
            bytes[..rest.len()].copy_from_slice(rest);
            u64::from_be_bytes(bytes)
        }
    }
}

/// Appends a record, and returns the end of its block; `offset`: the end of the block before.
fn append(
    to: &mut Vec<u8>,
    rest_of_key: &[u8],
    trailer: Trailer,
    value: &[u8],
    offset: u64,
) -> u64 {
    let is_long = rest_of_key.len() > HEAD;
    let in_head = if is_long { LONG } else { rest_of_key.len() as u8 };
    let next = place_of(value).filter(|place| place.offset == offset && place.is_shortest);
    let rest = next.as_ref().map_or(value, |place| place.rest);
    let has_trailer = trailer != Trailer::NEWEST;
    let bit = |bit: u8, is_set: bool| if is_set { bit } else { 0 };
    let bits = bit(HAS_TRAILER, has_trailer) | bit(HAS_PLACE, next.is_some());
    to.put_u8(in_head | bits | bit(HAS_REST, !rest.is_empty()));
    if is_long {
        to.put_prefixed(&rest_of_key[HEAD..]);
    }
    if has_trailer {
        to.put(&trailer.to_bytes());
    }
    if let Some(place) = &next {
        to.put_varint(place.size);
    }
    if !rest.is_empty() {
        to.put_prefixed(rest);
    }
    place_of(value).map_or(offset, |place| place.end)
}

fn read<'a>(reader: &mut Reader<'a>, offset: u64) -> Result<Record<'a>, DecodeError> {
    let first = reader.u8("record")?;
    let (in_head, tail) = match first & 0xf {
        LONG => (HEAD, reader.prefixed("key")?),
        in_head => (usize::from(in_head), &[][..]),
    };
    let trailer = match first & HAS_TRAILER {
        0 => Trailer::NEWEST,
        _ => Trailer::from_bytes(reader.u64("trailer")?.to_le_bytes()),
    };
    let place = match first & HAS_PLACE {
        0 => None,
        _ => Some((offset, reader.varint("size")?)),
    };
    let rest = if first & HAS_REST == 0 { &[][..] } else { reader.prefixed("value")? };
    Ok(Record { in_head, tail, trailer, place, rest })
}

/// End of the block of a record; `before`: the end of the block before.
fn end_of(record: &Record<'_>, before: u64) -> u64 {
    match record.place {
        Some((offset, size)) => offset + size,
        None => place_of(record.rest).map_or(before, |place| place.end),
    }
}

/// The place of a block with which a value begins.
struct ValuePlace<'a> {
    offset: u64,
    size: u64,
    end: u64,
    rest: &'a [u8],
    /// Whether its numbers are in their shortest form: only then it reads back as it was.
    is_shortest: bool,
}

fn place_of(value: &[u8]) -> Option<ValuePlace<'_>> {
    let mut reader = Reader::new(value);
    let offset = reader.varint("block offset").ok()?;
    let size = reader.varint("block size").ok()?;
    let end = offset.checked_add(size)?;
    let rest = reader.bytes("value", reader.remaining()).ok()?;
    let len = |number: u64| (u64::BITS - (number | 1).leading_zeros()).div_ceil(7) as usize;
    let is_shortest = value.len() - rest.len() == len(offset) + len(size);
    Some(ValuePlace { offset, size, end, rest, is_shortest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{KeySpaceId, Kind, full_key, internal_key};
    use terrace_env::SeqNo;
    use terrace_env::random::{Random, Rng};
    use terrace_env::test_seeds;

    fn entries(all: &[(Vec<u8>, Vec<u8>)]) -> IndexEntries {
        let full_keys = || all.iter().map(|(key, _)| key::split(key).0);
        let first = full_keys().next().unwrap_or(&[]);
        let shared = |key: &[u8]| first.iter().zip(key).take_while(|(a, b)| a == b).count();
        let common = full_keys().map(shared).min().unwrap_or(0);
        IndexEntries::new(&first[..common], all.iter().map(|(key, value)| (&key[..], &value[..])))
    }

    #[test]
    fn any_entries_read_back_as_they_were_given() {
        for seed in test_seeds(500) {
            let mut random = Random::seeded(seed);
            let shared: Vec<u8> =
                (0..random.random_range(0..12)).map(|_| random.random()).collect();
            let mut offset = random.random_range(0..1 << 40);
            let all: Vec<_> = (0..random.random_range(0..60))
                .map(|_| {
                    let mut user_key = shared.clone();
                    let rest = random.random_range(0..20);
                    user_key.extend((0..rest).map(|_| random.random_range(0..3u8)));
                    let trailer = match random.random_range(0..3) {
                        0 => Trailer::new(SeqNo(random.random_range(0..9)), Kind::Put),
                        _ => Trailer::NEWEST,
                    };
                    let full_key = full_key(KeySpaceId(7), &user_key);
                    let size = random.random_range(6..9000);
                    let mut value = Handle { offset, size }.encode();
                    match random.random_range(0..6) {
                        0 => value.truncate(random.random_range(0..value.len())),
                        1 => value.extend([random.random(), 0, 3]),
                        2 => offset += 100,
                        3 => {
                            // A number that is longer than it must be.
                            *value.last_mut().unwrap() |= 0x80;
                            value.push(0);
                        }
                        _ => offset += u64::from(size),
                    }
                    (internal_key(&full_key, trailer), value)
                })
                .collect();
            let entries = entries(&all);
            assert_eq!(entries.heads().len(), all.len());
            let keys = all.iter().map(|(key, _)| &key[..]);
            for (at, (key, value)) in all.iter().enumerate() {
                assert_eq!((&entries.key(at), &entries.value(at)), (key, value), "seed {seed}");
                for limit in [0, offset, u64::MAX] {
                    let found = entries.handle(at, limit, false).ok();
                    assert_eq!(found, Handle::decode(value, limit).ok(), "seed {seed}, {at}");
                    let found = entries.handle(at, limit, true).ok();
                    let read = Handle::read(&mut Reader::new(value), limit).ok();
                    assert_eq!(found, read, "seed {seed}, {at}");
                }
                for other in keys.clone() {
                    let full_key = key::split(other).0;
                    let expected = key::split(key).0.cmp(full_key);
                    assert_eq!(entries.compare_full_key(at, full_key), expected, "seed {seed}");
                    assert_eq!(entries.compare(at, other), key::compare(key, other), "seed {seed}");
                }
            }
        }
    }

    #[test]
    fn an_entry_of_a_block_of_random_keys_takes_at_most_fifteen_bytes() {
        let mut random = Random::seeded(1);
        let mut keys: Vec<u64> = (0..200).map(|_| random.random()).collect();
        keys.sort_unstable();
        let mut offset = 3 << 20;
        let all: Vec<_> = keys
            .iter()
            .map(|key| {
                let value = Handle { offset, size: 4103 }.encode();
                offset += 4103;
                let full_key = full_key(KeySpaceId(0), &key.to_be_bytes()[..4]);
                (internal_key(&full_key, Trailer::NEWEST), value)
            })
            .collect();
        let bytes = entries(&all).bytes();
        assert!(bytes <= 15 * all.len(), "{bytes}");
    }
}
