//! [`Operation`]: the future of a read or a write. Its first poll submits the operation; before,
//! nothing happens.
//!
//! A future that is dropped takes its operation out, unless an actor has begun it: then a read goes
//! to waste, and a write is applied as a whole or not at all.
//!
//! It can move between threads. The lock of the answer is held for some instructions.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use terrace_env::Time;

use super::answer::{Awaited, Promise, promise};
use super::waiting::{Job, Ticket};
use crate::live::Call;
use crate::{Error, KeySpace};

/// Future of a read or a write of an [`AsyncDb`](crate::AsyncDb). Nothing happens until it is
/// polled.
///
/// If it is dropped before its end, a read is not done unless it has begun. A write that is dropped
/// may have been applied or not, but never in part.
///
/// # Panics
/// If it is polled after its end.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Operation<T> {
    space: KeySpace,
    call: Option<Call>,
    state: State<T>,
}

enum State<T> {
    New(Job, Awaited<T>),
    Refused(Error),
    Submitted(Awaited<T>, Ticket, Option<Time>),
    Ended,
}

impl<T> Operation<T> {
    /// An operation that uses a key space; `job` makes it for a promise.
    pub(super) fn new(
        space: &KeySpace,
        call: Option<Call>,
        job: impl FnOnce(Promise<T>) -> Job,
    ) -> Self {
        let (promise, awaited) = promise();
        Self { space: space.clone(), call, state: State::New(job(promise), awaited) }
    }

    /// An operation that has an error already.
    pub(super) fn refused(space: &KeySpace, error: Error) -> Self {
        Self { space: space.clone(), call: None, state: State::Refused(error) }
    }

    fn submit(&mut self, job: Job, awaited: Awaited<T>) -> Result<(), Error> {
        let inner = &self.space.inner;
        let begun = self.call.and_then(|call| inner.begin(call));
        let submitted = inner.submissions.submit(&inner.engine, job);
        let ticket = submitted.map_err(|error| self.space.explain(error))?;
        self.state = State::Submitted(awaited, ticket, begun);
        Ok(())
    }
}

impl<T> Future for Operation<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match mem::replace(&mut self.state, State::Ended) {
            State::New(job, awaited) => self.submit(job, awaited)?,
            State::Refused(error) => return Poll::Ready(Err(error)),
            State::Ended => panic!("an operation is polled after its end"),
            submitted @ State::Submitted(..) => self.state = submitted,
        }
        let State::Submitted(awaited, _, begun) = &self.state else {
            unreachable!("it was submitted just now, or before")
        };
        let (Poll::Ready(answer), begun) = (awaited.poll(context), *begun) else {
            return Poll::Pending;
        };
        self.state = State::Ended;
        if let (Some(call), Some(begun)) = (self.call, begun) {
            self.space.inner.end(call, begun);
        }
        Poll::Ready(answer.map_err(|error| self.space.explain(error)))
    }
}

impl<T> Drop for Operation<T> {
    fn drop(&mut self) {
        if let State::Submitted(awaited, ticket, _) = &self.state {
            awaited.forget_waker();
            self.space.inner.submissions.cancel(*ticket);
        }
    }
}

impl<T> fmt::Debug for Operation<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::New(..) | State::Refused(_) => "new",
            State::Submitted(..) => "submitted",
            State::Ended => "ended",
        };
        write!(f, "Operation({state})")
    }
}
