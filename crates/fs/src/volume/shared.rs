//! [`Volume`]: the state that the handles of a mounted store share. It has the devices, the space,
//! the journal, the file cache and the open files.
//!
//! # Threads
//! Locks are taken in the order registry, journal, file, space, and not held over a device call.
//! Three methods of this file wait for a device: `flush_of` and `flush_file` flush, and `open`
//! reads the whole of a sealed log that has no index yet.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use terrace_env::store::{FileInfo, FileKind, StoreError};
use terrace_env::sync::Mutex;
use terrace_env::wait::Waits;
use terrace_env::{Cause, FileId, Uuid};
use terrace_zone::{Device, DeviceError};

use super::effect_order::EffectOrder;
use crate::BLOCK;
use crate::cache::FileCache;
use crate::catalog::{Extent, FileRecord};
use crate::file::{Body, FileSource, FileState, LogIndex, OpenFile, Pending, Pin, Tail};
use crate::frame::{LogScan, PAYLOAD_MAX};
use crate::journal::Journal;
use crate::media::Media;
use crate::medium::Medium;
use crate::space::{Pools, Share};

/// Bytes of a snapshot more or fewer for which the journal's reserve is set anew.
const NOTED_STEP: u64 = 16 << 10;
/// Files visited under one lock of the journal: well under a millisecond.
const WALK_STEP: usize = 1000;

/// Blocks of a large write by default: 1 MiB, so that a disk streams and an SSD uses all its dies.
const WRITE_BLOCKS: u32 = 256;
/// Most blocks of a large write: larger writes would only take more memory.
const WRITE_BLOCKS_MAX: u32 = 4096;

/// See the [module](self).
pub(crate) struct Volume {
    pub(crate) uuid: Uuid,
    pub(crate) media: Arc<Media>,
    /// Where files get their blocks.
    pub(crate) pools: Arc<Pools>,
    pub(crate) journal: Journal,
    pub(crate) cache: FileCache,
    pub(super) files: Mutex<Registry>,
    pub(super) effects: EffectOrder,
    /// Bytes of a snapshot for which the journal's reserve was last set.
    noted: AtomicU64,
    /// Blocks of a large write.
    write_blocks: AtomicU32,
    log_frame_bytes: AtomicUsize,
}

/// Files that have a handle, or are not sealed.
#[derive(Default)]
pub(super) struct Registry {
    /// Their lengths, and their bytes in memory, are known only here.
    pub(super) unsealed: BTreeMap<FileId, Arc<OpenFile>>,
    pub(super) sealed: BTreeMap<FileId, Weak<OpenFile>>,
}

impl Volume {
    /// A store of these parts, with its unsealed files.
    pub(crate) fn new(
        uuid: Uuid,
        media: Arc<Media>,
        pools: Arc<Pools>,
        journal: Journal,
        unsealed: Vec<Arc<OpenFile>>,
    ) -> Self {
        let unsealed = unsealed.into_iter().map(|file| (file.id, file)).collect();
        let files = Mutex::new(Registry { unsealed, sealed: BTreeMap::new() });
        let effects = EffectOrder::default();
        let noted = AtomicU64::new(u64::MAX);
        let write_blocks = AtomicU32::new(WRITE_BLOCKS);
        let log_frame_bytes = AtomicUsize::new(PAYLOAD_MAX);
        let cache = FileCache::default();
        let volume = Self {
            uuid,
            media,
            pools,
            journal,
            cache,
            files,
            effects,
            noted,
            write_blocks,
            log_frame_bytes,
        };
        volume.note_size();
        volume
    }

    /// Sets the size of large writes from now on, in blocks.
    pub(crate) fn set_write_blocks(&self, blocks: u32) {
        self.write_blocks.store(blocks.clamp(1, WRITE_BLOCKS_MAX), Ordering::Relaxed);
    }

    /// Size of a large write, in blocks.
    pub(crate) fn write_blocks(&self) -> u32 {
        self.write_blocks.load(Ordering::Relaxed)
    }

    /// From now on frames of logs hold about this number of bytes, and no more than a large write.
    pub(crate) fn set_log_frame_bytes(&self, bytes: usize) {
        self.log_frame_bytes.store(bytes, Ordering::Relaxed);
    }

    /// The most bytes that a frame of a log holds.
    pub(crate) fn log_frame_bytes(&self) -> usize {
        let large = self.write_blocks() as usize * BLOCK;
        self.log_frame_bytes.load(Ordering::Relaxed).min(large)
    }

