//! [`Input`]: lines of a file or a pipe as they come. A reader of its own reads ahead, so that the
//! loader notices when the input pauses, and when a signal comes.
//!
//! - [`Input::next`] gives the next line. If none comes for [`PAUSE`], it says so, once, if the
//!   caller wants to know.
//! - A signal that ends the program is told before any further line.
//! - A line is at most as long as the caller says, and at most [`CHUNKS`] pieces of the input are
//!   read ahead.
//!
//! The reader ends with the input or with the process; it is not waited for.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use terrace_env::runner;
use terrace_env::sync::{Condvar, Mutex};

use crate::signals;

/// The input pauses when nothing comes for so long.
const PAUSE: Duration = Duration::from_millis(200);

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 16;

/// Pieces that are read ahead at most.
const CHUNKS: usize = 16;

/// Next event of the input.
#[derive(Debug)]
pub(super) enum Next {
    /// A line is there; whether it ends with a newline, which is taken off.
    Line { is_whole: bool },
    /// No line comes for a while.
    Pause,
    /// There is no further line.
    End,
    /// A signal ends the program.
    Signal(i32),
}

/// See the [module](self).
pub(super) struct Input {
    shared: Arc<Shared>,
    chunk: Vec<u8>,
    /// Bytes of the chunk that are taken.
    taken: usize,
    line_max: usize,
    has_paused: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    chunks: VecDeque<Vec<u8>>,
    /// How the input ended.
    end: Option<io::Result<()>>,
    signal: Option<i32>,
}

impl Input {
    /// Begins to read.
    pub(super) fn new(from: Box<dyn Read + Send>, line_max: usize) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let told = shared.clone();
        signals::watch(move |signal| {
            told.state.lock().signal = Some(signal);
            told.changed.notify_all();
        })?;
        let filled = shared.clone();
        runner::spawn("input", move || filled.fill(from));
        Ok(Self { shared, chunk: Vec::new(), taken: 0, line_max, has_paused: false })
    }

    /// Takes the next line, without its end. `tell_pause`: whether a pause is told.
    pub(super) fn next(&mut self, line: &mut Vec<u8>, tell_pause: bool) -> io::Result<Next> {
        if let Some(signal) = self.shared.state.lock().signal {
            return Ok(Next::Signal(signal));
        }
        // After a pause, the begin of the line is there already.
        if !mem::take(&mut self.has_paused) {
            line.clear();
        }
        loop {
            let rest = &self.chunk[self.taken..];
            let end = rest.iter().position(|&byte| byte == b'\n');
            let part = &rest[..end.unwrap_or(rest.len())];
            if line.len() + part.len() > self.line_max {
                let message = format!(
                    "expected a line of at most {} bytes, found a longer one",
                    self.line_max
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            line.extend_from_slice(part);
            self.taken += part.len() + usize::from(end.is_some());
            if end.is_some() {
                return Ok(Next::Line { is_whole: true });
            }
            match self.shared.take(tell_pause)? {
                Taken::Chunk(chunk) => (self.chunk, self.taken) = (chunk, 0),
                Taken::Pause => {
                    self.has_paused = true;
                    return Ok(Next::Pause);
                }
                Taken::End if line.is_empty() => return Ok(Next::End),
                Taken::End => return Ok(Next::Line { is_whole: false }),
                Taken::Signal(signal) => return Ok(Next::Signal(signal)),
            }
        }
    }
}

/// The next piece of the input.
enum Taken {
    Chunk(Vec<u8>),
    Pause,
    End,
    Signal(i32),
}

impl Shared {
    fn fill(&self, mut from: Box<dyn Read + Send>) {
        loop {
            let mut chunk = vec![0; CHUNK];
            let read = match from.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read,
            };
            let mut state = self.state.lock();
            match read {
                Ok(0) => state.end = Some(Ok(())),
                Err(error) => state.end = Some(Err(error)),
                Ok(read) => {
                    chunk.truncate(read);
                    self.changed.wait_while(&mut state, |state| state.chunks.len() >= CHUNKS);
                    state.chunks.push_back(chunk);
                }
            }
            let is_over = state.end.is_some();
            drop(state);
            self.changed.notify_all();
            if is_over {
                return;
            }
        }
    }

    /// The next piece; waits for it.
    fn take(&self, tell_pause: bool) -> io::Result<Taken> {
        let mut state = self.state.lock();
        loop {
            if let Some(signal) = state.signal {
                return Ok(Taken::Signal(signal));
            }
            if let Some(chunk) = state.chunks.pop_front() {
                drop(state);
                self.changed.notify_all();
                return Ok(Taken::Chunk(chunk));
            }
            match state.end.take() {
                Some(Err(error)) => return Err(error),
                Some(Ok(())) => {
                    state.end = Some(Ok(()));
                    return Ok(Taken::End);
                }
                None => {}
            }
            if !tell_pause {
                self.changed.wait(&mut state);
            } else if self.changed.wait_for(&mut state, PAUSE).timed_out() {
                return Ok(Taken::Pause);
            }
        }
    }
}
