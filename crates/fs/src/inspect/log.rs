//! [`LogWalk`]: walks a write-ahead log for inspection and gives its appends, also those after
//! damage.
//!
//! At damage, the walk gives the error and goes on at the next frame of the run that verifies, else
//! at the next run. Frames of an append that has no end are left out. The first append after damage
//! may lack its front, because a frame does not say whether it begins an append. From there to the
//! next run, the offsets of appends are too small by the missing bytes. The last append of a log in
//! a directory may have no frames: its bytes are in the file `TAIL`. The log must not be written
//! meanwhile.

use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_env::{FileId, Uuid};

use crate::catalog::{FileRecord, LogRun};
use crate::dir::Records;
use crate::frame::{Append, Assembler, Binding, BlockSource, Frame, Scanner};
use crate::journal::FrameSeen;

/// One append to a log. It is whole, but for the first one after damage: that may lack its front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogAppend {
    /// Its frames; none if it is in the tail of a directory.
    pub frames: Vec<FrameSeen>,
    /// The log's byte that the payload begins with, as long as nothing before it was damaged.
    pub offset: u64,
    /// Bytes appended.
    pub payload: Vec<u8>,
}

/// The appends of a log, in order. An error is damage; the walk goes on after it where it can.
pub struct LogWalk {
    source: Arc<dyn BlockSource>,
    uuid: Uuid,
    owner: FileId,
    runs: Arc<[LogRun]>,
    known_end: u32,
    /// The run that is read, and how.
    run: usize,
    scanner: Option<Scanner<Arc<dyn BlockSource>>>,
    assembler: Assembler,
    frames: Vec<FrameSeen>,
    offset: u64,
    end: Option<(String, u64)>,
    /// Bytes after its frames.
    tail: Option<Records>,
}

impl LogWalk {
    /// The log of a record.
    pub(super) fn new(
        source: Box<dyn BlockSource>,
        uuid: Uuid,
        owner: FileId,
        record: &FileRecord,
    ) -> Self {
        let mut walk = Self {
            source: source.into(),
            uuid,
            owner,
            runs: Arc::clone(&record.runs),
            known_end: record.known_end(),
            run: 0,
            scanner: None,
            assembler: Assembler::default(),
            frames: Vec::new(),
            offset: 0,
            end: None,
            tail: None,
        };
        walk.scanner = walk.start();
        walk
    }

    /// The same, with the tail of its directory.
    pub(super) fn with_tail(mut self, tail: Option<Records>) -> Self {
        self.tail = tail;
        self
    }

    /// Where the log ends, once the walk is over: the region, and the byte in it.
    #[must_use]
    pub fn end(&self) -> Option<&(String, u64)> {
        self.end.as_ref()
    }

    /// A scanner of the current run.
    fn start(&mut self) -> Option<Scanner<Arc<dyn BlockSource>>> {
        let run = *self.runs.get(self.run)?;
        self.offset = run.offset;
        let binding = Binding { uuid: self.uuid, owner: self.owner.0, epoch: run.epoch };
        let blocks = self.source.blocks();
        let (limit, known_end) = match self.runs.get(self.run + 1) {
            Some(next) => (next.block, next.block),
            None => (blocks, self.known_end),
        };
        let source = Arc::clone(&self.source);
        let scanner =
            Scanner::new(source, binding, run.block, binding.start(run.sequence), known_end);
        Some(scanner.until(limit))
    }

    fn step(&mut self) -> Result<Option<LogAppend>, StoreError> {
        while let Some(scanner) = &mut self.scanner {
            match scanner.next_frame() {
                Ok(Some(frame)) => {
                    let place = self.source.place(frame.block);
                    let epoch = self.runs[self.run].epoch;
                    self.frames.push(FrameSeen::new(&frame, epoch, place));
                    if let Some(append) = self.take(frame)? {
                        return Ok(Some(append));
                    }
                }
                Ok(None) => {
                    self.end = Some(self.source.place(scanner.block()));
                    self.next_run();
                }
                Err(error) => self.behind(error)?,
            }
        }
        Ok(self.in_tail())
    }

    /// The bytes after the frames, as one append.
    fn in_tail(&mut self) -> Option<LogAppend> {
        let (tail, run, offset) = (self.tail.take()?, self.runs.last()?, self.offset);
        let payload = tail.after(self.owner, run.epoch, offset).to_vec();
        let frames = Vec::new();
        (!payload.is_empty()).then_some(LogAppend { frames, offset, payload })
    }

    fn next_run(&mut self) {
        self.run += 1;
        (self.assembler, self.frames) = (Assembler::default(), Vec::new());
        self.scanner = self.start();
    }

    /// Goes on after damage, which is the error; or, if a further look finds none, just goes on.
    fn behind(&mut self, error: StoreError) -> Result<(), StoreError> {
        let Some(scanner) = &mut self.scanner else { return Err(error) };
        let block = scanner.block();
        let found = scanner.skip_damage(&error);
        if found && scanner.block() == block {
            return Ok(());
        }
        (self.assembler, self.frames) = (Assembler::default(), Vec::new());
        if !found {
            self.next_run();
        }
        Err(error)
    }

    fn take(&mut self, frame: Frame) -> Result<Option<LogAppend>, StoreError> {
        match self.assembler.push(frame) {
            Ok(None) => Ok(None),
            Ok(Some(Append { payload, .. })) => {
                let (frames, offset) = (std::mem::take(&mut self.frames), self.offset);
                self.offset = offset.saturating_add(payload.len() as u64);
                Ok(Some(LogAppend { frames, offset, payload }))
            }
            Err(frame) => {
                self.assembler = Assembler::default();
                self.frames.clear();
                let (region, offset) = self.source.place(frame.block);
                let expected = "the next part of an append".into();
                let got = format!("frame {} of type {}", frame.sequence, frame.kind);
                Err(StoreError::Corruption { region, offset, expected, got })
            }
        }
    }
}

impl Iterator for LogWalk {
    type Item = Result<LogAppend, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}
