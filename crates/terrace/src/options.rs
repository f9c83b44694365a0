//! [`Options`]: the options of an opening, with the default and the effect of each.
//!
//! A setter checks nothing. An opening checks the options that have a range, and
//! [`Options::check_device`] does so before a device is formatted. Options hold for one opening; a
//! store remembers the system, the options that shape tables, and the name of the merge operator. A
//! plain value.

use std::path::PathBuf;
use std::time::Duration;

use terrace_env::ByteCount;
use terrace_lsm::{
    CompactionFilters, Durability, EngineOptions, LevelCompression, Operator, TableOptions,
};
use terrace_policy::{StoreShape, System};
use terrace_zone::Device;

use crate::{Error, limits};

/// Options of an opening. Each numeric option has a range, with its reason in [`limits`]; the
/// parameters of a system have theirs as well. With an option out of its range, a store is not
/// opened, and no device is formatted. All options can be changed from one opening to the next,
/// except for those that shape tables, which
/// [`Db::set_table_options`](crate::Db::set_table_options) changes; existing tables keep their form
/// until they are compacted.
///
/// ```
/// use terrace::{ByteCount, Options};
///
/// let options = Options::default().memtable_size(ByteCount::mib(16)).memory(ByteCount::mib(128));
/// ```
///
/// Further options may come, so it is made from [`Options::default`] or
/// [`fitting`](Self::fitting), by setters or by assigning to its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    // Behaviour.
    /// Opens for reading: nothing is written, not even to finish a recovery, and no job runs.
    /// Writes that are only in the log are read into memory. Default: `false`.
    pub read_only: bool,
    /// The event that a write survives once it has returned. [`Durability::Written`]: the end of
    /// the process, by a crash or `kill`. [`Durability::Synced`]: a power cut as well; the write
    /// waits for the medium, and concurrent writers share the wait. [`Durability::Gathered`]: none
    /// for certain; the end of the process may take the writes of the last
    /// [`gather_time`](Self::gather_time). [`Durability::Unlogged`]: a clean end only. Handles can
    /// have another by [`Db::with_durability`](crate::Db::with_durability), single batches by
    /// [`Db::write_with`](crate::Db::write_with). `None` chooses by the medium: `Written` in a
    /// directory, `Gathered` on a drive, where each write takes a block. Default: `None`.
    pub durability: Option<Durability>,
    /// Time that a gathered write may stay in the memory of the process. It is written earlier when
    /// the buffer is full, when a writer has to wait, and when the store is closed or its last
    /// handle is dropped. Shorter: less is lost with the process, and more blocks of the log are
    /// padded. Default: 100 ms. Range: 0 to an hour.
    pub gather_time: Duration,
    /// The system: it decides where tables go, which are merged, and how space is freed. Its
    /// parameters include the size of tables and levels. `None`: the system of the last opening,
    /// and [`System::default`] for a new store. Default: `None`.
    pub system: Option<System>,

    /// Offers a [live window](crate::live): other processes can inspect the store while it is open
    /// here, read it and copy it, through a Unix socket. The value is the path of the store: its
    /// image, block device or directory. The socket is next to it, with the rights of the store's
    /// file. A store that is opened for reading offers none, and neither does one in a simulation.
    /// If the socket cannot be made, the store opens without it, and
    /// [`Db::live_socket`](crate::Db::live_socket) has the reason. Default: `None`, no window.
    pub live: Option<PathBuf>,

    // Performance.
    /// Size up to which writes are collected in memory, before they are written out as one sorted
    /// run. Larger: fewer and longer runs, less compaction, longer recovery. Up to `memtables_max +
    /// 1` memtables are in memory. The store keeps space for sixteen memtables
    /// ([`MEMTABLES_KEPT`](crate::MEMTABLES_KEPT)), which users do not have: if that is all of it,
    /// [`Db::live_max`](crate::Db::live_max) is 0. `None`: a size that fits the store
    /// ([`memtable_size_of`](Self::memtable_size_of)), 64 MiB from 4 GiB on. Default: `None`.
    /// Range: 4 KiB to 64 GiB.
    pub memtable_size: Option<ByteCount>,
    /// The most full memtables that may wait to be written out before writers wait. More: longer
    /// bursts are absorbed, for `memtable_size` of memory each. Default: 2. Range: 1 to 64; the
    /// smallest memtables, of 16 KiB, must fit `memory`.
    pub memtables_max: usize,
    /// Size of the blocks in which tables are read. Larger: smaller indexes and better compression;
    /// smaller: less is read for one key. This and the next three options shape tables, and the
    /// store remembers them: `None` is the remembered value, or the default if the option was never
    /// stated. A stated value is remembered from then on. An opening for writing with a value other
    /// than the remembered one is refused, with the kind [`Option`](crate::ErrorKind::Option):
    /// [`Db::set_table_options`](crate::Db) changes it. Default: 4 KiB. Range: 1 B to 1 MiB.
    pub block_size: Option<ByteCount>,
    /// Compression of blocks, the same for all levels or different for the last one.
    /// [`Compression`](crate::Compression)`::Lz4` pays if values compress and the medium is slower
    /// than a processor: disks nearly always. `Zstd` takes three times the processor time and saves
    /// more; it pays in the last level, where most data lies and least is rewritten:
    /// `LevelCompression { upper: Compression::Lz4, last: Compression::Zstd }`. `None`: see
    /// `block_size`. Default: [`Compression`](crate::Compression)`::None`.
    pub compression: Option<LevelCompression>,
    /// Bits per key of the filters that tell absent keys without a read: 10 let 1 % through, 15
    /// about 0.2 %; 0 means no filters. `None`: see `block_size`. Default: 10. Range: 0 to 32.
    pub filter_bits: Option<u8>,
    /// Whether the indexes of tables have the first key of each block. On: a scan reads a block of
    /// a run only when its first key is the next of all runs. So a short scan of a store of many
    /// runs reads less, if blocks hold few entries. Indexes take half as much memory again, and a
    /// scan waits for its first reads one after the other. Scans backward and reads by key do not
    /// change. `None`: see `block_size`; if the option was never stated, the parameter `first_keys`
    /// of the system decides, which is off by default.
    pub first_keys: Option<bool>,
    /// Memory budget of the store: memtables, up to three quarters of it; the rest for blocks that
    /// were read, for the indexes and filters of open tables, and for buffers of jobs and scans.
    /// Larger: fewer reads from the medium. If `memtable_size` and `memtables_max` ask for more
    /// than their part, memtables are smaller. [`Stats::memory`](crate::Stats::memory) shows its
    /// use. It does not include the file system's own tables, thread stacks, and overhead of the
    /// allocator; `docs/memory.md` has all of it. Default: 320 MiB. Range: 64 KiB to 16 TiB.
    pub memory: ByteCount,
    /// Whether reads of a store in a directory take blocks from tables that the operating system
    /// maps into memory, as long as the tables have at most half as many bytes as the machine (or
    /// the control group of the process) has memory. On: no block is copied, and `memory` keeps
    /// only indexes and filters; point reads and scans of a store that is larger than `memory` take
    /// a third to a half less processor time (`docs/performance.md`). A block is verified once
    /// while its table is open. But if the disk fails under a read, or another program makes a
    /// table shorter, the process ends by the signal SIGBUS, where a call would return an error.
    /// Drives, images, and compressed blocks are never mapped. Default: on.
    pub map_tables: bool,
    /// Size of the requests of flushes and compactions: they read this much at once, or less if
    /// memory is short, and write by halves of it. Larger: fewer seeks between the inputs of a
    /// merge on a disk, if memory allows it; smaller: less memory for each input, and shorter waits
    /// of other requests for the head. At most 1/28 of `memory` is moved at once. `None`: 2 MiB;
    /// under `sliced`, whose merges have many inputs, 1/160 of `memory`, at least 2 and at most
    /// 4 MiB. Default: `None`. Range: 8 KiB to 64 MiB.
    pub io_size: Option<ByteCount>,
    /// The most subcompactions of a merge in flight, each in a thread, at most 4. 0 leaves it to
    /// the device: one on a disk ([`Geometry::rotational`](terrace_zone::Geometry::rotational)),
    /// elsewhere one for each processor. More: a fast medium is kept busy, and processors share
    /// compression. One: the head seeks only between the inputs of one subcompaction, which makes a
    /// random load on a modelled disk at least half as fast again; and less memory and free space
    /// are taken at once. [`Stats::workers`](crate::Stats::workers) has the number. Set it for a
    /// disk that does not report that it is one; a directory never does. Default: 0. Range: 0 to 4.
    pub workers: usize,
    /// Whether level 0 is merged down when nothing was written for half a second, if the system has
    /// levels ([`wait_idle`](crate::Db::wait_idle) does not wait for that half second). Reads look
    /// into every run of level 0: up to three of them make point reads two to four times as slow.
    /// The merge writes up to five bytes for each in level 0, and ends early when writers are back.
    /// Entries of 32 KiB and more on average stay in level 0: reads of them gain little. Off: for
    /// writers that pause often on a medium that wears. Default: on.
    pub compact_at_rest: bool,
    /// The most bytes of keys and values that all compactions together process in a second, before
    /// compression: a compaction reads about this much and writes at most this much. A limit leaves
    /// the medium to readers, and makes compactions end later: meanwhile more space is in use, and
    /// reads consult more runs. The limit does not count while writers are held back because
    /// compactions are late, or are about to be, and while space is short. So no writer waits for
    /// it, but under a load without a pause, compactions are a little later than without a limit.
    /// It counts for [`compact`](crate::Db::compact), too. Flushes and the file system's reclaim
    /// have no limit. Default: 0, no limit.
    pub compaction_rate: ByteCount,
    /// Filters of values in compactions, by key space: set by
    /// [`compaction_filter`](Self::compaction_filter). Default: none.
    pub compaction_filters: CompactionFilters,
    /// The operator that combines operands with values: set by
    /// [`merge_operator`](Self::merge_operator()). Default: none, and an operand is refused.
    pub merge_operator: Option<Operator>,
    /// Whether a store with operands of [`Counter`](crate::Counter) or [`Append`](crate::Append) is
    /// opened with that operator if `merge_operator` is none: for a program that opens stores of
    /// others. Default: `false`.
    pub shipped_merge_operators: bool,
    /// Size of the file system's cache of table blocks, in addition to `memory`: compactions then
    /// read blocks from memory that were written a while ago. It pays if compactions wait for the
    /// medium, as on disks. It covers the levels from the top down, so the first bytes save most. A
    /// store that is mostly read profits more from `memory`. It begins empty with each opening, and
    /// has no effect over a plain directory, which the operating system keeps in memory. Default:
    /// 0, no cache. Range: 0 to 16 TiB.
    pub file_cache: ByteCount,
}

