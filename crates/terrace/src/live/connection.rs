//! [`serve`]: one connection of a client, from its first frame to its end. It answers one request
//! after the other, in the thread of the connection.
//!
//! - A client loses its connection if it sends an invalid request, is silent for [`Limits::idle`],
//!   or takes longer than [`Limits::frame`] for a frame. The store does not notice.
//! - An answer is sent in pieces, so that it takes little memory at any length. A scan keeps space
//!   from being freed until it ends; it ends if the client does not read it.
//! - For all requests but one, a connection is enough: it needs the right to read the store. A
//!   checkpoint makes the store flush and keeps space. So the client must prove that it may write:
//!   it passes the store's file, open for writing.

use std::io::{self, IoSliceMut, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use serde::{Deserialize, Serialize};
use terrace_env::codec::{Reader, Writer};
use terrace_env::command_of;
use terrace_lsm::{Checkpointed, ReadOptions, Scan, TableComparison};

use super::activity::{Activity, Latencies, LiveEvent};
use super::copy::RemoteStore;
use super::frame::{Answer, Incoming, Kind, Limits, Outgoing};
use super::overview::{Overview, Viewed};
use super::place::{self, Place};
use super::remote_error;
use super::request::{MAGIC, Request, ScanRequest, VERSION};
use crate::{Db, Error, ErrorKind};

/// Time limits of an owner.
pub(super) const LIMITS: Limits =
    Limits { idle: Duration::from_secs(60), frame: Duration::from_secs(30) };

/// The parts of a window that a connection uses.
pub(super) struct Served {
    pub(super) viewed: Viewed,
    pub(super) activity: Arc<Activity>,
    pub(super) place: Place,
    pub(super) limits: Limits,
}

/// A store at a moment, and its latest history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveSnapshot {
    /// The metrics of the store.
    pub overview: Overview,
    /// Nanoseconds since the store was opened.
    pub age: u64,
    /// Kept events after the requested number.
    pub events: Vec<LiveEvent>,
    /// Latencies of calls.
    pub latencies: Latencies,
}

impl LiveSnapshot {
    /// The current state of a store that is open in this process, and its events after a number.
    /// Without a window ([`Options::live`](field@crate::Options::live)) there are no events, no
    /// latencies and no age.
    pub fn of(db: &Db, events_after: u64) -> Result<Self, Error> {
        let overview = Overview::of(db)?;
        Ok(match db.activity() {
            Some(activity) => Self::with(overview, activity, events_after),
            None => {
                let latencies = Latencies::default();
                Self { overview, age: 0, events: Vec::new(), latencies }
            }
        })
    }

    fn with(overview: Overview, activity: &Activity, events_after: u64) -> Self {
        Self {
            overview,
            age: activity.age(),
            events: activity.events_after(events_after),
            latencies: activity.latencies(),
        }
    }
}

/// Has latencies of a store measured until it is dropped, as a client of its window does.
pub struct Watch(Arc<Activity>);

impl Watch {
    /// A watch of a store that is open in this process; `None` if it has no window.
    #[must_use]
    pub fn of(db: &Db) -> Option<Self> {
        db.activity().map(Self::begin)
    }

    fn begin(activity: &Arc<Activity>) -> Self {
        activity.watch();
        Self(Arc::clone(activity))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.unwatch();
    }
}

