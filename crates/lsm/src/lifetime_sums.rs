//! [`LifetimeSums`]: the sums of all writes since the engine was opened and in the store's life.
//!
//! The counts at the opening come from the store's annotation. Bytes that the store below had
//! written before the opening are left out. This module writes nothing: a commit records the sums.
//!
//! Any thread reads. The counts are read one after the other, so they may be of different moments.

use std::sync::Arc;

use terrace_env::store::Store;

use crate::counters::{Counters, LevelCounts};
use crate::lifetime::{Written, trimmed};

/// See the [module](self).
pub(crate) struct LifetimeSums {
    store: Arc<dyn Store>,
    counters: Arc<Counters>,
    /// Counts of the store's life when it was opened.
    at_open: Written,
    /// Counts of the store below before the opening.
    before: Written,
}

impl LifetimeSums {
    /// Sums of a store whose life so far is `at_open`. `before`: the counts of the store below that
    /// do not belong to this opening.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        counters: Arc<Counters>,
        at_open: Written,
        before: Written,
    ) -> Self {
        Self { store, counters, at_open, before }
    }

    /// Counts since the engine was opened.
    pub(crate) fn here(&self) -> Written {
        let counters = &self.counters;
        let written = Written {
            user_bytes: counters.user_bytes.get(),
            entries: counters.entries_written.get(),
            flushes: counters.flushes.get(),
            compactions: counters.compactions.get(),
            gear_compactions: counters.gear_compactions.get(),
            trivial_moves: counters.trivial_moves.get(),
            delete_only_compactions: counters.delete_only_compactions.get(),
            levels: trimmed(counters.levels.iter().map(LevelCounts::read).collect()),
            ..Written::by(&*self.store)
        };
        written.since(&self.before)
    }

    /// Counts of the store's whole life.
    pub(crate) fn ever(&self) -> Written {
        self.at_open.and(&self.here())
    }
}