    /// Makes a file known that is about to be written.
    pub(crate) fn register(&self, file: &Arc<OpenFile>) {
        let former = self.files.lock().unsealed.insert(file.id, Arc::clone(file));
        debug_assert!(former.is_none(), "file {} is written twice", file.id);
    }

    /// An unsealed file.
    pub(crate) fn unsealed(&self, id: FileId) -> Option<Arc<OpenFile>> {
        self.files.lock().unsealed.get(&id).cloned()
    }

    /// A sealed file that has a handle.
    pub(crate) fn sealed(&self, id: FileId) -> Option<Arc<OpenFile>> {
        self.files.lock().sealed.get(&id).and_then(Weak::upgrade)
    }

    /// All unsealed files.
    pub(crate) fn all_unsealed(&self) -> Vec<Arc<OpenFile>> {
        self.files.lock().unsealed.values().cloned().collect()
    }

    /// The state that all handles of a file share.
    pub(crate) fn open(&self, id: FileId) -> Result<Arc<OpenFile>, StoreError> {
        let (file, record) = {
            // The registry stays locked from the look at the catalog until the file is in it: a
            // transaction that changes the map afterwards finds the file and tells it.
            let mut files = self.files.lock();
            if let Some(file) = files.unsealed.get(&id) {
                return Ok(Arc::clone(file));
            }
            let record = self.journal.read(|catalog| catalog.file(id).cloned())?;
            let open = files.sealed.get(&id).and_then(Weak::upgrade);
            let file = open.unwrap_or_else(|| {
                let file = Arc::new(self.quiet_file(id, &record));
                files.sealed.insert(id, Arc::downgrade(&file));
                file
            });
            (file, record)
        };
        if record.kind == FileKind::Log {
            self.index_log(&file, &record)?;
        }
        Ok(file)
    }

    fn quiet_file(&self, id: FileId, record: &FileRecord) -> OpenFile {
        let body = match record.kind {
            FileKind::Log => Body::Log { index: None, pending: Pending::default() },
            FileKind::Table | FileKind::Client => Body::Sealed,
        };
        let (map, pin) = (Arc::clone(&record.extents), Pin::new(&self.pools));
        let mut state = FileState::quiet(record.size, map, pin, body);
        state.sealed = true;
        OpenFile::new(id, record.kind, state)
    }

    /// Reads a sealed log through, so that its bytes can be found.
    fn index_log(&self, file: &OpenFile, record: &FileRecord) -> Result<(), StoreError> {
        let (map, _pin) = {
            let state = file.lock();
            if !matches!(state.body, Body::Log { index: None, .. }) {
                return Ok(());
            }
            (Arc::clone(&state.map), Arc::clone(&state.pin))
        };
        let source = FileSource::new(&self.media, file.id, &map, Cause::Read);
        let (index, _) = LogIndex::scan(LogScan::new(&source, self.uuid, file.id, record))?;
        if let Body::Log { index: known, .. } = &mut file.lock().body {
            known.get_or_insert(index);
        }
        Ok(())
    }

    /// Calls `look` for every file of the catalog; the journal is locked for a part of them at a
    /// time, so that no commit waits for long.
    pub(crate) fn for_each_file(&self, mut look: impl FnMut(FileId, &FileRecord)) {
        let mut next = Some(FileId::STORE);
        while let Some(first) = next {
            next = self.journal.read(|catalog| {
                let mut files = catalog.files_from(first);
                files.by_ref().take(WALK_STEP).for_each(|(id, record)| look(id, record));
                files.next().map(|(id, _)| id)
            });
        }
    }

    /// The same for these files, as far as they exist. The records of a part of them are found
    /// before `look` sees the first one: so the loads from memory for one record overlap with those
    /// for others.
    pub(crate) fn for_files(&self, files: &[FileId], mut look: impl FnMut(FileId, &FileRecord)) {
        for part in files.chunks(WALK_STEP) {
            self.journal.read(|catalog| {
                let found = part.iter().filter_map(|id| Some((*id, catalog.get(*id)?)));
                let found: Vec<_> = found.collect();
                found.into_iter().for_each(|(id, record)| look(id, record));
            });
        }
    }

    /// Sets the size of an unsealed file, which only its writer knows.
    pub(crate) fn refresh(&self, info: &mut FileInfo) {
        if let Some(file) = self.unsealed(info.id) {
            info.size = file.lock().size;
        }
    }

    /// Ends a reader. After the last one, the registry drops the file.
    pub(crate) fn reader_ended(&self, id: FileId) {
        let mut files = self.files.lock();
        if files.sealed.get(&id).is_some_and(|file| file.strong_count() == 0) {
            files.sealed.remove(&id);
        }
    }

