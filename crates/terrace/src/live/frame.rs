//! Frames, the units of both directions of a connection: [`Incoming`] reads them, [`Outgoing`]
//! writes them. `docs/live.md` has the format.
//!
//! ```text
//! length of the payload: u32, little-endian, at most FRAME_MAX
//! kind:                  u8
//! payload
//! ```
//!
//! - Each frame has a time limit, from its first byte to its last, for all of its reads together.
//!   The wait for the first byte has a separate limit.
//! - After a failure no further frame is read, so that no late frame is taken for the answer to a
//!   later request. A frame that was written only in part ends the connection.
//! - A reader holds one frame at a time. A length above [`FRAME_MAX`] is an error before a byte of
//!   the payload is read.
//!
//! One thread reads, one writes; these may be two.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::SendFlags;
use terrace_env::{Time, runner};

/// The most bytes of a payload.
pub(crate) const FRAME_MAX: usize = 256 << 10;

/// Bytes of a length and a kind.
const HEAD: usize = 5;

/// Meaning of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The first frame in each direction.
    Hello = 0,
    /// A request of the client.
    Request = 1,
    /// A piece of an answer; others follow.
    Part = 2,
    /// The last piece of an answer.
    End = 3,
    /// The answer is an error, also after other pieces.
    Error = 4,
    /// A call of the owner to the target of a checkpoint.
    Call = 5,
    /// The client's answer to a call.
    Reply = 6,
}

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        use Kind::{Call, End, Error, Hello, Part, Reply, Request};
        [Hello, Request, Part, End, Error, Call, Reply].into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// Time limits for the other side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Until a frame begins.
    pub(crate) idle: Duration,
    /// From the begin of a frame to its end, in either direction.
    pub(crate) frame: Duration,
}

/// Incoming frames.
pub(crate) struct Incoming {
    stream: UnixStream,
    limits: Limits,
    payload: Vec<u8>,
    has_ended: bool,
}

impl Incoming {
    pub(crate) fn new(stream: UnixStream, limits: Limits) -> Self {
        Self { stream, limits, payload: Vec::new(), has_ended: false }
    }

    /// The next frame; `None` if the other side has closed the connection between two frames, and
    /// after a failure.
    pub(crate) fn next(&mut self) -> io::Result<Option<(Kind, &[u8])>> {
        Ok(self.next_kind()?.map(|kind| (kind, self.payload())))
    }

    /// The same without its payload.
    pub(crate) fn next_kind(&mut self) -> io::Result<Option<Kind>> {
        if self.has_ended {
            return Ok(None);
        }
        let read = self.read();
        self.has_ended = read.is_err();
        read
    }

    /// The payload of the last frame.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Reads no further frame.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
    }

    /// Reads a frame into the payload.
    fn read(&mut self) -> io::Result<Option<Kind>> {
        let mut head = [0; HEAD];
        self.stream.set_read_timeout(Some(self.limits.idle))?;
        let first = loop {
            match self.stream.read(&mut head) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(late(error, "a frame")),
                Ok(bytes) => break bytes,
            }
        };
        if first == 0 {
            return Ok(None);
        }
        let deadline = runner::now() + self.limits.frame;
        fill(&mut self.stream, &mut head[first..], deadline)?;
        let len = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        if len > FRAME_MAX {
            let message = format!("expected a frame of at most {FRAME_MAX} bytes, found {len}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let Some(kind) = Kind::of(head[4]) else {
            let message = format!("expected a kind of frame from 0 to 6, found {}", head[4]);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        };
        self.payload.resize(len, 0);
        fill(&mut self.stream, &mut self.payload, deadline)?;
        Ok(Some(kind))
    }

    /// Sets the time that a frame may take to begin.
    pub(crate) fn set_idle(&mut self, idle: Duration) {
        self.limits.idle = idle;
    }

    pub(crate) fn stream(&self) -> &UnixStream {
        &self.stream
    }
}

/// Outgoing frames.
pub(crate) struct Outgoing {
    stream: UnixStream,
    limits: Limits,
}

impl Outgoing {
    pub(crate) fn new(stream: UnixStream, limits: Limits) -> Self {
        Self { stream, limits }
    }

    /// Writes a frame.
    pub(crate) fn send(&mut self, kind: Kind, payload: &[u8]) -> io::Result<()> {
        assert!(payload.len() <= FRAME_MAX, "a frame of {} bytes", payload.len());
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        head[4] = kind as u8;
        let deadline = runner::now() + self.limits.frame;
        let sent = self.write(&head, deadline).and_then(|()| self.write(payload, deadline));
        sent.inspect_err(|_| {
            // The other side may have ended the connection.
            let _ = self.stream.shutdown(Shutdown::Both);
        })
    }

    fn write(&mut self, mut bytes: &[u8], deadline: Time) -> io::Result<()> {
        while !bytes.is_empty() {
            self.stream.set_write_timeout(Some(left(deadline)?))?;
            // Without a signal, which would end a program that does not expect it.
            let sent = rustix::net::send(&self.stream, bytes, SendFlags::NOSIGNAL);
            match sent.map_err(io::Error::from) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(late(error, "room for a frame")),
            }
        }
        Ok(())
    }
}

/// Writes an answer of any length, in pieces.
pub(crate) struct Answer<'a> {
    to: &'a mut Outgoing,
    piece: Vec<u8>,
}

