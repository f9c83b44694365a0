//! Bodies: [`NewBody`], a file that is being written, and [`StoredBody`], the bytes of an object
//! for a reader.
//!
//! A new body is discarded with its writer, until it is sealed. A stored body has opened all its
//! files: it stays readable when the object is overwritten or deleted. Each read takes at most a
//! chunk into memory, and checks the whole chunk.
//!
//! One thread at a time uses a new body; any thread reads a stored one.

use std::sync::Arc;

use bytes::Bytes;
use md5::{Digest as _, Md5};
use terrace::fs::{NamedFiles, NewFile};
use terrace_env::store::{FileKind, FileReader, FileWriter, PlacementHint, Rank};
use terrace_env::{ByteCount, Cause, checksum};

use super::sweep::{is_body, name_of};
use super::{CHUNK, Fault, Segment};

/// A body that is being written to a file.
pub struct NewBody {
    writer: Box<dyn FileWriter>,
    file: NewFile,
    size: u64,
    checksums: Vec<u32>,
    /// Checksum of the last, partial chunk, and its bytes.
    partial: (u32, usize),
    md5: Md5,
}

/// A sealed file of a body.
pub struct Written {
    /// The file.
    pub segment: Segment,
    /// MD5 of its bytes.
    pub md5: [u8; 16],
}

impl NewBody {
    /// Begins a file for a body of at most `size` bytes, if that is known.
    pub(super) fn begin(
        files: &NamedFiles,
        hint: PlacementHint,
        size: Option<u64>,
        modified: u64,
    ) -> Result<Self, Fault> {
        let size = size.map(ByteCount);
        let file = NewFile { kind: FileKind::Client, hint, size, rank: Rank::Log, modified };
        let writer = files.begin(&file)?;
        let (checksums, partial, md5) = (Vec::new(), (0, 0), Md5::new());
        Ok(Self { writer, file, size: 0, checksums, partial, md5 })
    }

    /// Bytes that were appended.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends bytes.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.writer.append(bytes)?;
        self.md5.update(bytes);
        self.size += bytes.len() as u64;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (crc, len) = self.partial;
            let (now, then) = rest.split_at(rest.len().min(CHUNK - len));
            self.partial = (checksum::crc32c_append(crc, now), len + now.len());
            if self.partial.1 == CHUNK {
                self.checksums.push(self.partial.0);
                self.partial = (0, 0);
            }
            rest = then;
        }
        Ok(())
    }

    /// MD5 of the bytes so far.
    #[must_use]
    pub fn md5(&self) -> [u8; 16] {
        self.md5.clone().finalize().into()
    }

    /// Waits for the writes in flight. Another writer can take the open zone meanwhile.
    pub fn rest(&mut self) -> Result<(), Fault> {
        Ok(self.writer.rest()?)
    }

    /// Seals the file under its name, durably.
    pub(super) fn seal(mut self, files: &NamedFiles) -> Result<Written, Fault> {
        let id = self.writer.id();
        files.publish(&mut *self.writer, &[&name_of(id)], &self.file)?;
        if self.partial.1 > 0 {
            self.checksums.push(self.partial.0);
        }
        let segment = Segment { file: id, size: self.size, checksums: self.checksums };
        Ok(Written { segment, md5: self.md5.finalize().into() })
    }
}

/// The bytes of an object.
#[derive(Clone)]
pub enum StoredBody {
    /// A small body.
    Bytes(Bytes),
    /// Files, with the offsets of their first bytes.
    Files(Arc<[OpenSegment]>),
}

/// An open file of a body.
pub struct OpenSegment {
    segment: Segment,
    reader: Arc<dyn FileReader>,
    start: u64,
}

impl StoredBody {
    /// Opens files.
    pub(super) fn open(files: &NamedFiles, segments: &[Segment]) -> Result<Self, Fault> {
        let mut start = 0;
        let mut open = Vec::with_capacity(segments.len());
        for segment in segments {
            if !files.info(segment.file).is_some_and(|info| is_body(&info)) {
                let (name, size) = (name_of(segment.file), segment.size);
                return Err(Fault::NoFile { name, size });
            }
            let reader = files.open_file(segment.file)?;
            open.push(OpenSegment { segment: segment.clone(), reader, start });
            start += segment.size;
        }
        Ok(Self::Files(open.into()))
    }

    /// Whether a read waits for no device.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        matches!(self, Self::Bytes(_))
    }

    /// Reads bytes from `at` on: at least one and none from `end` on, up to the end of a chunk.
    pub fn read(&self, at: u64, end: u64) -> Result<Bytes, Fault> {
        let segments = match self {
            Self::Bytes(bytes) => return Ok(bytes.slice(at as usize..end as usize)),
            Self::Files(segments) => segments,
        };
        let number = segments.partition_point(|one| one.start + one.segment.size <= at);
        let OpenSegment { segment, reader, start } = &segments[number];
        let chunk = (at - start) / CHUNK as u64;
        let first = chunk * CHUNK as u64;
        let len = (segment.size - first).min(CHUNK as u64) as usize;
        let bytes = reader.read(first, len, Cause::Client)?;
        segment.check(chunk, &bytes)?;
        let from = (at - start - first) as usize;
        let to = len.min(usize::try_from(end - start - first).unwrap_or(len));
        Ok(Bytes::from(bytes).slice(from..to))
    }
}
