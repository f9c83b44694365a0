//! [`Live`]: a store that another process has open, inspected through the window of that process.
//!
//! - A connection has one request at a time. Once a call has failed because of the connection, all
//!   later ones fail; the caller connects again.
//! - The other process may end at any time. A call then returns an error of the kind
//!   [`ErrorKind::Closed`], and the store can be opened.
//! - If the other process does not answer within [`LIMITS`], because it is stopped for example, the
//!   call returns an error that says so.
//!
//! One thread at a time uses it.

use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rustix::io::retry_on_intr;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use serde::de::DeserializeOwned;
use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::store::{Store, StoreError};
use terrace_env::{ByteCount, SeqNo};
use terrace_lsm::{Bounds, Checkpointed, TableComparison};

use super::connection::LiveSnapshot;
use super::copy::answer_calls;
use super::frame::{FRAME_MAX, Incoming, Kind, Limits, Outgoing};
use super::overview::ZoneMap;
use super::place::{self, Place};
use super::remote_error;
use super::request::{MAGIC, Request, ScanRequest, VERSION};
use crate::{Error, ErrorKind};

/// Time limits of a client. An owner that flushes for a checkpoint sends nothing for a long time.
const LIMITS: Limits = Limits { idle: Duration::from_secs(60), frame: Duration::from_secs(30) };

/// Longest wait for the greeting: a thread of the owner does nothing else.
const GREETING: Duration = Duration::from_secs(10);

/// The longest flush at the begin of a checkpoint, and the longest pause between its tables.
const CHECKPOINT_IDLE: Duration = Duration::from_secs(3600);

/// The most bytes of an answer that is held in memory: the zones of a drive, or a value.
const ANSWER_MAX: usize = 1 << 30;

/// A connection to the process that has a store open. One thread at a time uses it. Once a call has
/// failed because of the connection, all later ones fail.
pub struct Live {
    incoming: Incoming,
    outgoing: Outgoing,
    place: Place,
    owner: Owner,
}

/// The process that has a store open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its number.
    pub pid: u32,
    /// Its command line, or the begin of it, as readable text.
    pub command: String,
}

