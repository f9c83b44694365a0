//! [`Disk`]: a simulated file of the host. It counts its syncs and the bytes written to it. A test
//! can make it full or slow, fail its next sync, and cut its power.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::runner;
use terrace_env::sync::Mutex;

use super::super::host_file::HostFile;

pub(super) const PAGE: usize = 4096;

/// A file that knows its synced state. After a power cut, each page of 4096 bytes is in one of the
/// states that it has had since the last sync.
#[derive(Debug, Default)]
pub(super) struct Disk {
    pub(super) now: Mutex<Vec<u8>>,
    pub(super) durable: Mutex<Vec<u8>>,
    /// Earlier states of pages since the last sync.
    pub(super) between: Mutex<Vec<(usize, Vec<u8>)>>,
    syncs: AtomicU64,
    pub(super) slow: AtomicBool,
    /// Ranges that can be written even if the disk is full.
    pub(super) allocated: Mutex<Vec<Range<u64>>>,
    pub(super) fails: Mutex<Option<io::ErrorKind>>,
    /// Bytes that were written.
    pub(super) written: AtomicU64,
}

impl Disk {
    pub(super) fn of(len: u64) -> Arc<Self> {
        let disk = Self::default();
        disk.now.lock().resize(len as usize, 0);
        disk.durable.lock().resize(len as usize, 0);
        Arc::new(disk)
    }

    pub(super) fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    pub(super) fn change(&self, offset: u64, bytes: &[u8]) {
        let mut now = self.now.lock();
        let range = offset as usize..offset as usize + bytes.len();
        for page in range.start / PAGE..range.end.div_ceil(PAGE) {
            let end = now.len().min((page + 1) * PAGE);
            self.between.lock().push((page, now[page * PAGE..end].to_vec()));
        }
        now[range].copy_from_slice(bytes);
    }

    /// The file as found after a power cut.
    pub(super) fn cut(&self, random: &mut Random) -> Arc<Self> {
        let mut kept = self.durable.lock().clone();
        let now = self.now.lock();
        let between = self.between.lock();
        let mut pages: Vec<usize> = between.iter().map(|(page, _)| *page).collect();
        pages.sort_unstable();
        pages.dedup();
        for page in pages {
            let states: Vec<&Vec<u8>> =
                between.iter().filter(|(at, _)| *at == page).map(|(_, bytes)| bytes).collect();
            let end = now.len().min((page + 1) * PAGE);
            let state = match random.random_range(0..=states.len()) {
                n if n < states.len() => &states[n][..],
                _ => &now[page * PAGE..end],
            };
            kept[page * PAGE..end].copy_from_slice(state);
        }
        let disk = Self::default();
        *disk.now.lock() = kept.clone();
        *disk.durable.lock() = kept;
        Arc::new(disk)
    }
}

impl HostFile for Disk {
    fn size(&self) -> io::Result<u64> {
        Ok(self.now.lock().len() as u64)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        into.copy_from_slice(&self.now.lock()[offset as usize..][..into.len()]);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if let Some(kind @ io::ErrorKind::StorageFull) = *self.fails.lock() {
            let end = offset + bytes.len() as u64;
            let inside = |range: &Range<u64>| range.start <= offset && end <= range.end;
            if !self.allocated.lock().iter().any(inside) {
                return Err(kind.into());
            }
        }
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.change(offset, bytes);
        Ok(())
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        self.change(offset, &vec![0; len as usize]);
        Ok(())
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        let range = offset..offset + len;
        let mut allocated = self.allocated.lock();
        match allocated.last_mut().filter(|last| last.end == range.start) {
            Some(last) => last.end = range.end,
            None => allocated.push(range),
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        // Changes that come meanwhile need not reach the disk.
        let (now, changes) = {
            let now = self.now.lock();
            (now.clone(), self.between.lock().len())
        };
        if self.slow.load(Ordering::Relaxed) {
            runner::sleep(Duration::from_millis(30));
        }
        self.syncs.fetch_add(1, Ordering::Relaxed);
        // It fails once, and then says that all is well, as a host does that has dropped its pages.
        let full = *self.fails.lock() == Some(io::ErrorKind::StorageFull);
        if let Some(kind) = self.fails.lock().take_if(|_| !full) {
            return Err(kind.into());
        }
        *self.durable.lock() = now;
        self.between.lock().drain(..changes);
        Ok(())
    }
}
