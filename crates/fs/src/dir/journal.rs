//! The journal of a directory: a file of frames that begins with a snapshot, and the superblock
//! `CURRENT` that names the file.
//!
//! A new journal's snapshot is durable before the superblock names the file. The superblock also
//! records a sequence number: frames below it are known to be durable. It is the end of the
//! snapshot or, if [`put_in_force`](Journal::put_in_force) is called again later, the end of the
//! journal at that time. If such a frame is missing, that is corruption, not a torn tail.
//!
//! # Threads
//! One actor at a time has the [`Journal`]. Calls that read or write wait for the disk, so no lock
//! may be held over them. After a commit that failed, nothing more may be written to it.

use std::io::ErrorKind;
use std::sync::Arc;

use terrace_env::codec::{DecodeError, Reader};
use terrace_env::store::StoreError;
use terrace_env::{DeviceId, FileId, IoBuf, Uuid};

use super::pooled_files::PooledFiles;
use super::source::FileSource;
use super::volume::open_named;
use super::{FileHandle, Files, names};
use crate::Access;
use crate::catalog::Catalog;
use crate::frame::{
    AppendScan, Binding, BlockSource, Cursor, FrameHead, PAYLOAD_MAX, encode_frame,
};
use crate::journal::{Application, Step, kind, vouched_for};
use crate::superblock::{Features, Foreign, JournalHead, MountMark, Placement, Shape, Superblock};
use crate::{AddressSpace, BLOCK, BlockAddr};

/// Space set aside after the snapshot, so that a full disk can still record deletes: 256 deletes of
/// one block each.
const AHEAD: u64 = 256 * BLOCK as u64;

/// Result of replaying a directory's journal.
pub(super) struct Replayed {
    pub(super) superblock: Superblock,
    pub(super) catalog: Catalog,
    /// The sequence of the frame after the last.
    pub(super) sequence: u64,
    /// The block where that frame starts.
    pub(super) block: u32,
}

/// Which journal to write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity {
    pub(super) uuid: Uuid,
    pub(super) generation: u64,
    pub(super) epoch: u32,
    /// The sequence of its first frame.
    pub(super) sequence: u64,
}

/// The journal's end. One actor at a time has it.
pub(super) struct Journal {
    files: Arc<PooledFiles>,
    file: Arc<dyn FileHandle>,
    pub(super) identity: Identity,
    binding: Binding,
    cursor: Cursor,
    block: u32,
    /// Bytes of the snapshot.
    pub(super) snapshot: u64,
    /// Number of the files created since the store was opened that have a durable entry in the
    /// directory.
    pub(super) entries: u64,
}

/// Reads the superblock; `None` if there is none.
pub(super) fn read_superblock(
    files: &dyn Files,
    write: bool,
) -> Result<Option<Superblock>, StoreError> {
    let what = || format!("reading {}/{}", files.describe(), names::CURRENT);
    let damaged = |offset, expected, got| damaged(files, offset, expected, got);
    let file = match files.open(names::CURRENT, Access::ReadOnly) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == ErrorKind::IsADirectory => {
            return Err(damaged(0, "the superblock, a file".into(), error.to_string()));
        }
        other => other.map_err(|error| StoreError::io(what(), error))?,
    };
    let size = file.size().map_err(|error| StoreError::io(what(), error))?;
    if size != BLOCK as u64 {
        return Err(damaged(0, format!("{BLOCK} bytes"), format!("{size} bytes")));
    }
    let mut block = IoBuf::zeroed(BLOCK);
    file.read_at(0, &mut block).map_err(|error| StoreError::io(what(), error))?;
    if let Some(foreign) = Foreign::read(&block) {
        return Err(foreign.refusal());
    }
    let superblock = Superblock::decode(&block).map_err(|error| match error {
        DecodeError::Short { field, offset, expected, got } => {
            damaged(offset, format!("{expected} bytes of {field}"), format!("{got} bytes"))
        }
        DecodeError::Value { field, offset, expected, got } => {
            damaged(offset, format!("{field}: {expected}"), format!("{got:#x}"))
        }
    })?;
    superblock.check(&names::path(files, names::CURRENT), write)?;
    superblock.check_devices()?;
    if superblock.placement != Placement::File {
        let got = "that of a drive".to_owned();
        return Err(damaged(0, "the superblock of a directory".into(), got));
    }
    Ok(Some(superblock))
}

