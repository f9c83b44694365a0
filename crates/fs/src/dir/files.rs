//! [`Files`]: the interface between the store and the host's file system. It has few calls, so that
//! a fake can implement it and simulate power cuts.
//!
//! | implementation | content |
//! |---|---|
//! | [`OsFiles`](super::OsFiles) | a directory |
//! | [`MemoryFiles`](super::MemoryFiles) | the fake, which tells synced bytes from others |
//!
//! A sync of a file's handle makes the file's bytes and length durable. A sync of the directory
//! makes names durable, whether made, moved or removed. A handle goes on working when its file is
//! renamed or removed. Calls other than `describe`, `handle_limit` and `unlock` may wait for the
//! disk, so the caller must hold no lock.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use terrace_env::ByteCount;
use terrace_env::store::MappedFile;

use crate::Access;

/// The files of one flat directory.
pub trait Files: Send + Sync + 'static {
    /// The names in the directory that are UTF-8, in order.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes an empty file, or empties the one of this name.
    fn create(&self, name: &str) -> io::Result<Arc<dyn FileHandle>>;

    /// Opens a file. If the name exists and is not that of a file, the error is of the kind
    /// [`IsADirectory`](io::ErrorKind::IsADirectory), and its text names the found object.
    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn FileHandle>>;

    /// Moves a name, replacing the file that has the new one.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a name. Handles go on working.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Maps the first `size` bytes of a file into memory. A missing file is made; a shorter one is
    /// lengthened with zeros. `None` if the host cannot promise that it has space for each store.
    fn map(&self, _name: &str, _size: usize) -> io::Result<Option<Box<dyn Mapping>>> {
        Ok(None)
    }

    /// Makes all names durable as they are now.
    fn sync(&self) -> io::Result<()>;

    /// Lets other processes open the directory, if opening it locked it. Called after the last
    /// write.
    fn unlock(&self) {}

    /// The most bytes of files to have mapped at once for reading: as many as the host is likely to
    /// keep in memory. 0 if its files are not to be mapped.
    fn views_max(&self) -> ByteCount {
        ByteCount(0)
    }

    /// Total and available space.
    fn room(&self) -> io::Result<Room>;

    /// The present limit of open handles.
    fn handle_limit(&self) -> HandleLimit {
        HandleLimit::None
    }

    /// Name of the directory in errors.
    fn describe(&self) -> String;
}

/// The space of the file system that holds the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// All its bytes.
    pub total: ByteCount,
    /// Bytes that this process may still write.
    pub available: ByteCount,
}

/// Limit of open handles. A call that would open one more fails with the error of the host
/// (`EMFILE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleLimit {
    /// Any number.
    None,
    /// This many of this directory.
    OfFiles(usize),
    /// A handle is one of this many descriptors of the process.
    OfProcess(usize),
}

/// Memory that is the content of a file. Its stores are as volatile as writes.
pub trait Mapping: Send + Sync + 'static {
    /// Stores bytes. At once, any process can read them from the file, and so it can after the end
    /// of this process.
    ///
    /// # Panics
    /// If the bytes do not lie in the mapping.
    fn store(&mut self, offset: usize, bytes: &[u8]);
}

/// An open file.
pub trait FileHandle: Send + Sync + 'static {
    /// Its length in bytes.
    fn size(&self) -> io::Result<u64>;

    /// Fills `into` with the bytes from `offset` on; all of them, or an error.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()>;

    /// The `len` bytes from `offset` on; all of them, or an error.
    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.read_at(offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Maps the first `size` bytes into memory for reading. The caller ensures that they do not
    /// change any more. `None` if the file is shorter, or the host does not map it.
    fn view(&self, _size: u64) -> io::Result<Option<MappedFile>> {
        Ok(None)
    }

    /// Writes all of `bytes` at `offset`.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Writes all of `parts`, one after the other, at `offset`. A failure may leave any of the
    /// bytes.
    fn write_parts_at(&self, offset: u64, parts: &[&[u8]]) -> io::Result<()> {
        self.write_at(offset, &parts.concat())
    }

    /// Cuts or lengthens with zeros.
    fn set_size(&self, size: u64) -> io::Result<()>;

    /// Makes the bytes and the length durable.
    fn sync(&self) -> io::Result<()>;

    /// Gives the bytes' space back; they read as zeros. The length stays.
    fn punch(&self, range: Range<u64>) -> io::Result<()>;

    /// Sets aside space for the first `size` bytes, and returns `true`; the length stays. `false`
    /// where this would not make writes cheaper.
    fn preallocate(&self, size: u64) -> io::Result<bool>;
}
