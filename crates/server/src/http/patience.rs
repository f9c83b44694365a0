//! [`Patience`]: the body of a request, whose next bytes must come within a time. It is for all
//! bodies, such as lists of keys in XML; the bodies of objects have a time for each piece, too.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use s3s::StdError;
use tokio::time::{Instant, Sleep, sleep};

use super::leftover::Leftover;
use super::roster::Presence;

/// See the [module](self).
pub(super) struct Patience {
    /// `None` after a failure, and in the drop.
    body: Option<Incoming>,
    is_begun: bool,
    leftover: Leftover,
    limit: Duration,
    /// Ends the wait that has begun.
    timer: Pin<Box<Sleep>>,
    waits: bool,
    presence: Arc<Presence>,
}

impl Patience {
    /// If the body is dropped before its end, its rest is the leftover.
    pub(super) fn new(
        body: Incoming,
        limit: Duration,
        presence: Arc<Presence>,
        leftover: Leftover,
    ) -> Self {
        let (timer, body) = (Box::pin(sleep(limit)), Some(body));
        Self { body, is_begun: false, leftover, limit, timer, waits: false, presence }
    }

    fn wait_is_over(&mut self) {
        if std::mem::take(&mut self.waits) {
            self.presence.waits_for_body(false);
        }
    }
}

impl Drop for Patience {
    fn drop(&mut self) {
        self.wait_is_over();
        if let Some(body) = self.body.take() {
            self.leftover.keep(body, self.is_begun);
        }
    }
}

/// Whether a body has failed because its bytes came too slowly.
pub(super) fn is_late(error: &StdError) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
}

impl Body for Patience {
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        self.is_begun = true;
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        if let Poll::Ready(frame) = Pin::new(body).poll_frame(context) {
            self.wait_is_over();
            if !matches!(frame, Some(Ok(_))) {
                self.body = None;
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        if !self.waits {
            self.waits = true;
            self.presence.waits_for_body(true);
            let end = Instant::now() + self.limit;
            self.timer.as_mut().reset(end);
        }
        if self.timer.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.body = None;
        let message = format!("no bytes of the body came for {:?}", self.limit);
        Poll::Ready(Some(Err(io::Error::new(io::ErrorKind::TimedOut, message).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Incoming::size_hint)
    }
}
