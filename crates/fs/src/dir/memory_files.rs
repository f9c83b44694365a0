//! [`MemoryFiles`]: the fake of a directory, in memory. It knows which bytes and names have been
//! synced.
//!
//! # Fault model
//! - **Power cut**: each sector of 512 bytes of a file is found as it was last synced, or as it was
//!   last written, by chance. Where the chosen version of the file is too short to have the sector,
//!   zeros are found. The length is one of the two, or between them. Each name, independently of
//!   the others, is found as it was when the directory was last synced, or as it is now.
//! - A cut can be set to happen at the n-th change or sync, counted from zero. That operation
//!   fails, though its bytes may be found afterwards. Later calls of the two traits fail too,
//!   except `room`, `describe`, `unlock`, `handle_limit` and `preallocate`. `power_cut` gives the
//!   directory that is found afterwards. A store to mapped memory is no such operation: its bytes
//!   are volatile like written ones.
//! - **Crash of the process**: all bytes and names are kept, and are as volatile as before. Handles
//!   from before the crash cannot change or sync files.
//! - One operation can be made to fail by itself, without an effect.
//! - **Few handles**: the open handles can be limited. A call that would make one more fails with
//!   `EMFILE`. A sync of the directory, and listing it, take a handle for the time of the call.
//!
//! # Threads
//! Any number of threads may call. There is one lock, and no call waits while it holds the lock.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use terrace_env::random::{Random, Rng};
use terrace_env::sync::{Mutex, MutexGuard, assert_no_lock_held};
use terrace_env::{ByteCount, runner};

use super::{FileHandle, Files, HandleLimit, Mapping, Room};
use crate::Access;

const SECTOR: usize = 512;

/// A directory in memory that knows which bytes have been synced, and may lose others when its
/// power is cut. Clones share the files.
#[derive(Clone, Default)]
pub struct MemoryFiles(Arc<Mutex<Disk>>);

#[derive(Default)]
struct Disk {
    contents: BTreeMap<u64, Content>,
    next: u64,
    names: BTreeMap<String, u64>,
    durable_names: BTreeMap<String, u64>,
    directories: BTreeSet<String>,
    operations: u64,
    cut_at: Option<u64>,
    fail_at: Option<(u64, io::ErrorKind)>,
    sync_time: Duration,
    /// Handles that are open.
    handles: usize,
    handles_max: Option<usize>,
    capacity: Option<ByteCount>,
    /// Files cannot be mapped.
    unmapped: bool,
    /// Of the handles, those that other parts of the program have.
    taken: usize,
    /// Handles made before the last restart are dead.
    life: u64,
}

#[derive(Clone, Default)]
struct Content {
    now: Vec<u8>,
    durable: Vec<u8>,
}

struct MemoryFile {
    disk: Arc<Mutex<Disk>>,
    content: u64,
    life: u64,
}

impl MemoryFiles {
    /// An empty directory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes every sync take time, so that other actors run in between.
    #[must_use]
    pub fn with_sync_time(self, time: Duration) -> Self {
        self.0.lock().sync_time = time;
        self
    }

    /// Allows only this many open handles.
    #[must_use]
    pub fn with_handles(self, most: usize) -> Self {
        self.0.lock().handles_max = Some(most);
        self
    }

    /// Allows all files together only this many bytes.
    #[must_use]
    pub fn with_capacity(self, capacity: ByteCount) -> Self {
        self.0.lock().capacity = Some(capacity);
        self
    }

    /// Allows no file to be mapped into memory.
    #[must_use]
    pub fn without_mapping(self) -> Self {
        self.0.lock().unmapped = true;
        self
    }

    /// Other parts of the program take this many of the handles.
    pub fn take_handles(&self, count: usize) {
        self.0.lock().taken = count;
    }

    /// Number of open handles.
    #[must_use]
    pub fn handles(&self) -> usize {
        self.0.lock().handles
    }

