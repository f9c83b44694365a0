//! The module `terrace._terrace`: its classes, functions and exceptions.

use pyo3::prelude::*;

use crate::arrow_scan::ArrowScan;
use crate::batch::WriteBatch;
use crate::counter;
use crate::db::{self, Db};
use crate::error;
use crate::filter;
use crate::held;
use crate::iterator::Iterator;
use crate::key_space::KeySpace;
use crate::reader::{self, Reader, ReaderScan};
use crate::snapshot::Snapshot;
use crate::transaction::Transaction;

/// Terrace: a key-value store for zoned storage.
#[pymodule(gil_used = false)]
fn _terrace(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<KeySpace>()?;
    module.add_class::<Db>()?;
    module.add_class::<WriteBatch>()?;
    module.add_class::<Iterator>()?;
    module.add_class::<Snapshot>()?;
    module.add_class::<ArrowScan>()?;
    module.add_class::<Transaction>()?;
    module.add_class::<Reader>()?;
    module.add_class::<ReaderScan>()?;
    module.add_function(wrap_pyfunction!(db::open, module)?)?;
    module.add_function(wrap_pyfunction!(reader::open_reader, module)?)?;
    module.add_function(wrap_pyfunction!(db::create_image, module)?)?;
    module.add_function(wrap_pyfunction!(counter::number, module)?)?;
    filter::add_to(module)?;
    held::add_to(module)?;
    error::add_to(module)
}
