//! [`Batch`]: writes that are applied together or not at all. [`FrozenBatch`]: a batch whose
//! entries have their sequence numbers, built here or read from a log. The layout is
//! `docs/format/batch.md`.
//!
//! - Of two writes of one key in a batch, the second wins. A range delete does not hide later puts
//!   of the batch.
//! - The bytes of a batch are those that go to the log, except for its header: that is filled in
//!   when the first entry gets its sequence number. The entries are numbered consecutively from
//!   there.
//! - If a key, a value, the bound of a range or the whole batch ([`BATCH_BYTES_MAX`]) is too large,
//!   the batch keeps the error ([`Batch::defect`]), and takes no more writes until it is cleared.
//!
//! No locks and no I/O. It does not check whether a key space exists.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::{ByteCount, Date, SeqNo};

use super::batch_bytes::{BatchBytes, FrozenBytes};
use super::predecessor::{Predecessor, VERSION_PREDECESSOR};
use crate::expiry::{self, EXPIRY_BYTES};
use crate::key::{
    BOUND_BYTES_MAX, KEY_BYTES_MAX, KeySpaceId, Kind, VALUE_BYTES_MAX, check_sizes, kind_defect,
};
use crate::memory::LargeBuffers;
use crate::{Bounds, Error};

/// The largest batch: it holds the largest value, and is one append.
pub const BATCH_BYTES_MAX: usize = 128 << 20;

/// The most bytes of an entry without its key and its value: kind, key space, lengths.
const ENTRY_HEAD_MAX: usize = 32;
/// The bytes before the first entry.
pub(crate) const HEADER_BYTES: usize = 20;

/// The version of a batch without range deletes, of one with some, of one with entries that expire,
/// and of one with operands; each also allows the entries of the earlier ones.
const VERSION: u8 = 1;
const VERSION_RANGES: u8 = 2;
const VERSION_EXPIRY: u8 = 4;
const VERSION_OPERANDS: u8 = 5;

/// Writes that are applied together or not at all, in order: of two writes of one key, the later
/// wins.
#[derive(Clone, Debug)]
pub struct Batch {
    bytes: BatchBytes,
    count: u32,
    has_puts: bool,
    has_expiries: bool,
    has_operands: bool,
    ranges: u32,
    /// Key spaces written to: the first, and the others, ascending.
    space_first: KeySpaceId,
    spaces_other: Vec<KeySpaceId>,
    payload: u64,
    defect: Option<Error>,
}

