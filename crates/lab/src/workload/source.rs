//! [`Source`]: a sequence of operations with an end: the first operations of a workload, a trace,
//! or a recorder around another source.
//!
//! A recorder writes an operation down when it is taken, before it is carried out. So after a
//! failure the trace may contain operations that were not carried out.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use terrace_env::sync::Mutex;

use super::operation::{Operation, Workload};
use super::trace::{Trace, TraceError, TraceWriter};

/// A sequence of operations with an end. Several clients take from one, each the next.
pub trait Source: Send {
    /// The next operation; `None` at the end, and from then on.
    fn take(&mut self) -> Result<Option<Operation>, SourceError>;
}

/// There is no telling what comes next.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The recorder could not write an operation down.
    #[error("the operation cannot be written down: {0}")]
    Record(#[source] io::Error),
}

/// The first operations of a workload.
#[derive(Clone, Debug)]
pub struct First {
    workload: Workload,
    left: u64,
}

impl First {
    /// So many.
    #[must_use]
    pub fn new(workload: Workload, operations: u64) -> Self {
        Self { workload, left: operations }
    }
}

impl Source for First {
    fn take(&mut self) -> Result<Option<Operation>, SourceError> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        Ok(Some(self.workload.next_operation()))
    }
}

impl<R: BufRead + Send> Source for Trace<R> {
    fn take(&mut self) -> Result<Option<Operation>, SourceError> {
        Ok(self.next_operation()?)
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn take(&mut self) -> Result<Option<Operation>, SourceError> {
        (**self).take()
    }
}

/// Writes down what is taken, in that order. The writer is shared, so that what is taken from
/// several sources one after the other makes one trace.
pub struct Recorded<S, W> {
    source: S,
    into: Arc<Mutex<TraceWriter<W>>>,
}

impl<S: Source, W: Write> Recorded<S, W> {
    /// Writes to a trace.
    #[must_use]
    pub fn new(source: S, into: &Arc<Mutex<TraceWriter<W>>>) -> Self {
        Self { source, into: Arc::clone(into) }
    }
}

impl<S: Source, W: Write + Send> Source for Recorded<S, W> {
    fn take(&mut self) -> Result<Option<Operation>, SourceError> {
        let operation = self.source.take()?;
        if let Some(operation) = operation {
            self.into.lock().write(operation).map_err(SourceError::Record)?;
        }
        Ok(operation)
    }
}
