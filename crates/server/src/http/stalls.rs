//! [`Stalls`]: a connection whose writes fail when the client takes no bytes for some time.
//!
//! Reads are passed on: the time for a request's head and for its body is limited elsewhere.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::roster::Presence;

/// See the [module](self).
pub(super) struct Stalls<T> {
    inner: T,
    limit: Duration,
    /// Ends the stall that has begun.
    timer: Pin<Box<Sleep>>,
    is_stalled: bool,
    presence: Arc<Presence>,
}

impl<T> Stalls<T> {
    pub(super) fn new(inner: T, limit: Duration, presence: Arc<Presence>) -> Self {
        Self { inner, limit, timer: Box::pin(sleep(limit)), is_stalled: false, presence }
    }

    /// The result of a write, or an error after a long stall.
    fn judged<R>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if written.is_ready() {
            if std::mem::take(&mut self.is_stalled) {
                self.presence.waits_for_room(false);
            }
            return written;
        }
        if !self.is_stalled {
            self.is_stalled = true;
            self.presence.waits_for_room(true);
            self.timer.as_mut().reset(Instant::now() + self.limit);
        }
        ready!(self.timer.as_mut().poll(context));
        let message = format!("the client took no bytes for {:?}", self.limit);
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, message)))
    }
}

use std::future::Future;

impl<T: AsyncRead + Unpin> AsyncRead for Stalls<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, into)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Stalls<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.judged(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, parts);
        self.judged(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.judged(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(context);
        self.judged(context, shut)
    }
}
