//! [`ArrowScan`]: the entries of a range as a stream of record batches, by the Arrow C stream
//! interface: `pyarrow.table(scan)`, `polars.DataFrame(scan)` and others take it.
//!
//! - A batch has two binary columns, `key` and `value`, without nulls.
//! - The entries are those of the moment when the scan was made. A scan can be consumed once.
//! - The consumer fetches batches and drops the stream in any thread, and needs no lock of the
//!   interpreter for it.
//! - In a child of `fork` a stream returns an error, and its drop has no effect.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::BinaryBuilder;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyCapsule;
use terrace::Cursor;

use crate::error::{ClosedError, Error};
use crate::held::{Held, Inherited};
use crate::opened::Counted;

/// Bytes of keys and values after which a batch takes no further entry: their offsets have 31 bits,
/// and a value has 64 MiB at most.
const BATCH_BYTES: usize = 256 << 20;

/// The entries of a range, as a stream for libraries that read Arrow. It can be consumed once.
#[pyclass(module = "terrace", frozen)]
pub(crate) struct ArrowScan(Held<Mutex<Option<Batches>>>);

impl ArrowScan {
    /// The entries of a cursor that was not moved yet, `entries` of them in a batch at most.
    pub(crate) fn new(cursor: Counted<Cursor>, is_reverse: bool, entries: usize) -> Self {
        let batches = Batches { cursor, is_reverse, entries, standing: Standing::Start };
        Self(Held::new(Mutex::new(Some(batches))))
    }
}

#[pymethods]
impl ArrowScan {
    /// The stream in a capsule, as the Arrow PyCapsule interface has it. Another schema than the
    /// stream's own may be requested, and is not looked at.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let lock = self.0.get()?;
        let batches = lock.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take();
        let batches = batches.ok_or_else(|| {
            ClosedError::new_err("expected a scan that was not consumed, found one that was")
        })?;
        let stream = FFI_ArrowArrayStream::new(Box::new(Stream(Held::new(batches))));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The schema in a capsule: two binary columns, `key` and `value`.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*schema());
        let schema = schema.map_err(|error| Error::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}

fn schema() -> SchemaRef {
    let column = |name| Field::new(name, DataType::Binary, false);
    Arc::new(Schema::new(vec![column("key"), column("value")]))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Before its first move.
    Start,
    /// On the last entry of the batch before.
    Last,
    /// Beyond all entries, or after an error.
    Ended,
}

/// The batches of a cursor.
struct Batches {
    cursor: Counted<Cursor>,
    is_reverse: bool,
    entries: usize,
    standing: Standing,
}

impl Batches {
    /// Moves to the next entry; whether there is one.
    fn go_on(&mut self) -> Result<bool, terrace::Error> {
        let is_there = match (self.standing, self.is_reverse) {
            (Standing::Start, false) => self.cursor.seek_to_first()?,
            (Standing::Start, true) => self.cursor.seek_to_last()?,
            (Standing::Last, false) => self.cursor.next()?,
            (Standing::Last, true) => self.cursor.prev()?,
            (Standing::Ended, _) => false,
        };
        self.standing = if is_there { Standing::Last } else { Standing::Ended };
        Ok(is_there)
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>, terrace::Error> {
        let (mut keys, mut values) = (BinaryBuilder::new(), BinaryBuilder::new());
        let (mut entries, mut bytes) = (0, 0);
        while entries < self.entries && bytes < BATCH_BYTES && self.go_on()? {
            let (key, value) = (self.cursor.key(), self.cursor.value_slice());
            (entries, bytes) = (entries + 1, bytes + key.len() + value.len());
            keys.append_value(key);
            values.append_value(value);
        }
        if entries == 0 {
            return Ok(None);
        }
        let columns = vec![Arc::new(keys.finish()) as _, Arc::new(values.finish()) as _];
        Ok(Some(RecordBatch::try_new(schema(), columns).expect("two columns of one length")))
    }
}

/// A reader of batches, which is the consumer's.
struct Stream(Held<Batches>);

impl std::iter::Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Ok(batches) = self.0.get_mut() else {
            let refused = std::io::Error::other(Inherited::MESSAGE);
            return Some(Err(ArrowError::IoError(Inherited::MESSAGE.to_owned(), refused)));
        };
        let batch = batches.batch().map_err(|error| {
            batches.standing = Standing::Ended;
            ArrowError::IoError(error.to_string(), std::io::Error::other(error))
        });
        batch.transpose()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // A wait for the interpreter could be one for a thread that waits for this one.
        self.0.drop_here();
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        schema()
    }
}
