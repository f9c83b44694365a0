//! [`OsFiles`]: a directory of the operating system, with a lock.
//!
//! One opening for writing excludes all others, in this process and in other ones; openings for
//! reading exclude those for writing. An opening that another one excludes fails at once with
//! `InUse`. The lock is advisory, and lies on the file `LOCK`. If that file is missing, an opening
//! for reading locks nothing. An opening with [`Access::Beside`] never does.
//!
//! Files are found by the open directory, not by its path. So they stay those that were locked if
//! the path comes to lead elsewhere: the process changes its working directory, or the directory is
//! renamed and another one takes its name.

use std::fs::{self, File};
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FallocateFlags, FileType, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::Resource;
use terrace_env::store::{MappedFile, StoreError};
use terrace_env::sync::{Mutex, assert_no_lock_held};
use terrace_env::{ByteCount, LockedFile, lock_holders_in_words};

use super::handle_pool::retry_in_process;
use super::names;
use super::os_mapping::{EXT, OsMapping, TMPFS, XFS};
use super::os_view::OsView;
use super::{FileHandle, Files, HandleLimit, Mapping, Room};
use crate::Access;

/// The files of a directory, locked until it is unlocked or dropped. The lock belongs to the open
/// file, not to the process: a second opening by the same process is refused as well, by any path
/// to the directory.
pub struct OsFiles {
    /// As it was given, for errors.
    path: PathBuf,
    /// None if there was no directory to open for reading.
    directory: Option<File>,
    /// Holds the lock. None if there was no file to lock and the opening is for reading, or if the
    /// opening is next to a writer.
    lock: Mutex<Option<LockedFile>>,
}

impl OsFiles {
    /// Locks a directory: for writing, exclusively; for reading, together with other readers. For
    /// writing, a missing directory is made.
    pub fn open(path: &Path, access: Access) -> Result<Self, StoreError> {
        let wrap = |what: &str, error: io::Error| {
            StoreError::io(format!("{what} {}", path.display()), error)
        };
        if access == Access::ReadWrite && !path.exists() {
            let parents = parents_of_missing(path);
            fs::create_dir_all(path).map_err(|error| wrap("creating", error))?;
            for parent in parents {
                let synced = retry_in_process(descriptors(), || sync_directory(parent));
                synced.map_err(|error| wrap("syncing the directories of", error))?;
            }
        }
        let directory = match retry_in_process(descriptors(), || open_directory(path)) {
            Err(error)
                if access != Access::ReadWrite && error.kind() == io::ErrorKind::NotFound =>
            {
                None
            }
            other => Some(other.map_err(|error| wrap("opening", error))?),
        };
        let lock_path = path.join(names::LOCK);
        let opened = match (&directory, access) {
            (Some(directory), Access::ReadWrite) => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
                let open = || open_in(directory, names::LOCK, flags);
                retry_in_process(descriptors(), open).map(Some)
            }
            (Some(directory), Access::ReadOnly) => {
                let open = || open_in(directory, names::LOCK, OFlags::RDONLY);
                match retry_in_process(descriptors(), open) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                    other => other.map(Some),
                }
            }
            (_, Access::Beside) | (None, _) => Ok(None),
        };
        let lock = match opened.map_err(|error| wrap("opening the lock of", error))? {
            None => None,
            Some(file) => {
                let locked = match access {
                    Access::ReadWrite => LockedFile::alone(file),
                    Access::ReadOnly | Access::Beside => LockedFile::shared(file),
                };
                let locked = locked.map_err(|error| wrap("locking", error))?;
                Some(locked.ok_or_else(|| {
                    let holders = lock_holders_in_words(&lock_path);
                    let place = format!("the directory {}{holders}", path.display());
                    StoreError::InUse(place.into())
                })?)
            }
        };
        Ok(Self { path: path.to_owned(), directory, lock: Mutex::new(lock) })
    }

    fn directory(&self) -> io::Result<&File> {
        self.directory.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn open_directory(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?.into())
}

/// Opens a file of an open directory. One that is made has the usual rights.
fn open_in(directory: &File, name: &str, flags: OFlags) -> io::Result<File> {
    let (flags, mode) = (flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o666));
    Ok(retry_on_intr(|| rustix::fs::openat(directory, name, flags, mode))?.into())
}

/// The descriptors that this process may have: its soft limit, which it can change at any time.
fn descriptors() -> HandleLimit {
    let limit = rustix::process::getrlimit(Resource::Nofile).current;
    limit.map_or(HandleLimit::None, |limit| {
        HandleLimit::OfProcess(usize::try_from(limit).unwrap_or(usize::MAX))
    })
}

