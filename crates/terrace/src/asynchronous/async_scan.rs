//! [`AsyncScan`]: the entries of a scan as futures, or as a [`Stream`].
//!
//! 1. If it has no entry left, it submits the scan itself to an actor, which reads a page: some
//!    entries, the first time [`PAGE_MIN`] and each time twice as many, up to [`PAGE_MAX`] or
//!    [`PAGE_BYTES_MAX`].
//! 2. The actor gives the scan back with the page.
//!
//! A page ends at a bound of its entries, not of its reads: to pass many deleted entries takes an
//! actor longer. An error ends the scan, after the entries before it. Between two pages nothing is
//! read ahead.
//!
//! One task at a time uses it, on any thread.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::vec;

use bytes::Bytes;
use futures_core::Stream;
use terrace_lsm::Error as EngineError;

use super::operation::Operation;
use super::waiting::Job;
use crate::{Error, KeySpace, Scan};

/// Entries of the first page: a scan that needs a few reads little more.
const PAGE_MIN: usize = 16;

/// The most entries of a page, and the most bytes of keys and values but for the last entry: gets
/// wait for a page if both actors are busy.
const PAGE_MAX: usize = 256;
const PAGE_BYTES_MAX: usize = 64 << 10;

type Entry = (Bytes, Bytes);

/// The entries of a range in order, as they were when it began, read page by page. Ends after the
/// first error.
///
/// It pins the files that it may read, like a [`Scan`]. It is also a [`Stream`]. If a future of
/// [`next`](Self::next) is dropped, no entry is lost.
pub struct AsyncScan {
    space: KeySpace,
    /// Entries of the page, in the order of the scan.
    page: vec::IntoIter<Entry>,
    /// Size of the next page.
    size: usize,
    is_backward: bool,
    state: State,
}

enum State {
    Idle(Box<Scan>),
    Reads(Operation<Page>),
    /// After the page.
    Fails(EngineError),
    Ended,
}

/// The answer of an actor.
struct Page {
    entries: Vec<Entry>,
    then: Then,
}

enum Then {
    Goes(Box<Scan>),
    Fails(EngineError),
    Ends,
}

impl AsyncScan {
    pub(super) fn new(space: &KeySpace, scan: Scan) -> Self {
        let (page, state) = (Vec::new().into_iter(), State::Idle(Box::new(scan)));
        Self { space: space.clone(), page, size: PAGE_MIN, is_backward: false, state }
    }

    /// The same from the last entry to the first. Entries of a page that was read the other way
    /// come first.
    #[must_use]
    pub fn rev(self) -> Self {
        Self { is_backward: !self.is_backward, ..self }
    }

    /// The next entry; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Entry>, Error> {
        poll_fn(|context| self.poll_entry(context)).await.transpose()
    }

    fn poll_entry(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Entry, Error>>> {
        loop {
            if let Some(entry) = self.page.next() {
                return Poll::Ready(Some(Ok(entry)));
            }
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Poll::Ready(None),
                State::Fails(error) => return Poll::Ready(Some(Err(self.space.explain(error)))),
                State::Idle(scan) => self.state = State::Reads(self.submit(scan)),
                State::Reads(mut operation) => {
                    let answer = Pin::new(&mut operation).poll(context);
                    if answer.is_pending() {
                        self.state = State::Reads(operation);
                    }
                    match ready!(answer) {
                        Ok(page) => self.turn_to(page),
                        Err(error) => return Poll::Ready(Some(Err(error))),
                    }
                }
            }
        }
    }

    fn submit(&self, mut scan: Box<Scan>) -> Operation<Page> {
        let (size, is_backward) = (self.size, self.is_backward);
        Operation::new(&self.space, None, |promise| {
            Job::Long(Box::new(move |_| {
                let (entries, then) = read(&mut scan.0, size, is_backward);
                let then = match then {
                    Ok(true) => Then::Goes(scan),
                    Ok(false) => Then::Ends,
                    Err(error) => Then::Fails(error),
                };
                Box::new(move || promise.keep(Ok(Page { entries, then })))
            }))
        })
    }

    fn turn_to(&mut self, page: Page) {
        self.page = page.entries.into_iter();
        self.size = (self.size * 2).min(PAGE_MAX);
        self.state = match page.then {
            Then::Goes(scan) => State::Idle(scan),
            Then::Fails(error) => State::Fails(error),
            Then::Ends => State::Ended,
        };
    }
}

/// Entries of a page, and whether there may be more.
fn read(
    scan: &mut terrace_lsm::Scan,
    size: usize,
    is_backward: bool,
) -> (Vec<Entry>, Result<bool, EngineError>) {
    let (mut entries, mut bytes) = (Vec::with_capacity(size), 0);
    while entries.len() < size && bytes < PAGE_BYTES_MAX {
        match if is_backward { scan.next_back() } else { scan.next() } {
            Some(Ok((key, value))) => {
                bytes += key.len() + value.len();
                entries.push((key, value));
            }
            Some(Err(error)) => return (entries, Err(error)),
            None => return (entries, Ok(false)),
        }
    }
    (entries, Ok(true))
}

impl Stream for AsyncScan {
    type Item = Result<Entry, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_entry(context)
    }
}

impl std::fmt::Debug for AsyncScan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match self.state {
            State::Idle(_) => "idle",
            State::Reads(_) => "reads",
            State::Fails(_) => "fails",
            State::Ended => "ended",
        };
        write!(f, "AsyncScan({state}, {} entries left of its page)", self.page.len())
    }
}