impl Batch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::of(BatchBytes::zeroed(HEADER_BYTES))
    }

    /// An empty batch with room for one entry, whose key and value have `payload` bytes. Large room
    /// comes from `buffers`.
    pub(crate) fn for_entry(payload: usize, buffers: &Arc<LargeBuffers>) -> Self {
        let room = HEADER_BYTES + ENTRY_HEAD_MAX + payload.min(BATCH_BYTES_MAX);
        Self::of(BatchBytes::with_room(HEADER_BYTES, room, buffers))
    }

    fn of(bytes: BatchBytes) -> Self {
        let (space_first, spaces_other) = (KeySpaceId::DEFAULT, Vec::new());
        Self {
            bytes,
            count: 0,
            has_puts: false,
            has_expiries: false,
            has_operands: false,
            ranges: 0,
            space_first,
            spaces_other,
            payload: 0,
            defect: None,
        }
    }

    /// Writes `value` under `key`. A key or value that is too long makes the batch fail when it is
    /// written.
    pub fn put(&mut self, space: KeySpaceId, key: &[u8], value: &[u8]) -> &mut Self {
        self.put_value(Kind::Put, space, key, value);
        self
    }

    /// Combines the value of `key` with an operand, by the store's merge operator, when it is
    /// read. The limit of an operand's length is that of a value.
    pub fn merge(&mut self, space: KeySpaceId, key: &[u8], operand: &[u8]) -> &mut Self {
        self.has_operands |= self.put_value(Kind::Operand, space, key, operand);
        self
    }

    fn put_value(&mut self, kind: Kind, space: KeySpaceId, key: &[u8], value: &[u8]) -> bool {
        let is_taken = self.accepts(key, value);
        if is_taken {
            self.bytes.reserve(key.len() + value.len() + 16);
            self.put_key(kind, space, key);
            self.bytes.put_varint(value.len() as u64);
            self.bytes.put(value);
            self.payload += (key.len() + value.len()) as u64;
            self.has_puts = true;
        }
        is_taken
    }

    /// Writes `value` under `key` until a date. Then it is unseen, as if the key had been deleted
    /// here.
    pub fn put_with_expiry(
        &mut self,
        space: KeySpaceId,
        key: &[u8],
        value: &[u8],
        expiry: Date,
    ) -> &mut Self {
        if self.accepts(key, value) {
            self.bytes.reserve(key.len() + value.len() + EXPIRY_BYTES + 16);
            self.put_key(Kind::PutWithExpiry, space, key);
            self.bytes.put_varint((EXPIRY_BYTES + value.len()) as u64);
            self.bytes.put(&expiry::encode(expiry));
            self.bytes.put(value);
            self.payload += (key.len() + value.len()) as u64;
            self.has_puts = true;
            self.has_expiries = true;
        }
        self
    }

    /// Removes the value of `key`.
    pub fn delete(&mut self, space: KeySpaceId, key: &[u8]) -> &mut Self {
        if self.accepts(key, &[]) {
            self.bytes.reserve(key.len() + 8);
            self.put_key(Kind::Delete, space, key);
            self.payload += key.len() as u64;
        }
        self
    }

    /// Removes all keys of the range: one entry, for any number of keys. A later write of the batch
    /// may put keys there again.
    pub fn delete_range(&mut self, space: KeySpaceId, bounds: &Bounds) -> &mut Self {
        let (start, end) = bounds.user_keys();
        if end.as_ref().is_some_and(|end| *end <= start) {
            return self;
        }
        // No range ends before the empty key: it stands for the end of the key space.
        self.delete_keys(space, &start, &end.unwrap_or_default());
        self
    }

    /// `end`: empty for the end of the key space.
    pub(super) fn delete_keys(&mut self, space: KeySpaceId, start: &[u8], end: &[u8]) {
        if self.accepts_range(start, end) {
            self.bytes.reserve(start.len() + end.len() + 16);
            self.put_key(Kind::RangeDelete, space, start);
            self.bytes.put_varint(end.len() as u64);
            self.bytes.put(end);
            self.payload += (start.len() + end.len()) as u64;
            self.ranges += 1;
        }
    }

    /// Number of writes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are no writes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of the batch in the log.
    #[must_use]
    pub fn byte_size(&self) -> ByteCount {
        ByteCount(self.bytes.len() as u64)
    }

    /// Bytes of keys and values.
    #[must_use]
    pub fn payload(&self) -> ByteCount {
        ByteCount(self.payload)
    }

    /// Forgets all writes and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.truncate(HEADER_BYTES);
        (self.count, self.ranges) = (0, 0);
        (self.has_puts, self.has_expiries, self.has_operands) = (false, false, false);
        self.spaces_other.clear();
        (self.payload, self.defect) = (0, None);
    }

    fn accepts(&mut self, key: &[u8], value: &[u8]) -> bool {
        let sized = || check_sizes(key, value);
        self.accepts_bytes(key.len() + value.len(), sized)
    }

    fn accepts_range(&mut self, start: &[u8], end: &[u8]) -> bool {
        let got = start.len().max(end.len());
        let error = Error::KeyTooLong { max: KEY_BYTES_MAX, got };
        let sized = || if got > BOUND_BYTES_MAX { Err(error) } else { Ok(()) };
        self.accepts_bytes(start.len() + end.len(), sized)
    }

    fn accepts_bytes(&mut self, bytes: usize, sized: impl FnOnce() -> Result<(), Error>) -> bool {
        if self.defect.is_some() {
            return false;
        }
        let grown = self.bytes.len() + bytes + ENTRY_HEAD_MAX;
        self.defect = sized().err().or_else(|| {
            let (max, got) = (ByteCount(BATCH_BYTES_MAX as u64), ByteCount(grown as u64));
            (grown > BATCH_BYTES_MAX).then_some(Error::BatchTooLarge { max, got })
        });
        self.defect.is_none()
    }

    fn put_key(&mut self, kind: Kind, space: KeySpaceId, key: &[u8]) {
        self.bytes.put_u8(kind as u8);
        self.bytes.put_varint(u64::from(space.0));
        self.bytes.put_varint(key.len() as u64);
        self.bytes.put(key);
        if self.count == 0 {
            self.space_first = space;
        } else if space != self.space_first
            && let Err(at) = self.spaces_other.binary_search(&space)
        {
            self.spaces_other.insert(at, space);
        }
        self.count += 1;
    }

    /// First defect of a key or value, if there is one.
    pub(crate) fn defect(&self) -> Result<(), Error> {
        self.defect.clone().map_or(Ok(()), Err)
    }

    /// Whether all writes are deletes: such a batch is admitted when space is short.
    pub(crate) fn only_deletes(&self) -> bool {
        !self.has_puts
    }

    /// Whether a range is deleted.
    pub(crate) fn has_ranges(&self) -> bool {
        self.ranges > 0
    }

    /// Whether an entry expires.
    pub(crate) fn has_expiries(&self) -> bool {
        self.has_expiries
    }

    /// Whether there is an operand.
    pub(crate) fn has_operands(&self) -> bool {
        self.has_operands
    }

    /// Number of range deletes.
    pub(crate) fn ranges(&self) -> usize {
        self.ranges as usize
    }

    /// Key spaces written to, each once.
    pub(crate) fn spaces(&self) -> impl Iterator<Item = KeySpaceId> {
        let first = (self.count > 0).then_some(self.space_first);
        first.into_iter().chain(self.spaces_other.iter().copied())
    }

    /// The entries, in order, as places within its bytes.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        entries_of(&self.bytes, self.count)
    }

    /// Bytes of a key or a value of an entry.
    pub(crate) fn bytes_of(&self, place: &Range<usize>) -> &[u8] {
        &self.bytes[place.clone()]
    }

    /// Gives the first entry its sequence.
    pub(crate) fn set_sequence(&mut self, first: SeqNo) {
        let length = u32::try_from(self.bytes.len()).expect("a batch below its limit");
        self.bytes[0..4].copy_from_slice(&length.to_le_bytes());
        self.bytes[4..8].copy_from_slice(&self.count.to_le_bytes());
        self.bytes[8..16].copy_from_slice(&first.0.to_le_bytes());
        self.bytes[16] = match (self.has_operands, self.has_expiries, self.has_ranges()) {
            (true, ..) => VERSION_OPERANDS,
            (false, true, _) => VERSION_EXPIRY,
            (false, false, true) => VERSION_RANGES,
            (false, false, false) => VERSION,
        };
    }

    /// Bytes for the log, once the batch has its sequence.
    pub(crate) fn log_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The finished batch, its first entry at `first`.
    pub(crate) fn freeze(mut self, first: SeqNo) -> FrozenBatch {
        self.set_sequence(first);
        let (bytes, count) = (FrozenBytes::Built(self.bytes), self.count);
        FrozenBatch { bytes, first, count, predecessor: None }
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}

