//! [`PooledFile`]: a file of the directory that is open only as long as the [`HandlePool`] keeps
//! its handle. A call opens the file again if it was closed.
//!
//! The file is found by its name. So the name must not be moved or removed before the last use of
//! the file: later calls may fail.
//!
//! Closing loses no writes: unsynced writes are synced before. A sync of a closed file does
//! nothing. It returns the error if the sync before closing failed.
//!
//! # Threads
//! Any number of threads may call. A call on an open file takes no lock, and writes to no memory
//! that other threads read. Opening and closing are roles: other users of the file wait.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use arc_swap::{ArcSwapOption, Guard};
use terrace_env::store::MappedFile;
use terrace_env::sync::{Condvar, Mutex, assert_no_lock_held};

use super::handle_pool::HandlePool;
use super::{FileHandle, Files};
use crate::Access;

/// See the [module](self).
pub(super) struct PooledFile {
    files: Arc<dyn Files>,
    pool: Arc<HandlePool>,
    key: u64,
    slot: Arc<Slot>,
}

/// The state of a file in the pool.
pub(super) struct Slot {
    name: String,
    access: Access,
    /// The handle of an open file. It is replaced under the lock of `state`.
    open: ArcSwapOption<Open>,
    /// Used since the pool last looked at it.
    used_lately: AtomicBool,
    state: Mutex<SlotState>,
    /// The file was opened or closed.
    moved: Condvar,
}

/// An open file. Each call in flight has a reference.
struct Open(Arc<dyn FileHandle>);

#[derive(Default)]
struct SlotState {
    /// An actor opens or closes the file.
    is_moving: bool,
    /// May have writes that are not durable.
    unsynced: bool,
    /// The sync before closing failed.
    failed: Option<(io::ErrorKind, String)>,
}

/// A handle that was taken out of the pool to be closed.
pub(super) struct Victim {
    slot: Arc<Slot>,
    open: Arc<Open>,
    unsynced: bool,
}

impl Slot {
    /// Takes the handle to close it, unless it is in use, was used lately, or may have unsynced
    /// writes. With `unsynced_too`, unsynced writes do not matter.
    pub(super) fn take_if_idle(self: &Arc<Self>, unsynced_too: bool) -> Option<Victim> {
        let mut state = self.state.lock();
        if state.unsynced && !unsynced_too {
            return None;
        }
        if self.used_lately.swap(false, Ordering::Relaxed) {
            return None;
        }
        let open = self.take_unused()?;
        state.is_moving = true;
        Some(Victim { slot: Arc::clone(self), open, unsynced: state.unsynced })
    }

    /// Whether the handle could be closed now.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.state.lock();
        let unused = self.take_unused();
        let is_idle = unused.is_some();
        if is_idle {
            self.open.store(unused);
        }
        drop(state);
        is_idle
    }

    /// Takes the handle, unless a call uses it. The caller has the lock: a call that comes
    /// meanwhile waits for it.
    fn take_unused(&self) -> Option<Arc<Open>> {
        // After the swap, the calls in flight have all references but this one.
        let open = self.open.swap(None)?;
        if Arc::strong_count(&open) == 1 {
            return Some(open);
        }
        self.open.store(Some(open));
        None
    }

    fn note_use(&self) {
        // A store of the same value would still take the cache line from other cores.
        if !self.used_lately.load(Ordering::Relaxed) {
            self.used_lately.store(true, Ordering::Relaxed);
        }
    }
}

impl Victim {
    /// Makes the writes of the file durable, and closes it.
    pub(super) fn close(self) {
        let synced = if self.unsynced { self.open.0.sync() } else { Ok(()) };
        drop(self.open);
        let mut state = self.slot.state.lock();
        debug_assert!(state.is_moving, "{} is closed without the role", self.slot.name);
        match synced {
            Ok(()) => state.unsynced = false,
            Err(error) => state.failed = Some((error.kind(), error.to_string())),
        }
        state.is_moving = false;
        drop(state);
        self.slot.moved.notify_all();
    }
}

/// A handle that stays open while this lives.
struct InUse<'a> {
    file: &'a PooledFile,
    open: Option<Guard<Option<Arc<Open>>>>,
}

impl InUse<'_> {
    fn handle(&self) -> &dyn FileHandle {
        let open = self.open.as_ref().and_then(|open| open.as_ref());
        &*open.expect("a call has an open file").0
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.open = None;
        // An actor that waits has either raised its count, or sees that this use has ended.
        fence(Ordering::SeqCst);
        self.file.pool.released();
    }
}

impl PooledFile {
    /// A new, empty file.
    pub(super) fn create(
        files: &Arc<dyn Files>,
        pool: &Arc<HandlePool>,
        name: &str,
    ) -> io::Result<Self> {
        let handle = pool.open(|| files.create(name))?;
        Ok(Self::new(files, pool, name, Access::ReadWrite, handle))
    }

