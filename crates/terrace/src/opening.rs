//! Opening a [`Db`]: from a device, a directory, a mounted file system or a store of files.
//!
//! - The system is the requested one, or else the remembered one, or, in a new store, the default
//!   one. If none is requested, and this version does not know the remembered one, the opening
//!   fails.
//! - Options are checked against the store before the engine starts. [`Db::open_directory`] first
//!   checks those that do not depend on the size of the store: then it makes no directory.
//! - If an opening fails, everything that it opened is closed again. A mounted file system that was
//!   passed to it is unmounted.
//! - [`Db::create_device`] checks the options, formats the device, and then opens the store. If the
//!   opening fails, the old data of the device is lost nevertheless.
//!
//! An opening does its work in the thread of its caller, and may read and replay all logs.

use std::path::Path;
use std::sync::Arc;

use terrace_env::{ByteCount, Store, runner};
use terrace_fs::dir::{DirOptions, DirStore};
use terrace_fs::{Access, CachePolicy, Devices, FormatOptions, Fs, MountOptions};
use terrace_lsm::{Durability, Engine, KeySpaceId, ReadOptions, remembered_system};
use terrace_policy::{NoZones, StoreShape, System, ZonesSource};
use terrace_zone::Device;

use crate::below::Below;
use crate::db::Inner;
use crate::identity::Identity;
use crate::key_space::Handling;
use crate::live::{Activity, Viewed, Window};
use crate::{Db, Error, KeySpace, Options};

impl Db {
    /// Opens a store of files; an empty one becomes an empty `Db`.
    pub fn open(store: Arc<dyn Store>, options: Options) -> Result<Self, Error> {
        Self::start(store, Below::Store, &options)
    }

    /// Opens a directory, which is created if it does not exist.
    pub fn open_directory(path: impl AsRef<Path>, options: Options) -> Result<Self, Error> {
        options.check_alone()?;
        let access = access(&options);
        let store = DirStore::open(path, DirOptions { access })?;
        Self::start(Arc::clone(&store) as _, Below::Directory(store), &options)
    }

    /// Formats a zoned device as an empty store, and opens it; or a zoned device and a plain one,
    /// which gets the journal and the logs. All data on them is lost.
    pub fn create_device(
        devices: impl Into<Devices>,
        format: &FormatOptions,
        options: Options,
    ) -> Result<Self, Error> {
        let devices = devices.into();
        options.check_device(&**devices.tables())?;
        Fs::format(devices.clone(), format)?;
        Self::open_device(devices, options)
    }

    /// Mounts the device, or devices, of a store, and opens it.
    pub fn open_device(devices: impl Into<Devices>, options: Options) -> Result<Self, Error> {
        let access = access(&options);
        let fs = Fs::mount(devices, &MountOptions { access, ..MountOptions::default() })?;
        Self::start(Arc::clone(&fs) as _, Below::Device(fs), &options)
    }

    /// Opens the remainder of a store whose offload device is lost.
    /// [`lost_ranges`](Self::lost_ranges) has the keys of the lost tables. Unless it is opened for
    /// reading, the store is on `tables` only from now on: it does not take the offload device
    /// back.
    pub fn open_without_offload(tables: Arc<dyn Device>, options: Options) -> Result<Self, Error> {
        let read_only = options.read_only;
        let db = Self::open_device(Devices::without_offload(tables)?, options)?;
        if let Some(fs) = db.fs().filter(|_| !read_only) {
            fs.forget_offload()?;
        }
        Ok(db)
    }

    /// Opens the store in a mounted file system, and unmounts it when the store is closed.
    pub fn open_fs(fs: Arc<Fs>, options: Options) -> Result<Self, Error> {
        let store: Arc<dyn Store> = Arc::clone(&fs) as _;
        Self::open_fs_through(fs, store, options)
    }