impl Default for Options {
    fn default() -> Self {
        let engine = EngineOptions::default();
        Self {
            read_only: false,
            durability: None,
            gather_time: engine.gather_time,
            system: None,
            live: None,
            memtable_size: None,
            memtables_max: engine.memtables_max,
            block_size: None,
            compression: None,
            filter_bits: None,
            first_keys: None,
            memory: engine.memory,
            map_tables: engine.map_tables,
            io_size: None,
            workers: engine.workers,
            compact_at_rest: true,
            compaction_rate: engine.compaction_rate,
            compaction_filters: engine.compaction_filters,
            merge_operator: None,
            shipped_merge_operators: false,
            file_cache: ByteCount(0),
        }
    }
}

/// Number of memtables of the fitting size for which a store has room. Its log, the flushes that
/// are due and the compactions after them take a handful of them at once, and a quarter is kept for
/// them.
const MEMTABLES_IN_STORE: u64 = 64;
/// Least memory of [`Options::fitting`]: less would save almost nothing.
const MEMORY_MIN: ByteCount = ByteCount::mib(32);
/// Least memtable of a fitting size: a smaller one would save almost nothing.
const MEMTABLE_SIZE_MIN: ByteCount = ByteCount::kib(64);

impl Options {
    /// The size of the memtables of a large store.
    pub const MEMTABLE_SIZE: ByteCount = ByteCount::mib(64);