    /// Number of operations so far that change or sync files or names.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.0.lock().operations
    }

    /// Cuts the power at the operation of this number, counted like
    /// [`operations`](Self::operations) from zero.
    pub fn cut_at(&self, operation: u64) {
        self.0.lock().cut_at = Some(operation);
    }

    /// Whether no cut has happened.
    #[must_use]
    pub fn has_power(&self) -> bool {
        self.0.lock().check_power().is_ok()
    }

    /// Makes the operation of this number fail by itself.
    pub fn fail_at(&self, operation: u64, kind: io::ErrorKind) {
        self.0.lock().fail_at = Some((operation, kind));
    }

    /// The directory as it is found when the power comes back. All of it is durable.
    #[must_use]
    pub fn power_cut(&self, random: &mut Random) -> Self {
        let disk = self.0.lock();
        let mut names = BTreeMap::new();
        let all: BTreeSet<&String> = disk.names.keys().chain(disk.durable_names.keys()).collect();
        for name in all {
            let of = if random.random() { &disk.names } else { &disk.durable_names };
            if let Some(content) = of.get(name) {
                names.insert(name.clone(), *content);
            }
        }
        let survive = |content: &Content, random: &mut Random| {
            let bytes = content.survivor(random);
            Content { now: bytes.clone(), durable: bytes }
        };
        let contents = names.values().copied().collect::<BTreeSet<u64>>();
        let contents =
            contents.into_iter().map(|id| (id, survive(&disk.contents[&id], random))).collect();
        let durable_names = names.clone();
        let next = disk.next;
        Self(Arc::new(Mutex::new(Disk { contents, next, names, durable_names, ..Disk::default() })))
    }

    /// Starts a new process on the directory: all bytes and names are kept, and volatile bytes
    /// still are volatile. Handles of the old process are dead.
    pub fn restart(&self) {
        let mut disk = self.0.lock();
        disk.life += 1;
        disk.handles = 0;
        disk.cut_at = None;
        disk.fail_at = None;
    }

    /// A copy of the directory as it is now, all durable.
    #[must_use]
    pub fn copy(&self) -> Self {
        let disk = self.0.lock();
        let whole = |content: &Content| {
            let (now, durable) = (content.now.clone(), content.now.clone());
            Content { now, durable }
        };
        let contents = disk.contents.iter().map(|(id, content)| (*id, whole(content))).collect();
        let (names, durable_names, next) = (disk.names.clone(), disk.names.clone(), disk.next);
        let directories = disk.directories.clone();
        let copy = Disk { contents, next, names, durable_names, directories, ..Disk::default() };
        Self(Arc::new(Mutex::new(copy)))
    }

    /// Puts a directory in the place of a file: damage.
    pub fn make_directory(&self, name: &str) {
        let mut disk = self.0.lock();
        disk.names.remove(name);
        disk.directories.insert(name.to_owned());
    }

    /// The bytes of a file.
    #[must_use]
    pub fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        let disk = self.0.lock();
        disk.names.get(name).map(|id| disk.contents[id].now.clone())
    }

    /// Replaces the bytes of a file, durably: damage.
    pub fn overwrite(&self, name: &str, bytes: Vec<u8>) {
        let mut disk = self.0.lock();
        let id = *disk.names.get(name).expect("a file that is there");
        disk.contents.insert(id, Content { now: bytes.clone(), durable: bytes });
    }

    fn change(&self) -> io::Result<(MutexGuard<'_, Disk>, bool)> {
        Disk::change(&self.0)
    }
}

impl Content {
    fn survivor(&self, random: &mut Random) -> Vec<u8> {
        let (a, b) = (self.now.len(), self.durable.len());
        let size = match random.random_range(0..3) {
            0 => a,
            1 => b,
            _ => random.random_range(a.min(b)..=a.max(b)),
        };
        let (lose, keep) = (random.random_range(0..4) == 0, random.random_range(0..4) == 0);
        let mut bytes = vec![0; size];
        for (number, sector) in bytes.chunks_mut(SECTOR).enumerate() {
            let kept = keep || (!lose && random.random());
            let from = if kept { &self.now } else { &self.durable };
            let start = (number * SECTOR).min(from.len());
            let end = (start + sector.len()).min(from.len());
            sector[..end - start].copy_from_slice(&from[start..end]);
        }
        bytes
    }
}

