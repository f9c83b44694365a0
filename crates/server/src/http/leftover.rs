//! [`Leftover`]: the rest of a body that no operation reads any more, because the answer to its
//! request is an error, such as a bucket that does not exist or a full store.
//!
//! Most clients send a body to its end before they read the answer. If the server closed the
//! connection at once, such a client would find a broken connection instead of the error. So the
//! rest is read and dropped while the answer is sent. The answer says that the connection ends.
//!
//! After any answer to a request whose body was not read to its end, the connection ends, and the
//! answer says so.
//!
//! The rest is read for at most [`WHOLE_MAX`], and no longer than [`PAUSE_MAX`] without a byte.
//!
//! A client may ask for a word of the server, `100 Continue`, before it sends a body (`Expect:
//! 100-continue`), even if the body is empty. The library sends this word when a body is read, and
//! an empty one is not read. Older versions of `botocore`, which `aws` uses, still wait for the
//! word in the answer to the next request, and miss that answer. So the connection ends after a
//! request of this kind, whatever its answer.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::{Request, Response, header};
use terrace_env::sync::Mutex;
use tokio::time::timeout;

/// Longest time of reading a rest.
const WHOLE_MAX: Duration = Duration::from_secs(30);
/// Longest time between two bytes of it.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The place for the rest of a body; clones are the same place.
#[derive(Clone, Default)]
pub(super) struct Leftover {
    rest: Arc<Mutex<Option<Incoming>>>,
    /// Whether the client may wait for a word of the server before it sends the body.
    may_wait: bool,
    /// Whether there is no body.
    is_empty: bool,
    /// Whether a body was dropped before the client was asked for it.
    is_dropped: Arc<AtomicBool>,
}

impl Leftover {
    /// A place for the body of a request.
    pub(super) fn of(request: &Request<Incoming>) -> Self {
        let may_wait = request.headers().contains_key(header::EXPECT);
        let is_empty = request.body().is_end_stream();
        Self { rest: Arc::default(), may_wait, is_empty, is_dropped: Arc::default() }
    }

    /// Takes a body that is read no more. `is_begun`: whether any of it was asked for.
    pub(super) fn keep(&self, body: Incoming, is_begun: bool) {
        if body.is_end_stream() {
            return;
        }
        match is_begun || !self.may_wait {
            true => *self.rest.lock() = Some(body),
            // The client has sent nothing of it, and the connection cannot go on.
            false => self.is_dropped.store(true, Ordering::Relaxed),
        }
    }

    /// Begins to read the rest, if the answer is an error and there is a rest. `idle_max`: the
    /// server's limit of time without a byte.
    pub(super) fn read_for<T>(self, response: &mut Response<T>, idle_max: Duration) {
        let is_error = !response.status().is_success();
        let rest = self.rest.lock().take();
        let is_dropped = self.is_dropped.load(Ordering::Relaxed);
        if rest.is_some() || is_dropped || (self.may_wait && self.is_empty) {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let Some(mut body) = rest.filter(|_| is_error) else { return };
        tokio::spawn(timeout(WHOLE_MAX, async move {
            let pause_max = PAUSE_MAX.min(idle_max);
            loop {
                let next = poll_fn(|context| Pin::new(&mut body).poll_frame(context));
                match timeout(pause_max, next).await {
                    Ok(Some(Ok(_))) => {}
                    _ => break,
                }
            }
        }));
    }
}