    /// The same, with `store` between it and the engine: for measurements, and for injected faults.
    /// `store` passes calls on to the file system.
    pub fn open_fs_through(
        fs: Arc<Fs>,
        store: Arc<dyn Store>,
        options: Options,
    ) -> Result<Self, Error> {
        let opened = Self::start(store, Below::Mounted(Arc::clone(&fs)), &options);
        if opened.is_err() {
            fs.unmount();
        }
        opened
    }

    /// Starts the engine on an opened store of files.
    pub(crate) fn start(
        store: Arc<dyn Store>,
        below: Below,
        options: &Options,
    ) -> Result<Self, Error> {
        let fs = below.fs();
        let system = match options.system {
            Some(system) => system,
            None => remembered(&*store)?,
        };
        let capacity = store.space().capacity;
        // An accepted value must be accepted again, so its limit follows from a capacity that never
        // changes; the same holds for memtables.
        let whole = fs.map_or(capacity, |fs| fs.device_capacity());
        let guard = fs.map_or(ByteCount(0), |fs| fs.guard_max());
        let whole = options.shape(whole, fs.and_then(|fs| fs.zone_capacity()), guard);
        options.check(&system, &whole)?;
        let kept = fs.map_or(ByteCount(0), |fs| fs.kept_on_tracks());
        let shape = StoreShape { capacity, kept, ..whole };
        let engine = options.engine(&system, &shape).fitted();
        if let Some(fs) = fs {
            fs.decide_by(system.placement(), system.reclaim());
            fs.set_io_size(engine.io_size);
            fs.set_log_frame(engine.log_frame());
            fs.set_cache(options.file_cache, CachePolicy::default());
        }
        let zones: Arc<dyn ZonesSource> = match fs {
            Some(fs) => Arc::clone(fs) as _,
            None => Arc::new(NoZones),
        };
        let decider = system.compaction(&shape, zones);
        let memtable_size = engine.memtable_size;
        let engine = Arc::new(Engine::open(store, decider, engine)?);
        #[cfg(feature = "tracing")]
        engine.listen(Arc::new(crate::tracer::Tracer::new()));
        let durability = options.durability.unwrap_or_else(|| match engine.store().log_unit() {
            ByteCount(0) => Durability::Written,
            _ => Durability::Gathered,
        });
        let mut live_max = system.live_max(&shape);
        if fs.is_none() {
            // Others write to the host's file system, too: the store has the remaining space.
            let space = engine.store().space();
            live_max = live_max.min(ByteCount(space.free.0 + space.live.0));
        }
        let identity = Identity::new();
        let window = None;
        let mut inner = Inner {
            window,
            #[cfg(feature = "async")]
            submissions: crate::asynchronous::Submissions::new(),
            engine,
            below,
            identity,
            system,
            shape,
            live_max,
            memtable_size,
        };
        inner.window = options
            .live
            .as_deref()
            .filter(|_| !options.read_only)
            .and_then(|path| inner.offer(path));
        let inner = Arc::new(inner);
        let (id, name) = (KeySpaceId::DEFAULT, "default".into());
        let handling = Handling { reads: ReadOptions::default(), durability };
        let default = KeySpace { inner: Arc::clone(&inner), id, name, handling };
        Ok(Self { inner, default })
    }
}

impl Inner {
    /// Offers a live window at the path of the store; none in a simulation.
    fn offer(&self, path: &Path) -> Option<Result<Window, Error>> {
        if runner::is_simulated() {
            return None;
        }
        let activity = Arc::new(Activity::new());
        self.engine.listen(Arc::clone(&activity) as _);
        Some(Window::open(path, Viewed::of(self), activity))
    }
}

/// The system of the last opening of the store.
fn remembered(store: &dyn Store) -> Result<System, Error> {
    match remembered_system(store)?.as_deref() {
        None | Some("") => Ok(System::default()),
        Some(text) => text.parse().map_err(Error::unknown_system),
    }
}

fn access(options: &Options) -> Access {
    if options.read_only { Access::ReadOnly } else { Access::ReadWrite }
}
