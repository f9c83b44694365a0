//! [`Source`]: a sequence of operations with an end: the first operations of a workload, a trace,
//! or a layer around another source, which gives operations their arrivals or records them.
//!
//! A recorder writes an operation down when it is taken, before it is carried out. So after a
//! failure the trace may contain operations that were not carried out.

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use terrace_env::sync::Mutex;

use super::operation::{Operation, Workload};
use super::trace::{Trace, TraceError, TraceWriter};
use crate::arrivals::Instants;

/// An operation, and when it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The operation.
    pub operation: Operation,
    /// Time of its arrival, since the beginning of the arrivals; `None`: as soon as a client is
    /// free.
    pub arrival: Option<Duration>,
}

/// A sequence of operations with an end. Several clients take from one, each the next.
pub trait Source: Send {
    /// The next operation; `None` at the end, and from then on. Arrivals do not fall.
    fn take(&mut self) -> Result<Option<Request>, SourceError>;

    /// Whether operations may have arrivals.
    fn is_open(&self) -> bool {
        false
    }
}

/// The next operation cannot be told.
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
    /// The first `operations` operations of a workload.
    #[must_use]
    pub fn new(workload: Workload, operations: u64) -> Self {
        Self { workload, left: operations }
    }
}

impl Source for First {
    fn take(&mut self) -> Result<Option<Request>, SourceError> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        Ok(Some(Request { operation: self.workload.next_operation(), arrival: None }))
    }
}

/// The operations of a source, each at its arrival: an open loop.
#[derive(Clone, Debug)]
pub struct Arriving<S> {
    source: S,
    instants: Instants,
}

impl<S: Source> Arriving<S> {
    /// The operations of `source`, which arrive at these instants, one after the other.
    #[must_use]
    pub fn new(source: S, instants: Instants) -> Self {
        Self { source, instants }
    }
}

impl<S: Source> Source for Arriving<S> {
    fn take(&mut self) -> Result<Option<Request>, SourceError> {
        let Some(Request { operation, .. }) = self.source.take()? else { return Ok(None) };
        Ok(Some(Request { operation, arrival: self.instants.next() }))
    }

    fn is_open(&self) -> bool {
        true
    }
}

impl<R: BufRead + Send> Source for Trace<R> {
    fn take(&mut self) -> Result<Option<Request>, SourceError> {
        Ok(self.next_request()?)
    }

    fn is_open(&self) -> bool {
        self.has_arrivals()
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn take(&mut self) -> Result<Option<Request>, SourceError> {
        (**self).take()
    }

    fn is_open(&self) -> bool {
        (**self).is_open()
    }
}

/// Writes down the taken operations, in that order. The writer is shared, so that operations taken
/// from several sources one after the other make one trace. The arrivals of a source then follow
/// those of the one before: it begins where that had its last arrival.
pub struct Recorded<S, W> {
    source: S,
    into: Arc<Mutex<TraceWriter<W>>>,
    begin: Duration,
}

impl<S: Source, W: Write> Recorded<S, W> {
    /// Writes to a trace.
    #[must_use]
    pub fn new(source: S, into: &Arc<Mutex<TraceWriter<W>>>) -> Self {
        let begin = into.lock().last_arrival();
        Self { source, into: Arc::clone(into), begin }
    }
}

impl<S: Source, W: Write + Send> Source for Recorded<S, W> {
    fn take(&mut self) -> Result<Option<Request>, SourceError> {
        let request = self.source.take()?;
        if let Some(Request { operation, arrival }) = request {
            let arrival = arrival.map(|at| self.begin + at);
            let written = self.into.lock().write(Request { operation, arrival });
            written.map_err(SourceError::Record)?;
        }
        Ok(request)
    }

    fn is_open(&self) -> bool {
        self.source.is_open()
    }
}
