//! [`Db`]: a store that is open.
//!
//! - Clones are the same store, and any thread may use them. A call may wait for the device, for
//!   background jobs and for other writers.
//! - A store is open for writing once at a time, or for reading any number of times.
//! - [`Db::close`] makes everything durable, and closes the store for all clones. If the last clone
//!   and key space are dropped instead, unsynced writes are handed to the medium: an error is not
//!   reported, and a power cut can take them back.
//!
//! How a store is opened is in `opening`; its key spaces are in `key_spaces`, its copies in
//! `checkpoints`.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use terrace_env::{ByteCount, Store, Time};
use terrace_fs::Fs;
use terrace_lsm::{
    Bounds, Durability, Engine, Listener, LostRange, ReadOptions, Stats, TableOptions, Verified,
};
use terrace_policy::{StoreShape, System};

use crate::below::Below;
use crate::file_room::FileRoom;
use crate::identity::Identity;
use crate::live::{Activity, Call, Window};
use crate::named_files::NamedFiles;
use crate::{Batch, Cursor, Error, Ingest, KeySpace, Salvage, Scan, Snapshot};

/// A key-value store. Cheap to clone; all clones are the same store, and its jobs end with the last
/// of them. All methods may be called from any thread.
///
/// A store is open once: a second opening, by any handle or path, is refused until it is closed or
/// dropped. It can be opened for reading any number of times. A [`KeySpace`] belongs to the opening
/// that returned it, and others refuse it.
///
/// The methods that take a key are for the default key space; [`KeySpace`] has them for the others.
#[derive(Clone, Debug)]
pub struct Db {
    pub(crate) inner: Arc<Inner>,
    pub(crate) default: KeySpace,
}

pub(crate) struct Inner {
    // Before the engine, which its clients use.
    pub(crate) window: Option<Result<Window, Error>>,
    // Before the engine, which its actors use.
    #[cfg(feature = "async")]
    pub(crate) submissions: crate::asynchronous::Submissions,
    // Before the file system: its jobs end first.
    pub(crate) engine: Arc<Engine>,
    pub(crate) below: Below,
    pub(crate) identity: Identity,
    pub(crate) system: System,
    pub(crate) shape: StoreShape,
    pub(crate) live_max: ByteCount,
    pub(crate) memtable_size: ByteCount,
}

impl Inner {
    /// Makes a call, and measures it if a client of the live window is connected.
    pub(crate) fn measured<T>(&self, call: Call, work: impl FnOnce() -> T) -> T {
        let Some(begun) = self.begin(call) else { return work() };
        let done = work();
        self.end(call, begun);
        done
    }

    /// Events and latencies, if there is a window.
    fn activity(&self) -> Option<&Arc<Activity>> {
        self.window.as_ref()?.as_ref().ok().map(Window::activity)
    }

    /// Begin of a call, if it is to be measured.
    pub(crate) fn begin(&self, call: Call) -> Option<Time> {
        self.activity()?.begin(call)
    }

    /// Notes the end of a measured call.
    pub(crate) fn end(&self, call: Call, begun: Time) {
        if let Some(activity) = self.activity() {
            activity.end(call, begun);
        }
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.engine.fmt(f)
    }
}

impl Db {
    pub(crate) fn activity(&self) -> Option<&Arc<Activity>> {
        self.inner.activity()
    }

    /// The system that the store is open under.
    #[must_use]
    pub fn system(&self) -> System {
        self.inner.system
    }

    /// The options that shape tables, as the store remembers them. `None`: the option was never
    /// stated, and has its default; [`TableOptions::shape`] has the values.
    #[must_use]
    pub fn table_options(&self) -> TableOptions {
        self.inner.engine.table_options()
    }

