//! Bodies: [`NewBody`], a file that is being written, and [`StoredBody`], the bytes of an object
//! for a reader.
//!
//! A new body is discarded with its writer, until it is published ([`Groups`]). On a disk its first
//! bytes, at most one write of the disk, are held back in memory until more come, or the body ends.
//!
//! A stored body has opened all its files: it stays readable when the object is overwritten or
//! deleted. Each read takes at most a chunk into memory, and checks the whole chunk.
//!
//! One thread at a time uses a new body; any thread reads a stored one.

use std::sync::Arc;

use bytes::Bytes;
use md5::{Digest as _, Md5};
use terrace::fs::{NamedFiles, NewFile};
use terrace_env::store::{FileKind, FileReader, FileWriter, PlacementHint, Rank};
use terrace_env::{ByteCount, Cause, checksum};

use super::groups::Groups;
use super::moving::{Move, Moving};
use super::sweep::{is_body, name_of};
use super::{CHUNK, Fault, Segment};

/// Most bytes that are held back. A write of a disk is as large.
const HELD_MAX: usize = 1 << 20;

/// A body that is being written to a file.
pub struct NewBody {
    writer: Box<dyn FileWriter>,
    /// All puts on their way, and this one while it is being written.
    moving: (Arc<Moving>, Option<Move>),
    /// Bytes that are held back.
    held: Option<Vec<u8>>,
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
        (files, groups): (&NamedFiles, &Groups),
        hint: PlacementHint,
        size: Option<u64>,
        modified: u64,
    ) -> Result<Self, Fault> {
        let size = size.map(ByteCount);
        let file = NewFile { kind: FileKind::Client, hint, size, rank: Rank::Log, modified };
        let writer = files.begin(&file)?;
        let (checksums, partial, md5) = (Vec::new(), (0, 0), Md5::new());
        let moving = (Arc::clone(groups.moving()), None);
        let held = groups.on_disk().then(Vec::new);
        Ok(Self { writer, moving, held, file, size: 0, checksums, partial, md5 })
    }

    /// Bytes that were appended.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends bytes.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let (moving, own) = &mut self.moving;
        own.get_or_insert_with(|| moving.begin());
        self.take(bytes)?;
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

    /// Holds bytes back, or appends them to the file.
    fn take(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if let Some(held) = &mut self.held
            && held.len() + bytes.len() <= HELD_MAX
        {
            held.extend_from_slice(bytes);
            return Ok(());
        }
        self.append_held()?;
        Ok(self.writer.append(bytes)?)
    }

    fn append_held(&mut self) -> Result<(), Fault> {
        let Some(held) = self.held.take() else { return Ok(()) };
        self.writer.append(&held).inspect_err(|_| self.held = Some(held))?;
        Ok(())
    }

    /// Whether nothing of it has a place yet.
    pub(super) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// MD5 of the bytes so far.
    #[must_use]
    pub fn md5(&self) -> [u8; 16] {
        self.md5.clone().finalize().into()
    }

    /// Waits for the writes in flight. Another writer can take the open zone meanwhile. Nothing is
    /// held back any more: a slow client takes no memory.
    pub fn rest(&mut self) -> Result<(), Fault> {
        self.append_held()?;
        self.moving.1 = None;
        Ok(self.writer.rest()?)
    }

    /// Writes the end of the body, which then takes no more bytes.
    pub(super) fn finish(&mut self) -> Result<(), Fault> {
        self.append_held()?;
        self.writer.finish()?;
        self.moving.1 = None;
        if self.partial.1 > 0 {
            self.checksums.push(self.partial.0);
            self.partial = (0, 0);
        }
        Ok(())
    }

    /// Name of its file.
    pub(super) fn name(&self) -> String {
        name_of(self.writer.id())
    }

    /// The file of a finished body, for its publication.
    pub(super) fn unpublished(&mut self) -> (&mut dyn FileWriter, &NewFile) {
        (&mut *self.writer, &self.file)
    }

    /// The file of a published body.
    pub(super) fn written(self) -> Written {
        let (file, md5) = (self.writer.id(), self.md5.finalize().into());
        let segment = Segment { file, size: self.size, checksums: self.checksums };
        Written { segment, md5 }
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
