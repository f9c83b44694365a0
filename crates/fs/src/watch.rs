//! [`Watch`]: whether the parts of a store on devices, as a mount has found them, are still there
//! while another process writes. For mounts with [`Access::Beside`](crate::Access).
//!
//! - As long as the journal has not gone on, everything is there. That costs one read at the
//!   journal's end and a search for the superblock.
//! - Otherwise the journal is replayed, and the result is kept as long as the journal goes no
//!   further. Blocks are still a file's if its map leads to the same places in the newer catalog.
//!   (Within one store a file id is given out once.)
//! - A replay counts only if its superblock is still the newest one when it has ended: otherwise a
//!   zone that it read may have been released before.
//!
//! No lock is held over a device call. Nothing is written.

use std::ops::Range;
use std::sync::Arc;

use terrace_env::store::{FileKind, StoreError};
use terrace_env::sync::Mutex;
use terrace_env::{Cause, FileId, Uuid};

use crate::Fs;
use crate::assembly::{Assembled, assemble};
use crate::beside::{Beside, freed};
use crate::block::BLOCK;
use crate::canary::{self, Rule};
use crate::catalog::{Catalog, ExtentMap, FileRecord};
use crate::file::FileSource;
use crate::frame::{Binding, LogTail, stands_at};
use crate::journal::JournalMark;
use crate::media::Media;
use crate::volume::as_device;

/// How often a replay is tried under which the journal has dropped zones.
const TRIES: u32 = 8;

impl Beside for Fs {
    fn vouch(&self, file: FileId, bytes: Range<u64>) -> Result<(), StoreError> {
        let Some(watch) = &self.watch else { return Ok(()) };
        let record = self.volume.journal.read(|catalog| catalog.get(file).cloned());
        watch.vouch(file, record.as_ref(), bytes)
    }

    fn has_changed(&self) -> Result<bool, StoreError> {
        self.watch.as_ref().map_or(Ok(false), Watch::has_changed)
    }
}

/// An unsealed log as the mount has found it.
pub(crate) struct WatchedLog {
    pub(crate) id: FileId,
    pub(crate) map: Arc<ExtentMap>,
    pub(crate) tail: LogTail,
}

/// The newest known state of the journal.
struct Known {
    mark: JournalMark,
    /// `None`: that of the mount.
    catalog: Option<Catalog>,
}

/// See the [module](self).
pub(crate) struct Watch {
    media: Arc<Media>,
    uuid: Uuid,
    /// The journal's end at the mount.
    mark: JournalMark,
    logs: Vec<WatchedLog>,
    known: Mutex<Arc<Known>>,
}

impl Watch {
    /// Of a mount that has found this. Fails if the journal has dropped zones while it was
    /// replayed, or a log has come free while it was read.
    pub(crate) fn begin(
        media: &Arc<Media>,
        found: &Assembled,
        logs: Vec<WatchedLog>,
    ) -> Result<Self, StoreError> {
        let device = as_device(media.logs());
        let mark = JournalMark::of(&found.replayed, &*device);
        let (media, uuid) = (Arc::clone(media), found.replayed.superblock.uuid);
        let known = Mutex::new(Arc::new(Known { mark, catalog: None }));
        let watch = Self { media, uuid, mark, logs, known };
        if canary::is_broken(Rule::ReadsBesideVouched) {
            return Ok(watch);
        }
        if !mark.is_in_force(&device)? {
            let (expected, found) = ("the superblock of the replay".into(), "a newer one".into());
            return Err(StoreError::Moved { expected, found });
        }
        for log in &watch.logs {
            let record = found.replayed.catalog.get(log.id);
            watch.vouch(log.id, record, 0..0)?;
        }
        Ok(watch)
    }

    /// See [`Beside::vouch`]. `record`: that of the mount. A log is vouched
    /// for as a whole, because heads of frames lie between its bytes.
    pub(crate) fn vouch(
        &self,
        id: FileId,
        record: Option<&FileRecord>,
        bytes: Range<u64>,
    ) -> Result<(), StoreError> {
        if canary::is_broken(Rule::ReadsBesideVouched) {
            return Ok(());
        }
        let known = self.newest()?;
        let Some(catalog) = &known.catalog else { return Ok(()) };
        let (Some(before), Some(now)) = (record, catalog.get(id)) else {
            return Err(freed(id, &bytes, "that the file was deleted"));
        };
        let bytes = match before.kind {
            FileKind::Log => 0..self.log_end(id, before) * BLOCK as u64,
            FileKind::Table | FileKind::Client => bytes,
        };
        if has_same_blocks(&before.extents, &now.extents, &bytes) {
            return Ok(());
        }
        Err(freed(id, &bytes, "them elsewhere, or trimmed"))
    }

