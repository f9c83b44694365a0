//! [`EngineOptions`], with defaults; [`Durability`] of a write; [`ReadOptions`] of a point read.
//!
//! The options belong to one opening of a store; the store remembers `system` and `tables`, and the
//! name of `merge_operator`.
//! [`EngineOptions::check`] checks numbers against [`limits`], and that memtables of the smallest
//! size fit the memory budget. [`EngineOptions::fitted`] makes `memtable_size` and `io_size`
//! smaller if the budget is too small for them. Plain values; any thread.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use terrace_env::{ByteCount, OutOfRange};
use terrace_policy::Compaction;

use super::filters::CompactionFilters;
use super::shares::{MEMTABLE_SIZE_MIN, Shares};
use super::table_options::{TableOptions, TableShape};
use crate::limits;
use crate::operands::Operator;

/// Durability of a write: the event that the write survives once it has returned. Each survives
/// what the one before it does.
///
/// A write that goes to the log is never lost without all newer ones that go there. An
/// [unlogged](Self::Unlogged) write may be lost while newer ones stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// A clean end. It goes to no log: it is in memory until its memtable is flushed, and lost
    /// with the process before that. A sync, a flush, a close, or the drop of the engine writes it
    /// to a table; each of them then waits for a flush.
    Unlogged,
    /// Nothing, for a while: it gathers in the memory of the process, and is written when enough
    /// has gathered, at the latest when [`gather_time`](EngineOptions::gather_time) is over, the
    /// engine is dropped or closed, or a writer has to wait.
    Gathered,
    /// The end of the process: it has been handed to the operating system or the drive, which a
    /// power cut may take it from.
    Written,
    /// A power cut: it is on the medium.
    Synced,
}

/// How point reads read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Whether blocks that are read for a key stay in the block cache. Off: for reads of keys that
    /// are not read again soon, so that they push nothing out; blocks that are in the cache are
    /// found there all the same. Scans and cursors do not go by this: they keep the block that a
    /// seek comes to, and no other. Default: on.
    pub fill_cache: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { fill_cache: true }
    }
}

impl ReadOptions {
    /// Sets [`fill_cache`](field@Self::fill_cache).
    #[must_use]
    pub fn fill_cache(mut self, fill_cache: bool) -> Self {
        self.fill_cache = fill_cache;
        self
    }
}

/// The engine's parameters, each within its range of [`limits`]. The layer that opens the engine
/// documents their trade-offs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Nothing is written, and nothing runs in the background.
    pub read_only: bool,
    /// A memtable that has grown to this is flushed.
    pub memtable_size: ByteCount,
    /// How many full memtables may wait for their flush before writers wait.
    pub memtables_max: usize,
    /// How long a write may stay in the memory of the process that is only
    /// [gathered](Durability::Gathered); zero: it is written at once.
    pub gather_time: Duration,
    /// The size of the tables that a flush writes.
    pub table_size: ByteCount,
    /// Options that shape tables, as far as the opening states them. The store remembers them, has
    /// the others as it remembers them, and is not opened for writing with one that differs.
    pub tables: TableOptions,
    /// Whether indexes have the first key of each data block, where the store remembers nothing
    /// about it.
    pub first_keys: bool,
    /// Memory budget of the engine in all: memtables, blocks, indexes and filters of open tables,
    /// buffers of jobs and scans.
    pub memory: ByteCount,
    /// Bytes that a job reads at once, or has on their way to the medium.
    pub io_size: ByteCount,
    /// How many subcompactions of a merge are carried out at once, at most 4; 0 for one where the
    /// store is [`rotational`](terrace_env::Store::rotational), and elsewhere for as many as there
    /// are processors.
    pub workers: usize,
    /// The most compactions that may be under way at once: no more than the decider allows, which
    /// is also what 0 stands for. More: small compactions do not wait for large ones. Fewer: less
    /// memory and space for jobs, and a disk that goes less back and forth.
    pub jobs: usize,
    /// Whether level 0 is merged down when writers rest, before it is due.
    pub compact_at_rest: bool,
    /// Bytes of keys and values that compactions go through in a second at most, unless writers
    /// wait for them or space is short; 0: no limit.
    pub compaction_rate: ByteCount,
    /// Which values compactions keep.
    pub compaction_filters: CompactionFilters,
    /// The operator that combines operands with values. The store remembers its name once there is
    /// an operand.
    pub merge_operator: Option<Operator>,
    /// Whether a store that remembers the name of a shipped operator is opened with that one, where
    /// `merge_operator` is none.
    pub shipped_operators: bool,
    /// Whether a compaction waits until the store's own reclaim rests before it begins, as where
    /// one thread does both. Otherwise they share the medium.
    pub reclaim_first: bool,
    /// Text from which the decider was made, for the store to remember
    /// ([`remembered_system`](crate::remembered_system)): a name, and behind a colon parameters. A
    /// decider is given the state it left only where the name is the same. Its length has a limit,
    /// [`SYSTEM_BYTES`](limits::SYSTEM_BYTES).
    pub system: String,
}