/// Bytes of a piece. Less than a frame's limit, so that an answer begins early.
const PIECE: usize = 64 << 10;

impl<'a> Answer<'a> {
    pub(crate) fn new(to: &'a mut Outgoing) -> Self {
        Self { to, piece: Vec::new() }
    }

    /// Sends the remaining pieces.
    pub(crate) fn end(self) -> io::Result<()> {
        self.to.send(Kind::End, &self.piece)
    }
}

impl Write for Answer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = PIECE - self.piece.len();
        let taken = bytes.len().min(room);
        self.piece.extend_from_slice(&bytes[..taken]);
        if self.piece.len() == PIECE {
            self.to.send(Kind::Part, &self.piece)?;
            self.piece.clear();
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.piece.is_empty() {
            self.to.send(Kind::Part, &self.piece)?;
            self.piece.clear();
        }
        Ok(())
    }
}

/// Reads until a buffer is full, or the time is up.
fn fill(stream: &mut UnixStream, mut into: &mut [u8], deadline: Time) -> io::Result<()> {
    while !into.is_empty() {
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(into) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => into = &mut into[read..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(late(error, "the rest of a frame")),
        }
    }
    Ok(())
}

/// The remaining time, which is not zero: a timeout of zero would mean none.
fn left(deadline: Time) -> io::Result<Duration> {
    let now = runner::now();
    if now >= deadline {
        let message = "expected a whole frame in time, found a part of one";
        return Err(io::Error::new(io::ErrorKind::TimedOut, message));
    }
    Ok(deadline.since(now).max(Duration::from_millis(1)))
}

/// The error of a read or write; after a timeout, its text names the wait.
fn late(error: io::Error, what: &str) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            io::Error::new(io::ErrorKind::TimedOut, format!("expected {what}, found none in time"))
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Limits =
        Limits { idle: Duration::from_secs(60), frame: Duration::from_millis(50) };
    const LONG: Limits = Limits { idle: Duration::from_secs(60), frame: Duration::from_secs(60) };

    fn pair(limits: Limits) -> (UnixStream, Incoming) {
        let (one, other) = UnixStream::pair().unwrap();
        (one, Incoming::new(other, limits))
    }

    #[test]
    fn frames_arrive_as_they_were_sent_and_the_end_is_told() {
        let (one, mut incoming) = pair(LONG);
        let mut outgoing = Outgoing::new(one, LONG);
        outgoing.send(Kind::Request, b"stats").unwrap();
        outgoing.send(Kind::Reply, b"").unwrap();
        drop(outgoing);
        assert_eq!(incoming.next().unwrap(), Some((Kind::Request, &b"stats"[..])));
        assert_eq!(incoming.next().unwrap(), Some((Kind::Reply, &b""[..])));
        assert_eq!(incoming.next().unwrap(), None);
    }

    #[test]
    fn a_length_or_a_kind_that_cannot_be_is_refused_before_the_payload() {
        for (head, wrong) in [
            ([0xff, 0xff, 0xff, 0xff, 1], "at most 262144 bytes, found 4294967295"),
            ([1, 0, 0, 0, 9], "from 0 to 6, found 9"),
        ] {
            let (mut one, mut incoming) = pair(LONG);
            one.write_all(&head).unwrap();
            let error = incoming.next().unwrap_err();
            assert!(error.to_string().contains(wrong), "{error}");
        }
    }

    #[test]
    fn a_frame_that_is_not_whole_in_time_is_an_error_and_so_is_one_that_ends_early() {
        let (mut one, mut incoming) = pair(SHORT);
        one.write_all(&[7, 0, 0]).unwrap();
        assert_eq!(incoming.next().unwrap_err().kind(), io::ErrorKind::TimedOut);
        // Bytes that come one at a time do not prolong it.
        let (mut one, mut incoming) = pair(SHORT);
        one.write_all(&[255, 0, 0, 0, 1]).unwrap();
        let sender = runner::spawn("sender", move || {
            while one.write_all(b"x").is_ok() {
                runner::sleep(SHORT.frame / 4);
            }
        });
        assert_eq!(incoming.next().unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(incoming);
        sender.join();
        let (mut one, mut incoming) = pair(LONG);
        one.write_all(&[7, 0, 0, 0, 1, b'x']).unwrap();
        drop(one);
        assert_eq!(incoming.next().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_reader_that_takes_nothing_ends_a_write_in_time() {
        let (one, _incoming) = pair(SHORT);
        let mut outgoing = Outgoing::new(one, SHORT);
        let error = (0..1000).find_map(|_| outgoing.send(Kind::Part, &[0; FRAME_MAX]).err());
        assert_eq!(error.expect("a full socket").kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn an_answer_of_any_length_comes_in_pieces() {
        let (one, mut incoming) = pair(LONG);
        let bytes: Vec<u8> = (0..3 * PIECE + 7).map(|at| at as u8).collect();
        let sent = bytes.clone();
        let sender = runner::spawn("sender", move || {
            let mut outgoing = Outgoing::new(one, LONG);
            let mut answer = Answer::new(&mut outgoing);
            answer.write_all(&sent).unwrap();
            answer.end().unwrap();
        });
        let mut found = Vec::new();
        loop {
            let (kind, payload) = incoming.next().unwrap().unwrap();
            found.extend_from_slice(payload);
            if kind == Kind::End {
                break;
            }
        }
        sender.join();
        assert_eq!(found, bytes);
    }
}
