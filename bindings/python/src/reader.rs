//! [`Reader`]: a store that another process may be writing, opened by [`open_reader`]; and
//! [`ReaderScan`], a walk over a range of it.
//!
//! Entries are fetched several at a time, as many as by a [`walk`](crate::walk), with the lock of
//! the interpreter released. An error is raised after all entries that were fetched before it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::vec::IntoIter;

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyTuple};
use terrace::ByteCount;

use crate::closable::Closable;
use crate::db::named;
use crate::error::{Error, Raise, raised};
use crate::held::Held;
use crate::input::{Input, bytes};
use crate::opened::{Counted, Opened};
use crate::options::bounds;
use crate::ttl::Ttl;
use crate::walk::{AHEAD_BYTES, AHEAD_MAX, AHEAD_MIN};

/// Reads a store while another process writes it, without asking that process and without writing.
/// It shows one state of the store, until `refresh` brings it up to date.
#[pyclass(module = "terrace", frozen)]
pub(crate) struct Reader {
    reader: Closable<terrace::Reader>,
    path: PathBuf,
}

/// Opens a reader of the store at a path: a directory, an image or a block device. `max_age`:
/// seconds, or a `timedelta`; a read looks for changes first, if the last look is longer ago.
#[pyfunction]
#[pyo3(signature = (path, *, memory=None, max_age=None))]
pub(crate) fn open_reader(
    py: Python<'_>,
    path: PathBuf,
    memory: Option<u64>,
    max_age: Option<Ttl>,
) -> PyResult<Reader> {
    let opened = Opened::new()?;
    // A store that has counters, or values with appended parts, is read without being told so.
    let mut options = terrace::Options::default().shipped_merge_operators(true);
    if let Some(memory) = memory {
        options = options.memory(ByteCount(memory));
    }
    let result = py.detach(|| terrace::Db::open_reader(&path, options));
    let mut reader = result.map_err(|error| named(py, &path, &error))?;
    if let Some(max_age) = max_age {
        reader = reader.with_max_age(max_age.0);
    }
    let closed = "expected an open reader, found a closed one";
    Ok(Reader { reader: Closable::new(Counted::new(reader, opened), closed), path })
}

impl Reader {
    /// The result of a call of the reader.
    fn call<T: Send>(
        &self,
        py: Python<'_>,
        call: impl Send + FnOnce(&Counted<terrace::Reader>) -> Result<T, terrace::Error>,
    ) -> PyResult<T> {
        let reader = self.reader.get()?;
        py.detach(move || call(&reader)).or_raise(py)
    }

    fn read(&self, py: Python<'_>, key: &[u8], key_space: &str) -> PyResult<Option<Bytes>> {
        self.call(py, |reader| reader.read(|db| db.key_space(key_space)?.get(key)))
    }
}

#[pymethods]
impl Reader {
    /// The path that was opened.
    #[getter]
    fn path(&self) -> &Path {
        &self.path
    }

