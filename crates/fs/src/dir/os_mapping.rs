//! [`OsMapping`]: a file of a directory, mapped into memory.
//!
//! A store to mapped memory cannot report an error: if the kernel has no space for the page, or
//! cannot read it, it ends the process. So a file is only mapped where that is ruled out as far as
//! possible:
//!
//! - The file system writes over the blocks that a file has (ext4, XFS, tmpfs), and all blocks are
//!   allocated before. Others, such as btrfs, allocate new blocks for each write.
//! - The pages are locked in memory, if the process may do so: they are not read again.
//!
//! The process still ends if another program makes the file shorter.
//!
//! # Why the unsafe code is sound
//! The mapping has no references into it: bytes are copied to it by a pointer, within its bounds,
//! and are never read through it. So it does not matter that other processes read the file.

use std::fs::File;
use std::io;
use std::ptr;

use memmap2::MmapRaw;
use rustix::fs::FallocateFlags;
use rustix::io::{Errno, retry_on_intr};

use super::files::Mapping;

pub(super) const EXT: u64 = 0xEF53;
pub(super) const XFS: u64 = 0x5846_5342;
pub(super) const TMPFS: u64 = 0x0102_1994;

/// See the [module](self).
pub(super) struct OsMapping(MmapRaw);

impl OsMapping {
    /// Maps the first `size` bytes of a file that is open for reading and writing. `None` if the
    /// file system cannot promise space for each store.
    pub(super) fn new(file: &File, size: usize) -> io::Result<Option<Self>> {
        let kind = rustix::fs::fstatfs(file)?.f_type as u64;
        if ![EXT, XFS, TMPFS].contains(&kind) {
            return Ok(None);
        }
        let flags = FallocateFlags::empty();
        match retry_on_intr(|| rustix::fs::fallocate(file, flags, 0, size as u64)) {
            Ok(()) => {}
            Err(Errno::NOSPC | Errno::DQUOT | Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let mapped = memmap2::MmapOptions::new().len(size).map_raw(file)?;
        // A limit of locked memory that is too low is no error.
        let _ = mapped.lock();
        Ok(Some(Self(mapped)))
    }
}

impl Mapping for OsMapping {
    fn store(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset.checked_add(bytes.len()).expect("an offset in the file");
        assert!(end <= self.0.len(), "bytes {offset}..{end} of {}", self.0.len());
        // SAFETY: the target lies in the mapping, which is writable and to which no reference
        // exists; the source is a slice, which therefore is not part of the mapping.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.as_mut_ptr().add(offset), bytes.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(path: &std::path::Path) -> Option<OsMapping> {
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        OsMapping::new(&options.open(path).unwrap(), 8192).unwrap()
    }

    #[test]
    fn stores_can_be_read_from_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mapped");
        let Some(mut mapping) = map(&path) else { return };
        mapping.store(5000, b"stored");
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!((bytes.len(), &bytes[5000..5006]), (8192, &b"stored"[..]));
        drop(mapping);
        let mut again = map(&path).unwrap();
        again.store(0, b"front");
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!((&bytes[..5], &bytes[5000..5006]), (&b"front"[..], &b"stored"[..]));
    }

    #[test]
    #[should_panic(expected = "bytes 8190..8196 of 8192")]
    fn a_store_beyond_the_end_panics() {
        let dir = tempfile::tempdir().unwrap();
        let Some(mut mapping) = map(&dir.path().join("mapped")) else {
            panic!("bytes 8190..8196 of 8192")
        };
        mapping.store(8190, b"stored");
    }
}