/// Serves a client until it goes, or is disconnected.
pub(super) fn serve(stream: UnixStream, served: &Served) -> io::Result<()> {
    let limits = served.limits;
    let mut outgoing = Outgoing::new(stream.try_clone()?, limits);
    let first = Limits { idle: limits.frame, ..limits };
    let mut incoming = Incoming::new(stream.try_clone()?, first);
    greet(&mut incoming, &mut outgoing)?;
    let mut incoming = Incoming::new(stream, limits);
    let mut watch = None;
    while let Some((kind, payload)) = incoming.next()? {
        let request = match kind {
            Kind::Request => Request::decode(payload),
            _ => return refuse(&mut outgoing, &format!("expected a request, found {kind:?}")),
        };
        let request = match request {
            Ok(request) => request,
            Err(error) => return refuse(&mut outgoing, &error.to_string()),
        };
        if matches!(request, Request::Snapshot { .. }) && watch.is_none() {
            watch = Some(Watch::begin(&served.activity));
        }
        let answered = match request {
            Request::Checkpoint | Request::Backup(_) => {
                let comparison = match request {
                    Request::Backup(comparison) => Some(comparison),
                    _ => None,
                };
                (incoming, outgoing) = match copy(incoming, outgoing, served, comparison)? {
                    Some(channel) => channel,
                    None => return Ok(()),
                };
                continue;
            }
            request => answer(request, served, &mut outgoing),
        };
        match answered {
            Ok(()) => {}
            Err(Failed::Connection(error)) => return Err(error),
            Err(Failed::Request(error)) => {
                outgoing.send(Kind::Error, &remote_error::encode(&error))?;
            }
        }
    }
    Ok(())
}

/// Exchanges versions.
fn greet(incoming: &mut Incoming, outgoing: &mut Outgoing) -> io::Result<()> {
    let Some((kind, payload)) = incoming.next()? else { return Ok(()) };
    let mut reader = Reader::new(payload);
    let is_hello =
        kind == Kind::Hello && reader.bytes("magic", MAGIC.len()).is_ok_and(|it| it == MAGIC);
    let version = reader.u16("version");
    match version {
        Ok(VERSION) if is_hello => {}
        Ok(version) if is_hello => {
            let message = format!("expected version {VERSION} of the live window, found {version}");
            return refuse(outgoing, &message);
        }
        _ => return refuse(outgoing, "expected the greeting of a client of the live window"),
    }
    let mut hello = MAGIC.to_vec();
    hello.put_u16(VERSION);
    hello.put_u32(std::process::id());
    hello.put_prefixed(command_of(std::process::id()).as_bytes());
    outgoing.send(Kind::Hello, &hello)
}

/// Sends the reason for the end of the connection, and ends it.
fn refuse(outgoing: &mut Outgoing, message: &str) -> io::Result<()> {
    let kind = ErrorKind::Invalid;
    let error = Error::of_owner(kind, kind, message.to_owned());
    outgoing.send(Kind::Error, &remote_error::encode(&error))?;
    Err(io::Error::new(io::ErrorKind::InvalidData, message.to_owned()))
}