impl EngineOptions {
    /// Checks that every option is within its range, and that they fit each other.
    pub fn check(&self) -> Result<(), OutOfRange> {
        limits::MEMTABLE_SIZE.check(self.memtable_size)?;
        limits::MEMTABLES_MAX.check(self.memtables_max as u64)?;
        let gather_time = u64::try_from(self.gather_time.as_millis()).unwrap_or(u64::MAX);
        limits::GATHER_TIME.check(gather_time)?;
        limits::TABLE_SIZE.check(self.table_size)?;
        self.tables.check()?;
        limits::MEMORY.check(self.memory)?;
        limits::IO_SIZE.check(self.io_size)?;
        limits::WORKERS.check(self.workers as u64)?;
        limits::JOBS.check(self.jobs as u64)?;
        limits::SYSTEM_BYTES.check(self.system.len() as u64)?;
        if let Some(operator) = &self.merge_operator {
            limits::OPERATOR_NAME_BYTES.check(operator.name().len() as u64)?;
        }
        let most = self.memory.0 / MEMTABLE_SIZE_MIN - 1;
        if self.memtables_max as u64 > most {
            return Err(OutOfRange {
                option: limits::MEMTABLES_MAX.option.into(),
                got: self.memtables_max.to_string().into(),
                expected: format!("at most {most} where memory is {}", self.memory).into(),
                reason: "the smallest memtables, and the one that is written, have to fit",
            });
        }
        Ok(())
    }

    /// The shape of new tables.
    pub(crate) fn table_shape(&self) -> TableShape {
        let first_keys = self.tables.first_keys.unwrap_or(self.first_keys);
        TableShape { first_keys, ..self.tables.shape() }
    }

    /// The options as the memory budget has room for them: memtables, and what jobs move at once,
    /// are made smaller where they ask for more than their part.
    #[must_use]
    pub fn fitted(self) -> Self {
        let Shares { memtable_size, io_size, .. } = Shares::of(&self);
        Self { memtable_size, io_size, ..self }
    }

    /// Largest size of a frame of the log, so that the log keeps to its share of the memory budget.
    #[must_use]
    pub fn log_frame(&self) -> ByteCount {
        Shares::of(self).log_frame
    }

    /// How many compactions may be under way at once, under this decider.
    pub(crate) fn jobs_of(&self, decider: &dyn Compaction) -> usize {
        let wanted = decider.jobs_max().clamp(1, limits::JOBS.most as usize);
        if self.jobs == 0 { wanted } else { wanted.min(self.jobs) }
    }
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            read_only: false,
            memtable_size: ByteCount::mib(64),
            memtables_max: 2,
            gather_time: Duration::from_millis(100),
            table_size: ByteCount::mib(16),
            tables: TableOptions::default(),
            first_keys: false,
            memory: ByteCount::mib(320),
            io_size: ByteCount::mib(2),
            workers: 0,
            jobs: 0,
            compact_at_rest: false,
            compaction_rate: ByteCount(0),
            compaction_filters: CompactionFilters::default(),
            merge_operator: None,
            shipped_operators: false,
            reclaim_first: false,
            system: String::new(),
        }
    }
}
