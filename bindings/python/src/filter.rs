//! Compaction filters: functions of Python that say which values compactions keep.
//!
//! - A compaction calls them in a thread of the store, with the lock of the interpreter. Calls of
//!   the store release that lock, and so does the end of a store ([`Held`](crate::held::Held)): no
//!   thread holds it while it waits for a compaction.
//! - An exception, or an answer that is no `bool`, is reported by `sys.unraisablehook`, and the
//!   value is kept. So a mistake loses nothing.
//! - When the interpreter ends ([`end`]), calls that are running end, and no further function is
//!   called: values are kept. A child of a process that had a store open does not wait: the calls
//!   run in threads of the parent.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping};
use terrace::Options;
use terrace_env::sync::{Condvar, Mutex};

use crate::error::invalid;
use crate::opened::is_heir;

/// The options with filters: a function for the default key space, or functions by key space.
pub(crate) fn add(mut options: Options, filters: &Bound<'_, PyAny>) -> PyResult<Options> {
    let py = filters.py();
    let filters: Vec<(String, Py<PyAny>)> = match filters.cast::<PyMapping>() {
        Ok(by_key_space) => by_key_space.items()?.extract()?,
        Err(_) => vec![("default".to_owned(), filters.clone().unbind())],
    };
    for (key_space, filter) in filters {
        check(&key_space, filter.bind(py))?;
        let keep = move |key: &[u8], value: &[u8]| keeps(&filter, key, value);
        options = options.compaction_filter(key_space, keep);
    }
    Ok(options)
}

fn check(key_space: &str, filter: &Bound<'_, PyAny>) -> PyResult<()> {
    if filter.is_callable() {
        return Ok(());
    }
    let found = filter.get_type().name()?;
    Err(invalid(format!("compaction_filter: expected a function for {key_space:?}, found {found}")))
}

/// The calls of filters in the process.
static CALLS: Calls =
    Calls { state: Mutex::new(State { running: 0, has_ended: false }), changed: Condvar::new() };

struct Calls {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    running: usize,
    has_ended: bool,
}

/// A call that is running.
struct Running;

impl Running {
    /// Begins a call, unless the interpreter ends.
    fn begin() -> Option<Self> {
        let mut state = CALLS.state.lock();
        (!state.has_ended).then(|| {
            state.running += 1;
            Self
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        CALLS.state.lock().running -= 1;
        CALLS.changed.notify_all();
    }
}

/// Whether a filter keeps a value.
fn keeps(filter: &Py<PyAny>, key: &[u8], value: &[u8]) -> bool {
    let Some(_running) = Running::begin() else { return true };
    let kept = Python::try_attach(|py| {
        let filter = filter.bind(py);
        let answer = filter.call1((PyBytes::new(py, key), PyBytes::new(py, value)));
        answer.and_then(|answer| answer.extract::<bool>()).unwrap_or_else(|error| {
            error.write_unraisable(py, Some(filter));
            true
        })
    });
    kept.unwrap_or(true)
}

/// Waits for the calls that are running, and ends all further ones: registered with `atexit`.
#[pyfunction]
fn end(py: Python<'_>) {
    if is_heir() {
        return;
    }
    py.detach(|| {
        let mut state = CALLS.state.lock();
        state.has_ended = true;
        CALLS.changed.wait_while(&mut state, |state| state.running > 0);
    });
}

/// Lets the interpreter end the calls when it ends.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let end = wrap_pyfunction!(end, module)?;
    module.py().import("atexit")?.call_method1("register", (end,))?;
    Ok(())
}
