//! [`JournalWalk`]: walks a journal for inspection and gives its appends, also those after damage.
//!
//! A walk follows links and splices as a replay does, and reads with the same scanner. At damage it
//! gives the error. It goes on at the next frame of the same epoch in the zone, else at the next
//! splice; without either it ends. If a zone that a link or splice leads to cannot be opened, the
//! walk gives that error next, after the damage or the link, and ends. An end before the frames
//! that the superblock says were durable is an error, too.
//!
//! - Nothing is guessed: missing frames are left out, and so are those of an append that has no
//!   end.
//! - The first append after damage may lack its first frames, since a frame does not say whether it
//!   begins an append.
//! - Zones after a damaged link are not found before the next splice.
//! - An append that does not decode is given with its defect. Whether records fit the files before
//!   them, or a continuation its link, is not checked.
//!
//! A walk writes nothing. No actor may write during it.

use std::sync::Arc;

use terrace_env::FileId;
use terrace_env::codec::{DecodeError, Reader};
use terrace_env::store::{Annotation, StoreError};

use super::payload::{Continue, End, Head, Link, kind};
use super::vouched_for;
use crate::catalog::{Catalog, FileRecord, Record};
use crate::frame::{Append, Assembler, Binding, BlockSource, Cursor, Frame, Scanner};
use crate::superblock::{Features, Splice, Superblock};
use crate::{AddressSpace, BlockAddr};

/// A part of the journal that lies in one zone or file, and a block of it.
type Part<'a> = (Box<dyn BlockSource + 'a>, u32);

/// Opens the part of the journal that a block lies in.
type Open<'a> = dyn Fn(BlockAddr) -> Result<Part<'a>, StoreError> + 'a;

/// A frame that verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameSeen {
    /// The structure, with device and zone; or the file that it lies in.
    pub region: String,
    /// The byte of the device, or of the file, where it begins.
    pub offset: u64,
    /// Its length in blocks.
    pub blocks: u32,
    /// Its sequence.
    pub sequence: u64,
    /// All frames with a smaller sequence were durable when it was written.
    pub synced: u64,
    /// The epoch it was written in.
    pub epoch: u32,
    /// Kind of its payload; see `docs/format/journal.md`.
    pub kind: u8,
    /// Bytes of payload.
    pub payload: usize,
    /// Whether the payload goes on in the next frame.
    pub continues: bool,
}

impl FrameSeen {
    pub(crate) fn new(frame: &Frame, epoch: u32, place: (String, u64)) -> Self {
        let (region, offset) = place;
        Self {
            region,
            offset,
            blocks: frame.blocks,
            sequence: frame.sequence,
            synced: frame.synced,
            epoch,
            kind: frame.kind,
            payload: frame.payload.len(),
            continues: frame.continues,
        }
    }
}

/// Content of an append to the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JournalContent {
    /// A snapshot starts: the counters as they were.
    Head {
        /// The features of the store.
        features: Features,
        /// The smallest file id above all that transactions had named or set aside.
        next_file: FileId,
        /// The smallest epoch that no mount had used.
        next_epoch: u32,
    },
    /// The records of the transactions that were committed together.
    Transactions(Vec<Record>),
    /// A part of a snapshot.
    Chunk {
        /// The first id it covers.
        from: FileId,
        /// The first id it does not cover.
        upto: FileId,
        /// The store's own annotation, in the first chunk.
        store: Option<Arc<Annotation>>,
        /// The files, by id.
        files: Vec<(FileId, FileRecord)>,
    },
    /// A snapshot is complete.
    End {
        /// Number of files.
        files: u64,
    },
    /// The journal goes on in another zone.
    Link {
        /// Where.
        to: BlockAddr,
    },
    /// The first frame in a zone.
    Continue {
        /// Where the journal comes from.
        from: BlockAddr,
        /// The checksum of the last frame there.
        chain: u32,
    },
}

/// One append. It is whole, except that the first one after damage may lack its first frames.
#[derive(Clone, Debug)]
pub struct JournalAppend {
    /// Its frames, one or more.
    pub frames: Vec<FrameSeen>,
    /// Its content, as far as it decodes.
    pub content: Option<JournalContent>,
    /// Why no more of it decodes.
    pub defect: Option<StoreError>,
    pub(crate) kind: u8,
    pub(crate) payload: Vec<u8>,
}

/// The appends of a journal, in order. An error is damage; the walk goes on after it if it can.
pub struct JournalWalk<'a> {
    open: Box<Open<'a>>,
    space: AddressSpace,
    binding: Binding,
    splices: std::iter::Peekable<std::vec::IntoIter<Splice>>,
    /// `None` at the end.
    scanner: Option<Scanner<Box<dyn BlockSource + 'a>>>,
    first: Option<(BlockAddr, Cursor)>,
    /// Frames with a smaller sequence must be there.
    known_end: u64,
    assembler: Assembler,
    frames: Vec<FrameSeen>,
    end: Option<(String, u64, u64)>,
    /// Why the next part could not be opened: given after the append or error of the last step.
    unopened: Option<StoreError>,
}