    /// Size of the memtables of a store of `capacity`, if [`memtable_size`](Self::memtable_size)
    /// does not set it: a 64th of the store, from 64 KiB to 64 MiB.
    #[must_use]
    pub fn memtable_size_of(capacity: ByteCount) -> ByteCount {
        let part = ByteCount(capacity.0 / MEMTABLES_IN_STORE);
        part.clamp(MEMTABLE_SIZE_MIN, Self::MEMTABLE_SIZE)
    }

    /// The defaults, with less memory for a small store of `capacity`. From 4 GiB on they are the
    /// defaults.
    #[must_use]
    pub fn fitting(capacity: ByteCount) -> Self {
        let full = Self::default();
        let parts = full.memory.0 / Self::MEMTABLE_SIZE.0;
        let memory = ByteCount(Self::memtable_size_of(capacity).0 * parts);
        Self { memory: memory.clamp(MEMORY_MIN, full.memory), ..full }
    }

    /// Checks that a store on this device can be opened with these options and takes writes; for
    /// example before the device is formatted. An unset system is not checked.
    pub fn check_device(&self, device: &dyn Device) -> Result<(), Error> {
        let geometry = device.geometry();
        let zone = ByteCount(geometry.zone_capacity * u64::from(geometry.logical_block));
        let zone = geometry.layout.is_zoned().then_some(zone);
        let store = self.shape(geometry.capacity(), zone, geometry.guard_max());
        self.check(&self.system.unwrap_or_default(), &store)
    }

