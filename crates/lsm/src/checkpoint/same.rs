//! Equality of a table in the source and one in an earlier backup.
//!
//! A table of the backup is kept if all of this holds:
//!
//! 1. It was copied from the file with this number, of a store with this UUID. A store never gives
//!    a number to a second file, and the bytes of a sealed file do not change. So in the history of
//!    one store, the two say which bytes these are, also if the table has moved in the tree or has
//!    another global sequence number: those are in its annotation, which is written anew.
//! 2. It has the same size, and its first segment began no later. Bytes before it may have been
//!    freed, in either store; the source needs none that the backup has not.
//! 3. Its [end](end_of) has the same hash: the last data block, and all parts after the data.
//! 4. The source is not at an earlier write than the backup.
//! 5. It can be opened. In a directory, a file that is too short cannot.
//!
//! The first rule suffices unless the medium of the source was copied, or put back to an earlier
//! state, and written since: then two histories have the same UUID, and may give one number to
//! different tables. Rules 3 and 4 are for this case. Equal ends have the same keys at all borders
//! of blocks, with their sequences, blocks of the same sizes and filters of the same keys. Tables
//! of two histories that differ only in values of the same sizes, before the last block, would be
//! taken for equal. [`TableComparison::Whole`] finds these, and damage in the backup.
//!
//! The backup remembers the number and the hash of each table, so no bytes of it are read, unless
//! whole tables are compared. No locks.

use std::sync::Arc;

use terrace_env::Cause;
use terrace_env::store::{FileReader, Store};
use xxhash_rust::xxh3::Xxh3;

use super::target::EarlierTable;
use super::verified::{CHUNK, copy_verified};
use crate::Error;
use crate::table::TableFile;

/// How a backup finds that a table of an earlier backup equals one of the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableComparison {
    /// By its origin, and by the end of the source's table: last block, index and filter. These are
    /// a fiftieth of a table of entries of 100 bytes, with ten bits of filter for a key and 30
    /// bytes of index for a block of 4 KiB, and less with larger entries. For a source that was
    /// only ever opened where it is.
    #[default]
    Ends,
    /// By all bytes as well, of both: the checksums of the source's tables are verified, and damage
    /// in the backup is replaced. As slow as a copy, but writes less.
    Whole,
}

/// Whether the earlier backup's table may equal one of this size, whose first segment begins at
/// `first`.
pub(super) fn may_be_same(earlier: &EarlierTable, size: u64, first: &[u8]) -> bool {
    earlier.size == size && earlier.first[..] <= *first
}

/// Whether the earlier backup's table can be opened. Its bytes are not read.
pub(super) fn can_be_opened(target: &dyn Store, earlier: &EarlierTable) -> bool {
    target.open(earlier.origin.file).is_ok()
}

/// Hash of a table's last data block and of everything after it. Bytes before `from`, the start of
/// a data block or the end of the data, may have been freed and are not read.
pub(super) fn end_of(file: &Arc<dyn FileReader>, from: u64) -> Result<u64, Error> {
    let table = TableFile::open(Arc::clone(file))?;
    let mut start = 0;
    for entry in table.walk_index()? {
        let block = entry?.block;
        start = block.offset;
        if block.offset < from {
            start += u64::from(block.size);
        }
    }
    let mut hash = Xxh3::new();
    while start < file.len() {
        let mut bytes = vec![0; (file.len() - start).min(CHUNK) as usize];
        file.read_at(start, &mut bytes, Cause::Client)?;
        hash.update(&bytes);
        start += bytes.len() as u64;
    }
    Ok(hash.digest())
}

/// Whether both tables have the same bytes from `from` on, the start of a data block. The checksums
/// of the source's table are verified. A table of the target that cannot be read is another one.
pub(super) fn has_same_bytes(
    source: &Arc<dyn FileReader>,
    from: u64,
    target: &dyn Store,
    earlier: &EarlierTable,
) -> Result<bool, Error> {
    let Ok(other) = target.open(earlier.origin.file) else { return Ok(false) };
    let (mut at, mut same) = (from, true);
    let mut found = Vec::new();
    copy_verified(source, from, &mut |bytes| {
        found.resize(bytes.len(), 0);
        same = same && other.read_at(at, &mut found, Cause::Client).is_ok() && found == bytes;
        at += bytes.len() as u64;
        Ok(())
    })?;
    Ok(same)
}

#[cfg(test)]
mod tests {
    use terrace_env::FileId;

    use super::*;
    use crate::tree::Origin;

    #[test]
    fn a_table_is_kept_only_with_its_size_and_all_bytes_that_are_needed() {
        let origin = Origin { file: FileId(1), source: FileId(2), end: 3 };
        let (annotation, first) = (Arc::default(), b"g".to_vec());
        let earlier = EarlierTable { origin, annotation, size: 100, first };
        assert!(may_be_same(&earlier, 100, b"g"));
        assert!(may_be_same(&earlier, 100, b"k"), "the source has freed more since");
        assert!(!may_be_same(&earlier, 100, b"f"), "the backup has freed bytes of the range");
        assert!(!may_be_same(&earlier, 101, b"g"));
    }
}
