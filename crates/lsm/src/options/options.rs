//! [`EngineOptions`], with defaults; [`Durability`] of a write; [`ReadOptions`] of a point read.
//!
//! The options belong to one opening of a store; the store remembers `system` and `tables`, and the
//! name of `merge_operator`. [`EngineOptions::check`] checks numbers against [`limits`], and checks
//! that memtables of the smallest size fit the memory budget. [`EngineOptions::fitted`] makes
//! `memtable_size` and `io_size` smaller if the budget is too small for them. Plain values; any
//! thread.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use terrace_env::{ByteCount, OutOfRange};
use terrace_policy::Compaction;

use super::filters::CompactionFilters;
use super::shares::{MEMTABLE_SIZE_MIN, Shares};
use super::table_options::{TableOptions, TableShape};
use crate::limits;
use crate::operands::Operator;

/// Durability of a write: the event that the write survives once it has returned. Each level
/// survives also the events of the levels before it.
///
/// A write that goes to the log is lost only together with all newer writes that go there. An
/// [unlogged](Self::Unlogged) write may be lost while newer ones stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// A clean end. The write goes to no log: it is in memory until its memtable is flushed, and
    /// lost with the process before that. A sync, a flush, a close, or the drop of the engine
    /// writes it to a table; each of them then waits for a flush.
    Unlogged,
    /// No event at first: the write stays in a buffer of the process. The buffer is written when it
    /// is full, when [`gather_time`](EngineOptions::gather_time) is over, when the engine is
    /// dropped or closed, or when a writer has to wait.
    Gathered,
    /// The end of the process: the write has been handed to the operating system or the drive,
    /// where a power cut may still lose it.
    Written,
    /// A power cut: the write is on the medium.
    Synced,
}

/// Options of point reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Whether blocks that are read for a key stay in the block cache. Off: for keys that are not
    /// read again soon, so that they evict nothing; cached blocks are still found. Scans and
    /// cursors ignore this: they keep the block that a seek comes to, and no other. Default: on.
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

/// The engine's parameters, each within its range in [`limits`]. The layer that opens the engine
/// documents their trade-offs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Whether the engine writes nothing and has no background actors.
    pub read_only: bool,
    /// Size at which a memtable is flushed.
    pub memtable_size: ByteCount,
    /// The most full memtables that may wait for their flush before writers wait.
    pub memtables_max: usize,
    /// Time that a [gathered](Durability::Gathered) write may stay in the memory of the process;
    /// zero: it is written at once.
    pub gather_time: Duration,
    /// Size of the tables that a flush writes.
    pub table_size: ByteCount,
    /// Options that shape tables, if the opening states them. The store remembers them, and
    /// supplies the others. It is not opened for writing with a value that differs.
    pub tables: TableOptions,
    /// Whether indexes have the first key of each data block, if the store does not remember it.
    pub first_keys: bool,
    /// Least size of a data block in the last level, unless its key space has a block size of its
    /// own. At most [`BLOCK_SIZE`](limits::BLOCK_SIZE).
    pub last_block_size: ByteCount,
    /// Memory budget of the whole engine: memtables; blocks, indexes and filters of open tables;
    /// buffers of jobs and scans.
    pub memory: ByteCount,
    /// Whether clients read tables by memory that the store has mapped, if it maps files.
    pub map_tables: bool,
    /// Bytes that a job reads at once, or has in flight to the medium.
    pub io_size: ByteCount,
    /// The most subcompactions of a merge in flight, at most 4. 0: one if the store is
    /// [`rotational`](terrace_env::Store::rotational), otherwise one for each processor.
    pub workers: usize,
    /// The most compactions in flight, up to the number that the decider allows; 0 stands for that
    /// number. More: small compactions do not wait for large ones. Fewer: jobs take less memory and
    /// space, and a disk seeks less.
    pub jobs: usize,
    /// Whether level 0 is merged down while writers are idle, before it is due.
    pub compact_at_rest: bool,
    /// The most bytes of keys and values that compactions process in a second, unless writers wait
    /// for them or space is short; 0: no limit.
    pub compaction_rate: ByteCount,
    /// Filters of values in compactions.
    pub compaction_filters: CompactionFilters,
    /// The operator that combines operands with values. The store remembers its name once it has an
    /// operand.
    pub merge_operator: Option<Operator>,
    /// Whether a store that remembers the name of a shipped operator is opened with that operator,
    /// if `merge_operator` is none.
    pub shipped_operators: bool,
    /// Whether a compaction waits before it begins until the store's own reclaim is idle, as where
    /// one thread does both. Otherwise they share the medium.
    pub reclaim_first: bool,
    /// Text that describes the decider, for the store to remember
    /// ([`remembered_system`](crate::remembered_system)): a name, or a name, a colon and
    /// parameters. A decider is given the state that it left only if the name is the same. Its
    /// length has a limit, [`SYSTEM_BYTES`](limits::SYSTEM_BYTES).
    pub system: String,
}

impl EngineOptions {
    /// Checks that every option is within its range, and that they fit together.
    pub fn check(&self) -> Result<(), OutOfRange> {
        limits::MEMTABLE_SIZE.check(self.memtable_size)?;
        limits::MEMTABLES_MAX.check(self.memtables_max as u64)?;
        let gather_time = u64::try_from(self.gather_time.as_millis()).unwrap_or(u64::MAX);
        limits::GATHER_TIME.check(gather_time)?;
        limits::TABLE_SIZE.check(self.table_size)?;
        self.tables.check()?;
        limits::LAST_BLOCK_SIZE.check(self.last_block_size)?;
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

    /// The shape of new tables, in a store that remembers these options for them.
    pub(crate) fn table_shape(&self, remembered: &TableOptions) -> TableShape {
        let first_keys = remembered.first_keys.unwrap_or(self.first_keys);
        TableShape { first_keys, ..remembered.shape() }
    }

    /// Options that fit the memory budget: sizes of memtables, and of reads and writes of jobs,
    /// that exceed their share are made smaller.
    #[must_use]
    pub fn fitted(self) -> Self {
        let Shares { memtable_size, io_size, .. } = Shares::of(&self);
        Self { memtable_size, io_size, ..self }
    }

    /// Largest size of a log frame, so that the log keeps to its share of the memory budget.
    #[must_use]
    pub fn log_frame(&self) -> ByteCount {
        Shares::of(self).log_frame
    }

    /// The most compactions in flight, with this decider.
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
            last_block_size: ByteCount(0),
            memory: ByteCount::mib(320),
            map_tables: true,
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
