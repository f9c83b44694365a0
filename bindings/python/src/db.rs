//! [`Db`]: a store, opened by [`open`]; and [`create_image`], which makes an emulated drive.
//!
//! A path is a directory, the image of an emulated drive, or a block device.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use terrace::device::{Access, DriveAt};
use terrace::{
    ByteCount, Devices, Durability, Emulator, ErrorKind, FormatOptions, Fs, Geometry,
    KeySpaceOptions,
};
use terrace_env::runner;

use crate::counter::Amounts;
use crate::error::{Error, NotFoundError, Raise, invalid};
use crate::filter;
use crate::held::Held;
use crate::input::Input;
use crate::key_space::KeySpace;
use crate::opened::{Counted, Opened};
use crate::options::{Keywords, level_compression};
use crate::snapshot::Snapshot;
use crate::transaction::Transaction;
use crate::ttl::Ttl;

/// A store. Its own reads and writes are those of the key space `default`.
#[pyclass(module = "terrace", extends = KeySpace, frozen)]
pub(crate) struct Db {
    db: Held<Counted<terrace::Db>>,
    path: PathBuf,
}

/// Opens the store at a path: a directory, which is created if it does not exist and `create` is
/// True; or an image or a block device that was formatted.
#[pyfunction]
#[pyo3(signature = (path, *, create=true, read_only=false, system=None, durability=None,
                    memory=None, memtable_size=None, block_size=None, compression=None,
                    filter_bits=None, first_keys=None, compaction_rate=None,
                    map_tables=None, compaction_filter=None, counters=false, append=None,
                    live=false))]
#[expect(clippy::too_many_arguments, reason = "options by keyword")]
pub(crate) fn open<'py>(
    py: Python<'py>,
    path: PathBuf,
    create: bool,
    read_only: bool,
    system: Option<String>,
    durability: Option<String>,
    memory: Option<u64>,
    memtable_size: Option<u64>,
    block_size: Option<u64>,
    compression: Option<String>,
    filter_bits: Option<u8>,
    first_keys: Option<bool>,
    compaction_rate: Option<u64>,
    map_tables: Option<bool>,
    compaction_filter: Option<Bound<'py, PyAny>>,
    counters: bool,
    append: Option<Input>,
    live: bool,
) -> PyResult<Bound<'py, Db>> {
    let mut options = Keywords {
        read_only,
        system,
        durability,
        memory,
        memtable_size,
        block_size,
        compression,
        filter_bits,
        first_keys,
        compaction_rate,
        map_tables,
        counters,
        append: append.map(|separator| separator.to_vec()),
    }
    .options()?;
    if let Some(filters) = compaction_filter {
        options = filter::add(options, &filters)?;
    }
    if live {
        options = options.live(&path);
    }
    let opened = Opened::new()?;
    let is_drive = path.exists() && !path.is_dir();
    if !create && !path.exists() {
        let message =
            format!("{}: expected a store, an image or a device, found nothing", path.display());
        return Err(NotFoundError::new_err(message));
    }
    let result = py.detach(|| match is_drive {
        true => open_drive(&path, options),
        false => terrace::Db::open_directory(&path, options),
    });
    let db = result.map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::InUse => "; `terrace.open_reader` reads it meanwhile",
            _ => "",
        };
        worded(py, &error, format!("{}: {error}{hint}", path.display()))
    })?;
    let space = py.detach(|| db.key_space("default")).or_raise(py)?;
    let db = Counted::new(db, opened);
    let parts = PyClassInitializer::from(KeySpace::new(&db, space, Amounts::of(&db)));
    Bound::new(py, parts.add_subclass(Db { db: Held::new(db), path }))
}

fn open_drive(path: &Path, options: terrace::Options) -> Result<terrace::Db, terrace::Error> {
    let access = if options.read_only { Access::ReadOnly } else { Access::ReadWrite };
    let drive = DriveAt::open(path, access)?;
    let device = drive.into_device(false).expect("only unsynced images can be refused");
    terrace::Db::open_device(Devices::from(device), options)
}

