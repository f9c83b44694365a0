//! Puts of all entries of a stream of record batches, by the Arrow C stream interface: a table of
//! `pyarrow`, a data frame of `polars`, or another object with `__arrow_c_stream__`.
//!
//! - Two columns of the stream are read, by their names. They may be of binary or of text, with
//!   offsets of 32 or 64 bits, as views, or of a fixed size. There must be no nulls.
//! - The entries are written in their order, in batches of about [`BATCH_BYTES`], each of which
//!   takes effect as a whole. After an error the batches before it stay.
//!
//! # Safety
//! The pointer in a capsule with the name `arrow_array_stream` is that of a stream as the interface
//! defines it, which its producer vouches for. The stream is moved out of the capsule, which then
//! holds a released one, so that it is released once. Callbacks of a stream may be called without
//! the lock of the interpreter.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, Schema};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use terrace::{Batch, Durability};

use crate::error::{Error, Raise, invalid};
use crate::held::Held;
use crate::key_space::Handles;
use crate::opened::Counted;

/// Bytes of a batch after which it is written.
const BATCH_BYTES: u64 = 4 << 20;

/// Where rows are put.
pub(crate) struct Target<'a> {
    pub(crate) handles: &'a Held<Counted<Handles>>,
    pub(crate) durability: Durability,
}

/// The stream of an object.
pub(crate) fn stream_of(source: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    if !source.hasattr("__arrow_c_stream__")? {
        let expected = "expected an object with __arrow_c_stream__, found";
        return Err(PyTypeError::new_err(format!("{expected} {}", source.get_type().name()?)));
    }
    let capsule = source.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: see the module.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.cast().as_ptr()) };
    RecordBatchStreamReader::try_new(stream).map_err(|error| invalid(error.to_string()))
}

/// Puts all entries of a stream; returns their number. The attribute `stored` of an exception has
/// the number of those that were put before it.
pub(crate) fn put_all(
    py: Python<'_>,
    target: &Target<'_>,
    stream: RecordBatchStreamReader,
    names: (&str, &str),
) -> PyResult<u64> {
    let mut stored = 0;
    let put = put_batches(py, target, stream, names, &mut stored);
    put.inspect_err(|error| {
        // An exception without the attribute is still the right one.
        let _ = error.value(py).setattr("stored", stored);
    })?;
    Ok(stored)
}

fn put_batches(
    py: Python<'_>,
    target: &Target<'_>,
    mut stream: RecordBatchStreamReader,
    (key, value): (&str, &str),
    stored: &mut u64,
) -> PyResult<()> {
    let schema = stream.schema();
    let (key_at, value_at) = (column(&schema, key)?, column(&schema, value)?);
    while let Some(batch) = py.detach(|| stream.next()) {
        let batch = batch.map_err(|error| Error::new_err(error.to_string()))?;
        for (name, index) in [(key, key_at), (value, value_at)] {
            let nulls = batch.column(index).null_count();
            if nulls > 0 {
                return Err(invalid(format!("column {name:?}: expected no nulls, found {nulls}")));
            }
        }
        // The source may be code of Python, which may have forked.
        let handles = target.handles.get()?;
        let durability = target.durability;
        py.detach(|| put(handles, durability, &batch, (key_at, value_at), stored)).or_raise(py)?;
    }
    Ok(())
}

/// Puts the rows of a batch that has no nulls in these columns.
fn put(
    handles: &Handles,
    durability: Durability,
    rows: &RecordBatch,
    (key_at, value_at): (usize, usize),
    stored: &mut u64,
) -> Result<(), terrace::Error> {
    let (keys, values) = (bytes_of(rows.column(key_at)), bytes_of(rows.column(value_at)));
    let mut batch = Batch::new();
    for row in 0..rows.num_rows() {
        batch.key_space(&handles.space).put(keys(row), values(row));
        if batch.byte_size().0 >= BATCH_BYTES || row + 1 == rows.num_rows() {
            let entries = batch.len() as u64;
            handles.db.write_with(std::mem::take(&mut batch), durability)?;
            *stored += entries;
        }
    }
    Ok(())
}

/// The bytes of a row, of a column with a type of bytes.
fn bytes_of<'a>(column: &'a dyn Array) -> Box<dyn Fn(usize) -> &'a [u8] + 'a> {
    macro_rules! rows {
        ($array:expr) => {{
            let array = $array;
            Box::new(move |row| array.value(row).as_ref())
        }};
    }
    match column.data_type() {
        DataType::Binary => rows!(column.as_binary::<i32>()),
        DataType::LargeBinary => rows!(column.as_binary::<i64>()),
        DataType::BinaryView => rows!(column.as_binary_view()),
        DataType::FixedSizeBinary(_) => rows!(column.as_fixed_size_binary()),
        DataType::Utf8 => rows!(column.as_string::<i32>()),
        DataType::LargeUtf8 => rows!(column.as_string::<i64>()),
        DataType::Utf8View => rows!(column.as_string_view()),
        other => unreachable!("the schema was checked, and has {other}"),
    }
}

/// The index of a column, which has a type that is bytes.
fn column(schema: &Schema, name: &str) -> PyResult<usize> {
    let Ok(index) = schema.index_of(name) else {
        let found: Vec<&str> = schema.fields().iter().map(|field| &field.name()[..]).collect();
        return Err(invalid(format!("expected a column {name:?}, found {found:?}")));
    };
    match schema.field(index).data_type() {
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_)
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View => Ok(index),
        other => Err(invalid(format!("column {name:?}: expected binary or text, found {other}"))),
    }
}