/// Reason for which a request was not answered.
enum Failed {
    /// The client is gone, or does not read.
    Connection(io::Error),
    /// The client gets this error.
    Request(Error),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

impl<E: Into<Error>> From<Refused<E>> for Failed {
    fn from(Refused(error): Refused<E>) -> Self {
        Self::Request(error.into())
    }
}

/// An error of the store.
struct Refused<E>(E);

fn answer(request: Request, served: &Served, outgoing: &mut Outgoing) -> Result<(), Failed> {
    let viewed = &served.viewed;
    match request {
        Request::Snapshot { events_after } => {
            let overview = viewed.overview().map_err(Refused)?;
            json(&LiveSnapshot::with(overview, &served.activity, events_after), outgoing)
        }
        Request::Zones => json(&viewed.zone_map().map_err(Refused)?, outgoing),
        Request::Get { space, key } => {
            let id = key_space(viewed, &space)?;
            let found =
                viewed.engine.get_with(id, &key, ReadOptions::default()).map_err(Refused)?;
            let mut answer = Answer::new(outgoing);
            answer.write_all(&[found.is_some().into()])?;
            if let Some(value) = found {
                answer.write_all(&value)?;
            }
            Ok(answer.end()?)
        }
        Request::Scan(request) => {
            let id = key_space(viewed, &request.space)?;
            let scan = viewed.engine.scan(id, &request.bounds()).map_err(Refused)?;
            entries(scan, &request, outgoing)
        }
        Request::Checkpoint | Request::Backup(_) => {
            unreachable!("a copy takes the connection")
        }
    }
}

fn key_space(viewed: &Viewed, name: &str) -> Result<terrace_lsm::KeySpaceId, Failed> {
    let known = || viewed.engine.key_spaces().iter().map(|space| space.name.to_string()).collect();
    let found = viewed.engine.key_space(name);
    found.ok_or_else(|| Failed::Request(Error::unknown_key_space(name, known())))
}

fn json(value: &impl Serialize, outgoing: &mut Outgoing) -> Result<(), Failed> {
    let mut answer = Answer::new(outgoing);
    serde_json::to_writer(&mut answer, value).map_err(io::Error::from)?;
    Ok(answer.end()?)
}

/// Sends entries until the scan ends, or fails: an error may come after entries.
fn entries(mut scan: Scan, request: &ScanRequest, outgoing: &mut Outgoing) -> Result<(), Failed> {
    let mut answer = Answer::new(outgoing);
    for _ in 0..request.limit {
        let next = if request.reverse { scan.next_back() } else { scan.next() };
        let Some(entry) = next else { break };
        let (key, value) = match entry {
            Ok(entry) => entry,
            Err(error) => {
                // The entries before it are whole.
                answer.flush()?;
                return Err(Failed::Request(error.into()));
            }
        };
        let mut head = Vec::with_capacity(key.len() + 20);
        head.put_varint(key.len() as u64);
        head.put(&key);
        head.put_varint(value.len() as u64);
        answer.write_all(&head)?;
        if request.values {
            answer.write_all(&value)?;
        }
    }
    Ok(answer.end()?)
}

/// Copies the store into the client's target, or, with a comparison, backs it up there; returns the
/// connection, if it is still usable.
fn copy(
    incoming: Incoming,
    mut outgoing: Outgoing,
    served: &Served,
    comparison: Option<TableComparison>,
) -> io::Result<Option<(Incoming, Outgoing)>> {
    let proof = receive_proof(incoming.stream(), served.limits)?;
    let file = std::fs::metadata(&served.place.file);
    let may_write = proof.is_some_and(|proof| file.is_ok_and(|file| place::proves(&proof, &file)));
    if !may_write {
        let text = "a checkpoint of a store that another process has open: expected the right to \
                    write to the store, found none";
        let error = Error::of_owner(ErrorKind::ReadOnly, ErrorKind::ReadOnly, text.to_owned());
        outgoing.send(Kind::Error, &remote_error::encode(&error))?;
        return Ok(Some((incoming, outgoing)));
    }
    let target = match comparison {
        None => RemoteStore::to_fill(incoming, outgoing),
        Some(_) => RemoteStore::to_update(incoming, outgoing),
    };
    let target = target.map_err(io::Error::other)?;
    let mut progress = |done, all| target.progress(done, all);
    let copied = match comparison {
        None => served.viewed.engine.checkpoint(&target, &mut progress),
        Some(comparison) => served.viewed.engine.backup(&target, comparison, &mut progress),
    };
    let Some((incoming, mut outgoing)) = target.into_channel() else { return Ok(None) };
    match copied {
        Ok(copied) => {
            let Checkpointed { tables, logs, bytes, sequence, .. } = copied;
            let mut counts = vec![tables, logs, bytes.0, sequence.0];
            if comparison.is_some() {
                counts.extend([copied.kept_tables, copied.kept_bytes.0]);
            }
            counts.extend([copied.left_files, copied.left_bytes.0]);
            let mut end = Vec::new();
            counts.into_iter().for_each(|count| end.put_u64(count));
            outgoing.send(Kind::End, &end)?;
        }
        Err(error) => outgoing.send(Kind::Error, &remote_error::encode(&error.into()))?,
    }
    Ok(Some((incoming, outgoing)))
}

/// Receives the file that the client passes with one byte; `None` if it passes none.
fn receive_proof(stream: &UnixStream, limits: Limits) -> io::Result<Option<OwnedFd>> {
    stream.set_read_timeout(Some(limits.frame))?;
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut passed = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let into = &mut [IoSliceMut::new(&mut byte)];
    // A call with a time limit is not restarted after a signal.
    let message = retry_on_intr(|| {
        rustix::net::recvmsg(stream, &mut into[..], &mut passed, RecvFlags::CMSG_CLOEXEC)
    })?;
    if message.bytes != 1 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut files = passed.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    Ok(files.next().and_then(|mut files| files.next()))
}
