//! [`Db`]: a store that is open.
//!
//! - Clones are the same store, and any thread may use them. A call may wait for the device, for
//!   background jobs and for other writers.
//! - A store is open for writing once at a time, or for reading only any number of times.
//! - [`Db::close`] makes everything durable, and closes the store for all clones. If the last clone
//!   and key space are dropped instead, writes that were not synced are handed to the medium, an
//!   error is not reported, and a power cut can take them back.
//!
//! How a store is opened is in `opening`.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use terrace_env::{ByteCount, Store};
use terrace_fs::dir::DirStore;
use terrace_fs::{Devices, FormatOptions, Fs, MountOptions};
use terrace_lsm::{
    Bounds, Checkpointed, Durability, Engine, KeySpaceId, Listener, LostRange, ReadOptions, Stats,
    TableOptions, Verified, mark_of_unfinished_copy,
};
use terrace_policy::{StoreShape, System};

use crate::below::Below;
use crate::identity::Identity;
use crate::live::{Call, Window};
use crate::{Batch, Cursor, Error, Ingest, KeySpace, Salvage, Scan, Snapshot};

/// A key-value store. Cheap to clone; all clones are the same store, and its jobs end with the last
/// of them. All methods may be called from any thread.
///
/// A store is open once: to open it again, by whatever handle or path, is refused until it is
/// closed or dropped; only for reading it can be opened any number of times. A [`KeySpace`] is of
/// the opening that it was asked of, and refused by others.
///
/// The methods that take a key mean the default key space; [`KeySpace`] has them for the others.
#[derive(Clone, Debug)]
pub struct Db {
    pub(crate) inner: Arc<Inner>,
    pub(crate) default: KeySpace,
}

pub(crate) struct Inner {
    // Before the engine, which its clients use.
    pub(crate) window: Option<Result<Window, Error>>,
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
    /// Makes a call, and measures it if a client of the live window looks.
    pub(crate) fn measured<T>(&self, call: Call, work: impl FnOnce() -> T) -> T {
        let Some(Ok(window)) = &self.window else { return work() };
        let Some(begun) = window.activity().begin(call) else { return work() };
        let done = work();
        window.activity().end(call, begun);
        done
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.engine.fmt(f)
    }
}

impl Db {
    /// The system that the store is open under.
    #[must_use]
    pub fn system(&self) -> System {
        self.inner.system
    }

    /// The options that shape tables, as the store remembers them. `None`: the option was never
    /// stated, and the default counts; [`TableOptions::shape`] has the values.
    #[must_use]
    pub fn table_options(&self) -> TableOptions {
        self.inner.engine.table_options()
    }

    /// Changes those options that shape tables which are stated, for now and for later openings. It
    /// is durable when this returns. New tables are made with them; a table that is there keeps its
    /// form until it is compacted.
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
    /// without end ([`System::live_max`]). Beyond that a write may find no space, until something
    /// is deleted.
    #[must_use]
    pub fn live_max(&self) -> ByteCount {
        self.inner.live_max
    }

    /// Bytes that compactions write for one that is flushed, about, where `live` bytes live in the
    /// store: a closed form of its system ([`System::write_amplification`]).
    #[must_use]
    pub fn write_amplification(&self, live: ByteCount) -> f64 {
        self.inner.system.write_amplification(&self.inner.shape, live)
    }

    /// The size of its memtables: that of the [`Options`](crate::Options), or what fits the store,
    /// and no more than its memory budget has room for.
    #[must_use]
    pub fn memtable_size(&self) -> ByteCount {
        self.inner.memtable_size
    }

    /// The mounted file system, where the store is on a device: for its zones and its reclaim.
    #[must_use]
    pub fn fs(&self) -> Option<&Arc<Fs>> {
        self.inner.below.fs()
    }

    /// The store of files below.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        self.inner.engine.store()
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

    /// Removes what is under `key`; nothing happens if nothing is.
    pub fn delete(&self, key: &[u8]) -> Result<(), Error> {
        self.default.delete(key)
    }

    /// Removes everything in the range, by one write, however much it is: it is gone at once, and
    /// its space comes back in the background, where whole tables lie in the range almost without
    /// reading or writing anything. Snapshots go on seeing it, and keep its space.
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

