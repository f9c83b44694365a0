//! Effects of a durable transaction: marks open files as sealed or deleted, and gives the freed
//! blocks back to their pools. The file cache drops deleted files and trimmed blocks, and the zones
//! of a deleted table note its level.
//!
//! Blocks that a reader may still read are *condemned* to the [`Pin`](crate::file::Pin) of the
//! state that is read: they come free when the pin is dropped. Others are dead at once. The caller
//! carries out one transaction at a time, in the order of staging. A file that is given up without
//! a commit has its blocks condemned here as well (`abandon`).
//!
//! # Threads
//! Takes the locks of registry, journal, file, pool and cache, and waits for nothing else.

use std::sync::Arc;

use terrace_env::store::FileKind;

use super::Volume;
use crate::canary::{self, Rule};
use crate::catalog::{self, Deleted, Effects, Extent, ExtentMap, Freed};
use crate::file::{Body, FileState, OpenFile};
use crate::space::Share;

/// The most zones of a device whose counts are checked after each transaction.
const ZONES_CHECKED_MAX: usize = 512;

impl Volume {
    /// Carries out the effects of a durable transaction.
    pub(super) fn carry_out(&self, effects: &Effects, sealed: &[(Arc<OpenFile>, Vec<Extent>)]) {
        for gone in &effects.deleted {
            self.note_depth(gone);
            if let Some(pool) = self.pools.zoned() {
                pool.note_gone(gone.file);
            }
        }
        for (file, extents) in sealed {
            self.pools.turn(extents, Share::Unsealed, Share::Live);
            self.seal(file);
        }
        for freed in &effects.freed {
            let final_extents = sealed.iter().find(|(file, _)| file.id == freed.file);
            let deleted = effects.deleted.iter().any(|gone| gone.file == freed.file);
            self.give_back(freed, final_extents.map(|(_, extents)| extents.as_slice()), deleted);
        }
        for id in effects.deleted.iter().map(|gone| &gone.file) {
            let mut files = self.files.lock();
            let unsealed = files.unsealed.remove(id);
            let open = unsealed.clone().or_else(|| files.sealed.get(id)?.upgrade());
            drop(files);
            let Some(file) = open else {
                self.cache.forget(*id);
                continue;
            };
            let mut state = file.lock();
            (state.deleted, state.committed) = (true, false);
            let orphaned = unsealed.is_some() && !state.has_writer;
            drop(state);
            self.cache.forget(*id);
            if orphaned {
                self.abandon(&file);
            }
        }
        debug_assert_eq!(self.verify_counts(), Ok(()), "after a transaction");
    }

    /// Counts the zones of a small device anew, and compares: for the checks of debug builds, which
    /// make it after each transaction.
    fn verify_counts(&self) -> Result<(), String> {
        let small = self.pools.zoned().filter(|pool| pool.zones().len() <= ZONES_CHECKED_MAX);
        small.map_or(Ok(()), |pool| pool.verify())
    }

    /// Notes the level of a deleted table in its zones. Its blocks still count there.
    fn note_depth(&self, gone: &Deleted) {
        let Some(level) = gone.level.filter(|level| *level > 0) else { return };
        let Some(pool) = self.pools.zoned() else { return };
        let tables = self.media.tables().id();
        let zones = catalog::zones(gone.map.extents(), self.media.space());
        let zones = zones.into_iter().filter(|(device, _)| *device == tables);
        pool.note_deleted(zones.map(|(_, zone)| zone), level);
    }

    /// Frees all blocks of a file that was never sealed, once it has no readers.
    pub(super) fn abandon(&self, file: &OpenFile) {
        let state = file.lock();
        let extents: Vec<Extent> = state.map.extents().collect();
        let pin = Arc::clone(&state.pin);
        drop(state);
        self.cache.forget(file.id);
        pin.condemn(&extents, Share::Unsealed);
    }

    /// Makes an open file a sealed one.
    fn seal(&self, file: &Arc<OpenFile>) {
        let mut files = self.files.lock();
        files.unsealed.remove(&file.id);
        files.sealed.insert(file.id, Arc::downgrade(file));
        let map = self.journal.read(|c| c.get(file.id).map(|record| Arc::clone(&record.extents)));
        let mut state = file.lock();
        debug_assert!(
            state.finished && state.committed,
            "file {} is sealed when it is whole",
            file.id
        );
        state.sealed = true;
        state.lease = None;
        if let Some(map) = map {
            state.map = map;
        }
        if let Body::Growing(_) = state.body {
            state.body = Body::Sealed;
        }
    }

    /// Frees blocks, once no reader may read them.
    fn give_back(&self, freed: &Freed, sealed_now: Option<&[Extent]>, deleted: bool) {
        let mut files = self.files.lock();
        let unsealed = files.unsealed.get(&freed.file).cloned();
        if let Some(file) = &unsealed
            && (file.kind == FileKind::Log || deleted)
        {
            // The open file knows its blocks, and frees them. The catalog may also have blocks that
            // the writer has replaced. For a log, it has leases instead of blocks.
            if deleted && file.kind != FileKind::Log {
                let mut state = file.lock();
                // At once: the writer has to free the blocks that it replaces after this look. The
                // file stays committed until its effects ask whether it has a writer, so that
                // either they free its blocks or the end of the writer does.
                state.deleted = true;
                let (pin, replaced) = (Arc::clone(&state.pin), freed.map.difference(&state.map));
                drop(state);
                drop(files);
                pin.condemn(&replaced, Share::Unsealed);
            }
            return;
        }
        let map = self.journal.read(|c| c.get(freed.file).map(|file| Arc::clone(&file.extents)));
        if let Some(map) = map.as_ref().filter(|_| unsealed.is_none()) {
            self.cache.keep_mapped(freed.file, map);
        }
        let open = unsealed.clone().or_else(|| files.sealed.get(&freed.file)?.upgrade());
        let share = |extent: &Extent| {
            let live = match sealed_now {
                Some(extents) => extents.iter().any(|whole| whole.contains(extent)),
                None => unsealed.is_none(),
            };
            if live { Share::Live } else { Share::Unsealed }
        };
        let Some(file) = open.filter(|_| !canary::is_broken(Rule::NoResetUnderReader)) else {
            files.sealed.remove(&freed.file);
            drop(files);
            for extent in &freed.extents {
                self.pools.free(std::slice::from_ref(extent), share(extent));
            }
            return;
        };
        let before = match map {
            Some(map) if unsealed.is_none() && map.blocks() < freed.map.blocks() => {
                let heir = succeed(&file, map);
                files.sealed.insert(freed.file, Arc::downgrade(&heir));
                Arc::clone(&file.lock().pin)
            }
            Some(map) => {
                let mut state = file.lock();
                if unsealed.is_none() {
                    state.map = map;
                }
                let next = state.pin.succeed();
                std::mem::replace(&mut state.pin, next)
            }
            None => Arc::clone(&file.lock().pin),
        };
        drop(files);
        for extent in &freed.extents {
            before.condemn(std::slice::from_ref(extent), share(extent));
        }
    }
}

/// Gives a trimmed file a new state for later openings: a handle opened before the trim goes on
/// reading the trimmed part. Blocks that are freed later wait for both.
fn succeed(file: &OpenFile, map: Arc<ExtentMap>) -> Arc<OpenFile> {
    let mut state = file.lock();
    let quiet = FileState::quiet(state.size, map, state.pin.succeed(), Body::Sealed);
    let heir = Arc::new(OpenFile::new(file.id, file.kind, FileState { sealed: true, ..quiet }));
    state.heir = Some(Arc::clone(&heir));
    heir
}