    /// An existing file.
    pub(super) fn open(
        files: &Arc<dyn Files>,
        pool: &Arc<HandlePool>,
        name: &str,
        access: Access,
    ) -> io::Result<Self> {
        let handle = pool.open(|| files.open(name, access))?;
        Ok(Self::new(files, pool, name, access, handle))
    }

    fn new(
        files: &Arc<dyn Files>,
        pool: &Arc<HandlePool>,
        name: &str,
        access: Access,
        handle: Arc<dyn FileHandle>,
    ) -> Self {
        // An earlier process may have left writes in the cache of the host.
        let unsynced = access == Access::ReadWrite;
        let state = SlotState { unsynced, ..SlotState::default() };
        let slot = Arc::new(Slot {
            name: name.to_owned(),
            access,
            open: ArcSwapOption::from_pointee(Open(handle)),
            used_lately: AtomicBool::new(false),
            state: Mutex::new(state),
            moved: Condvar::new(),
        });
        let key = pool.new_key();
        pool.insert(key, &slot);
        Self { files: Arc::clone(files), pool: Arc::clone(pool), key, slot }
    }

    /// The handle; opens the file if it is closed.
    fn acquire(&self) -> io::Result<InUse<'_>> {
        assert_no_lock_held("a file operation");
        loop {
            if let Some(used) = self.glance() {
                return Ok(used);
            }
            let mut state = self.slot.state.lock();
            if state.is_moving {
                self.slot.moved.wait(&mut state);
                continue;
            }
            // Another actor may have opened it meanwhile.
            if let Some(used) = self.glance() {
                return Ok(used);
            }
            state.is_moving = true;
            drop(state);
            return self.open_anew();
        }
    }

    /// The handle, if the file is open.
    fn glance(&self) -> Option<InUse<'_>> {
        let open = self.slot.open.load();
        open.as_ref()?;
        self.slot.note_use();
        Some(InUse { file: self, open: Some(open) })
    }

    /// Opens the file. The caller has the role.
    fn open_anew(&self) -> io::Result<InUse<'_>> {
        let opened = self.pool.open(|| self.files.open(&self.slot.name, self.slot.access));
        let mut state = self.slot.state.lock();
        debug_assert!(state.is_moving, "{} is opened without the role", self.slot.name);
        debug_assert!(self.slot.open.load().is_none(), "{} is open already", self.slot.name);
        state.is_moving = false;
        // The pool cannot take the handle before the use begins.
        let used = opened.map(|handle| {
            self.slot.open.store(Some(Arc::new(Open(handle))));
            self.glance().expect("an open file")
        });
        drop(state);
        self.slot.moved.notify_all();
        let used = used?;
        self.pool.insert(self.key, &self.slot);
        Ok(used)
    }

    /// The handle, for a change that a sync has to make durable.
    fn acquire_for_change(&self) -> io::Result<InUse<'_>> {
        let used = self.acquire()?;
        self.slot.state.lock().unsynced = true;
        Ok(used)
    }

    /// Whether a sync has something to do; an error if it can never succeed.
    fn needs_sync(&self) -> io::Result<bool> {
        let mut state = self.slot.state.lock();
        while state.is_moving {
            self.slot.moved.wait(&mut state);
        }
        match &state.failed {
            Some((kind, message)) => Err(io::Error::new(*kind, message.clone())),
            None => Ok(self.slot.open.load().is_some() || state.unsynced),
        }
    }
}

impl FileHandle for PooledFile {
    fn size(&self) -> io::Result<u64> {
        self.acquire()?.handle().size()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.acquire()?.handle().read_at(offset, into)
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.acquire()?.handle().read(offset, len)
    }

    fn view(&self, size: u64) -> io::Result<Option<MappedFile>> {
        self.acquire()?.handle().view(size)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.acquire_for_change()?.handle().write_at(offset, bytes)
    }

    fn write_parts_at(&self, offset: u64, parts: &[&[u8]]) -> io::Result<()> {
        self.acquire_for_change()?.handle().write_parts_at(offset, parts)
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.acquire_for_change()?.handle().set_size(size)
    }

    fn sync(&self) -> io::Result<()> {
        if !self.needs_sync()? {
            return Ok(());
        }
        let used = self.acquire()?;
        // Writes that come during the sync may not be part of it.
        self.slot.state.lock().unsynced = false;
        let synced = used.handle().sync();
        if synced.is_err() {
            self.slot.state.lock().unsynced = true;
        }
        synced
    }

    fn punch(&self, range: Range<u64>) -> io::Result<()> {
        self.acquire_for_change()?.handle().punch(range)
    }

    fn preallocate(&self, size: u64) -> io::Result<bool> {
        self.acquire_for_change()?.handle().preallocate(size)
    }
}

impl Drop for PooledFile {
    fn drop(&mut self) {
        let state = self.slot.state.lock();
        let open = self.slot.open.swap(None);
        drop(state);
        if open.is_some() {
            drop(open);
            self.pool.remove(self.key);
        }
    }
}
