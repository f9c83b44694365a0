//! [`Window`]: the socket of an open store, and the actors that serve it.
//!
//! - One actor accepts connections, and each connection has one, at most [`CONNECTIONS_MAX`]; a
//!   further client gets an error and is disconnected. Without clients, no actor runs.
//! - The window holds the engine, not the [`Db`](crate::Db). So it neither keeps a store open nor
//!   closes it.
//! - [`Window::close`] removes the socket, ends all connections and waits for their actors. A
//!   request that the engine is working on ends first: at most a flush, or a read.
//!
//! A failure of a connection, also a panic, ends that connection. Threads only: in a simulation
//! there is no window.

use std::collections::BTreeMap;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use terrace_env::runner::{self, JoinHandle};
use terrace_env::sync::Mutex;

use super::activity::Activity;
use super::bound::Bound;
use super::connection::{LIMITS, Served, serve};
use super::frame::{Kind, Limits, Outgoing};
use super::overview::Viewed;
use super::place::Place;
use super::remote_error;
use crate::{Error, ErrorKind};

/// Connections at a time.
const CONNECTIONS_MAX: usize = 8;

/// The least limit of open files with which a store has some to spare: one for the socket, and two
/// for each connection.
const DESCRIPTORS_MIN: u64 = 64;

/// Pause after a connection that could not be accepted, for example for lack of descriptors.
const PAUSE: Duration = Duration::from_millis(200);

/// Time for a client too many to read its error.
const REFUSAL: Duration = Duration::from_millis(100);

/// See the [module](self).
pub(crate) struct Window {
    socket: Bound,
    listener: Arc<UnixListener>,
    shared: Arc<Shared>,
    acceptor: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    served: Served,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_closing: bool,
    next: u64,
    /// The connections, by number.
    open: BTreeMap<u64, UnixStream>,
    /// Their actors, including some that have ended.
    actors: Vec<JoinHandle<()>>,
}

impl Window {
    /// Opens the window of the store at a path. The caller has the store open for writing.
    pub(crate) fn open(
        path: &Path,
        viewed: Viewed,
        activity: Arc<Activity>,
    ) -> Result<Self, Error> {
        check_descriptors().map_err(Error::of_window)?;
        let place = Place::of(path).map_err(Error::of_window)?;
        let (listener, socket) = place.bind().map_err(Error::of_window)?;
        let listener = Arc::new(listener);
        let served = Served { viewed, activity, place, limits: LIMITS };
        let shared = Arc::new(Shared { served, state: Mutex::default() });
        let (of, by) = (Arc::clone(&shared), Arc::clone(&listener));
        let acceptor = runner::try_spawn("live window", move || accept(&by, &of));
        let acceptor = acceptor.map_err(|error| {
            socket.remove();
            Error::of_window(error)
        })?;
        Ok(Self { socket, listener, shared, acceptor: Mutex::new(Some(acceptor)) })
    }

    /// The path of the socket.
    pub(crate) fn socket(&self) -> &Path {
        self.socket.path()
    }

    /// Events and latencies, for the clients.
    pub(crate) fn activity(&self) -> &Arc<Activity> {
        &self.shared.served.activity
    }

    /// Ends the window. A second call has no effect.
    pub(crate) fn close(&self) {
        let Some(acceptor) = self.acceptor.lock().take() else { return };
        self.socket.remove();
        let mut actors = self.end_connections();
        // It wakes the acceptor.
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        let _ = acceptor.try_join();
        // One may have been accepted meanwhile.
        actors.extend(self.end_connections());
        for actor in actors {
            let _ = actor.try_join();
        }
    }

    /// Shuts all connections down, and returns the actors.
    fn end_connections(&self) -> Vec<JoinHandle<()>> {
        let mut state = self.shared.state.lock();
        state.is_closing = true;
        for stream in state.open.values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // The acceptor adds no more once it has seen that the window closes.
        std::mem::take(&mut state.actors)
    }
}

impl Drop for Window {
    /// While a panic unwinds, this waits for no actor.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.socket.remove();
            self.end_connections();
            let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
            return;
        }
        self.close();
    }
}

/// An error if the store itself needs every descriptor that the process may have.
fn check_descriptors() -> io::Result<()> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    match limit.filter(|limit| *limit < DESCRIPTORS_MIN) {
        None => Ok(()),
        Some(limit) => Err(io::Error::other(format!(
            "expected a limit of at least {DESCRIPTORS_MIN} open files, found {limit}"
        ))),
    }
}

/// Accepts connections until the window closes.
fn accept(listener: &UnixListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.state.lock().is_closing {
            return;
        }
        match accepted {
            Ok((stream, _)) => shared.admit(stream),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => runner::sleep(PAUSE),
        }
    }
}

impl Shared {
    /// Gives a connection its own actor, or disconnects the client.
    fn admit(self: &Arc<Self>, stream: UnixStream) {
        let Ok(handle) = stream.try_clone() else { return };
        let mut state = self.state.lock();
        state.actors.retain(|actor| !actor.is_finished());
        if state.open.len() >= CONNECTIONS_MAX {
            drop(state);
            refuse(stream, ErrorKind::TooLarge, too_many());
            return;
        }
        let number = state.next;
        state.next += 1;
        state.open.insert(number, handle);
        drop(state);
        let shared = Arc::clone(self);
        let actor = runner::try_spawn("live client", move || {
            let ends = Ends { shared: &shared, number };
            // The client has got the error, or is gone.
            let _ = serve(stream, &shared.served);
            drop(ends);
        });
        let mut state = self.state.lock();
        match actor {
            Ok(actor) => state.actors.push(actor),
            Err(error) => {
                let stream = state.open.remove(&number);
                drop(state);
                if let Some(stream) = stream {
                    refuse(stream, ErrorKind::Io, error.to_string());
                }
            }
        }
    }
}

/// Removes a connection from the list, even if its actor panics.
struct Ends<'a> {
    shared: &'a Shared,
    number: u64,
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.shared.state.lock().open.remove(&self.number);
    }
}

fn too_many() -> String {
    format!(
        "expected at most {CONNECTIONS_MAX} programs that look at the store at a time, found that \
         many already; end one of them"
    )
}

fn refuse(stream: UnixStream, kind: ErrorKind, text: String) {
    let error = Error::of_owner(kind, kind, text);
    let limits = Limits { idle: REFUSAL, frame: REFUSAL };
    let _ = Outgoing::new(stream, limits).send(Kind::Error, &remote_error::encode(&error));
}
