//! [`Sink`]: where the entries of a load go, and up to which line they are stored.
//!
//! - Entries go into batches of about [`BATCH`] bytes, or into tables directly. A batch holds the
//!   entries of consecutive lines, and batches are written in their order. So the store always
//!   holds a prefix of the lines.
//! - [`Sink::hand_over`] writes the batch that is begun, and syncs it: nothing that came before is
//!   lost then if the process is killed or the power fails.
//! - [`Sink::end`] does the same and closes the store. It tells the last line of the prefix that is
//!   durable. If the store can no longer be written, this is the last line before the last sync
//!   that went well; more lines may be there.
//! - Tables become visible as a whole at the end, or not at all.

use terrace::{Batch, Db, Durability, Ingest, KeySpace};

use super::records::lines;
use crate::commands::target::Target;
use crate::failure::Failure;

/// Bytes after which a batch is written.
const BATCH: usize = 1 << 20;

/// Batches after which the store is synced, so that a store that fails has lost few lines.
const BATCHES_SYNCED: u32 = 4;

/// See the [module](self).
pub(super) struct Sink<'a> {
    target: &'a Target,
    db: Db,
    space: KeySpace,
    into: Entries,
    /// The last line that was given.
    line: u64,
    /// Lines whose entries are in the batch.
    batched: Option<(u64, u64)>,
    /// The last written line, and the last synced one.
    written: u64,
    synced: u64,
    /// Batches that were written since the last sync.
    unsynced: u32,
}

enum Entries {
    Batch(Box<Batch>),
    Tables(Box<Ingest>),
}

impl<'a> Sink<'a> {
    /// `before`: the line before the first one.
    pub(super) fn new(
        target: &'a Target,
        db: Db,
        space: KeySpace,
        sorted: bool,
        before: u64,
    ) -> Result<Self, Failure> {
        let into = match sorted {
            true => {
                let ingest = db.ingest().map_err(|error| target.named(error.into()))?;
                Entries::Tables(Box::new(ingest))
            }
            false => Entries::Batch(Box::default()),
        };
        let (written, synced) = (before, before);
        let (line, batched, unsynced) = (before, None, 0);
        Ok(Self { target, db, space, into, line, batched, written, synced, unsynced })
    }

    /// A line that has no entry in it.
    pub(super) fn skip(&mut self, line: u64) {
        self.line = line;
        if self.batched.is_none() && matches!(self.into, Entries::Batch(_)) {
            self.written = line;
        }
    }

    /// Puts the entry of a line.
    pub(super) fn put(&mut self, line: u64, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        match &mut self.into {
            Entries::Tables(ingest) => ingest
                .key_space(&self.space)
                .and_then(|mut space| space.put(key, value))
                .map_err(|error| self.target.named(error.into()).while_doing(lines(line, line)))?,
            Entries::Batch(batch) => {
                batch.key_space(&self.space).put(key, value);
                let first = self.batched.map_or(line, |(first, _)| first);
                self.batched = Some((first, line));
                if batch.byte_size().0 as usize >= BATCH {
                    self.line = line;
                    let is_due = self.unsynced + 1 >= BATCHES_SYNCED;
                    return self.write(is_due);
                }
            }
        }
        self.line = line;
        Ok(())
    }

    /// Whether the batch holds anything, or something is not synced.
    pub(super) fn has_something(&self) -> bool {
        self.batched.is_some() || self.unsynced > 0
    }

    /// Writes the batch, and syncs it.
    pub(super) fn hand_over(&mut self) -> Result<(), Failure> {
        if self.has_something() { self.write(true) } else { Ok(()) }
    }

    fn write(&mut self, sync: bool) -> Result<(), Failure> {
        let Entries::Batch(batch) = &mut self.into else { return Ok(()) };
        let batch = std::mem::take(&mut **batch);
        let durability = if sync { Durability::Synced } else { Durability::Written };
        let written = match (batch.is_empty(), sync) {
            (true, true) => self.db.sync(),
            (true, false) => Ok(()),
            (false, _) => self.db.write_with(batch, durability),
        };
        let batched = self.batched.take();
        if let Err(error) = written {
            // The lines of the batch are given up: later messages are about earlier lines.
            self.line = self.written;
            let failure = self.target.named(error.into());
            return Err(match batched {
                Some((first, last)) => failure.while_doing(lines(first, last)),
                None => failure,
            });
        }
        self.written = self.line;
        self.unsynced += 1;
        if sync {
            (self.synced, self.unsynced) = (self.line, 0);
        }
        Ok(())
    }

    /// Ends the load: with all given lines, or after a failure with the possible ones.
    /// Returns the last line up to which all is stored, and a failure on the way.
    pub(super) fn end(mut self, failed: bool) -> (u64, Option<Failure>) {
        let written = match (&mut self.into, failed) {
            (Entries::Batch(_), _) => self.hand_over(),
            // Dropped, the tables are nothing.
            (Entries::Tables(_), true) => Ok(()),
            (Entries::Tables(_), false) => {
                let Entries::Tables(ingest) =
                    std::mem::replace(&mut self.into, Entries::Batch(Box::default()))
                else {
                    unreachable!("it was one of tables");
                };
                let finished = ingest.finish().map(drop);
                let finished = finished.map_err(|error| self.target.named(error.into()));
                if finished.is_ok() {
                    self.written = self.line;
                }
                finished
            }
        };
        let Self { target, db, into, written: last, synced, .. } = self;
        drop(into);
        let closed = db.close().map_err(|error| target.named(error.into()));
        let stored = if closed.is_ok() { last } else { synced };
        // A store that has stopped says why each time.
        (stored, written.err().or(closed.err()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clap::Parser;
    use terrace::{MemoryStore, Options};
    use terrace_env::random::Random;
    use terrace_env::runner;
    use terrace_env::store::{CrashMode, Failure as Fails};

    use super::*;

    /// The command line of a load.
    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        target: Target,
    }

    /// Whatever operation of the medium fails.
    #[test]
    fn lines_that_are_told_to_be_stored_survive_a_power_cut() {
        for fails in [Fails::Once, Fails::Sticky] {
            let mut number = 0;
            while runner::simulate(1, move || load(number, fails)) {
                number += 1;
            }
            assert!(number > 10, "{number} operations");
        }
    }

    /// Loads lines; the operation of this number fails. Returns whether there was one.
    fn load(number: u64, fails: Fails) -> bool {
        let Typed { target } = Typed::try_parse_from(["load", "store"]).unwrap();
        let store = Arc::new(MemoryStore::new());
        let db = Db::open(store.clone(), Options::default()).unwrap();
        let space = db.create_key_space("lines").unwrap();
        let begun = store.operations();
        store.fail_at(begun + number, fails);
        let mut sink = Sink::new(&target, db, space, false, 0).unwrap();
        // More batches than go between two syncs.
        let value = vec![7; BATCH / 3];
        let put = (1..=20u64).try_for_each(|line| sink.put(line, &line.to_be_bytes(), &value));
        let (stored, failed) = sink.end(put.is_err());
        let has_failed = store.operations() > begun + number;
        assert!(has_failed || (stored == 20 && put.is_ok() && failed.is_none()));
        let survivor = store.crash(CrashMode::DropUnsynced, &mut Random::seeded(1));
        let db = Db::open(Arc::new(survivor), Options::default()).unwrap();
        let space = db.key_space("lines").unwrap();
        for line in 1..=stored {
            let is_there = space.contains(&line.to_be_bytes()).unwrap();
            assert!(is_there, "operation {number}, {fails:?}: line {line} of {stored}");
        }
        db.close().unwrap();
        has_failed
    }
}
