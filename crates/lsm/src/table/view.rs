//! [`View`]: the bytes of a table that the operating system has mapped into memory, and which of
//! its blocks have been verified.
//!
//! - A block is verified when it is first needed after the table was opened, and not again. A block
//!   of less than [`GRAIN`] bytes is verified each time: two such blocks would share a bit.
//! - Only uncompressed blocks are lent. A compressed one is read, decompressed and kept in the
//!   block cache, as without a view.
//! - Bytes of a view are not handed out to clients: [`BlockCursor::value`] copies them. A client
//!   that keeps a value for long would keep the whole file.
//!
//! Any number of readers; no lock.
//!
//! [`BlockCursor::value`]: super::block_cursor::BlockCursor::value

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use terrace_env::store::MappedFile;

use super::frame::{FRAME_BYTES, Handle, TableName};
use crate::Error;
use crate::compression::Compression;

/// Bytes of a table for one bit: blocks of at least this size begin in different grains.
const GRAIN: u64 = 1 << 10;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct View {
    bytes: Bytes,
    /// A bit for each grain: the block that begins there is verified.
    verified: Box<[AtomicU64]>,
}

/// Owner of the bytes.
struct Mapped(MappedFile);

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl View {
    pub(super) fn new(file: MappedFile) -> Self {
        let bytes = Bytes::from_owner(Mapped(file));
        let words = (bytes.len() as u64).div_ceil(GRAIN * u64::from(u64::BITS));
        Self { bytes, verified: (0..words).map(|_| AtomicU64::new(0)).collect() }
    }

    /// The contents of a data block; `None` if it is compressed, or not within the file.
    pub(super) fn contents(&self, name: TableName, at: Handle) -> Result<Option<Bytes>, Error> {
        let Some(stored) = self.stored(at) else { return Ok(None) };
        let (word, bit) = self.bit(at);
        let is_large = u64::from(at.size) >= GRAIN;
        if is_large && word.load(Ordering::Relaxed) & bit != 0 {
            return Ok(Some(stored.slice(..stored.len() - FRAME_BYTES)));
        }
        let contents = name.open("data block", at.offset, &stored)?;
        if is_large {
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(Some(contents))
    }

    /// The stored bytes of an uncompressed block.
    fn stored(&self, at: Handle) -> Option<Bytes> {
        let start = usize::try_from(at.offset).ok()?;
        let end = start.checked_add(at.size as usize).filter(|end| *end <= self.bytes.len())?;
        let compression = *self.bytes.get(end.checked_sub(FRAME_BYTES)?)?;
        let is_plain = at.size as usize > FRAME_BYTES && compression == Compression::None.number();
        is_plain.then(|| self.bytes.slice(start..end))
    }

    fn bit(&self, at: Handle) -> (&AtomicU64, u64) {
        let grain = at.offset / GRAIN;
        let word = &self.verified[(grain / u64::from(u64::BITS)) as usize];
        (word, 1 << (grain % u64::from(u64::BITS)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use terrace_env::FileId;

    use super::*;

    const NAME: TableName = TableName { file: FileId(3), tag: 9 };

    /// A file of blocks with these contents.
    fn file_of(blocks: &[(Vec<u8>, Compression)]) -> (Vec<u8>, Vec<Handle>) {
        let (mut file, mut handles) = (Vec::new(), Vec::new());
        for (contents, compression) in blocks {
            let mut stored = contents.clone();
            NAME.seal(&mut stored, *compression, file.len() as u64);
            handles.push(Handle { offset: file.len() as u64, size: stored.len() as u32 });
            file.extend(stored);
        }
        (file, handles)
    }

    #[test]
    fn plain_blocks_are_lent_and_compressed_ones_are_not() {
        let [plain, packed] = [Compression::None, Compression::Zstd];
        let blocks = [(vec![1; 3000], plain), (vec![2; 3000], packed), (vec![3; 100], plain)];
        let (file, handles) = file_of(&blocks);
        let view = View::new(Arc::new(file));
        let contents = |at: usize| view.contents(NAME, handles[at]).unwrap();
        for _ in 0..2 {
            assert_eq!(contents(0).unwrap(), blocks[0].0);
            assert_eq!(contents(1), None);
            assert_eq!(contents(2).unwrap(), blocks[2].0);
        }
    }

    #[test]
    fn each_block_is_verified_though_its_neighbours_have_been() {
        let blocks: Vec<_> = (0..300).map(|at| (vec![at as u8; 1019], Compression::None)).collect();
        let (file, handles) = file_of(&blocks);
        for damaged in [0, 1, 63, 64, 150, 299] {
            let mut file = file.clone();
            file[handles[damaged].offset as usize + 500] ^= 1;
            let view = View::new(Arc::new(file));
            for (at, handle) in handles.iter().enumerate() {
                let found = view.contents(NAME, *handle);
                assert_eq!(found.is_err(), at == damaged, "block {at}");
            }
            assert!(
                view.contents(NAME, handles[damaged]).is_err(),
                "a damaged block stays damaged"
            );
        }
    }

    #[test]
    fn small_blocks_of_one_grain_are_verified_each() {
        let blocks: Vec<_> = (0..20).map(|at| (vec![at as u8; 200], Compression::None)).collect();
        let (mut file, handles) = file_of(&blocks);
        file[handles[3].offset as usize] ^= 1;
        let view = View::new(Arc::new(file));
        let fails = |handle: &Handle| view.contents(NAME, *handle).is_err();
        assert_eq!(handles.iter().filter(|handle| fails(handle)).count(), 1);
    }

    #[test]
    fn a_block_outside_of_the_file_is_not_lent() {
        let (file, handles) = file_of(&[(vec![1; 3000], Compression::None)]);
        let view = View::new(Arc::new(file));
        let Handle { offset, size } = handles[0];
        for outside in [Handle { offset, size: size + 1 }, Handle { offset: u64::MAX, size }] {
            assert_eq!(view.contents(NAME, outside).unwrap(), None);
        }
    }
}
