//! The survey of a damaged table: finds the blocks of a key range that cannot be read, and the keys
//! that they may hold.
//!
//! - Every data block that may hold keys of the range is read and decoded. A block that does not
//!   verify may hold the keys between the separators around it in the index. If a part of the index
//!   cannot be read, that part counts as one damaged block with all keys of its partition.
//! - Any failed read counts as damage, even if it failed because the engine was closed meanwhile.
//! - The order of entries and the filters are not checked.
//!
//! Any thread, without a lock: it reads and waits block by block. Nothing on the medium is changed.

use bytes::Bytes;
use terrace_env::Cause;
use terrace_policy::Span;

use super::block_cursor::BlockCursor;
use super::frame::Handle;
use super::reader::Table;
use crate::Error;
use crate::key;

/// A part of a table that cannot be read.
#[derive(Debug)]
pub(crate) struct Damage {
    /// The full keys that it may hold.
    pub(crate) span: Span,
    /// Offset in the file; without a size if that is not known.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) error: Error,
}

impl Table {
    /// Blocks that cannot be read, among those that may hold keys of `span`.
    pub(crate) fn damage(&self, span: &Span, cause: Cause) -> Vec<Damage> {
        let mut found = Vec::new();
        // The last full key of the block before: its versions may go on in the next block.
        let mut from = Vec::new();
        for partition in 0..self.partitions() {
            let index = match self.index(partition, cause) {
                Ok(index) => index,
                Err(error) => {
                    let until =
                        self.partition_end(partition).map(|end| key::split(&end).0.to_vec());
                    let Handle { offset, size } = self.index_handle(partition);
                    let part = clip(span, &from, until.as_deref());
                    found.extend(part.map(|span| {
                        let bytes = u64::from(size);
                        Damage { span, offset, bytes, error }
                    }));
                    from = until.unwrap_or_else(|| span.end.to_vec());
                    continue;
                }
            };
            for at in 0..index.len() {
                let until = key::split(&index.key(at)).0.to_vec();
                if let Some(part) = clip(span, &from, Some(&until)) {
                    let (handle, read) = match self.handle(&index, at) {
                        Ok(handle) => (Some(handle), self.verify_block(handle, cause)),
                        Err(error) => (None, Err(error)),
                    };
                    if let Err(error) = read {
                        let (offset, bytes) = handle.map_or((index.offset(), 0), |handle| {
                            (handle.offset, u64::from(handle.size))
                        });
                        found.push(Damage { span: part, offset, bytes, error });
                    }
                }
                from = until;
            }
        }
        found
    }

    fn verify_block(&self, handle: Handle, cause: Cause) -> Result<(), Error> {
        let mut stored = vec![0; handle.size as usize];
        self.read_into(handle.offset, &mut stored, cause)?;
        let mut cursor = BlockCursor::new(self.block(handle, &Bytes::from(stored))?);
        cursor.seek_to_first()?;
        while let Some(found) = cursor.key() {
            self.kind_of(found, || cursor.value_slice(), handle.offset)?;
            cursor.next()?;
        }
        Ok(())
    }
}

/// The part of `span` from one full key up to and with another.
fn clip(span: &Span, from: &[u8], until: Option<&[u8]>) -> Option<Span> {
    let start = from.max(&span.start[..]).to_vec();
    let end = match until {
        Some(until) => key::successor(until).min(span.end.to_vec()),
        None => span.end.to_vec(),
    };
    (start < end).then(|| Span::new(start, end))
}
