//! [`FileRoom`]: space for files next to keys. [`PatientWriter`]: the writer of such a file.
//!
//! Deletes of keys free space only when their tables are merged, and the engine merges early when a
//! write of keys finds no space. It does not see that a file finds none. So a call for a file that
//! was refused space asks the engine, and is repeated as long as space may have come.
//!
//! An append that finds no space is repeated, and so must not have taken a part of its bytes. On a
//! device, a writer takes bytes until its buffer of whole blocks is full. So they are appended
//! block by block there.
//!
//! A room does not keep the store open. Once the engine is closed, a refusal is final.
//!
//! Threads: any. A call can wait for jobs.

use std::sync::{Arc, Weak};
use std::time::Duration;

use terrace_env::store::{EarlyFlush, FileWriter, PlacementHint, Rank, StoreError};
use terrace_env::{FileId, runner};
use terrace_fs::BLOCK;

use crate::db::Inner;

/// Time after the first try in which others begin: other writers may take all space that comes.
const TRIES_TIME_MAX: Duration = Duration::from_secs(60);

/// See the [module](self).
#[derive(Clone)]
pub(crate) struct FileRoom {
    /// All of the store: its last handle, which may be one that is taken here, ends the engine
    /// before the file system.
    store: Weak<Inner>,
    is_on_device: bool,
}

impl FileRoom {
    /// Space that the engine of this store can win, on a device or in a directory.
    pub(crate) fn of(store: &Arc<Inner>, is_on_device: bool) -> Self {
        Self { store: Arc::downgrade(store), is_on_device }
    }

    /// Carries out a call of `of`, again after each refusal that the engine can help, as long as
    /// `may_repeat` holds. After one that it cannot help there is a last try: space may have come
    /// before the engine looked.
    pub(crate) fn during<C: ?Sized, T>(
        &self,
        of: &mut C,
        call: impl Fn(&mut C) -> Result<T, StoreError>,
        may_repeat: impl Fn(&C) -> bool,
    ) -> Result<T, StoreError> {
        // When the first try failed.
        let mut begun = None;
        let mut is_last = false;
        loop {
            match call(of) {
                Err(refused @ StoreError::NoSpace { .. }) if !is_last && may_repeat(of) => {
                    let is_first = begun.is_none();
                    let begun = *begun.get_or_insert_with(runner::now);
                    let in_time = runner::now().since(begun) < TRIES_TIME_MAX;
                    is_last = !in_time || !self.has_won(&refused, is_first);
                }
                result => return result,
            }
        }
    }

    /// `is_first`: the newest deletes are still in the memtable. Flushed again, it would have the
    /// writes of others alone.
    fn has_won(&self, refused: &StoreError, is_first: bool) -> bool {
        let Some(store) = self.store.upgrade() else { return false };
        store.engine.win_space(refused, is_first).unwrap_or(false)
    }
}

/// See the [module](self).
pub(crate) struct PatientWriter {
    writer: Box<dyn FileWriter>,
    room: FileRoom,
}

impl PatientWriter {
    pub(crate) fn new(writer: Box<dyn FileWriter>, room: FileRoom) -> Self {
        Self { writer, room }
    }
}

impl FileWriter for PatientWriter {
    fn id(&self) -> FileId {
        self.writer.id()
    }

    fn len(&self) -> u64 {
        self.writer.len()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let before = self.writer.len();
            let most = match self.room.is_on_device {
                true => BLOCK - (before % BLOCK as u64) as usize,
                false => rest.len(),
            };
            let (now, later) = rest.split_at(rest.len().min(most));
            self.room.during(
                &mut *self.writer,
                |writer| writer.append(now),
                |writer| writer.len() == before,
            )?;
            rest = later;
        }
        Ok(())
    }

    fn write_out(&mut self) -> Result<(), StoreError> {
        self.room.during(&mut *self.writer, |writer| writer.write_out(), |_| true)
    }

    fn place(&mut self, hint: PlacementHint, rank: Rank) {
        self.writer.place(hint, rank);
    }

    fn rest(&mut self) -> Result<(), StoreError> {
        self.room.during(&mut *self.writer, |writer| writer.rest(), |_| true)
    }

    fn early_flush(&mut self) -> Option<EarlyFlush> {
        self.writer.early_flush()
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.room.during(&mut *self.writer, |writer| writer.sync(), |_| true)
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.room.during(&mut *self.writer, |writer| writer.finish(), |_| true)
    }

    fn memory(&self) -> usize {
        self.writer.memory()
    }
}