    /// Ends a writer. A file that was never committed is removed. Another file keeps all appended
    /// bytes, unless the writer failed in the middle of a write: then
    /// [`return_to_synced`](Self::return_to_synced) cuts it.
    pub(crate) fn writer_ended(&self, file: &Arc<OpenFile>, failed: bool) {
        let mut state = file.lock();
        let had_writer = std::mem::replace(&mut state.has_writer, false);
        debug_assert!(had_writer, "file {} has no writer", file.id);
        if state.sealed {
            return;
        }
        state.finished = false;
        let committed = state.committed;
        drop(state);
        if !committed {
            self.files.lock().unsealed.remove(&file.id);
            self.abandon(file);
        } else if failed {
            self.return_to_synced(file);
        }
    }

    /// Drops the unsynced bytes of an unsealed file; of a log, the unwritten ones.
    fn return_to_synced(&self, file: &OpenFile) {
        let record = self.journal.read(|catalog| catalog.get(file.id).cloned());
        let mut state = file.lock();
        if state.deleted {
            // The effects of the deletion have condemned all its blocks since the record was read.
            return;
        }
        match (&mut state.body, record) {
            (Body::Log { index: Some(index), pending }, _) => {
                pending.clear();
                state.size = index.size();
            }
            (Body::Growing(tail), Some(record)) => {
                *tail = Tail::synced(&record.extents, record.size);
                let lost = state.map.difference(&record.extents);
                (state.size, state.map) = (record.size, record.extents);
                self.cache.forget_from(file.id, (record.size / BLOCK as u64) as u32);
                // The file itself must not hold the lost blocks as long as it is open.
                let before = Arc::clone(&state.pin);
                if !lost.is_empty() {
                    state.pin = before.succeed();
                }
                drop(state);
                before.condemn(&lost, Share::Unsealed);
            }
            _ => {}
        }
    }

    /// Flushes the device of files of a kind, and no other: their completed writes are then
    /// durable, except those of offloaded files.
    pub(crate) fn flush_of(&self, kind: FileKind, cause: Cause) -> Result<(), DeviceError> {
        self.medium_of(kind).flush(cause)
    }

    /// Whether jobs flush the device of a kind now and then.
    pub(crate) fn flushes_for_jobs(&self, kind: FileKind) -> bool {
        self.medium_of(kind).flushes_for_jobs()
    }

    /// Whether a log gains by an early flush.
    pub(crate) fn gains_by_early_flushes(&self, kind: FileKind) -> bool {
        self.medium_of(kind).gains_by_early_flushes()
    }

    /// Makes the completed writes of a file durable: flushes the device of its kind, and the
    /// offload device if the file has blocks there.
    pub(crate) fn flush_file(&self, file: &OpenFile, cause: Cause) -> Result<(), DeviceError> {
        self.flush_of(file.kind, cause)?;
        let Some(medium) = self.media.offload() else { return Ok(()) };
        let map = Arc::clone(&file.lock().map);
        let mut extents = map.extents();
        let holds = extents.any(|extent: Extent| extent.device() == medium.id());
        if holds { medium.flush(cause) } else { Ok(()) }
    }

    /// The device that files of a kind lie on.
    fn medium_of(&self, kind: FileKind) -> &Arc<Medium> {
        self.media.of(self.pools.device_of(kind))
    }

    /// The error that a file of a kind could not be written; it names the device if there are
    /// several.
    pub(crate) fn write_error(
        &self,
        what: String,
        kind: FileKind,
        error: DeviceError,
    ) -> StoreError {
        let device = self.medium_of(kind).id();
        StoreError::io(what + &self.media.on_device(device), error)
    }

    /// Waits since the mount, by cause.
    pub(crate) fn waits(&self) -> Waits {
        self.media.waits().and(&self.journal.waits())
    }

    /// Keeps space for the journal, by the size of its last snapshot.
    pub(super) fn note_size(&self) {
        let bytes = self.journal.snapshot_bytes();
        let noted = self.noted.load(Ordering::Relaxed);
        if bytes.abs_diff(noted) >= NOTED_STEP || noted == u64::MAX {
            self.noted.store(bytes, Ordering::Relaxed);
            self.pools.set_snapshot(bytes);
        }
    }
}

/// The shared device as a [`Device`].
pub(crate) fn as_device(medium: &Arc<Medium>) -> Arc<dyn Device> {
    Arc::clone(medium) as Arc<dyn Device>
}