    /// Checks them as far as that does not depend on the store.
    pub(crate) fn check_alone(&self) -> Result<(), Error> {
        let system = self.system.unwrap_or_default();
        // No size of a table is refused in a store of 1 PiB, and the fitted size is left out.
        let store = self.shape(ByteCount(1 << 50), None, ByteCount(0));
        limits::FILE_CACHE.check(self.file_cache)?;
        system.check(&store)?;
        let table_size = terrace_lsm::limits::TABLE_SIZE.least;
        Ok(EngineOptions { table_size, ..self.engine(&system, &store) }.check()?)
    }

    /// Shape of a store of `capacity` with these options; the parameters of a system are fitted to
    /// it.
    pub(crate) fn shape(
        &self,
        capacity: ByteCount,
        zone_capacity: Option<ByteCount>,
        guard: ByteCount,
    ) -> StoreShape {
        let fitted = || Self::memtable_size_of(capacity);
        let memtable_size = self.memtable_size.unwrap_or_else(fitted);
        // The kept space affects only the room of the store, and no check.
        StoreShape { capacity, zone_capacity, guard, kept: ByteCount(0), memtable_size }
    }

    /// Checks that a store of this shape can be opened with these options and takes writes.
    pub(crate) fn check(&self, system: &System, store: &StoreShape) -> Result<(), Error> {
        limits::FILE_CACHE.check(self.file_cache)?;
        system.check(store)?;
        Ok(self.engine(system, store).check()?)
    }

    /// The options that shape tables, as they are stated.
    #[must_use]
    pub fn tables(&self) -> TableOptions {
        let Self { block_size, compression, filter_bits, first_keys, .. } = *self;
        TableOptions { block_size, compression, filter_bits, first_keys }
    }

    pub(crate) fn engine(&self, system: &System, store: &StoreShape) -> EngineOptions {
        EngineOptions {
            read_only: self.read_only,
            memtable_size: store.memtable_size,
            memtables_max: self.memtables_max,
            gather_time: self.gather_time,
            // A system fits it to the space that there is, which may be none.
            table_size: system.table_size(store).max(terrace_lsm::limits::TABLE_SIZE.least),
            tables: self.tables(),
            first_keys: system.first_keys,
            last_block_size: system.last_block_size,
            memory: self.memory,
            map_tables: self.map_tables,
            io_size: self.io_size.unwrap_or_else(|| system.io_size(self.memory)),
            workers: self.workers,
            // The system says how many.
            jobs: 0,
            compact_at_rest: self.compact_at_rest,
            compaction_rate: self.compaction_rate,
            compaction_filters: self.compaction_filters.clone(),
            merge_operator: self.merge_operator.clone(),
            shipped_operators: self.shipped_merge_operators,
            reclaim_first: system.collector_first,
            system: system.to_string(),
        }
    }
}

/// Setters, one for each option.
impl Options {
    /// Sets [`read_only`](field@Self::read_only).
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Sets [`durability`](field@Self::durability).
    #[must_use]
    pub fn durability(mut self, durability: impl Into<Option<Durability>>) -> Self {
        self.durability = durability.into();
        self
    }

    /// Sets [`gather_time`](field@Self::gather_time).
    #[must_use]
    pub fn gather_time(mut self, gather_time: Duration) -> Self {
        self.gather_time = gather_time;
        self
    }

    /// Sets [`system`](field@Self::system).
    #[must_use]
    pub fn system(mut self, system: impl Into<Option<System>>) -> Self {
        self.system = system.into();
        self
    }

    /// Sets [`live`](field@Self::live).
    #[must_use]
    pub fn live(mut self, path: impl Into<PathBuf>) -> Self {
        self.live = Some(path.into());
        self
    }

    /// Sets [`memtable_size`](field@Self::memtable_size).
    #[must_use]
    pub fn memtable_size(mut self, memtable_size: impl Into<Option<ByteCount>>) -> Self {
        self.memtable_size = memtable_size.into();
        self
    }

    /// Sets [`memtables_max`](field@Self::memtables_max).
    #[must_use]
    pub fn memtables_max(mut self, memtables_max: usize) -> Self {
        self.memtables_max = memtables_max;
        self
    }

    /// Sets [`block_size`](field@Self::block_size).
    #[must_use]
    pub fn block_size(mut self, block_size: impl Into<Option<ByteCount>>) -> Self {
        self.block_size = block_size.into();
        self
    }

    /// Sets [`compression`](field@Self::compression).
    #[must_use]
    pub fn compression(mut self, compression: impl Into<LevelCompression>) -> Self {
        self.compression = Some(compression.into());
        self
    }