fn damaged(files: &dyn Files, offset: usize, expected: String, got: String) -> StoreError {
    let region = names::path(files, names::CURRENT);
    StoreError::Corruption { region, offset: offset as u64, expected, got }
}

/// Reads the journal that the superblock names. With `write`, the journal is synced first: an
/// earlier process may have left frames in the cache of the operating system.
pub(super) fn replay(
    files: &dyn Files,
    superblock: Superblock,
    write: bool,
) -> Result<Replayed, StoreError> {
    let name = names::journal(superblock.generation);
    let wrap = |error| StoreError::io(format!("{}/{name}", files.describe()), error);
    let expected = || format!("the journal, which {} names", names::CURRENT);
    let file = open_named(files, &name, Access::ReadOnly, expected)?;
    if write {
        file.sync().map_err(wrap)?;
    }
    let source = FileSource::new(&file, names::path(files, &name), None)?;
    let (catalog, sequence, block) = read_frames(&source, &superblock, write)?;
    Ok(Replayed { superblock, catalog, sequence, block })
}

fn read_frames(
    source: &FileSource,
    superblock: &Superblock,
    write: bool,
) -> Result<(Catalog, u64, u32), StoreError> {
    let JournalHead { sequence, epoch, chain, .. } = superblock.head;
    let binding = Binding { uuid: superblock.uuid, owner: 0, epoch };
    let start = Cursor { sequence, chain };
    let mut scan = AppendScan::new(source, binding, 0, start, 1);
    let mut application = Application::new(AddressSpace::plain());
    let corruption = |block: u32, expected: &str, got: String| {
        let (region, offset) = source.place(block);
        StoreError::Corruption { region, offset, expected: expected.into(), got }
    };
    let mut is_first = true;
    while let Some(append) = scan.next_append()? {
        let block = append.spans.first().map_or(0, |span| span.block);
        if std::mem::take(&mut is_first) && append.kind != kind::HEAD {
            let got = format!("a frame of type {}", append.kind);
            return Err(corruption(block, "the head of a snapshot", got));
        }
        let mut payload = Reader::new(&append.payload);
        application
            .apply(append.kind, append.payload.len() as u64, &mut payload)
            .map_err(|(expected, got)| corruption(block, expected, got))?;
        application.check_features(write)?;
    }
    let (end, cursor) = scan.end();
    if cursor.sequence < superblock.journal_end {
        let (expected, got) =
            (vouched_for(superblock.journal_end), format!("no frame {}", cursor.sequence));
        return Err(corruption(end, &expected, got));
    }
    let finished = application.finish(epoch);
    let (catalog, _) = finished.map_err(|got| corruption(end, "a complete snapshot", got))?;
    Ok((catalog, cursor.sequence, end))
}

impl Journal {
    /// Writes a new journal that starts with a snapshot, and puts it in force. `step` gives the
    /// snapshot piece by piece, first its head.
    ///
    /// An error from before the superblock was renamed leaves the old journal in force, and says
    /// so by [`RollError::Before`].
    pub(super) fn start(
        files: &Arc<PooledFiles>,
        identity: Identity,
        entries: impl Fn() -> u64,
        mut step: impl FnMut(Option<FileId>) -> Step,
    ) -> Result<Self, RollError> {
        let name = names::journal(identity.generation);
        let before = |error: std::io::Error| {
            RollError::Before(StoreError::io(format!("{}/{name}", files.describe()), error))
        };
        let file = files.create(&name).map_err(before)?;
        let Identity { uuid, epoch, sequence, .. } = identity;
        let binding = Binding { uuid, owner: 0, epoch };
        let cursor = binding.start(sequence);
        let files = Arc::clone(files);
        let mut journal =
            Self { files, file, identity, binding, cursor, block: 0, snapshot: 0, entries: 0 };
        let mut next = None;
        loop {
            let piece = step(next);
            for (kind, payload) in &piece.payloads {
                journal.append(*kind, payload, sequence).map_err(RollError::Before)?;
            }
            next = piece.next;
            if next.is_none() {
                break;
            }
        }
        journal.snapshot = journal.written();
        // If the file system cannot set space aside, a full disk refuses deletes as well.
        let _ = journal.file.preallocate(journal.written() + AHEAD);
        journal.file.sync().map_err(before)?;
        journal
            .put_in_force(Features { incompat: Features::TAIL, ..Features::default() }, entries)?;
        Ok(journal)
    }

