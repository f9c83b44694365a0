//! Sizes and offsets of key ranges in a table, by its index alone.
//!
//! - The size counts data blocks as stored, each as a whole. So it is not exact:
//!   [`Table::blocks_of`] counts the blocks at both ends of a range; [`Table::size_of`] counts the
//!   block in which the range starts and not the block in which it ends (so it is 0 if that is the
//!   same block).
//! - Blocks that were freed in the store count, too.
//!
//! Keys are full keys (key space and user key). Any thread; an index that is not in memory is read
//! and kept, so the caller holds no lock.

use std::ops::Range;

use terrace_env::{ByteCount, Cause};
use terrace_policy::{Key, Span};

use super::reader::Table;
use crate::Error;
use crate::key;

impl Table {
    /// Keys that cut the table's part of a range into pieces of about `every` bytes, each with the
    /// bytes of data blocks before it; the last is the range's end.
    pub(crate) fn pieces(
        &self,
        span: &Span,
        every: ByteCount,
    ) -> Result<Vec<(Key, ByteCount)>, Error> {
        let (mut pieces, mut bytes) = (Vec::new(), 0);
        let target = key::internal_key(&span.start, key::Trailer::NEWEST);
        'partitions: for partition in self.partition_of(&target)..self.partitions() {
            let index = self.index(partition, Cause::Compaction)?;
            for at in index.seek(&target)..index.len() {
                bytes += u64::from(self.handle(&index, at)?.size);
                let internal_key = index.key(at);
                let (full_key, _) = key::split(&internal_key);
                if full_key >= &span.end[..] {
                    break 'partitions;
                }
                if bytes >= every.0 && full_key > &span.start[..] {
                    pieces.push((full_key.into(), ByteCount(std::mem::take(&mut bytes))));
                }
            }
        }
        pieces.push((span.end.clone(), ByteCount(bytes)));
        Ok(pieces)
    }

    /// Offset of the first data block that may hold keys from `start` on. `cause`: for reads of the
    /// index.
    pub(crate) fn offset_of(&self, start: &[u8], cause: Cause) -> Result<u64, Error> {
        let target = key::internal_key(start, key::Trailer::NEWEST);
        for partition in self.partition_of(&target)..self.partitions() {
            let index = self.index(partition, cause)?;
            let at = index.seek(&target);
            if at < index.len() {
                return Ok(self.handle(&index, at)?.offset);
            }
        }
        Ok(self.data_end())
    }

    /// Bytes of all data blocks that may hold keys of the range. `cause`: for reads of the index.
    pub(crate) fn blocks_of(&self, span: &Span, cause: Cause) -> Result<ByteCount, Error> {
        let blocks = self.part_of(span, cause)?;
        Ok(ByteCount(blocks.end - blocks.start))
    }

    /// The part of the file with these blocks.
    pub(crate) fn part_of(&self, span: &Span, cause: Cause) -> Result<Range<u64>, Error> {
        let start = self.offset_of(&span.start, cause)?;
        let target = key::internal_key(&span.end, key::Trailer::NEWEST);
        for partition in self.partition_of(&target)..self.partitions() {
            let index = self.index(partition, cause)?;
            let at = index.seek(&target);
            if at < index.len() {
                let last = self.handle(&index, at)?;
                return Ok(start..(last.offset + u64::from(last.size)).max(start));
            }
        }
        Ok(start..self.data_end().max(start))
    }

    /// Approximate bytes of the data blocks with keys in `start..end`.
    pub(crate) fn size_of(&self, start: &[u8], end: &[u8]) -> Result<ByteCount, Error> {
        let offset = |key| self.offset_of(key, Cause::Compaction);
        Ok(ByteCount(offset(end)?.saturating_sub(offset(start)?)))
    }
}