impl Disk {
    /// Counts an operation that changes something. Returns whether the power fails at it.
    fn change(disk: &Mutex<Self>) -> io::Result<(MutexGuard<'_, Self>, bool)> {
        assert_no_lock_held("a file operation");
        let mut disk = disk.lock();
        disk.check_power()?;
        let number = disk.operations;
        disk.operations += 1;
        if let Some((at, kind)) = disk.fail_at
            && at == number
        {
            return Err(io::Error::new(kind, "an injected failure"));
        }
        let cut = disk.cut_at == Some(number);
        Ok((disk, cut))
    }

    /// As [`change`](Self::change), for a sync.
    fn sync(disk: &Mutex<Self>) -> io::Result<MutexGuard<'_, Self>> {
        assert_no_lock_held("a file operation");
        let time = disk.lock().sync_time;
        if !time.is_zero() {
            runner::sleep(time);
        }
        let (disk, cut) = Self::change(disk)?;
        unless(cut)?;
        Ok(disk)
    }

    fn check_power(&self) -> io::Result<()> {
        let off = self.cut_at.is_some_and(|at| self.operations > at);
        if off { Err(no_power()) } else { Ok(()) }
    }

    /// Checks that one more handle may be open.
    fn check_handles(&self) -> io::Result<()> {
        let is_full = self.handles_max.is_some_and(|most| self.handles + self.taken >= most);
        if is_full { Err(Errno::MFILE.into()) } else { Ok(()) }
    }

    fn room(&self) -> Room {
        let used: usize = self.names.values().map(|id| self.contents[id].now.len()).sum();
        let total = self.capacity.unwrap_or(ByteCount::gib(1 << 10));
        Room { total, available: ByteCount(total.0.saturating_sub(used as u64)) }
    }

    fn find(&self, name: &str) -> io::Result<u64> {
        if self.directories.contains(name) {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "a directory"));
        }
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn no_power() -> io::Error {
    io::Error::other("the power is off")
}

fn unless(cut: bool) -> io::Result<()> {
    if cut { Err(no_power()) } else { Ok(()) }
}