    /// Makes `CURRENT` name this journal, and record that all of it is durable. The caller has
    /// synced it.
    pub(super) fn put_in_force(
        &mut self,
        features: Features,
        entries: impl Fn() -> u64,
    ) -> Result<(), RollError> {
        let Identity { uuid, generation, epoch, sequence } = self.identity;
        let chain = self.binding.start(sequence).chain;
        let what = |what: &str| format!("{what} {}/{}", self.files.describe(), names::CURRENT);
        let superblock = Superblock {
            uuid,
            generation,
            features,
            device: DeviceId::FIRST,
            members: Vec::new(),
            devices: 1,
            marks: [MountMark::default(); 2],
            shape: Shape::default(),
            placement: Placement::File,
            head: JournalHead { at: BlockAddr::default(), sequence, epoch, chain },
            journal_end: self.cursor.sequence,
            splices: Vec::new(),
            options: Vec::new(),
        };
        let written = || {
            let file = self.files.create(names::CURRENT_NEW)?;
            file.write_at(0, &superblock.encode())?;
            file.sync()?;
            // The journal's own entry must be durable before `CURRENT` names it.
            self.files.sync()
        };
        written().map_err(|error| RollError::Before(StoreError::io(what("writing"), error)))?;
        let known = entries();
        let renamed = || {
            self.files.rename(names::CURRENT_NEW, names::CURRENT)?;
            self.files.sync()
        };
        renamed().map_err(|error| RollError::After(StoreError::io(what("renaming"), error)))?;
        self.entries = known;
        Ok(())
    }

    /// Bytes of the journal.
    pub(super) fn written(&self) -> u64 {
        u64::from(self.block) * BLOCK as u64
    }

    /// The sequence of the next frame.
    pub(super) fn sequence(&self) -> u64 {
        self.cursor.sequence
    }

    /// Appends the records of transactions; durable when this returns.
    pub(super) fn commit(&mut self, records: &[u8]) -> Result<(), StoreError> {
        // Every commit is durable before the next one is written.
        let synced = self.cursor.sequence;
        self.append(kind::TRANSACTIONS, records, synced)?;
        self.file.sync().map_err(|error| self.describe(error))
    }

    fn append(&mut self, kind: u8, payload: &[u8], synced: u64) -> Result<(), StoreError> {
        let mut bytes = IoBuf::with_capacity(payload.len() + 2 * BLOCK);
        let mut cursor = self.cursor;
        encode_append(&self.binding, &mut cursor, kind, synced, payload, &mut bytes);
        let end = self.written() + bytes.len() as u64;
        let Ok(end) = u32::try_from(end / BLOCK as u64) else {
            let expected = "a journal of fewer than 2^32 blocks";
            return Err(StoreError::Invalid(format!("{}: expected {expected}", self.name())));
        };
        self.file.write_at(self.written(), &bytes).map_err(|error| self.describe(error))?;
        (self.cursor, self.block) = (cursor, end);
        Ok(())
    }

    fn name(&self) -> String {
        format!("{}/{}", self.files.describe(), names::journal(self.identity.generation))
    }

    fn describe(&self, error: std::io::Error) -> StoreError {
        StoreError::io(format!("writing {}", self.name()), error)
    }
}

/// How a roll failed.
#[derive(Debug)]
pub(super) enum RollError {
    /// The old journal is in force.
    Before(StoreError),
    /// Which journal is in force is unknown.
    After(StoreError),
}

impl RollError {
    pub(super) fn into_error(self) -> StoreError {
        let (Self::Before(error) | Self::After(error)) = self;
        error
    }
}

/// Appends the frames of one append: more than one if it is longer than a frame.
pub(super) fn encode_append(
    binding: &Binding,
    cursor: &mut Cursor,
    kind: u8,
    synced: u64,
    payload: &[u8],
    to: &mut IoBuf,
) {
    let mut rest = payload;
    loop {
        let (part, after) = rest.split_at(rest.len().min(PAYLOAD_MAX));
        let head = FrameHead { synced, kind, continues: !after.is_empty() };
        encode_frame(binding, cursor, head, part, to);
        rest = after;
        if rest.is_empty() {
            return;
        }
    }
}