impl<'a> JournalWalk<'a> {
    /// Starts at the superblock's head.
    pub(crate) fn new(superblock: &Superblock, space: AddressSpace, open: Box<Open<'a>>) -> Self {
        let head = superblock.head;
        let cursor = Cursor { sequence: head.sequence, chain: head.chain };
        let behind = superblock.splices.iter().filter(|splice| splice.sequence > head.sequence);
        Self {
            open,
            space,
            binding: Binding { uuid: superblock.uuid, owner: 0, epoch: head.epoch },
            splices: behind.copied().collect::<Vec<_>>().into_iter().peekable(),
            scanner: None,
            first: Some((head.at, cursor)),
            known_end: superblock.journal_end,
            assembler: Assembler::default(),
            frames: Vec::new(),
            end: None,
            unopened: None,
        }
    }

    /// The end of the journal, once the walk is over: the region, the byte, as in
    /// [`FrameSeen::offset`], and the sequence that the next frame would have.
    #[must_use]
    pub fn end(&self) -> Option<&(String, u64, u64)> {
        self.end.as_ref()
    }

    /// Goes on at a block where a frame must be.
    fn go_to(&mut self, at: BlockAddr, cursor: Cursor) {
        self.scanner = None;
        match (self.open)(at) {
            Ok((source, block)) => {
                let known_end = block.saturating_add(1);
                self.scanner = Some(Scanner::new(source, self.binding, block, cursor, known_end));
            }
            Err(error) => self.unopened = Some(error),
        }
    }

    fn jump(&mut self, splice: Splice) {
        self.binding.epoch = splice.epoch;
        (self.assembler, self.frames) = (Assembler::default(), Vec::new());
        let cursor = self.binding.start(splice.sequence);
        self.go_to(splice.at, cursor);
    }

    fn step(&mut self) -> Result<Option<JournalAppend>, StoreError> {
        if let Some((at, cursor)) = self.first.take() {
            self.go_to(at, cursor);
        }
        while let Some(scanner) = &mut self.scanner {
            let sequence = scanner.cursor().sequence;
            if let Some(splice) = self.splices.next_if(|splice| splice.sequence <= sequence) {
                self.jump(splice);
                continue;
            }
            match scanner.next_frame() {
                Ok(Some(frame)) => {
                    let place = scanner.source().place(frame.block);
                    self.frames.push(FrameSeen::new(&frame, self.binding.epoch, place));
                    if let Some(append) = self.take(frame)? {
                        return Ok(Some(append));
                    }
                }
                Ok(None) => self.ended()?,
                Err(error) => self.behind(error)?,
            }
        }
        self.unopened.take().map_or(Ok(None), Err)
    }

    /// Goes on after damage, and returns the damage as the error. If a second read finds no damage,
    /// goes on without an error.
    fn behind(&mut self, error: StoreError) -> Result<(), StoreError> {
        let Some(scanner) = &mut self.scanner else { return Err(error) };
        let block = scanner.block();
        let found = scanner.skip_damage(&error);
        if found && scanner.block() == block {
            return Ok(());
        }
        (self.assembler, self.frames) = (Assembler::default(), Vec::new());
        if !found {
            match self.splices.next() {
                Some(splice) => self.jump(splice),
                None => self.scanner = None,
            }
        }
        Err(error)
    }

    /// The frames of this zone have ended: goes on at the next splice, or ends the walk. An error
    /// if further frames must exist.
    fn ended(&mut self) -> Result<(), StoreError> {
        let Some(scanner) = &self.scanner else { return Ok(()) };
        let (region, offset) = scanner.source().place(scanner.block());
        let sequence = scanner.cursor().sequence;
        let Some(splice) = self.splices.next() else {
            self.end = Some((region.clone(), offset, sequence));
            self.scanner = None;
            if sequence < self.known_end {
                let expected = vouched_for(std::mem::take(&mut self.known_end));
                let got = format!("no frame {sequence}");
                return Err(StoreError::Corruption { region, offset, expected, got });
            }
            return Ok(());
        };
        self.jump(splice);
        let expected = format!("frames up to {}, where the journal goes on", splice.sequence);
        let got = format!("no frame {sequence}");
        Err(StoreError::Corruption { region, offset, expected, got })
    }

