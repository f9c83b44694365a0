//! [`Block`]: a sorted block as read, with its entries and restart points. The layout is
//! `docs/format/table.md`.
//!
//! - Lengths and offsets are checked before they are used, because a block whose checksum holds may
//!   have been written by a faulty program. A wrong one is [`Error::Corruption`].
//! - The order of the keys and the kinds of entries are not checked. After [`Block::entry`], the
//!   caller checks the number of bytes that the key shares with the key before
//!   ([`Block::check_key`]).
//! - A block that was released or parked (to free memory) has no bytes: the caller must read no
//!   entry of it.
//!
//! A clone shares the bytes. No locks, and no I/O.

use bytes::Bytes;
use std::ops::Range;

use terrace_env::codec::{DecodeError, Reader};

use super::frame::TableName;
use crate::Error;
use crate::key::{SPACE_BYTES, TRAILER_BYTES};

/// A block's checked outline.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(super) contents: Bytes,
    pub(super) entries_end: usize,
    /// Number of restart points.
    pub(super) restarts: usize,
    pub(super) table: TableName,
    /// Its offset in its table.
    pub(super) offset: u64,
    /// Whether the contents lie in a mapped file.
    pub(super) is_lent: bool,
}

impl Block {
    /// A block from its contents, which lie at `offset` of `table`.
    pub(crate) fn new(table: TableName, offset: u64, contents: Bytes) -> Result<Self, Error> {
        let corrupt = |expected: &str, got: usize| {
            Err(Error::corruption(table.region("block"), offset, expected, got))
        };
        let Some((rest, restarts)) = contents.split_last_chunk::<4>() else {
            return corrupt("at least 4 bytes of contents", contents.len());
        };
        let restarts = u32::from_le_bytes(*restarts) as usize;
        let empty = restarts == 0 && rest.is_empty();
        if !empty && (restarts == 0 || restarts > rest.len() / 4) {
            return corrupt("1 or more restart points that fit the block", restarts);
        }
        let entries_end = rest.len() - restarts * 4;
        Ok(Self { contents, entries_end, restarts, table, offset, is_lent: false })
    }

    /// The same, if the contents lie in a mapped file.
    pub(super) fn lent(table: TableName, offset: u64, contents: Bytes) -> Result<Self, Error> {
        Ok(Self { is_lent: true, ..Self::new(table, offset, contents)? })
    }

    /// Frees its memory; it has no entries any more.
    pub(super) fn release(&mut self) {
        self.contents = Bytes::new();
        (self.entries_end, self.restarts) = (0, 0);
    }

    /// Frees its memory and keeps its outline: it can be read again.
    pub(super) fn park(&mut self) {
        self.contents = Bytes::new();
    }

    /// Number of restart points.
    pub(super) fn restarts(&self) -> usize {
        self.restarts
    }

    fn corrupt(&self, error: &DecodeError) -> Error {
        Error::decode(self.table.region("block entry"), self.offset, error)
    }

    pub(super) fn restart(&self, index: usize) -> Result<usize, Error> {
        let mut reader = Reader::new(&self.contents[self.entries_end + index * 4..]);
        let offset = reader.u32("restart").map_err(|error| self.corrupt(&error))? as usize;
        if offset >= self.entries_end {
            let expected = format!("a restart point below {}", self.entries_end);
            return Err(Error::corruption(
                self.table.region("restart points"),
                self.offset,
                expected,
                offset,
            ));
        }
        Ok(offset)
    }

    /// The entry at `offset`: the length of its shared prefix, the rest of its key, and its value.
    pub(super) fn entry(
        &self,
        offset: usize,
    ) -> Result<(usize, Range<usize>, Range<usize>), Error> {
        self.try_entry(offset).map_err(|error| self.corrupt(&error))
    }

    fn try_entry(&self, at: usize) -> Result<(usize, Range<usize>, Range<usize>), DecodeError> {
        if let Some(entry) = self.short_entry(at) {
            return Ok(entry);
        }
        let mut reader = Reader::new(&self.contents[at..self.entries_end]);
        let shared = reader.varint("shared")? as usize;
        let rest = reader.varint("rest")? as usize;
        let value = reader.varint("value length")? as usize;
        let key_start = at + reader.offset();
        reader.bytes("key", rest)?;
        let value_start = at + reader.offset();
        reader.bytes("value", value)?;
        Ok((shared, key_start..key_start + rest, value_start..value_start + value))
    }

    /// The same for the common case: lengths of one byte, at most two for the value's. It avoids a
    /// check and a branch per byte. `None`: another kind of entry, or damage.
    fn short_entry(&self, at: usize) -> Option<(usize, Range<usize>, Range<usize>)> {
        let entries = self.contents.get(..self.entries_end)?;
        let [shared, rest, low, high] = *entries.get(at..)?.first_chunk::<4>()?;
        let (value, header) = match low {
            0..0x80 => (usize::from(low), 3),
            _ => (usize::from(low & 0x7f) | usize::from(high) << 7, 4),
        };
        if (shared | rest | if header == 4 { high } else { 0 }) >= 0x80 {
            return None;
        }
        let key_start = at + header;
        let value_start = key_start + usize::from(rest);
        let end = value_start + value;
        let fits = end <= entries.len();
        fits.then_some((usize::from(shared), key_start..value_start, value_start..end))
    }

    /// The whole key of the entry at restart point `index`.
    pub(super) fn restart_key(&self, index: usize) -> Result<&[u8], Error> {
        let offset = self.restart(index)?;
        let (shared, key, _) = self.entry(offset)?;
        self.check_key(offset, shared, 0, key.len())?;
        Ok(&self.contents[key])
    }

    pub(super) fn check_key(
        &self,
        offset: usize,
        shared: usize,
        available: usize,
        rest: usize,
    ) -> Result<(), Error> {
        let length = shared.saturating_add(rest);
        if shared <= available && length >= SPACE_BYTES + TRAILER_BYTES {
            return Ok(());
        }
        let at = self.offset + offset as u64;
        let expected = format!("a key of at least 12 bytes that shares at most {available}");
        let got = format!("{length} bytes, {shared} of them shared");
        Err(Error::corruption(self.table.region("block entry"), at, expected, got))
    }
}