/// One entry, as places within its batch's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) space: KeySpaceId,
    pub(crate) key: Range<usize>,
    /// The value, after the key, with the expiry in front if it has one; empty for a delete. The
    /// end of a range; empty at the key space's end.
    pub(crate) value: Range<usize>,
}

/// A batch with its place in the order of writes.
#[derive(Clone, Debug)]
pub(crate) struct FrozenBatch {
    bytes: FrozenBytes,
    first: SeqNo,
    count: u32,
    predecessor: Option<Predecessor>,
}

impl FrozenBatch {
    /// The length of the batch that begins with `header`, if that is long enough.
    pub(crate) fn length_of(header: &[u8]) -> Option<usize> {
        header.first_chunk::<4>().map(|length| u32::from_le_bytes(*length) as usize)
    }

    /// Reads and checks a batch; the bytes hold exactly it.
    pub(crate) fn decode(bytes: Bytes) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(&bytes);
        let length = reader.u32("batch length")?;
        if length as usize != bytes.len() {
            let expected = "the length of the batch";
            return Err(reader.wrong("batch length", 4, expected, u64::from(length)));
        }
        let count = reader.u32("entry count")?;
        let first = reader.u64("first sequence")?;
        if first > SeqNo::MAX.0 - u64::from(count) {
            return Err(reader.wrong("first sequence", 8, "at most 56 bits", first));
        }
        let version = reader.u8("batch version")?;
        if !(VERSION..=VERSION_OPERANDS).contains(&version) {
            return Err(reader.wrong("batch version", 1, "1 to 5", u64::from(version)));
        }
        let zero = u64::from(reader.u8("batch flags")?) | u64::from(reader.u16("zero")?) << 8;
        if zero != 0 {
            return Err(reader.wrong("batch flags", 3, "0", zero));
        }
        let predecessor = match version {
            VERSION_PREDECESSOR => Some(Predecessor::read(&mut reader, count)?),
            _ => None,
        };
        for _ in 0..count {
            let entry = read_entry(&mut reader)?;
            if entry.kind == Kind::RangeDelete && version < VERSION_RANGES {
                let (expected, got) = ("no range delete in version 1", entry.kind as u64);
                return Err(reader.wrong("entry kind", 0, expected, got));
            }
            if entry.kind == Kind::PutWithExpiry && version < VERSION_EXPIRY {
                let (expected, got) = ("an expiry in versions 4 and 5 alone", entry.kind as u64);
                return Err(reader.wrong("entry kind", 0, expected, got));
            }
            if entry.kind == Kind::Operand && version != VERSION_OPERANDS {
                let (expected, got) = ("an operand in version 5 alone", entry.kind as u64);
                return Err(reader.wrong("entry kind", 0, expected, got));
            }
        }
        reader.finish("entries")?;
        Ok(Self { bytes: FrozenBytes::Read(bytes), first: SeqNo(first), count, predecessor })
    }

    /// The batch's record of the log before its own, if it has one.
    pub(crate) fn predecessor(&self) -> Option<Predecessor> {
        self.predecessor
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn first(&self) -> SeqNo {
        self.first
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The sequence after the last entry's.
    pub(crate) fn end(&self) -> SeqNo {
        SeqNo(self.first.0 + u64::from(self.count))
    }

    /// The entries with their sequences, in order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (SeqNo, Entry)> + '_ {
        let sequences = self.first.0..self.end().0;
        sequences.map(SeqNo).zip(entries_of(&self.bytes, self.count))
    }
}

