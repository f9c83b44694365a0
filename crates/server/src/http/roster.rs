//! [`Roster`]: the open connections, and how long each has waited for its client. When there is no
//! place for a new connection, the one that has waited longest is ended for it.
//!
//! A connection waits for its client when it has no request, when the next bytes of a request's
//! body have not come, or when the client takes no bytes of an answer. A request on which the
//! server works is never ended. A connection that has waited for less than a moment is not ended
//! either: many new connections that come at a time each have that long to send a request.
//!
//! Any thread may call. No lock is held over a wait.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Frame, SizeHint};
use terrace_env::sync::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Least wait of a connection that is ended for another one.
const MOMENT: Duration = Duration::from_millis(250);

/// See the [module](self).
#[derive(Default)]
pub(super) struct Roster(Mutex<Open>);

#[derive(Default)]
struct Open {
    connections: BTreeMap<u64, Arc<Presence>>,
    next: u64,
}

/// State of an open connection: its next event, and the beginning of the wait.
pub(super) struct Presence {
    waits: Mutex<Waits>,
    end: Notify,
}

#[derive(Clone, Copy)]
struct Waits {
    /// For a request; `None` while there is one.
    request: Option<Instant>,
    /// For bytes of a body.
    body: Option<Instant>,
    /// For room to write.
    room: Option<Instant>,
    is_ended: bool,
}

impl Waits {
    fn since(&self) -> Option<Instant> {
        self.room.or(self.request).or(self.body).filter(|_| !self.is_ended)
    }
}

/// A connection in the roster, until it is dropped.
pub(super) struct Seat {
    roster: Arc<Roster>,
    number: u64,
    presence: Arc<Presence>,
}

impl Roster {
    /// Adds a connection, which waits for its first request.
    pub(super) fn enter(self: &Arc<Self>) -> Seat {
        let request = Some(Instant::now());
        let waits = Mutex::new(Waits { request, body: None, room: None, is_ended: false });
        let presence = Arc::new(Presence { waits, end: Notify::new() });
        let mut open = self.0.lock();
        let number = open.next;
        open.next += 1;
        open.connections.insert(number, Arc::clone(&presence));
        Seat { roster: Arc::clone(self), number, presence }
    }

    /// Ends the connection that has waited longest, if one has waited for a moment. Its place
    /// becomes free soon.
    pub(super) fn end_longest_wait(&self) {
        let open = self.0.lock();
        let waiting = open.connections.values();
        let waiting = waiting.filter_map(|one| Some((one.waits.lock().since()?, one)));
        let Some((since, longest)) = waiting.min_by_key(|(since, _)| *since) else { return };
        if since.elapsed() >= MOMENT {
            longest.waits.lock().is_ended = true;
            longest.end.notify_one();
        }
    }
}

impl Seat {
    pub(super) fn presence(&self) -> &Arc<Presence> {
        &self.presence
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.roster.0.lock().connections.remove(&self.number);
    }
}

impl Presence {
    /// Waits until the connection is to be ended for another one.
    pub(super) async fn ended(&self) {
        self.end.notified().await;
    }

    /// Notes whether the next bytes of a body are waited for.
    pub(super) fn waits_for_body(&self, waits: bool) {
        self.waits.lock().body = waits.then(Instant::now);
    }

    /// Notes whether room to write is waited for.
    pub(super) fn waits_for_room(&self, waits: bool) {
        self.waits.lock().room = waits.then(Instant::now);
    }

    /// Notes that there is a request, until its answer is dropped.
    pub(super) fn begin_request(self: &Arc<Self>) -> InRequest {
        self.waits.lock().request = None;
        InRequest(Arc::clone(self))
    }
}

/// A request whose answer has not been handed over.
pub(super) struct InRequest(Arc<Presence>);

impl Drop for InRequest {
    fn drop(&mut self) {
        let mut waits = self.0.waits.lock();
        (waits.request, waits.body) = (Some(Instant::now()), None);
    }
}

/// The body of an answer, with its request.
pub(super) struct Answering<T> {
    body: T,
    _request: InRequest,
}

impl<T> Answering<T> {
    pub(super) fn new(body: T, request: InRequest) -> Self {
        Self { body, _request: request }
    }
}

impl<T: Body + Unpin> Body for Answering<T> {
    type Data = T::Data;
    type Error = T::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<T::Data>, T::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use terrace_env::runner;

    use super::*;

    fn is_ended(seat: &Seat) -> bool {
        seat.presence.waits.lock().is_ended
    }

    fn wait() {
        runner::sleep(MOMENT);
    }

    #[test]
    fn the_longest_wait_is_ended_and_no_request_on_which_the_server_works() {
        let roster = Arc::new(Roster::default());
        let at_work = roster.enter();
        let request = at_work.presence().begin_request();
        let [slow, idle] = [roster.enter(), roster.enter()];
        let body = slow.presence().begin_request();
        roster.end_longest_wait();
        assert!(!is_ended(&idle), "not at once");
        wait();
        slow.presence().waits_for_body(true);
        wait();
        roster.end_longest_wait();
        assert!(is_ended(&idle) && !is_ended(&slow), "idle for longer");
        roster.end_longest_wait();
        assert!(is_ended(&slow) && !is_ended(&at_work));
        at_work.presence().waits_for_room(true);
        wait();
        at_work.presence().waits_for_room(false);
        roster.end_longest_wait();
        assert!(!is_ended(&at_work), "the client has taken bytes");
        drop((request, body, idle, slow));
        assert_eq!(roster.0.lock().connections.len(), 1);
        wait();
        roster.end_longest_wait();
        assert!(is_ended(&at_work), "idle after its request");
    }
}