/// Whether a file system, by its number in `statfs(2)`, keeps its files on this machine.
fn is_local(kind: u64) -> bool {
    const BTRFS: u64 = 0x9123_683E;
    const F2FS: u64 = 0xF2F5_2010;
    const OVERLAY: u64 = 0x794C_7630;
    const ZFS: u64 = 0x2FC1_2FC1;
    [EXT, XFS, TMPFS, BTRFS, F2FS, OVERLAY, ZFS].contains(&kind)
}

/// The least limit of memory of the control groups that a process is in. `groups` lists them, as
/// `/proc/self/cgroup` does; `read` reads a file. Of version 2, each group on the way to the root
/// counts. A process in a container sees its own group as the root.
fn limit_of_groups(groups: &str, read: impl Fn(&Path) -> Option<String>) -> u64 {
    let root = Path::new("/sys/fs/cgroup");
    let number = |file: PathBuf| read(&file)?.trim().parse::<u64>().ok();
    let limits = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next().unwrap_or(""), fields.next().unwrap_or("/"));
        let (root, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return Vec::new(),
        };
        let group = Path::new(group.trim_start_matches('/'));
        let files = group.ancestors().map(|group| root.join(group).join(file));
        files.filter_map(number).collect()
    });
    limits.min().unwrap_or(u64::MAX)
}

