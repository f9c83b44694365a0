//! [`Coverage`]: tells a scan or a cursor whether range tombstones hide an entry.
//!
//! - It is made of the memtables and runs of the reader's view, for one sequence number. The reader
//!   may ask about entries up to that number, in any order. Newer tombstones are not seen.
//! - It remembers a range of keys around the last question that has one newest tombstone, or none.
//!   Within that range a question costs two comparisons of keys. Outside of it, a question may open
//!   tables and read them, and fail.
//!
//! One thread at a time, which holds no lock.

use std::sync::Arc;

use terrace_env::SeqNo;
use terrace_policy::Key;

use crate::Error;
use crate::memtable::Memtable;
use crate::ranges::{CoverRange, Skyline};
use crate::tree::Run;

/// Sources of range tombstones.
#[derive(Debug)]
enum Tombstones {
    Memory(Skyline),
    Run(Arc<Run>),
}

/// The range tombstones that a reader of one sequence sees.
#[derive(Debug)]
pub(crate) struct Coverage {
    sources: Vec<Tombstones>,
    sequence: SeqNo,
    /// The last range found; empty at first.
    around: Option<CoverRange>,
}

impl Coverage {
    /// The coverage of these; `None` if they have no range tombstones.
    pub(crate) fn of<'a>(
        memtables: impl Iterator<Item = &'a Arc<Memtable>>,
        runs: impl Iterator<Item = &'a Arc<Run>>,
        sequence: SeqNo,
    ) -> Option<Box<Self>> {
        let memory = memtables.filter(|memtable| !memtable.ranges().is_empty());
        let memory = memory.map(|memtable| memtable.ranges().at(sequence));
        let memory = memory.filter(|skyline| !skyline.is_empty()).map(Tombstones::Memory);
        let runs = runs.filter(|run| run.has_ranges()).map(|run| Tombstones::Run(Arc::clone(run)));
        let sources: Vec<_> = memory.chain(runs).collect();
        (!sources.is_empty()).then(|| Box::new(Self { sources, sequence, around: None }))
    }

    /// Whether an entry of a key is hidden.
    pub(crate) fn hides(&mut self, full_key: &[u8], sequence: SeqNo) -> Result<bool, Error> {
        if !self.around.as_ref().is_some_and(|around| around.contains(full_key)) {
            self.around = None;
            let mut around = CoverRange::default();
            for source in &self.sources {
                around = around.and(match source {
                    Tombstones::Memory(skyline) => skyline.at(full_key),
                    Tombstones::Run(run) => run.ranges_at(full_key, self.sequence)?,
                });
            }
            self.around = Some(around);
        }
        let cover = self.around.as_ref().and_then(|around| around.cover);
        Ok(cover.is_some_and(|cover| sequence < cover))
    }

    /// The newest tombstone that hid the last entry, the first key that it hides, and the first key
    /// after it.
    pub(crate) fn around(&self) -> Option<(SeqNo, &Key, &Key)> {
        let around = self.around.as_ref()?;
        Some((around.cover?, around.from.as_ref()?, around.until.as_ref()?))
    }
}
