//! [`FileRoom`]: space for files next to keys. [`PatientWriter`]: the writer of such a file.
//!
//! Deletes of keys free space only when their tables are merged, and the engine merges early when a
//! write of keys finds no space. It does not see that a file finds none. So a call for a file that
//! was refused space asks the engine, and is repeated as long as space may have come.
//!
//! An append that finds no space is repeated, and so must not have taken a part of its bytes. A
//! writer takes bytes until its buffer of whole blocks is full. So they are appended block by
//! block.
//!
//! A room does not keep the store open. Once the engine is closed, a refusal is final.
//!
//! Threads: any. A call can wait for jobs.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use terrace_env::store::{EarlyFlush, FileWriter, PlacementHint, Rank, StoreError};
use terrace_env::{FileId, runner};
use terrace_fs::BLOCK;
use terrace_lsm::Engine;

/// Longest time of tries, from the first one on: others may take all space that comes.
const TRIES_TIME_MAX: Duration = Duration::from_secs(60);

/// See the [module](self).
#[derive(Clone, Default)]
pub(crate) struct FileRoom(Weak<Engine>);

impl FileRoom {
    /// Space that this engine can win.
    pub(crate) fn of(engine: &Arc<Engine>) -> Self {
        Self(Arc::downgrade(engine))
    }

    /// Carries out a call of `of`, again after each refusal that the engine can help, as long as
    /// `may_repeat` holds.
    pub(crate) fn during<C: ?Sized, T>(
        &self,
        of: &mut C,
        call: impl Fn(&mut C) -> Result<T, StoreError>,
        may_repeat: impl Fn(&C) -> bool,
    ) -> Result<T, StoreError> {
        // When the first try failed.
        let mut begun = None;
        loop {
            match call(of) {
                Err(refused)
                    if refused.is_space()
                        && may_repeat(of)
                        && runner::now().since(*begun.get_or_insert_with(runner::now))
                            < TRIES_TIME_MAX
                        && self.has_won(&refused) => {}
                result => return result,
            }
        }
    }

    fn has_won(&self, refused: &StoreError) -> bool {
        self.0.upgrade().is_some_and(|engine| engine.win_space(refused).unwrap_or(false))
    }
}

impl fmt::Debug for FileRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileRoom")
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
            let in_block = (before % BLOCK as u64) as usize;
            let (now, later) = rest.split_at(rest.len().min(BLOCK - in_block));
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