    /// Changes the stated options that shape tables, for now and for later openings. The change is
    /// durable when this returns. New tables are made with them; an existing table keeps its form
    /// until it is compacted.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use terrace::{Compression, Db, MemoryStore, Options, TableOptions};
    /// # fn main() -> Result<(), terrace::Error> {
    /// let store = Arc::new(MemoryStore::new());
    /// let db = Db::open(store.clone(), Options::default().compression(Compression::Lz4))?;
    /// db.close()?;
    /// let db = Db::open(store, Options::default())?;
    /// assert_eq!(db.table_options().compression, Some(Compression::Lz4.into()));
    /// let compression = Some(Compression::Zstd.into());
    /// db.set_table_options(TableOptions { compression, ..TableOptions::default() })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_table_options(&self, tables: TableOptions) -> Result<(), Error> {
        Ok(self.inner.engine.set_table_options(tables)?)
    }

    /// Bytes of keys and values that can live in the store, and be overwritten in random order
    /// without end ([`System::live_max`]). With more, a write may find no space, until something is
    /// deleted.
    #[must_use]
    pub fn live_max(&self) -> ByteCount {
        self.inner.live_max
    }

    /// Approximate bytes that compactions write for each flushed byte, if `live` bytes live in the
    /// store: a closed form of its system ([`System::write_amplification`]).
    #[must_use]
    pub fn write_amplification(&self, live: ByteCount) -> f64 {
        self.inner.system.write_amplification(&self.inner.shape, live)
    }

    /// Size of its memtables: that of the [`Options`](crate::Options), or one that fits the store,
    /// limited by the memory budget.
    #[must_use]
    pub fn memtable_size(&self) -> ByteCount {
        self.inner.memtable_size
    }

    /// The mounted file system, if the store is on a device: for its zones and its reclaim.
    #[must_use]
    pub fn fs(&self) -> Option<&Arc<Fs>> {
        self.inner.below.fs()
    }

    /// The store of files below.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        self.inner.engine.store()
    }

    /// Files with names in the same volume, on devices or in a directory. They share its space with
    /// the keys, and are no part of checkpoints and backups. Each call returns other handles of the
    /// same files, and two handles do not order calls for the same name.
    ///
    /// A new file is of the kind [`FileKind::Client`](terrace_env::store::FileKind). Its commit and
    /// a write of keys are two steps: write the file first, and then the key that names it. A file
    /// that finds no space waits for background jobs, if these can free some, as a write of keys
    /// does.
    #[must_use]
    pub fn files(&self) -> NamedFiles {
        let room = FileRoom::of(&self.inner, self.fs().is_some());
        NamedFiles::next_to_keys(Arc::clone(self.store()), room)
    }

    /// The socket of the [live window](crate::live), or the reason why there is none; `None` if
    /// [`Options::live`](field@crate::Options::live) did not ask for one.
    #[must_use]
    pub fn live_socket(&self) -> Option<Result<&Path, Error>> {
        let window = self.inner.window.as_ref()?;
        Some(window.as_ref().map(Window::socket).map_err(Clone::clone))
    }

    /// Writes `value` under `key`.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.default.put(key, value)
    }

    /// Removes `key`; no effect if it has no value.
    pub fn delete(&self, key: &[u8]) -> Result<(), Error> {
        self.default.delete(key)
    }

    /// Removes all keys of the range, by one write for any number of keys. They are gone at once,
    /// and their space is freed in the background: almost without reads and writes, if whole tables
    /// lie in the range. Snapshots still see them, and keep their space.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use terrace::{Bounds, Db, MemoryStore, Options};
    /// # fn main() -> Result<(), terrace::Error> {
    /// let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
    /// for key in [b"log/1", b"log/2", b"log/3"] {
    ///     db.put(key, b"")?;
    /// }
    /// db.delete_range(b"log/1".as_slice()..b"log/3")?;
    /// assert_eq!(db.scan(..)?.count(), 1);
    /// db.delete_range(Bounds::prefix(b"log/"))?;
    /// assert_eq!(db.scan(..)?.count(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn delete_range(&self, bounds: impl Into<Bounds>) -> Result<(), Error> {
        self.default.delete_range(bounds)
    }

    /// The value under `key`.
    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        self.default.get(key)
    }

    /// Whether there is a value under `key`. Reads like [`get`](Self::get), and copies no value.
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        self.default.contains(key)
    }

    /// The values under several keys, in the order in which the keys are given, all at one moment.
    /// A key may come twice.
    ///
    /// A block with several of the keys is mostly read once. On a drive, up to 32 blocks are read
    /// at a time: so 32 keys at once take a sixth of the time on flash and a third on a disk
    /// (`docs/decisions/0020-submitted-reads.md`).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use terrace::{Db, MemoryStore, Options};
    /// # fn main() -> Result<(), terrace::Error> {
    /// let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
    /// db.put(b"apple", b"red")?;
    /// db.put(b"banana", b"yellow")?;
    /// let found = db.multi_get(&["banana", "cherry", "apple"])?;
    /// assert_eq!(found, [Some("yellow".into()), None, Some("red".into())]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Bytes>>, Error> {
        self.default.multi_get(keys)
    }

    /// The keys and values in the range, in order, as they are now; later writes do not change
    /// them.
    ///
    /// `scan.rev()` gives them backward. A scan pins the files that it reads: kept for long, it
    /// keeps space from being freed.
    pub fn scan(&self, bounds: impl Into<Bounds>) -> Result<Scan, Error> {
        self.default.scan(bounds)
    }

    /// Entries of the range that are certainly right although tables are damaged, in order, and a
    /// list of the ranges that are left out: all keys whose newest version may have been in a
    /// damaged block, so that no stale version is shown. (A scan ends at the first damaged block
    /// instead.) All tables of the range are read and verified before it returns.
    pub fn salvage(&self, bounds: impl Into<Bounds>) -> Result<Salvage, Error> {
        self.default.salvage(bounds)
    }

    /// Walks the keys in the range in both directions, as they are now; later writes do not change
    /// them. It pins the files that it reads, like a scan.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use terrace::{Db, MemoryStore, Options};
    /// # fn main() -> Result<(), terrace::Error> {
    /// let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
    /// for key in [b"a", b"c", b"e"] {
    ///     db.put(key, b"")?;
    /// }
    /// let mut cursor = db.cursor(..)?;
    /// assert!(cursor.seek(b"b")?);
    /// assert_eq!(cursor.key(), b"c");
    /// assert!(cursor.prev()?);
    /// assert_eq!(cursor.key(), b"a");
    /// assert!(!cursor.prev()?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn cursor(&self, bounds: impl Into<Bounds>) -> Result<Cursor, Error> {
        self.default.cursor(bounds)
    }

    /// Applies a batch as a whole, with the [durability](Self::durability) of this handle.
    pub fn write(&self, batch: Batch) -> Result<(), Error> {
        self.write_with(batch, self.durability())
    }

    /// Applies a batch as a whole, with its own durability.
    pub fn write_with(&self, batch: Batch, durability: Durability) -> Result<(), Error> {
        let batch = batch.of(self.inner.identity)?;
        Ok(self.inner.measured(Call::Write, || self.inner.engine.write(batch, durability))?)
    }

    /// Durability of writes by this handle: that of the [`Options`](crate::Options), unless the
    /// handle was made by [`with_durability`](Self::with_durability).
    #[must_use]
    pub fn durability(&self) -> Durability {
        self.default.handling.durability
    }

    /// The same store: the returned handle, and key spaces from it, write with this durability.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use terrace::{Db, Durability, MemoryStore, Options};
    /// # fn main() -> Result<(), terrace::Error> {
    /// let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
    /// let safe = db.with_durability(Durability::Synced);
    /// safe.put(b"order 7", b"paid")?;
    /// db.put(b"last seen", b"12:07")?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_durability(&self, durability: Durability) -> Self {
        Self { default: self.default.with_durability(durability), ..self.clone() }
    }

    /// The same store: the returned handle, and key spaces and snapshots from it, read with these
    /// options.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use terrace::{Db, MemoryStore, Options, ReadOptions};
    /// # fn main() -> Result<(), terrace::Error> {
    /// let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
    /// // Once a night every key is read: blocks that are read all day stay in the cache.
    /// let nightly = db.with_read_options(ReadOptions::default().fill_cache(false));
    /// assert_eq!(nightly.get(b"key")?, None);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_read_options(&self, options: ReadOptions) -> Self {
        Self { default: self.default.with_read_options(options), ..self.clone() }
    }

    /// Makes all earlier writes durable. If a write is in no log ([`Durability::Unlogged`]), that
    /// is a [`flush`](Self::flush).
    pub fn sync(&self) -> Result<(), Error> {
        Ok(self.inner.engine.sync()?)
    }

    /// A view of the store at this moment, for later reads.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let (inner, of) = (self.inner.engine.snapshot(), self.inner.identity);
        Snapshot { inner, of, reads: self.default.handling.reads }
    }

    /// Writes all entries that are only in memory and log into tables, and waits for it.
    pub fn flush(&self) -> Result<(), Error> {
        Ok(self.inner.engine.flush()?)
    }

    /// Merges the range of the default key space until no key is in several runs, and waits for it.
    /// Then overwritten and deleted entries are gone, except those that a snapshot saw at their
    /// last merge. Entries that come meanwhile need not be merged, so that it ends although writers
    /// go on.
    pub fn compact(&self, bounds: impl Into<Bounds>) -> Result<(), Error> {
        self.default.compact(bounds)
    }

    /// The same for all key spaces.
    pub fn compact_all(&self) -> Result<(), Error> {
        Ok(self.inner.engine.compact_all()?)
    }

    /// Begins an ingest: sorted input goes into tables directly, in bounded memory, and becomes
    /// visible as a whole when it is finished. Several may run at once.
    pub fn ingest(&self) -> Result<Ingest, Error> {
        Ok(Ingest { inner: self.inner.engine.ingest()?, of: self.inner.identity })
    }

    /// Ranges of keys whose tables were lost with the offload device
    /// ([`open_without_offload`](Self::open_without_offload)). A key in one of them has an older
    /// value than the last one, or none, unless it was written since.
    #[must_use]
    pub fn lost_ranges(&self) -> &[LostRange] {
        self.inner.engine.lost_ranges()
    }

    /// Waits until no background work is left.
    pub fn wait_idle(&self) -> Result<(), Error> {
        Ok(self.inner.engine.wait_idle()?)
    }

    /// Adds a listener for events in the background: jobs that begin and end, writers that wait,
    /// failures.
    pub fn listen(&self, listener: Arc<dyn Listener>) {
        self.inner.engine.listen(listener);
    }

    /// Goes on after a failure that stopped all writing, once its cause is gone. While stopped,
    /// reads work, writes return the failure, and [`stats`](Self::stats) names it.
    ///
    /// When it returns `Ok`, all earlier writes are durable; a write that the failure refused has
    /// taken effect as a whole or not at all. If nothing has failed, the call changes nothing. The
    /// store stays stopped if the cause is not gone, or lies in the file system, which must then be
    /// mounted again. After an error with [`is_space`](Error::is_space), it goes on, and writes
    /// wait for space.
    pub fn resume(&self) -> Result<(), Error> {
        Ok(self.inner.engine.resume()?)
    }

    /// The error with which any write would be refused now: writing has stopped after a failure, or
    /// the store is closed or only read. So a program can spare itself work for a write.
    pub fn check_writable(&self) -> Result<(), Error> {
        Ok(self.inner.engine.check_writes()?)
    }

    /// Reads every table and checks its checksums, its order and its record. Ends at the first
    /// defect. [`Fs::check`](terrace_fs::Fs::check) checks the structures below: metadata, logs,
    /// zones.
    pub fn verify(&self) -> Result<Verified, Error> {
        Ok(self.inner.engine.verify()?)
    }

    /// The metrics.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.inner.engine.stats()
    }

    /// Makes everything durable, ends the background jobs, and closes the layer below, so that the
    /// store can be opened again, by this process or another. Remaining clones, key spaces,
    /// snapshots, scans, cursors and ingests return [`Closed`](crate::ErrorKind::Closed) from then
    /// on. A drop of the last clone and key space does the same, but only hands the last writes to
    /// the operating system or the drive: a power cut may take back unsynced writes.
    pub fn close(self) -> Result<(), Error> {
        if let Some(Ok(window)) = &self.inner.window {
            window.close();
        }
        #[cfg(feature = "async")]
        self.inner.submissions.refuse();
        let closed = self.inner.engine.close();
        #[cfg(feature = "async")]
        self.inner.submissions.join();
        self.inner.below.close();
        Ok(closed?)
    }
}