impl Live {
    /// Connects to the process that has the store at a path open: an image, a block device or a
    /// directory. `None` if no process offers a window to it: it is not open, or it was opened
    /// without [`Options::live`](field@crate::Options::live).
    pub fn connect(path: impl AsRef<Path>) -> Result<Option<Self>, Error> {
        let place = match Place::of(path.as_ref()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            place => place.map_err(Error::of_window)?,
        };
        let connected = place.connect(GREETING).map_err(Error::of_window)?;
        let Some(stream) = connected else { return Ok(None) };
        let other = stream.try_clone().map_err(Error::of_window)?;
        let (mut outgoing, mut incoming) =
            (Outgoing::new(other, LIMITS), Incoming::new(stream, LIMITS));
        incoming.set_idle(GREETING);
        match greet(&mut incoming, &mut outgoing) {
            Ok(owner) => {
                incoming.set_idle(LIMITS.idle);
                Ok(Some(Self { incoming, outgoing, place, owner }))
            }
            // The process has just closed the store.
            Err(error) if error.kind() == ErrorKind::Closed => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The process that has the store open.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The current state of the store, and its events after a number.
    pub fn snapshot(&mut self, events_after: u64) -> Result<LiveSnapshot, Error> {
        self.json(&Request::Snapshot { events_after })
    }

    /// The contents of its devices.
    pub fn zone_map(&mut self) -> Result<ZoneMap, Error> {
        self.json(&Request::Zones)
    }

    /// The value under a key in the key space of this name.
    pub fn get(&mut self, space: &str, key: &[u8]) -> Result<Option<Bytes>, Error> {
        let request = Request::Get { space: space.to_owned(), key: key.to_vec() };
        let answer = self.whole(&request)?;
        match answer.split_first() {
            Some((0, [])) => Ok(None),
            Some((1, _)) => Ok(Some(Bytes::from(answer).slice(1..))),
            _ => Err(malformed("a value, or none")),
        }
    }

    /// The entries of a range in order, from the last one on if `reverse`, at most `limit`. Without
    /// `values` each entry has only the size of its value.
    ///
    /// The entries are those at the begin of the scan. The process that has the store open ends a
    /// scan that is not read for half a minute.
    pub fn scan(
        mut self,
        space: &str,
        bounds: impl Into<Bounds>,
        reverse: bool,
        limit: u64,
        values: bool,
    ) -> Result<LiveScan, Error> {
        let bounds = bounds.into();
        let space = space.to_owned();
        let (from, to) = bounds.user_keys();
        let request = Request::Scan(ScanRequest { space, from, to, reverse, limit, values });
        self.send(&request)?;
        Ok(LiveScan { live: self, bytes: Vec::new(), at: 0, values, ended: false })
    }

    /// Copies the store at one moment into an empty one, which this process writes; see
    /// [`Db::checkpoint_watched`](crate::Db::checkpoint_watched). This process must have the right
    /// to write to the store's file.
    pub fn checkpoint(
        &mut self,
        target: &Arc<dyn Store>,
        progress: &mut dyn FnMut(ByteCount, ByteCount),
    ) -> Result<Checkpointed, Error> {
        self.copy(&Request::Checkpoint, target, progress)
    }

    /// Copies the store at one moment into an empty one, or brings an earlier backup of it up to
    /// date; this process writes the target. See
    /// [`Db::backup_watched`](crate::Db::backup_watched). This process must have the right to write
    /// to the store's file.
    pub fn backup(
        &mut self,
        target: &Arc<dyn Store>,
        comparison: TableComparison,
        progress: &mut dyn FnMut(ByteCount, ByteCount),
    ) -> Result<Checkpointed, Error> {
        self.copy(&Request::Backup(comparison), target, progress)
    }

    fn copy(
        &mut self,
        request: &Request,
        target: &Arc<dyn Store>,
        progress: &mut dyn FnMut(ByteCount, ByteCount),
    ) -> Result<Checkpointed, Error> {
        let claim = target.users().claim_to_write();
        let _claim = claim.ok_or(StoreError::InUse("the target of a checkpoint".into()))?;
        let proof = place::proof(&self.place.file).map_err(|error| {
            let file = self.place.file.display();
            let error =
                io::Error::new(error.kind(), format!("opening {file} for writing: {error}"));
            Error::of_window(error)
        })?;
        self.send(request)?;
        let files = [proof.as_fd()];
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut passed = SendAncillaryBuffer::new(&mut space);
        passed.push(SendAncillaryMessage::ScmRights(&files));
        let bytes = &[IoSlice::new(&[0])];
        let stream = self.incoming.stream();
        let passed =
            retry_on_intr(|| rustix::net::sendmsg(stream, bytes, &mut passed, SendFlags::NOSIGNAL));
        self.incoming.set_idle(CHECKPOINT_IDLE);
        let end = answer_calls(&**target, &mut self.incoming, &mut self.outgoing, progress);
        self.incoming.set_idle(LIMITS.idle);
        // An owner that does not know the request has sent an error, and gone.
        let end = match (end, passed) {
            (Err(error), Err(_)) if error.origin() != ErrorKind::Io => return Err(error),
            (_, Err(error)) => return Err(Error::of_window(error.into())),
            (end, Ok(_)) => end?,
        };
        let mut reader = Reader::new(&end);
        let mut count = |field| reader.u64(field).map_err(Error::of_protocol);
        let mut copied = Checkpointed {
            tables: count("tables")?,
            logs: count("logs")?,
            bytes: ByteCount(count("bytes")?),
            sequence: SeqNo(count("sequence")?),
            ..Checkpointed::default()
        };
        if matches!(request, Request::Backup(_)) {
            copied.kept_tables = count("kept tables")?;
            copied.kept_bytes = ByteCount(count("kept bytes")?);
        }
        // An older owner does not count them.
        if reader.remaining() > 0 {
            let mut count = |field| reader.u64(field).map_err(Error::of_protocol);
            copied.left_files = count("files that are not copied")?;
            copied.left_bytes = ByteCount(count("bytes that are not copied")?);
        }
        Ok(copied)
    }

    fn send(&mut self, request: &Request) -> Result<(), Error> {
        let bytes = request.encode();
        if bytes.len() > FRAME_MAX {
            let found = bytes.len();
            let text = format!("expected a request of at most {FRAME_MAX} bytes, found {found}");
            return Err(Error::of_owner(ErrorKind::TooLarge, ErrorKind::TooLarge, text));
        }
        self.outgoing.send(Kind::Request, &bytes).map_err(Error::of_window)
    }

    /// The next piece of an answer, and whether it is the last one.
    fn piece(&mut self) -> Result<(&[u8], bool), Error> {
        match self.incoming.next_kind().map_err(Error::of_window)? {
            Some(Kind::Part) => Ok((self.incoming.payload(), false)),
            Some(Kind::End) => Ok((self.incoming.payload(), true)),
            Some(Kind::Error) => Err(remote_error::decode(self.incoming.payload())),
            Some(_) => {
                self.incoming.end();
                Err(malformed("a piece of an answer"))
            }
            None => Err(Error::of_window(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    /// A whole answer.
    fn whole(&mut self, request: &Request) -> Result<Vec<u8>, Error> {
        self.send(request)?;
        let mut answer = Vec::new();
        loop {
            let (piece, is_last) = self.piece()?;
            if answer.len() + piece.len() > ANSWER_MAX {
                self.incoming.end();
                return Err(malformed("an answer of at most 1 GiB"));
            }
            answer.extend_from_slice(piece);
            if is_last {
                return Ok(answer);
            }
        }
    }

    fn json<T: DeserializeOwned>(&mut self, request: &Request) -> Result<T, Error> {
        let answer = self.whole(request)?;
        serde_json::from_slice(&answer).map_err(|error| {
            let text = format!(
                "expected an answer that this version can read, found another one ({error}); the \
                 process that has the store open may be of another version"
            );
            Error::of_owner(ErrorKind::Unsupported, ErrorKind::Unsupported, text)
        })
    }
}

/// Exchanges versions; returns the owner.
fn greet(incoming: &mut Incoming, outgoing: &mut Outgoing) -> Result<Owner, Error> {
    let mut hello = MAGIC.to_vec();
    hello.put_u16(VERSION);
    // The owner may have sent an error already, and gone.
    let sent = outgoing.send(Kind::Hello, &hello);
    let answer = match incoming.next() {
        Ok(Some((Kind::Hello, payload))) => payload,
        Ok(Some((Kind::Error, payload))) => return Err(remote_error::decode(payload)),
        Ok(Some(_)) => return Err(malformed("a greeting")),
        Ok(None) => return Err(Error::of_window(io::ErrorKind::UnexpectedEof.into())),
        Err(error) => return Err(Error::of_window(sent.err().unwrap_or(error))),
    };
    let mut reader = Reader::new(answer);
    let magic = reader.bytes("magic", MAGIC.len()).map_err(Error::of_protocol)?;
    let version = reader.u16("version").map_err(Error::of_protocol)?;
    if magic != MAGIC || version != VERSION {
        return Err(malformed("a greeting of version 1"));
    }
    let pid = reader.u32("pid").map_err(Error::of_protocol)?;
    let command = reader.prefixed("command").map_err(Error::of_protocol)?;
    Ok(Owner { pid, command: String::from_utf8_lossy(command).into_owned() })
}

fn malformed(expected: &str) -> Error {
    let message = format!("expected {expected}, found other bytes");
    Error::of_window(io::Error::new(io::ErrorKind::InvalidData, message))
}

/// An entry of a [`LiveScan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveEntry {
    /// The key.
    pub key: Bytes,
    /// The size of the value.
    pub size: u64,
    /// The value, if it was asked for.
    pub value: Option<Bytes>,
}

/// The entries of a range from another process. It ends after the first error.
pub struct LiveScan {
    live: Live,
    /// Received bytes; those before `at` are used up.
    bytes: Vec<u8>,
    at: usize,
    values: bool,
    ended: bool,
}

impl LiveScan {
    /// The next entry, if its bytes are all there.
    fn parse(&mut self) -> Result<Option<LiveEntry>, Error> {
        let mut reader = Reader::new(&self.bytes[self.at..]);
        let Some(len) = length(&mut reader)? else { return Ok(None) };
        let Ok(key) = reader.bytes("key", len) else { return Ok(None) };
        let key = Bytes::copy_from_slice(key);
        let Some(len) = length(&mut reader)? else { return Ok(None) };
        let mut value = None;
        if self.values {
            let Ok(found) = reader.bytes("value", len) else { return Ok(None) };
            value = Some(Bytes::copy_from_slice(found));
        }
        self.at += reader.offset();
        Ok(Some(LiveEntry { key, size: len as u64, value }))
    }

    fn advance(&mut self) -> Result<Option<LiveEntry>, Error> {
        loop {
            if let Some(entry) = self.parse()? {
                return Ok(Some(entry));
            }
            if self.ended {
                let is_whole = self.at == self.bytes.len();
                return if is_whole { Ok(None) } else { Err(malformed("a whole entry")) };
            }
            self.bytes.drain(..self.at);
            self.at = 0;
            let (piece, is_last) = self.live.piece()?;
            self.bytes.extend_from_slice(piece);
            self.ended = is_last;
        }
    }
}

/// The length of a key or a value; `None` if its bytes have not all come.
fn length(reader: &mut Reader<'_>) -> Result<Option<usize>, Error> {
    match reader.varint("length") {
        Ok(len) if len <= ANSWER_MAX as u64 => Ok(Some(len as usize)),
        Ok(_) => Err(malformed("a length of at most 1 GiB")),
        Err(DecodeError::Short { .. }) => Ok(None),
        Err(error) => Err(Error::of_protocol(error)),
    }
}

impl Iterator for LiveScan {
    type Item = Result<LiveEntry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance();
        if next.is_err() {
            (self.ended, self.at) = (true, self.bytes.len());
        }
        next.transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    const SHORT: Limits =
        Limits { idle: Duration::from_millis(50), frame: Duration::from_millis(50) };

    /// For answers that are there: it must not pass on a slow machine.
    const LONG: Limits = Limits { idle: Duration::from_secs(60), frame: Duration::from_secs(60) };

    /// A client, and the other end of its connection.
    fn client(limits: Limits) -> (tempfile::TempDir, Live, UnixStream) {
        let directory = tempfile::tempdir().unwrap();
        let place = Place::of(directory.path()).unwrap();
        let (here, there) = UnixStream::pair().unwrap();
        let outgoing = Outgoing::new(here.try_clone().unwrap(), limits);
        let (incoming, owner) =
            (Incoming::new(here, limits), Owner { pid: 1, command: String::new() });
        (directory, Live { incoming, outgoing, place, owner }, there)
    }

    /// The answer of an owner that was stopped for a while comes when the client has given up.
    #[test]
    fn a_late_answer_is_not_taken_for_that_to_a_later_request() {
        let (_directory, mut live, there) = client(SHORT);
        let error = live.get("default", b"a").unwrap_err();
        assert!(error.to_string().contains("in time"), "{error}");
        let mut owner = Outgoing::new(there, LONG);
        owner.send(Kind::End, b"\x01the value of a").unwrap();
        let error = live.get("default", b"b").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    }

    #[test]
    fn a_request_that_is_too_long_for_a_frame_is_an_error_and_the_connection_goes_on() {
        let (_directory, mut live, there) = client(LONG);
        let error = live.get("default", &vec![0; FRAME_MAX]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
        let mut owner = Outgoing::new(there, LONG);
        owner.send(Kind::End, b"\x01value").unwrap();
        assert_eq!(live.get("default", b"key").unwrap().as_deref(), Some(&b"value"[..]));
    }
}