impl Files for MemoryFiles {
    fn list(&self) -> io::Result<Vec<String>> {
        let disk = self.0.lock();
        disk.check_power()?;
        disk.check_handles()?;
        let all: BTreeSet<&String> = disk.names.keys().chain(&disk.directories).collect();
        Ok(all.into_iter().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn FileHandle>> {
        self.0.lock().check_handles()?;
        let (mut disk, cut) = self.change()?;
        if disk.directories.contains(name) {
            return disk.find(name).map(|_| unreachable!("a directory is no file"));
        }
        let content = match disk.names.get(name) {
            Some(content) => *content,
            None => {
                let content = disk.next;
                disk.next += 1;
                disk.contents.insert(content, Content::default());
                disk.names.insert(name.to_owned(), content);
                content
            }
        };
        if let Some(content) = disk.contents.get_mut(&content) {
            content.now.clear();
        }
        unless(cut)?;
        Ok(Arc::new(MemoryFile::new(&self.0, &mut disk, content)))
    }

    fn open(&self, name: &str, _access: Access) -> io::Result<Arc<dyn FileHandle>> {
        assert_no_lock_held("a file operation");
        let mut disk = self.0.lock();
        disk.check_power()?;
        disk.check_handles()?;
        let content = disk.find(name)?;
        Ok(Arc::new(MemoryFile::new(&self.0, &mut disk, content)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (mut disk, cut) = self.change()?;
        let content = disk.find(from)?;
        disk.names.remove(from);
        disk.names.insert(to.to_owned(), content);
        unless(cut)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let (mut disk, cut) = self.change()?;
        disk.find(name)?;
        disk.names.remove(name);
        unless(cut)
    }

    fn map(&self, name: &str, size: usize) -> io::Result<Option<Box<dyn Mapping>>> {
        if self.0.lock().unmapped {
            return Ok(None);
        }
        let found = self.0.lock().find(name);
        if let Err(error) = found {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(error);
            }
            self.create(name)?;
        }
        let disk = &mut *self.0.lock();
        disk.check_power()?;
        let content = disk.find(name)?;
        let bytes = &mut disk.contents.get_mut(&content).ok_or(io::ErrorKind::NotFound)?.now;
        bytes.resize(bytes.len().max(size), 0);
        Ok(Some(Box::new(MemoryMapping { disk: Arc::clone(&self.0), content, life: disk.life })))
    }

    fn sync(&self) -> io::Result<()> {
        self.0.lock().check_handles()?;
        let mut disk = Disk::sync(&self.0)?;
        disk.durable_names = disk.names.clone();
        Ok(())
    }

    fn room(&self) -> io::Result<Room> {
        Ok(self.0.lock().room())
    }

    fn handle_limit(&self) -> HandleLimit {
        self.0.lock().handles_max.map_or(HandleLimit::None, HandleLimit::OfFiles)
    }

    fn describe(&self) -> String {
        "a directory in memory".to_owned()
    }
}

impl MemoryFile {
    fn new(of: &Arc<Mutex<Disk>>, disk: &mut Disk, content: u64) -> Self {
        disk.handles += 1;
        Self { disk: Arc::clone(of), content, life: disk.life }
    }

    fn change(&self) -> io::Result<(MutexGuard<'_, Disk>, bool)> {
        let (disk, cut) = Disk::change(&self.disk)?;
        if disk.life != self.life {
            return Err(io::Error::other("the process is gone"));
        }
        Ok((disk, cut))
    }

    /// Changes the content.
    fn alter(&self, how: impl FnOnce(&mut Content)) -> io::Result<()> {
        let (mut disk, cut) = self.change()?;
        let content = disk.contents.get_mut(&self.content);
        how(content.ok_or(io::ErrorKind::NotFound)?);
        unless(cut)
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        let mut disk = self.disk.lock();
        if disk.life == self.life {
            disk.handles -= 1;
        }
    }
}

/// A file that is mapped.
struct MemoryMapping {
    disk: Arc<Mutex<Disk>>,
    content: u64,
    life: u64,
}

impl Mapping for MemoryMapping {
    /// A store cannot fail. So one that comes after the operation of the power cut may survive the
    /// cut, too. After the end of its process, a store does nothing.
    fn store(&mut self, offset: usize, bytes: &[u8]) {
        let disk = &mut *self.disk.lock();
        if disk.life == self.life
            && let Some(content) = disk.contents.get_mut(&self.content)
        {
            content.now[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
    }
}

impl FileHandle for MemoryFile {
    fn size(&self) -> io::Result<u64> {
        let disk = self.disk.lock();
        disk.check_power()?;
        Ok(disk.contents[&self.content].now.len() as u64)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        assert_no_lock_held("a file operation");
        let disk = self.disk.lock();
        disk.check_power()?;
        let bytes = &disk.contents[&self.content].now;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(into.len());
        into.copy_from_slice(bytes.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        {
            let disk = self.disk.lock();
            let size = disk.contents.get(&self.content).map_or(0, |content| content.now.len());
            let growth = (offset + bytes.len() as u64).saturating_sub(size as u64);
            if disk.capacity.is_some() && growth > disk.room().available.0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        self.alter(|content| {
            let (start, end) = (offset as usize, offset as usize + bytes.len());
            if content.now.len() < end {
                content.now.resize(end, 0);
            }
            content.now[start..end].copy_from_slice(bytes);
        })
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.alter(|content| content.now.resize(size as usize, 0))
    }

    fn sync(&self) -> io::Result<()> {
        let mut disk = Disk::sync(&self.disk)?;
        if disk.life != self.life {
            return Err(io::Error::other("the process is gone"));
        }
        let content = disk.contents.get_mut(&self.content).ok_or(io::ErrorKind::NotFound)?;
        content.durable.clone_from(&content.now);
        Ok(())
    }

    fn punch(&self, range: Range<u64>) -> io::Result<()> {
        self.alter(|content| {
            let end = content.now.len().min(range.end as usize);
            let start = end.min(range.start as usize);
            content.now[start..end].fill(0);
        })
    }

    fn preallocate(&self, _size: u64) -> io::Result<bool> {
        Ok(false)
    }
}
