//! [`LostRange`]: a range of keys of which a table is lost with its device.
//!
//! An opening leaves lost tables out of the tree, and deletes their files if it may write. For a
//! key in a lost range, readers then see the newest remaining version. It can be older than the
//! last written one, or there may be none.
//!
//! Values only; no locks and no I/O.

use bytes::Bytes;
use terrace_env::{ByteCount, FileId};

use super::annotation::TableRecord;
use crate::key::{KeySpaceId, SPACE_BYTES};

/// A range of keys of which a table is lost with its device: the range of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRange {
    /// The table.
    pub file: FileId,
    /// The level that it was in.
    pub level: u8,
    /// Bytes of the table in this range.
    pub size: ByteCount,
    /// Key space and key of the start of the range.
    pub start: (KeySpaceId, Bytes),
    /// Key space and first key after the range.
    pub end: (KeySpaceId, Bytes),
}

impl LostRange {
    /// The ranges of a table, which has this annotation.
    pub(crate) fn of(file: FileId, record: &TableRecord) -> impl Iterator<Item = Self> {
        record.segments.iter().map(move |segment| Self {
            file,
            level: segment.place.level,
            size: segment.size,
            start: split(&segment.span.start),
            end: split(&segment.span.end),
        })
    }
}

/// The key space and the user key of a full key.
fn split(full: &[u8]) -> (KeySpaceId, Bytes) {
    let (space, key) = full.split_first_chunk::<SPACE_BYTES>().unwrap_or((&[0; SPACE_BYTES], &[]));
    (KeySpaceId(u32::from_be_bytes(*space)), Bytes::copy_from_slice(key))
}