    /// Sets [`filter_bits`](field@Self::filter_bits).
    #[must_use]
    pub fn filter_bits(mut self, filter_bits: impl Into<Option<u8>>) -> Self {
        self.filter_bits = filter_bits.into();
        self
    }

    /// Sets [`first_keys`](field@Self::first_keys).
    #[must_use]
    pub fn first_keys(mut self, first_keys: impl Into<Option<bool>>) -> Self {
        self.first_keys = first_keys.into();
        self
    }

    /// Sets the options that shape tables.
    #[must_use]
    pub fn with_tables(mut self, tables: TableOptions) -> Self {
        let TableOptions { block_size, compression, filter_bits, first_keys } = tables;
        (self.block_size, self.compression) = (block_size, compression);
        (self.filter_bits, self.first_keys) = (filter_bits, first_keys);
        self
    }

    /// Sets [`memory`](field@Self::memory).
    #[must_use]
    pub fn memory(mut self, memory: ByteCount) -> Self {
        self.memory = memory;
        self
    }

    /// Sets [`map_tables`](field@Self::map_tables).
    #[must_use]
    pub fn map_tables(mut self, map_tables: bool) -> Self {
        self.map_tables = map_tables;
        self
    }

    /// Sets [`io_size`](field@Self::io_size).
    #[must_use]
    pub fn io_size(mut self, io_size: impl Into<Option<ByteCount>>) -> Self {
        self.io_size = io_size.into();
        self
    }

    /// Sets [`workers`](field@Self::workers).
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Sets [`compact_at_rest`](field@Self::compact_at_rest).
    #[must_use]
    pub fn compact_at_rest(mut self, compact_at_rest: bool) -> Self {
        self.compact_at_rest = compact_at_rest;
        self
    }

    /// Sets [`compaction_rate`](field@Self::compaction_rate).
    #[must_use]
    pub fn compaction_rate(mut self, bytes_per_second: ByteCount) -> Self {
        self.compaction_rate = bytes_per_second;
        self
    }

    /// Sets a function that says which values of a key space compactions keep: it gets the key and
    /// the value, and returns whether they are kept. A value that is not kept becomes a delete, and
    /// is gone for all later reads. The key space need not exist yet; the filter holds only for
    /// this opening, and replaces an earlier one for the same key space.
    ///
    /// - *Calls*: a compaction asks about the newest entry of each key in the tables that it
    ///   merges, if it is a put. Values that no compaction has reached yet can be read.
    ///   [`Db::compact`](crate::Db::compact) asks about every value in its range that was written
    ///   before. A flush and an ingest do not ask, and neither does a compaction that moves or
    ///   drops a table without reading it.
    /// - *Snapshots*: a compaction keeps all values that are older than a snapshot that existed
    ///   when it began, and does not ask about them. A later compaction does, once the snapshot has
    ///   ended. For a snapshot that begins during a compaction, values may disappear when the
    ///   compaction ends. Open scans and cursors are not affected.
    /// - *Requirements*: it must not call the store or panic. It is called from several threads at
    ///   once, in any order, and may be asked about the same entry again. It should give the same
    ///   answer each time, and be quick.
    ///
    /// [`Stats::values_filtered`](crate::Stats::values_filtered) counts the values that were not
    /// kept.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use terrace::{Db, MemoryStore, Options};
    /// # fn main() -> Result<(), terrace::Error> {
    /// let options = Options::default().compaction_filter("default", |_, value| value != b"old");
    /// let db = Db::open(Arc::new(MemoryStore::new()), options)?;
    /// db.put(b"a", b"old")?;
    /// db.put(b"b", b"new")?;
    /// db.compact(..)?;
    /// assert_eq!(db.get(b"a")?, None);
    /// assert_eq!(db.stats().values_filtered, 1);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn compaction_filter(
        mut self,
        key_space: impl Into<String>,
        keep: impl Fn(&[u8], &[u8]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.compaction_filters.set(key_space, keep);
        self
    }

    /// Sets [`file_cache`](field@Self::file_cache).
    #[must_use]
    pub fn file_cache(mut self, file_cache: ByteCount) -> Self {
        self.file_cache = file_cache;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_store_gets_the_defaults_and_a_small_one_less() {
        assert_eq!(Options::fitting(ByteCount::gib(4)), Options::default());
        assert_eq!(Options::MEMTABLE_SIZE, EngineOptions::default().memtable_size);
        let of = Options::memtable_size_of;
        assert_eq!(of(ByteCount::gib(4)), Options::MEMTABLE_SIZE);
        assert_eq!(of(ByteCount::mib(64)), ByteCount::mib(1));
        assert_eq!(of(ByteCount(0)), MEMTABLE_SIZE_MIN);
    }
}