/// The exception of an error of the path.
pub(crate) fn named(py: Python<'_>, path: &Path, error: &terrace::Error) -> PyErr {
    worded(py, error, format!("{}: {error}", path.display()))
}

/// The exception of an error, with another message.
fn worded(py: Python<'_>, error: &terrace::Error, message: String) -> PyErr {
    let raised = crate::error::raised(py, error);
    let class = raised.get_type(py);
    let kind = raised.value(py).getattr("kind");
    match class.call1((message,)) {
        Ok(value) => {
            if let Ok(kind) = kind {
                // An exception without the attribute is still the right one.
                let _ = value.setattr("kind", kind);
            }
            PyErr::from_value(value)
        }
        Err(_) => raised,
    }
}

/// Makes the image of an emulated zoned drive in a sparse file, and an empty store on it. The file
/// must not exist yet; it is removed again if it cannot be formatted. Sizes are in bytes; without
/// `zone_size` a zone has 16 MiB.
#[pyfunction]
#[pyo3(signature = (path, size, *, zone_size=16 << 20))]
pub(crate) fn create_image(
    py: Python<'_>,
    path: PathBuf,
    size: u64,
    zone_size: u64,
) -> PyResult<()> {
    let zones = size.checked_div(zone_size).unwrap_or(0);
    if zones == 0 || !size.is_multiple_of(zone_size) {
        return Err(invalid(format!(
            "size: expected a multiple of the zone size of {zone_size} bytes, found {size}"
        )));
    }
    let zones = u32::try_from(zones).map_err(|_| {
        invalid(format!("size: expected at most {} zones, found {zones}", u32::MAX))
    })?;
    let made = py.detach(|| {
        let geometry = Geometry::uniform(ByteCount(zone_size), zones);
        let uuid = runner::fork_random().uuid();
        let drive = Emulator::create_image(&path, geometry, uuid)?;
        let formatted = Fs::format(Devices::from(Arc::new(drive)), &FormatOptions::default());
        if formatted.is_err() {
            // The error of the format says more than one here.
            let _ = std::fs::remove_file(&path);
        }
        Ok::<(), terrace::Error>(formatted?)
    });
    made.map_err(|error| named(py, &path, &error))
}

#[pymethods]
impl Db {
    /// The path that was opened.
    #[getter]
    fn path(&self) -> &Path {
        &self.path
    }

