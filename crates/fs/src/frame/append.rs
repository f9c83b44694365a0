//! Appends: an append is the payload that one or more frames carry together.
//!
//! A frame says whether its append goes on after it, but not whether it is the first. A reader
//! that begins at the start of an append, and takes every frame in order, gets each append whole or
//! not at all. After damage, the first append that is put together may lack its front.

use terrace_env::store::StoreError;

use super::{Binding, BlockSource, Cursor, Frame, Scanner};

/// The part of an append that one frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where the frame starts, in blocks of its source.
    pub block: u32,
    /// Payload bytes in it.
    pub len: u32,
}

/// One append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// Kind of the payload.
    pub kind: u8,
    /// The sequence of its first frame.
    pub sequence: u64,
    /// Its frames.
    pub spans: Vec<Span>,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// Puts frames together to appends.
#[derive(Debug, Default)]
pub struct Assembler {
    open: Option<Append>,
}

impl Assembler {
    /// Takes the next frame; returns the append that it completes. The frame is handed back as the
    /// error if it does not go on with the append that is open.
    pub fn push(&mut self, frame: Frame) -> Result<Option<Append>, Frame> {
        if self.open.as_ref().is_some_and(|append| append.kind != frame.kind) {
            return Err(frame);
        }
        let span = Span { block: frame.block, len: frame.payload.len() as u32 };
        let continues = frame.continues;
        let append = match self.open.take() {
            Some(mut append) => {
                append.spans.push(span);
                append.payload.extend_from_slice(&frame.payload);
                append
            }
            None => Append {
                kind: frame.kind,
                sequence: frame.sequence,
                spans: vec![span],
                payload: frame.payload,
            },
        };
        if continues {
            debug_assert!(!append.spans.is_empty(), "an append begins with a frame");
            self.open = Some(append);
            return Ok(None);
        }
        debug_assert_eq!(
            append.spans.iter().map(|span| u64::from(span.len)).sum::<u64>(),
            append.payload.len() as u64,
            "the spans of an append hold its payload"
        );
        Ok(Some(append))
    }

    /// Whether an append is open: its last frames are still to come.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }
}

/// Reads the appends of one run of a log.
pub struct AppendScan<'a> {
    scanner: Scanner<&'a dyn BlockSource>,
    end: (u32, Cursor),
    known_end: u32,
    done: bool,
    failed: Option<StoreError>,
}

impl<'a> AppendScan<'a> {
    /// As [`Scanner::new`].
    #[must_use]
    pub fn new(
        source: &'a dyn BlockSource,
        binding: Binding,
        block: u32,
        cursor: Cursor,
        known_end: u32,
    ) -> Self {
        let scanner = Scanner::new(source, binding, block, cursor, known_end);
        Self { scanner, end: (block, cursor), known_end, done: false, failed: None }
    }

    /// As [`Scanner::until`].
    #[must_use]
    pub fn until(mut self, limit: u32) -> Self {
        self.scanner = self.scanner.until(limit);
        self
    }

    /// The next whole append, or `None` at the run's end. After an error it returns that error
    /// again: the next append could lack its front.
    pub fn next_append(&mut self) -> Result<Option<Append>, StoreError> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => self.scan().inspect_err(|error| self.failed = Some(error.clone())),
        }
    }

    fn scan(&mut self) -> Result<Option<Append>, StoreError> {
        let mut assembler = Assembler::default();
        while !self.done {
            let Some(frame) = self.scanner.next_frame()? else {
                self.done = true;
                break;
            };
            match assembler.push(frame) {
                Ok(None) => {}
                Ok(Some(append)) => {
                    self.end = (self.scanner.block(), self.scanner.cursor());
                    return Ok(Some(append));
                }
                Err(frame) => {
                    let expected = "the next part of an append".into();
                    let got = format!("frame {} of type {}", frame.sequence, frame.kind);
                    return Err(self.scanner.corruption(expected, got));
                }
            }
        }
        if self.end.0 < self.known_end {
            let expected = format!("an append up to block {}", self.known_end);
            return Err(self.scanner.corruption(expected, "a part of one".into()));
        }
        Ok(None)
    }

    /// Where the returned appends end, and the values that the next frame must carry. An append
    /// whose last frames are missing is not part of the log.
    #[must_use]
    pub fn end(&self) -> (u32, Cursor) {
        self.end
    }
}