/// The entries of a batch that was checked, or built here.
fn entries_of(bytes: &[u8], count: u32) -> impl Iterator<Item = Entry> + '_ {
    let mut reader = Reader::new(bytes);
    reader.bytes("header", HEADER_BYTES).expect("a checked header");
    (0..count).map(move |_| read_entry(&mut reader).expect("entries were checked or built here"))
}

fn read_entry(reader: &mut Reader<'_>) -> Result<Entry, DecodeError> {
    let number = reader.u8("entry kind")?;
    let Some(kind) = Kind::of(number) else {
        return Err(reader.wrong("entry kind", 1, kind_defect(number), u64::from(number)));
    };
    let space = reader.varint("key space")?;
    let Ok(space) = u32::try_from(space) else {
        return Err(reader.wrong("key space", 1, "at most 32 bits", space));
    };
    if kind == Kind::RangeDelete {
        return read_range_delete(reader, KeySpaceId(space));
    }
    let key = read_range(reader, "key length", "at most 65,535", KEY_BYTES_MAX)?;
    let value = match kind {
        Kind::Put | Kind::Operand => {
            read_range(reader, "value length", "at most 64 MiB", VALUE_BYTES_MAX)?
        }
        Kind::PutWithExpiry => read_expiring(reader)?,
        Kind::Delete | Kind::RangeDelete => key.end..key.end,
    };
    Ok(Entry { kind, space: KeySpaceId(space), key, value })
}

/// An expiry and a value.
fn read_expiring(reader: &mut Reader<'_>) -> Result<Range<usize>, DecodeError> {
    let (limit, max) = ("8 bytes to 64 MiB more", EXPIRY_BYTES + VALUE_BYTES_MAX);
    let stored = read_range(reader, "value length", limit, max)?;
    if stored.len() < EXPIRY_BYTES {
        return Err(reader.wrong("value length", 1, limit, stored.len() as u64));
    }
    Ok(stored)
}

fn read_range_delete(reader: &mut Reader<'_>, space: KeySpaceId) -> Result<Entry, DecodeError> {
    let mut bound = |field| {
        let start = reader.clone();
        let range = read_range(reader, field, "at most 65,536", BOUND_BYTES_MAX)?;
        let skipped = range.start - start.offset();
        let bytes = start.clone().bytes(field, skipped + range.len())?;
        Ok((range, &bytes[skipped..]))
    };
    let ((key, first), (value, end)) = (bound("start length")?, bound("end length")?);
    if !end.is_empty() && end <= first {
        return Err(reader.wrong("range end", end.len(), "a key after the start", 0));
    }
    if space.0 == u32::MAX {
        return Err(reader.wrong("key space", 0, "an id below the largest", u64::from(space.0)));
    }
    Ok(Entry { kind: Kind::RangeDelete, space, key, value })
}

fn read_range(
    reader: &mut Reader<'_>,
    field: &'static str,
    limit: &'static str,
    max: usize,
) -> Result<Range<usize>, DecodeError> {
    let length = reader.varint(field)?;
    let Some(length) = usize::try_from(length).ok().filter(|&length| length <= max) else {
        return Err(reader.wrong(field, 1, limit, length));
    };
    let start = reader.offset();
    reader.bytes(field, length)?;
    Ok(start..start + length)
}

#[cfg(test)]
mod tests;