/// The directories that get an entry when a path is made, with all missing directories before it.
fn parents_of_missing(path: &Path) -> Vec<&Path> {
    let is_empty = |path: &Path| path.as_os_str().is_empty();
    let missing = path.ancestors().take_while(|at| !is_empty(at) && !at.exists());
    let parents = missing.map(|at| at.parent().filter(|parent| !is_empty(parent)));
    parents.map(|parent| parent.unwrap_or(Path::new("."))).collect()
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

impl Files for OsFiles {
    fn list(&self) -> io::Result<Vec<String>> {
        assert_no_lock_held("a file operation");
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(self.directory()?)? {
            // A name that is not UTF-8 is not one of the store's.
            if let Ok(name) = entry?.file_name().to_str()
                && name != "."
                && name != ".."
            {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn FileHandle>> {
        assert_no_lock_held("a file operation");
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC;
        Ok(Arc::new(open_in(self.directory()?, name, flags)?))
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn FileHandle>> {
        assert_no_lock_held("a file operation");
        let directory = self.directory()?;
        // Checked before opening: a directory can be opened for reading, and opening a pipe would
        // wait.
        let found = retry_on_intr(|| rustix::fs::statat(directory, name, AtFlags::empty()))?;
        let found = FileType::from_raw_mode(found.st_mode);
        if !found.is_file() {
            let what = if found.is_dir() { "a directory" } else { "neither file nor directory" };
            return Err(io::Error::new(io::ErrorKind::IsADirectory, what));
        }
        let write = access == Access::ReadWrite;
        let flags = if write { OFlags::RDWR } else { OFlags::RDONLY };
        Ok(Arc::new(open_in(directory, name, flags)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        assert_no_lock_held("a file operation");
        let directory = self.directory()?;
        Ok(retry_on_intr(|| rustix::fs::renameat(directory, from, directory, to))?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        assert_no_lock_held("a file operation");
        let directory = self.directory()?;
        Ok(retry_on_intr(|| rustix::fs::unlinkat(directory, name, AtFlags::empty()))?)
    }

    fn map(&self, name: &str, size: usize) -> io::Result<Option<Box<dyn Mapping>>> {
        assert_no_lock_held("a file operation");
        let file = open_in(self.directory()?, name, OFlags::RDWR | OFlags::CREATE)?;
        let mapping = OsMapping::new(&file, size)?;
        Ok(mapping.map(|mapping| Box::new(mapping) as Box<dyn Mapping>))
    }

    fn sync(&self) -> io::Result<()> {
        assert_no_lock_held("a file operation");
        self.directory()?.sync_all()
    }

    fn unlock(&self) {
        let lock = self.lock.lock().take();
        drop(lock);
    }

    /// Half of the memory of the machine, or of the process's control group if it has a limit.
    /// Nothing if the directory may lie on another machine, whose failure would be a fault of each
    /// read of mapped memory.
    fn views_max(&self) -> ByteCount {
        let stat = self.directory().and_then(|directory| Ok(rustix::fs::fstatfs(directory)?));
        if !stat.is_ok_and(|stat| is_local(stat.f_type as u64)) {
            return ByteCount(0);
        }
        let info = rustix::system::sysinfo();
        let machine = (info.totalram as u64).saturating_mul(info.mem_unit.into());
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_else(|_| "0::/".into());
        let limit = limit_of_groups(&groups, |file| fs::read_to_string(file).ok());
        ByteCount(machine.min(limit) / 2)
    }

    fn room(&self) -> io::Result<Room> {
        assert_no_lock_held("a file operation");
        let stat = rustix::fs::fstatvfs(self.directory()?)?;
        let bytes = |blocks: u64| ByteCount(blocks.saturating_mul(stat.f_frsize));
        Ok(Room { total: bytes(stat.f_blocks), available: bytes(stat.f_bavail) })
    }

    fn handle_limit(&self) -> HandleLimit {
        descriptors()
    }

    fn describe(&self) -> String {
        self.path.components().as_path().display().to_string()
    }
}

impl FileHandle for File {
    fn size(&self) -> io::Result<u64> {
        assert_no_lock_held("a file operation");
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        assert_no_lock_held("a file operation");
        self.read_exact_at(into, offset)
    }

    /// The memory is not filled with zeros before.
    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        assert_no_lock_held("a file operation");
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            let at = offset + bytes.len() as u64;
            match rustix::io::pread(self, rustix::buffer::spare_capacity(&mut bytes), at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // The memory may be larger than asked for.
        bytes.truncate(len);
        Ok(bytes)
    }

    fn view(&self, size: u64) -> io::Result<Option<MappedFile>> {
        assert_no_lock_held("a file operation");
        Ok(OsView::new(self, size)?.map(|view| Arc::new(view) as MappedFile))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        assert_no_lock_held("a file operation");
        self.write_all_at(bytes, offset)
    }

    fn write_parts_at(&self, offset: u64, parts: &[&[u8]]) -> io::Result<()> {
        assert_no_lock_held("a file operation");
        let slices: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let mut written = match rustix::io::pwritev(self, &slices, offset) {
            Err(Errno::INTR) => 0,
            other => other?,
        };
        // Seldom are fewer bytes written: the others follow, part by part.
        let mut place = offset;
        for part in parts {
            let done = written.min(part.len());
            self.write_all_at(&part[done..], place + done as u64)?;
            written -= done;
            place += part.len() as u64;
        }
        Ok(())
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        assert_no_lock_held("a file operation");
        self.set_len(size)
    }

    fn sync(&self) -> io::Result<()> {
        assert_no_lock_held("a file operation");
        self.sync_data()
    }

    fn punch(&self, range: Range<u64>) -> io::Result<()> {
        assert_no_lock_held("a file operation");
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let len = range.end - range.start;
        Ok(retry_on_intr(|| rustix::fs::fallocate(self, flags, range.start, len))?)
    }

    /// Only on ext4 and XFS: others allocate blocks anew for each write, or fill them with zeros.
    fn preallocate(&self, size: u64) -> io::Result<bool> {
        assert_no_lock_held("a file operation");
        if ![EXT, XFS].contains(&(rustix::fs::fstatfs(self)?.f_type as u64)) {
            return Ok(false);
        }
        let flags = FallocateFlags::KEEP_SIZE;
        retry_on_intr(|| rustix::fs::fallocate(self, flags, 0, size))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_any_group_above_the_process_counts() {
        let limits = |groups: &str, files: &[(&str, &str)]| {
            limit_of_groups(groups, |file| {
                let found =
                    files.iter().find(|(name, _)| Path::new("/sys/fs/cgroup").join(name) == file);
                found.map(|(_, text)| (*text).to_owned())
            })
        };
        let service = "0::/system.slice/store.service\n";
        let files = [
            ("memory.max", "max\n"),
            ("system.slice/memory.max", "5000\n"),
            ("system.slice/store.service/memory.max", "3000\n"),
        ];
        assert_eq!(limits(service, &files), 3000);
        assert_eq!(limits(service, &files[..2]), 5000);
        assert_eq!(limits(service, &files[..1]), u64::MAX);
        assert_eq!(limits("0::/\n", &[("memory.max", "7000\n")]), 7000, "a container");
        let first = "5:cpu,memory:/docker/1\n1:name=systemd:/\n";
        assert_eq!(limits(first, &[("memory/docker/1/memory.limit_in_bytes", "9\n")]), 9);
        assert_eq!(limits("", &files), u64::MAX);
    }

    #[test]
    fn each_directory_that_gets_an_entry_is_synced() {
        let place = tempfile::tempdir().unwrap();
        let there = place.path();
        let at = |path: &str| there.join(path);
        fs::create_dir(at("a")).unwrap();
        let [b, c, d] = ["a/b", "a/b/c", "a/b/c/d"].map(at);
        assert_eq!(parents_of_missing(&d), [&c, &b, &at("a")]);
        assert_eq!(parents_of_missing(&b), [&at("a")]);
        assert!(parents_of_missing(&at("a")).is_empty());
        let relative = Path::new("no such directory/store");
        let parents = parents_of_missing(relative);
        assert_eq!(parents, [Path::new("no such directory"), Path::new(".")]);
    }
}