    /// Takes a frame; returns the append that it completes.
    fn take(&mut self, frame: Frame) -> Result<Option<JournalAppend>, StoreError> {
        if matches!(frame.kind, kind::LINK | kind::CONTINUE) {
            let frames = self.frames.pop().into_iter().collect();
            let append = read(frames, frame.kind, frame.payload, &self.space);
            if let Some(JournalContent::Link { to }) = &append.content
                && let Some(scanner) = &self.scanner
            {
                let (to, cursor) = (*to, scanner.cursor());
                self.go_to(to, cursor);
            }
            return Ok(Some(append));
        }
        match self.assembler.push(frame) {
            Ok(None) => Ok(None),
            Ok(Some(Append { kind, payload, .. })) => {
                let frames = std::mem::take(&mut self.frames);
                Ok(Some(read(frames, kind, payload, &self.space)))
            }
            Err(frame) => {
                self.assembler = Assembler::default();
                let seen = std::mem::take(&mut self.frames).pop();
                let (region, offset) =
                    seen.map(|seen| (seen.region, seen.offset)).unwrap_or_default();
                let expected = "the next part of an append".into();
                let got = format!("frame {} of type {}", frame.sequence, frame.kind);
                Err(StoreError::Corruption { region, offset, expected, got })
            }
        }
    }
}

impl Iterator for JournalWalk<'_> {
    type Item = Result<JournalAppend, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

fn read(frames: Vec<FrameSeen>, kind: u8, payload: Vec<u8>, space: &AddressSpace) -> JournalAppend {
    let (content, error) = decode(kind, &payload, space);
    let place = frames.first().map(|frame| (frame.region.clone(), frame.offset));
    let defect = error.map(|error| {
        let (region, offset) = place.unwrap_or_default();
        let expected = "a payload that decodes".into();
        StoreError::Corruption { region, offset, expected, got: error.to_string() }
    });
    JournalAppend { frames, content, defect, kind, payload }
}

fn decode(
    of_kind: u8,
    payload: &[u8],
    space: &AddressSpace,
) -> (Option<JournalContent>, Option<DecodeError>) {
    let decoded = match of_kind {
        kind::HEAD => Head::decode(payload).map(|head| {
            let Head { features, next_file, next_epoch } = head;
            JournalContent::Head { features, next_file, next_epoch }
        }),
        kind::TRANSACTIONS => return decode_records(payload, space),
        kind::CHUNK => Catalog::of_chunk(payload, space).map(|(catalog, from, upto)| {
            let store = (from == FileId::STORE).then(|| Arc::clone(catalog.store_annotation()));
            let files = catalog.files().map(|(id, record)| (id, record.clone())).collect();
            JournalContent::Chunk { from, upto, store, files }
        }),
        kind::END => End::decode(payload).map(|end| JournalContent::End { files: end.files }),
        kind::LINK => Link::decode(payload).map(|link| JournalContent::Link { to: link.to }),
        kind::CONTINUE => Continue::decode(payload)
            .map(|it| JournalContent::Continue { from: it.from, chain: it.chain }),
        other => {
            let reader = Reader::new(payload);
            Err(reader.wrong("frame type", 0, "1 to 6", u64::from(other)))
        }
    };
    match decoded {
        Ok(content) => (Some(content), None),
        Err(error) => (None, Some(error)),
    }
}

/// The records up to the first that does not decode.
fn decode_records(
    payload: &[u8],
    space: &AddressSpace,
) -> (Option<JournalContent>, Option<DecodeError>) {
    let (mut records, mut reader) = (Vec::new(), Reader::new(payload));
    while !reader.is_empty() {
        match Record::decode(&mut reader, space) {
            Ok(record) => records.push(record),
            Err(error) => return (Some(JournalContent::Transactions(records)), Some(error)),
        }
    }
    (Some(JournalContent::Transactions(records)), None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::MemorySource;
    use crate::superblock::{JournalHead, SuperblockArea};
    use terrace_env::{ByteCount, Uuid};
    use terrace_zone::{Device as _, Emulator, Geometry};

    /// The journal's first block holds no frame, and the zone where it goes on cannot be opened.
    #[test]
    fn damage_is_told_before_the_zone_behind_it_that_cannot_be_opened() {
        let geometry = Geometry::uniform(ByteCount::mib(1), 20);
        let drive = Arc::new(Emulator::in_memory(geometry, 1).unwrap());
        let area = SuperblockArea::choose(Arc::clone(&drive) as _).unwrap();
        let [head, next] = [3, 7].map(|block| BlockAddr::new(terrace_env::DeviceId::FIRST, block));
        let superblock = Superblock {
            head: JournalHead { at: head, epoch: 1, sequence: 5, chain: 9 },
            splices: vec![Splice { at: next, epoch: 2, sequence: 8 }],
            ..Superblock::first(Uuid([1; 16]), drive.geometry(), &area)
        };
        let open = move |at| {
            let unopened = || StoreError::Invalid("offline".into());
            let source =
                MemorySource { region: "zone".into(), bytes: vec![0; 1 << 16], atomic: 4096 };
            if at == head { Ok((Box::new(source) as _, 0)) } else { Err(unopened()) }
        };
        let mut walk = JournalWalk::new(&superblock, AddressSpace::plain(), Box::new(open));
        let error = walk.next().unwrap().unwrap_err();
        assert!(matches!(error, StoreError::Corruption { .. }), "{error}");
        let error = walk.next().unwrap().unwrap_err();
        assert!(matches!(error, StoreError::Invalid(_)), "{error}");
        assert!(walk.next().is_none());
    }
}