    /// A key space by its name; it is created if it does not exist and `create` is True. The
    /// options that are given are its own from then on, and the store remembers them. If it has
    /// others already, it is not opened.
    #[pyo3(signature = (name, *, create=true, block_size=None, compression=None,
                        filter_bits=None, ttl=None))]
    fn key_space(
        slf: Bound<'_, Self>,
        name: &str,
        create: bool,
        block_size: Option<u64>,
        compression: Option<&str>,
        filter_bits: Option<u8>,
        ttl: Option<Ttl>,
    ) -> PyResult<KeySpace> {
        let db = slf.get().db.get()?;
        let options = KeySpaceOptions {
            block_size: block_size.map(ByteCount),
            compression: compression.map(level_compression).transpose()?,
            filter_bits,
            ttl: ttl.map(|ttl| ttl.0),
        };
        let has_options = options != KeySpaceOptions::default();
        if has_options && !create {
            return Err(invalid(
                "create: expected True with options of the key space, found False",
            ));
        }
        let found = slf.py().detach(|| match (create, has_options) {
            (true, true) => db.create_key_space_with(name, options),
            (true, false) => db.create_key_space(name),
            (false, _) => db.key_space(name),
        });
        Ok(KeySpace::new(db, found.or_raise(slf.py())?, slf.as_super().get().amounts))
    }

    /// The path of the socket through which other processes look at the store; None without one.
    #[getter]
    fn live_socket(&self, py: Python<'_>) -> PyResult<Option<PathBuf>> {
        match self.db.get()?.live_socket() {
            None => Ok(None),
            Some(Ok(socket)) => Ok(Some(socket.to_owned())),
            Some(Err(error)) => Err(crate::error::raised(py, &error)),
        }
    }

    /// The names of all key spaces.
    fn key_spaces(&self) -> PyResult<Vec<String>> {
        Ok(self.db.get()?.key_spaces())
    }

    /// Drops a key space with all its entries; returns whether it existed.
    fn drop_key_space(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let db = self.db.get()?;
        py.detach(|| db.drop_key_space(name)).or_raise(py)
    }

    /// The current state of the store, for reads.
    fn snapshot(slf: Bound<'_, Self>) -> PyResult<Snapshot> {
        let (db, space) = (slf.get().db.get()?, slf.as_super().get().space()?.clone());
        Ok(Snapshot::new(db, slf.py().detach(|| db.snapshot()), space))
    }

    /// A transaction that reads the current state of the store.
    fn transaction(slf: Bound<'_, Self>) -> PyResult<Transaction> {
        let (db, own) = (slf.get().db.get()?, slf.as_super().get());
        let transaction = slf.py().detach(|| db.transaction()).or_raise(slf.py())?;
        Ok(Transaction::new(db, transaction, own.space()?.clone(), own.amounts))
    }

    /// Makes all acknowledged writes durable.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        let db = self.db.get()?;
        py.detach(|| db.sync()).or_raise(py)
    }

    /// Writes the memtable to tables.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let db = self.db.get()?;
        py.detach(|| db.flush()).or_raise(py)
    }

    /// Waits until no compaction is due.
    fn wait_idle(&self, py: Python<'_>) -> PyResult<()> {
        let db = self.db.get()?;
        py.detach(|| db.wait_idle()).or_raise(py)
    }

    /// Copies the current state of the store into a directory, which must be empty or missing.
    fn checkpoint(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        let db = self.db.get()?;
        py.detach(|| db.checkpoint_directory(directory).map(drop)).or_raise(py)
    }

    /// Makes a directory a backup of the store. The directory must be empty or missing, or have an
    /// earlier backup of this store: then only new tables are copied.
    fn backup(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        let db = self.db.get()?;
        py.detach(|| db.backup_directory(directory).map(drop)).or_raise(py)
    }

    /// Reads every table and compares its checksums; returns the number of bytes.
    fn verify(&self, py: Python<'_>) -> PyResult<u64> {
        let db = self.db.get()?;
        py.detach(|| db.verify().map(|verified| verified.bytes)).or_raise(py)
    }

    /// The metrics of the store, with the names of `terrace stats --json`.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let db = self.db.get()?;
        let stats = py.detach(|| serde_json::to_string(&db.stats()));
        let text = stats.map_err(|error| Error::new_err(error.to_string()))?;
        py.import("json")?.call_method1("loads", (text,))
    }

    /// The durability of writes without `sync`: "gathered", "written", ...
    #[getter]
    fn durability(&self) -> &'static str {
        match self.db.peek().durability() {
            Durability::Unlogged => "unlogged",
            Durability::Gathered => "gathered",
            Durability::Written => "written",
            Durability::Synced => "synced",
        }
    }

    /// Makes all writes durable and closes the store. Later calls raise `ClosedError`. No effect in
    /// a child of `fork`: the store is the parent's.
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        let Ok(db) = slf.get().db.get() else { return Ok(()) };
        let closed = slf.py().detach(|| match terrace::Db::clone(db).close() {
            Err(error) if error.kind() == terrace::ErrorKind::Closed => Ok(()),
            closed => closed,
        });
        db.opened().close();
        closed.or_raise(slf.py())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        slf: &Bound<'_, Self>,
        _exception: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        Self::close(slf)
    }

    fn __repr__(&self) -> String {
        format!("<terrace.Db {:?}>", self.path.display().to_string())
    }
}