    /// Brings the reader up to date; returns whether the store had changed.
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        self.call(py, |reader| reader.refresh())
    }

    /// The value under a key; `default` if there is none.
    #[pyo3(signature = (key, default=None, *, key_space="default"))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: Input,
        default: Option<Bound<'py, PyAny>>,
        key_space: &str,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match self.read(py, &key, key_space)? {
            Some(value) => Some(PyBytes::new(py, &value).into_any()),
            None => default,
        })
    }

    /// The values under several keys, all of one state of the store; None for a key without a
    /// value.
    #[pyo3(signature = (keys, *, key_space="default"))]
    fn multi_get<'py>(
        &self,
        py: Python<'py>,
        keys: Vec<Input>,
        key_space: &str,
    ) -> PyResult<Vec<Option<Bound<'py, PyBytes>>>> {
        let keys: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
        let read = |reader: &Counted<terrace::Reader>| {
            reader.read(|db| db.key_space(key_space)?.multi_get(&keys))
        };
        let found = self.call(py, read)?;
        Ok(found.into_iter().map(|value| value.map(|value| PyBytes::new(py, &value))).collect())
    }

    /// The entries of a range, as they were when the walk began. The writer does not wait for it:
    /// `MovedError` is raised if the writer has freed a part that was still to be read. With
    /// `going_on`, the walk continues in a newer state of the store instead.
    #[pyo3(signature = (*, start=None, stop=None, include_start=true, include_stop=false,
                        prefix=None, reverse=false, going_on=false, key_space="default"))]
    #[expect(clippy::too_many_arguments, reason = "keywords of plyvel")]
    fn iterator(
        &self,
        py: Python<'_>,
        start: Option<Input>,
        stop: Option<Input>,
        include_start: bool,
        include_stop: bool,
        prefix: Option<Input>,
        reverse: bool,
        going_on: bool,
        key_space: &str,
    ) -> PyResult<ReaderScan> {
        let included = (include_start, include_stop);
        let range = bounds(bytes(&start), bytes(&stop), included, bytes(&prefix))?;
        let scan = self.call(py, |reader| {
            let scan = reader.scan_key_space(key_space, range)?;
            Ok(reader.with(if going_on { scan.going_on() } else { scan }))
        })?;
        Ok(ReaderScan::new(scan, reverse))
    }

    /// The names of all key spaces.
    fn key_spaces(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.call(py, |reader| reader.key_spaces())
    }

    /// The metrics, with the names of `terrace stats --json`. Levels and space are those of the
    /// store; counts are those of this reader.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stats = self.call(py, |reader| reader.stats())?;
        let text =
            serde_json::to_string(&stats).map_err(|error| Error::new_err(error.to_string()))?;
        py.import("json")?.call_method1("loads", (text,))
    }

    /// Ends the reader. Later calls raise `ClosedError`; walks that have begun go on. No effect in
    /// a child of `fork`.
    fn close(&self, py: Python<'_>) {
        self.reader.close(py);
    }

    fn __contains__(&self, py: Python<'_>, key: Input) -> PyResult<bool> {
        Ok(self.read(py, &key, "default")?.is_some())
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<ReaderScan> {
        self.iterator(py, None, None, true, false, None, false, false, "default")
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _exception: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        format!("<terrace.Reader {:?}>", self.path.display().to_string())
    }
}

/// A walk over a range of a store that is read next to its writer, in one direction.
#[pyclass(module = "terrace", frozen)]
pub(crate) struct ReaderScan {
    walk: Held<Mutex<Walk>>,
}

struct Walk {
    scan: Counted<terrace::ReaderScan>,
    is_reverse: bool,
    fetched: IntoIter<(Bytes, Bytes)>,
    /// Entries of the next fetch.
    ahead: usize,
    /// The error that ended the last fetch.
    error: Option<terrace::Error>,
}

impl Walk {
    fn fetch(&mut self) {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        while entries.len() < self.ahead && bytes < AHEAD_BYTES {
            let next = if self.is_reverse { self.scan.next_back() } else { self.scan.next() };
            match next {
                Some(Ok(entry)) => {
                    bytes += entry.0.len() + entry.1.len();
                    entries.push(entry);
                }
                Some(Err(error)) => {
                    self.error = Some(error);
                    break;
                }
                None => break,
            }
        }
        self.ahead = (2 * self.ahead).min(AHEAD_MAX);
        self.fetched = entries.into_iter();
    }
}

impl ReaderScan {
    fn new(scan: Counted<terrace::ReaderScan>, is_reverse: bool) -> Self {
        let fetched = Vec::new().into_iter();
        let walk = Walk { scan, is_reverse, fetched, ahead: AHEAD_MIN, error: None };
        Self { walk: Held::new(Mutex::new(walk)) }
    }
}

#[pymethods]
impl ReaderScan {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        // No thread waits for the walk while it holds the lock of the interpreter.
        let walk = self.walk.get()?;
        let mut walk = walk.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let mut entry = walk.fetched.next();
        if entry.is_none() && walk.error.is_none() {
            let walk = &mut *walk;
            py.detach(|| walk.fetch());
            entry = walk.fetched.next();
        }
        let error = if entry.is_none() { walk.error.take() } else { None };
        drop(walk);
        match (entry, error) {
            (Some((key, value)), _) => {
                PyTuple::new(py, [PyBytes::new(py, &key), PyBytes::new(py, &value)]).map(Some)
            }
            (None, Some(error)) => Err(raised(py, &error)),
            (None, None) => Ok(None),
        }
    }
}
