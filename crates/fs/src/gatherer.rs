//! [`Gatherer`]: reclaim of a device of shingled tracks. It moves files that lie between free runs
//! of blocks, so that the runs become one and fewer blocks are needed as guards.
//!
//! 1. It waits until the pool wants free blocks gathered.
//! 2. It walks the catalog for the extents that can be moved: those of sealed tables and clients'
//!    files. Logs stay where they are, and so do deleted files that readers hold.
//! 3. The pool chooses a span between two free runs, and the [`Copier`] moves the files there.
//!
//! If there is no span, or no room for any copy, gathering pauses until something comes free.
//! An extent that cannot be read, does not verify or cannot be written elsewhere stays, and is not
//! tried again before the next mount. If a commit fails, the actor ends.
//!
//! # Threads
//! One actor. It waits for devices and commits, so no lock is held over the work, and it can be
//! ended between two steps.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use terrace_env::store::FileKind;

use crate::catalog::Mapped;
use crate::copier::{Copier, Resident, StepError};
use crate::space::{PlainPool, Span};
use crate::volume::Volume;

/// See the [module](self).
pub(crate) struct Gatherer<'a> {
    pub(crate) volume: &'a Volume,
    pub(crate) pool: &'a Arc<PlainPool>,
}

impl Gatherer<'_> {
    /// The actor: gathers when the pool wants it, until the store is unmounted.
    pub(crate) fn run(&self) {
        // Extents that cannot be moved, and spans that there was no room for since one was emptied.
        let (mut stuck, mut without_room) = (BTreeSet::new(), BTreeSet::new());
        while self.pool.await_gathering() {
            let files = self.movable(&stuck);
            let runs: Vec<Range<u64>> = files.iter().map(|file| blocks(&file.mapped)).collect();
            let Some(span) = self.pool.choose_span(&runs, &without_room) else {
                without_room.clear();
                self.pool.end_span(true);
                continue;
            };
            let is_within = |file: &Resident| span.files.contains(&file.mapped.extent.start());
            let mut left: VecDeque<_> = files.into_iter().filter(is_within).collect();
            let all = left.len();
            match self.empty(&span, &mut left) {
                Ok(()) | Err(StepError::NoRoom) => {}
                Err(StepError::Unmovable { .. }) => {
                    stuck.extend(left.front().map(|file| file.mapped.extent.start()));
                }
                Err(StepError::Stopped(_)) => return self.pool.stop_gathering(),
            }
            if left.len() == all {
                without_room.insert(span.files.start);
                continue;
            }
            if left.is_empty() {
                without_room.clear();
            }
            self.pool.end_span(false);
        }
    }

    /// The extents that can be moved, in the order of their blocks.
    fn movable(&self, stuck: &BTreeSet<u64>) -> Vec<Resident> {
        let device = self.volume.media.tables().id();
        let mut found = Vec::new();
        self.volume.for_each_file(|file, record| {
            if record.sealed && record.kind != FileKind::Log {
                let pieces = record.extents.pieces().iter();
                let here = pieces.filter(|piece| piece.extent.device() == device);
                let free = here.filter(|piece| !stuck.contains(&piece.extent.start()));
                found.extend(free.map(|mapped| Resident {
                    file,
                    kind: record.kind,
                    mapped: *mapped,
                }));
            }
        });
        found.sort_unstable_by_key(|file| file.mapped.extent.start());
        found
    }

    /// Moves files out of a span. An error if nothing could be moved any more.
    fn empty(&self, span: &Span, left: &mut VecDeque<Resident>) -> Result<(), StepError> {
        let pool = self.pool;
        let lease = move |ask: &_| Arc::clone(pool).lease_outside(ask, &span.barred);
        let mut copier = Copier::new(self.volume, Box::new(lease));
        while !left.is_empty() && !pool.is_gathering_stopped() {
            let before = left.len();
            match copier.step(left, |_| {}) {
                // The moved extents have left room.
                Err(StepError::NoRoom) if left.len() < before => copier.end_region(),
                result => result?,
            }
        }
        Ok(())
    }
}

fn blocks(mapped: &Mapped) -> Range<u64> {
    mapped.extent.start()..mapped.extent.end()
}