    /// Whether there is a value under `key`. It reads what [`get`](Self::get) reads, and copies no
    /// value.
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        self.default.contains(key)
    }

    /// The values under several keys, in the order in which the keys are given, all at one moment.
    /// A key may come twice.
    ///
    /// A block that holds several of the keys is mostly read once. On a drive, up to 32 blocks are
    /// read at a time, so that reading 32 keys at once takes a sixth of the time on flash and a
    /// third on a disk (`docs/decisions/0020-submitted-reads.md`).
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

    /// The keys and values in the range, in order, as they are now, whatever is written meanwhile.
    ///
    /// `scan.rev()` gives them backward. A scan pins what it reads: kept for long, it keeps space
    /// from being freed.
    pub fn scan(&self, bounds: impl Into<Bounds>) -> Result<Scan, Error> {
        self.default.scan(bounds)
    }

    /// Entries of the range that can be read for certain though tables are damaged, in order, and a
    /// list of the ranges that are left out: all keys of which a damaged block may have held the
    /// newest version, so that nothing stale is shown. A scan ends at the first damaged block
    /// instead. All tables of the range are read and verified before it returns.
    pub fn salvage(&self, bounds: impl Into<Bounds>) -> Result<Salvage, Error> {
        self.default.salvage(bounds)
    }

    /// Walks the keys in the range in both directions, as they are now, whatever is written
    /// meanwhile. It pins what it reads, as a scan does.
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

    /// The same store, written with this durability by the handle that is returned, and by the key
    /// spaces that are asked of it.
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

    /// The same store, read with these options by the handle that is returned, and by the key
    /// spaces and snapshots that are asked of it.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use terrace::{Db, MemoryStore, Options, ReadOptions};
    /// # fn main() -> Result<(), terrace::Error> {
    /// let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
    /// // Once a night every key is read: what is read all day stays in the cache.
    /// let nightly = db.with_read_options(ReadOptions::default().fill_cache(false));
    /// assert_eq!(nightly.get(b"key")?, None);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_read_options(&self, options: ReadOptions) -> Self {
        Self { default: self.default.with_read_options(options), ..self.clone() }
    }

    /// Makes everything that was written so far durable. Where something is in no log
    /// ([`Durability::Unlogged`]), that is a [`flush`](Self::flush).
    pub fn sync(&self) -> Result<(), Error> {
        Ok(self.inner.engine.sync()?)
    }

    /// The key space of this name, made if there is none. Names have 1 to 255 bytes.
    pub fn create_key_space(&self, name: &str) -> Result<KeySpace, Error> {
        let id = self.inner.engine.create_key_space(name)?;
        Ok(KeySpace { id, name: name.into(), ..self.default.clone() })
    }

    /// The key space of this name; an error of the kind
    /// [`UnknownKeySpace`](crate::ErrorKind::UnknownKeySpace) if there is none.
    pub fn key_space(&self, name: &str) -> Result<KeySpace, Error> {
        match self.inner.engine.key_space(name) {
            Some(id) => Ok(KeySpace { id, name: name.into(), ..self.default.clone() }),
            None => Err(Error::unknown_key_space(name, self.key_spaces())),
        }
    }

    /// Drops the key space of this name and everything in it, for snapshots as well; `false` if
    /// there is none. The default one cannot be dropped.
    ///
    /// It is gone at once and for good, atomically: a power cut in between leaves all of it or
    /// nothing. Handles of it that are still about return
    /// [`UnknownKeySpace`](crate::ErrorKind::UnknownKeySpace); scans and cursors that were opened
    /// before go on. A new key space may have its name. Its space comes back in the background.
    pub fn drop_key_space(&self, name: &str) -> Result<bool, Error> {
        Ok(self.inner.engine.drop_key_space(name)?)
    }

    /// The names of all key spaces in the order in which they were made; the first is `default`.
    #[must_use]
    pub fn key_spaces(&self) -> Vec<String> {
        self.inner.engine.key_spaces().into_iter().map(|(_, name)| name).collect()
    }

    /// The name of a key space, if there is one of this number.
    #[must_use]
    pub fn key_space_name(&self, id: KeySpaceId) -> Option<String> {
        self.inner.engine.key_space_name(id)
    }

    /// A view of the store as it is now, for later reads.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let (inner, of) = (self.inner.engine.snapshot(), self.inner.identity);
        Snapshot { inner, of, reads: self.default.handling.reads }
    }

    /// Writes what is only in memory and log into tables, and waits for it.
    pub fn flush(&self) -> Result<(), Error> {
        Ok(self.inner.engine.flush()?)
    }

    /// Merges what is in the range of the default key space until no key is in several runs, and
    /// waits for it. Overwritten and deleted entries are gone then, except those that a snapshot
    /// saw when they were merged last.
    pub fn compact(&self, bounds: impl Into<Bounds>) -> Result<(), Error> {
        self.default.compact(bounds)
    }

    /// The same for everything in all key spaces.
    pub fn compact_all(&self) -> Result<(), Error> {
        Ok(self.inner.engine.compact_all()?)
    }

    /// Begins an ingest: sorted input goes into tables directly, in bounded memory, and becomes
    /// visible as a whole when it is finished. Several may be under way at once.
    pub fn ingest(&self) -> Result<Ingest, Error> {
        Ok(Ingest { inner: self.inner.engine.ingest()?, of: self.inner.identity })
    }

    /// Copies everything that is there now into an empty store of files, while writes go on. Tables
    /// are copied as they are, and every checksum in them is verified on the way. One transaction
    /// at the end makes the target a store like this one. Before that it is marked as an unfinished
    /// copy, which cannot be opened ([`UnfinishedCopy`](crate::ErrorKind::UnfinishedCopy)), also
    /// after a power cut, and which another checkpoint completes. After an error the target is
    /// empty again, or such a copy if the error is one of the target itself. Writers wait for the
    /// flush of what was written while the rest was flushed.
    pub fn checkpoint(&self, target: Arc<dyn Store>) -> Result<Checkpointed, Error> {
        self.checkpoint_watched(target, &mut |_, _| {})
    }

    /// Like [`checkpoint`](Self::checkpoint), and tells how far it is: bytes done, and bytes to do
    /// in all.
    pub fn checkpoint_watched(
        &self,
        target: Arc<dyn Store>,
        progress: &mut dyn FnMut(ByteCount, ByteCount),
    ) -> Result<Checkpointed, Error> {
        Ok(self.inner.engine.checkpoint(&*target, progress)?)
    }

    /// The same, into a directory that is empty or not there, or holds an unfinished copy. A new
    /// store there is marked from the start, and stays an unfinished copy after an error.
    pub fn checkpoint_directory(&self, path: impl AsRef<Path>) -> Result<Checkpointed, Error> {
        self.checkpoint(DirStore::open_annotated(path, mark_of_unfinished_copy())?)
    }

    /// The same, onto a device of any kind, or one and a plain one, which are formatted first. All
    /// data on them is lost. If the copy fails, they are blank: no store is found on them. The
    /// `annotation` of the options is not used.
    pub fn checkpoint_device(
        &self,
        devices: impl Into<Devices>,
        format: &FormatOptions,
    ) -> Result<Checkpointed, Error> {
        let devices = devices.into();
        let annotation = mark_of_unfinished_copy();
        Fs::format(devices.clone(), &FormatOptions { annotation, ..format.clone() })?;
        let mounted = Fs::mount(devices.clone(), &MountOptions::default());
        let copied = mounted.map_err(Error::from).and_then(|fs| {
            let copied = self.checkpoint(Arc::clone(&fs) as Arc<dyn Store>);
            fs.unmount();
            copied
        });
        if copied.is_err() {
            // The error of the copy says more than one of this.
            let _ = Fs::erase(devices);
        }
        copied
    }

    /// Ranges of keys of which tables were lost with the offload device
    /// ([`open_without_offload`](Self::open_without_offload)). A key in one of them has an older
    /// value than the last one, or none, unless it was written since.
    #[must_use]
    pub fn lost_ranges(&self) -> &[LostRange] {
        self.inner.engine.lost_ranges()
    }

    /// Waits until nothing is left to be done in the background.
    pub fn wait_idle(&self) -> Result<(), Error> {
        Ok(self.inner.engine.wait_idle()?)
    }

    /// From now on tells the listener what happens in the background: jobs that begin and end,
    /// writers that wait, failures.
    pub fn listen(&self, listener: Arc<dyn Listener>) {
        self.inner.engine.listen(listener);
    }

    /// Goes on after a failure that stopped all writing, once its reason is gone. While stopped,
    /// reads work, writes return the failure, and [`stats`](Self::stats) names it.
    ///
    /// When it returns `Ok`, everything written so far is durable; a write that was refused by the
    /// failure is there as a whole or not at all. If nothing has failed, nothing happens. If the
    /// reason is not gone, or lies in the file system, which then has to be mounted again, the
    /// store stays stopped. An error that [`is_space`](Error::is_space) says that it goes on, and
    /// that writes wait for space.
    pub fn resume(&self) -> Result<(), Error> {
        Ok(self.inner.engine.resume()?)
    }

    /// Reads every table and checks its checksums, its order and that it holds what is recorded of
    /// it. Ends at the first thing that is wrong. [`Fs::check`](terrace_fs::Fs::check) checks the
    /// structures below: metadata, logs, zones.
    pub fn verify(&self) -> Result<Verified, Error> {
        Ok(self.inner.engine.verify()?)
    }

    /// The metrics.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.inner.engine.stats()
    }

    /// Makes everything durable, ends the background jobs, and gives up what the store lies on, so
    /// that it can be opened again, by this process or another. Clones, key spaces, snapshots,
    /// scans, cursors and ingests that are left return [`Closed`](crate::ErrorKind::Closed) from
    /// then on. Dropping the last clone and key space does the same, but the last writes are then
    /// only handed to the operating system or the drive: a power cut may take back writes that were
    /// not synced.
    pub fn close(self) -> Result<(), Error> {
        if let Some(Ok(window)) = &self.inner.window {
            window.close();
        }
        let closed = self.inner.engine.close();
        self.inner.below.close();
        Ok(closed?)
    }
}
