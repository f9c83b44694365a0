//! [`HostFile`]: the file of the host that holds an image, as a trait with few calls, so that tests
//! can put a simulated file in its place. [`LockedFile`] implements it, and [`File`] for a reader
//! next to another process.
//!
//! Several actors may call at once. A successful sync makes durable the changes that had returned
//! before it began. A write or punch that fails may have changed something. Callers read and write
//! within the length of the file.

use std::fmt;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt};

use rustix::fs::FallocateFlags;
use rustix::io::retry_on_intr;
use terrace_env::{ByteCount, LockedFile};

/// A file of the host.
pub(super) trait HostFile: fmt::Debug + Send + Sync + 'static {
    /// The length of the file in bytes.
    fn size(&self) -> io::Result<u64>;

    /// Whether its length is given by hardware: an image may then be shorter.
    fn is_block_device(&self) -> io::Result<bool> {
        Ok(false)
    }

    /// Fills `into` with the bytes from `offset` on; all of them, or an error.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Gives the bytes' space back; they read as zeros. The length stays. Where the file system
    /// cannot, it fails with `EOPNOTSUPP`, and the bytes stay.
    fn punch(&self, offset: u64, len: u64) -> io::Result<()>;

    /// Allocates space for the bytes, so that they can be written even if the disk is full by then;
    /// their values stay. Where the file system cannot, nothing is done, or it fails.
    fn allocate(&self, _offset: u64, _len: u64) -> io::Result<()> {
        Ok(())
    }

    /// Bytes that the host has left for the file; `None`: the file has all its space.
    fn room(&self) -> io::Result<Option<ByteCount>> {
        Ok(None)
    }

    /// Makes all bytes durable.
    fn sync_data(&self) -> io::Result<()>;
}

impl HostFile for LockedFile {
    fn size(&self) -> io::Result<u64> {
        HostFile::size(&**self)
    }

    fn is_block_device(&self) -> io::Result<bool> {
        HostFile::is_block_device(&**self)
    }

    fn room(&self) -> io::Result<Option<ByteCount>> {
        HostFile::room(&**self)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        HostFile::read_at(&**self, offset, into)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        HostFile::write_at(&**self, offset, bytes)
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        HostFile::punch(&**self, offset, len)
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        HostFile::allocate(&**self, offset, len)
    }

    fn sync_data(&self) -> io::Result<()> {
        HostFile::sync_data(&**self)
    }
}

impl HostFile for File {
    fn size(&self) -> io::Result<u64> {
        if HostFile::is_block_device(self)? {
            // Its metadata have no length. All reads and writes name their position, so the file's
            // own is free.
            return { self }.seek(SeekFrom::End(0));
        }
        Ok(self.metadata()?.len())
    }

    fn is_block_device(&self) -> io::Result<bool> {
        Ok(self.metadata()?.file_type().is_block_device())
    }

    fn room(&self) -> io::Result<Option<ByteCount>> {
        if HostFile::is_block_device(self)? {
            return Ok(None);
        }
        let stat = rustix::fs::fstatvfs(self)?;
        Ok(Some(ByteCount(stat.f_bavail.saturating_mul(stat.f_frsize))))
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(into, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(retry_on_intr(|| rustix::fs::fallocate(self, flags, offset, len))?)
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        let flags = FallocateFlags::KEEP_SIZE;
        Ok(retry_on_intr(|| rustix::fs::fallocate(self, flags, offset, len))?)
    }

    fn sync_data(&self) -> io::Result<()> {
        Self::sync_data(self)
    }
}