    /// See [`Beside::has_changed`].
    pub(crate) fn has_changed(&self) -> Result<bool, StoreError> {
        if self.mark.has_moved(&as_device(self.media.logs()))? {
            return Ok(true);
        }
        for WatchedLog { id, map, tail } in &self.logs {
            let source = FileSource::new(&self.media, *id, map, Cause::Recovery);
            let binding = Binding { uuid: self.uuid, owner: id.0, epoch: tail.epoch };
            if stands_at(&source, &binding, tail.block, tail.cursor.sequence)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The blocks of a log that the mount has read.
    fn log_end(&self, id: FileId, record: &FileRecord) -> u64 {
        let watched = self.logs.iter().find(|log| log.id == id);
        watched.map_or(record.extents.end(), |log| log.tail.block).into()
    }

    /// The journal as it is now.
    fn newest(&self) -> Result<Arc<Known>, StoreError> {
        let device = as_device(self.media.logs());
        let known = Arc::clone(&self.known.lock());
        if !known.mark.has_moved(&device)? {
            return Ok(known);
        }
        let mut failed = None;
        for _ in 0..TRIES {
            let replayed = match assemble(&self.media, false) {
                Ok(found) => found.replayed,
                Err(error) => {
                    failed = Some(error);
                    continue;
                }
            };
            let uuid = replayed.superblock.uuid;
            if uuid != self.uuid {
                let (expected, found) = (format!("store {}", self.uuid), format!("store {uuid}"));
                return Err(StoreError::Moved { expected, found });
            }
            let mark = JournalMark::of(&replayed, &*device);
            if !mark.is_in_force(&device)? {
                continue;
            }
            let newer = Arc::new(Known { mark, catalog: Some(replayed.catalog) });
            let mut known = self.known.lock();
            if known.mark.sequence() <= mark.sequence() {
                *known = Arc::clone(&newer);
            }
            return Ok(newer);
        }
        let expected = format!("a journal that is not rewritten during {TRIES} replays");
        let found = failed.map_or("one that is".into(), |error| error.to_string());
        Err(StoreError::Moved { expected, found })
    }
}

/// Whether all blocks of these bytes are where they were.
fn has_same_blocks(before: &ExtentMap, now: &ExtentMap, bytes: &Range<u64>) -> bool {
    let block = |byte: u64| u32::try_from(byte / BLOCK as u64).unwrap_or(u32::MAX);
    let (mut at, end) = (block(bytes.start), block(bytes.end.saturating_add(BLOCK as u64 - 1)));
    while at < end {
        let (Some(old), Some(new)) = (before.find(at), now.find(at)) else { return false };
        if before.locate(at) != now.locate(at) {
            return false;
        }
        at = old.end().min(new.end());
    }
    true
}

#[cfg(test)]
mod tests {
    use terrace_env::DeviceId;

    use super::*;
    use crate::BlockAddr;
    use crate::catalog::Extent;

    fn map(extents: &[(u64, u32)]) -> ExtentMap {
        let extent = |(first, blocks): &(u64, u32)| Extent {
            first: BlockAddr::new(DeviceId::FIRST, *first),
            blocks: *blocks,
            crc: None,
        };
        let extents: Vec<Extent> = extents.iter().map(extent).collect();
        ExtentMap::consecutive(0, &extents).expect("extents")
    }

    #[test]
    fn blocks_are_the_same_if_each_lies_where_it_did() {
        const B: u64 = BLOCK as u64;
        let before = map(&[(100, 10), (500, 10)]);
        let same = |now: &ExtentMap, bytes| has_same_blocks(&before, now, &bytes);
        assert!(same(&before, 0..20 * B) && same(&before, 3..3));
        let moved = map(&[(100, 10), (700, 10)]);
        assert!(same(&moved, 0..10 * B), "the first extent is where it was");
        assert!(!same(&moved, 0..10 * B + 1) && !same(&moved, 10 * B..11 * B));
        let split = map(&[(100, 4), (104, 6), (500, 10)]);
        assert!(same(&split, 0..20 * B), "one extent or two");
        let shifted = map(&[(100, 10), (501, 9)]);
        assert!(!same(&shifted, 12 * B..13 * B));
        let trimmed = before.without(0, 5).0;
        assert!(!same(&trimmed, 0..1) && same(&trimmed, 5 * B..20 * B));
        assert!(!same(&before, 19 * B..21 * B), "after the end");
    }
}
