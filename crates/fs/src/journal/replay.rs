//! Replay: reads the journal from the superblock's head to the end, across zones and splices.
//!
//! A *splice* is an entry of the superblock. It says from which frame on, and in which zone, the
//! journal goes on after a mount that could not write at the journal's end.
//!
//! The end is where the last whole append ends. It is *clean* if the zone's write pointer stands
//! there, and no link leads on to a torn append. Otherwise a torn append may follow the end. A
//! device without zones has no write pointers, so no end is clean there.
//!
//! A frame that is missing before the last splice, or before the end that the superblock records,
//! is corruption.
//!
//! No actor may write during a replay. Before a mount for writing, the device must be flushed, so
//! that frames that are read cannot be lost later. [`replay()`] flushes it if `write` is set; the
//! caller of [`replay_from`] has to do it.

use std::sync::Arc;

use terrace_env::codec::{DecodeError, Reader};
use terrace_env::store::StoreError;
use terrace_env::{Cause, DeviceId, ZoneId, reached, runner};
use terrace_zone::{Device, Op};

use super::apply::Application;
use super::payload::{Continue, Link, kind};
use super::source::ZoneSource;
use super::tail::{JournalZone, Position};
use crate::catalog::Catalog;
use crate::frame::{Assembler, Binding, BlockSource, Cursor, Frame, Scanner};
use crate::growing::{SEQUENCE_END, check_room};
use crate::superblock::{MountMark, Splice, Superblock, SuperblockArea};
use crate::{AddressSpace, BLOCK, BlockAddr, ZoneGrid, ZonePlace};

/// Result of replaying a store's journal.
pub struct Replayed {
    pub(super) area: SuperblockArea,
    /// The superblock that replay started from.
    pub superblock: Superblock,
    /// The files.
    pub catalog: Catalog,
    pub(super) end: Position,
    pub(super) is_clean: bool,
    pub(super) zones: Vec<JournalZone>,
    /// Zones that a torn append led to. They must not change before a durable superblock leads the
    /// journal elsewhere: until then a replay reads them.
    pub(super) orphans: Vec<JournalZone>,
    pub(super) since_head: u64,
    pub(super) snapshot: u64,
}

impl Replayed {
    /// The epoch that a mount for writing will use: for the ends of recovered logs, and for the
    /// frames of all logs written until the next mount.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.catalog.next_epoch()
    }

    /// The zones that hold the journal; resuming it may release some. All others that are neither
    /// the superblock's nor named by a file are free.
    pub fn journal_zones(&self) -> impl Iterator<Item = ZoneId> + '_ {
        self.zones.iter().chain(&self.orphans).map(|zone| zone.zone)
    }

    /// Where superblocks are on the journal's device.
    pub(crate) fn area(&self) -> &SuperblockArea {
        &self.area
    }

    /// The mark of a mount for writing that goes on from here.
    pub(crate) fn mark(&self) -> MountMark {
        let now = runner::now().0 as u32;
        MountMark { epoch: self.epoch(), tag: self.end.cursor.chain ^ now }
    }

    /// Writes the superblock again, with these marks. It returns once the superblock is durable.
    pub(crate) fn put_marks(&mut self, marks: [MountMark; 2]) -> Result<(), StoreError> {
        self.superblock.marks = marks;
        self.area.write(&mut self.superblock)
    }

    /// Replaces blocks that should be superblocks and are none, as far as they can be written.
    pub(crate) fn mend_superblocks(&mut self) {
        self.area.mend(&mut self.superblock);
    }

    /// Zones of journal and superblock that take no more writes before a reset. They may still be
    /// active: those before a splice, those that a torn append led to, and the end itself if the
    /// journal goes on elsewhere.
    pub(crate) fn ended_zones(&self) -> Vec<ZoneId> {
        let written = usize::from(self.is_clean);
        let chain = self.zones.iter().rev().skip(written).rev();
        let of_journal = chain.chain(&self.orphans).map(|zone| zone.zone);
        of_journal.chain(self.area.idle_zone()).collect()
    }

    /// The zones that hold superblocks.
    #[must_use]
    pub fn superblock_zones(&self) -> Vec<ZoneId> {
        self.area.zones()
    }
}

/// The expected value, in words, for a journal that ends too early.
pub(crate) fn vouched_for(end: u64) -> String {
    format!("frames up to {end}, which the superblock says were durable")
}

/// Reads the superblock and the journal. With `write`, writes that an earlier process left in the
/// device's cache are made durable first, so that frames that are read cannot be lost later.
/// Without it, nothing is changed.
pub fn replay(device: &Arc<dyn Device>, write: bool) -> Result<Replayed, StoreError> {
    if write {
        let flush = device.control(Op::Flush, Cause::Recovery);
        flush.map_err(|error| StoreError::io("flush before mount", error))?;
    }
    let (area, superblock) = SuperblockArea::find(Arc::clone(device))?;
    superblock.check("superblock", write)?;
    superblock.shape.check(device.geometry())?;
    superblock.check_devices()?;
    let grid = ZoneGrid::new(DeviceId::FIRST, device.geometry());
    grid.check_size()?;
    if superblock.devices > 1 {
        return Err(StoreError::Invalid(format!(
            "expected a store on one device, found device {} of {} of store {}",
            superblock.device, superblock.devices, superblock.uuid
        )));
    }
    replay_from(&**device, AddressSpace::zoned(grid), area, superblock, write)
}

/// Reads the journal that a superblock of the same device leads to, in a store with these
/// addresses. With `write`, a mount for writing follows: all numbers that grow must have room.
pub(crate) fn replay_from(
    device: &dyn Device,
    addresses: AddressSpace,
    area: SuperblockArea,
    superblock: Superblock,
    write: bool,
) -> Result<Replayed, StoreError> {
    let grid = ZoneGrid::new(superblock.device, device.geometry());
    let mut replay = Replay::new(device, grid, addresses, &superblock, write);
    let mut next = Some(superblock.head.at);
    while let Some(at) = next {
        next = replay.zone(at)?;
    }
    replay.finish(area, superblock)
}

/// State of a replay.
struct Replay<'a> {
    device: &'a dyn Device,
    grid: ZoneGrid,
    binding: Binding,
    splices: std::iter::Peekable<std::vec::IntoIter<Splice>>,
    /// Where the next frame is expected.
    at: ZonePlace,
    cursor: Cursor,
    /// Expected opening of the next frame.
    opening: Opening,
    assembler: Assembler,
    application: Application,
    zones: Vec<JournalZone>,
    since_head: u64,
    stable: Stable,
    /// Frames with a smaller sequence must be there.
    known_end: u64,
    /// Whether a mount for writing follows.
    write: bool,
}

/// The end of the last whole append.
struct Stable {
    end: Position,
    zones: usize,
    pointer: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    Head,
    /// A frame that comes from this place.
    Continue(Continue),
    Nothing,
}

impl<'a> Replay<'a> {
    fn new(
        device: &'a dyn Device,
        grid: ZoneGrid,
        addresses: AddressSpace,
        superblock: &Superblock,
        write: bool,
    ) -> Self {
        let head = superblock.head;
        let cursor = Cursor { sequence: head.sequence, chain: head.chain };
        // Set as soon as the head's zone is read.
        let at = ZonePlace::default();
        let end = Position { at, cursor, epoch: head.epoch };
        let behind = superblock.splices.iter().filter(|splice| splice.sequence > head.sequence);
        let splices: Vec<Splice> = behind.copied().collect();
        Self {
            device,
            grid,
            binding: Binding { uuid: superblock.uuid, owner: 0, epoch: head.epoch },
            splices: splices.into_iter().peekable(),
            at,
            cursor,
            opening: Opening::Head,
            assembler: Assembler::default(),
            application: Application::new(addresses),
            zones: Vec::new(),
            since_head: 0,
            stable: Stable { end, zones: 0, pointer: None },
            known_end: superblock.journal_end,
            write,
        }
    }

    /// Reads from a block to the end of its zone. Returns the block at which the journal goes on in
    /// another zone.
    fn zone(&mut self, at: BlockAddr) -> Result<Option<BlockAddr>, StoreError> {
        let (source, place) = ZoneSource::at(self.device, self.grid, at)?;
        self.at = place;
        self.zones.push(JournalZone { zone: place.zone, first: self.cursor.sequence });
        // The head and a continuation are known to be there.
        let block = place.block;
        let known_end = if self.opening == Opening::Nothing { 0 } else { block.saturating_add(1) };
        let mut scanner = Scanner::new(&source, self.binding, block, self.cursor, known_end);
        loop {
            self.settle(&source);
            if let Some(splice) = self.splices.next_if(|s| s.sequence == self.cursor.sequence) {
                self.jump(splice);
                return Ok(Some(splice.at));
            }
            let Some(frame) = scanner.next_frame()? else {
                return self.ended(&source);
            };
            let at = self.at;
            self.since_head += u64::from(frame.blocks) * BLOCK as u64;
            self.at.block = scanner.block();
            self.cursor = scanner.cursor();
            let wrong = |expected: &str, got: String| {
                let (region, offset) = source.place(at.block);
                StoreError::Corruption { region, offset, expected: expected.into(), got }
            };
            let undecodable =
                |error: DecodeError| wrong("a payload that decodes", error.to_string());
            self.check_opening(&frame).map_err(|got| wrong("the journal's next part", got))?;
            if frame.kind == kind::LINK {
                let link = Link::decode(&frame.payload).map_err(undecodable)?;
                self.follow();
                return Ok(Some(link.to));
            }
            if frame.kind == kind::CONTINUE {
                continue;
            }
            match self.assembler.push(frame) {
                Ok(None) => {}
                Ok(Some(append)) => {
                    let bytes = append.payload.len() as u64;
                    let mut payload = Reader::new(&append.payload);
                    self.application
                        .apply(append.kind, bytes, &mut payload)
                        .map_err(|(expected, got)| wrong(expected, got))?;
                    self.application.check_features(self.write)?;
                }
                Err(frame) => {
                    let got = format!("frame {} of type {}", frame.sequence, frame.kind);
                    return Err(wrong("the next part of an append", got));
                }
            }
        }
    }

    /// Notes the end of an append.
    fn settle(&mut self, source: &ZoneSource<'_>) {
        if !self.assembler.is_open() {
            let (at, cursor, epoch) = (self.at, self.cursor, self.binding.epoch);
            let (zones, pointer) = (self.zones.len(), source.pointer());
            self.stable = Stable { end: Position { at, cursor, epoch }, zones, pointer };
        }
    }

    /// Checks a frame against the expected opening.
    fn check_opening(&mut self, frame: &Frame) -> Result<(), String> {
        let found = || format!("frame {} of type {}", frame.sequence, frame.kind);
        match std::mem::replace(&mut self.opening, Opening::Nothing) {
            Opening::Head if frame.kind != kind::HEAD => Err(found()),
            Opening::Continue(expected) => {
                let got = Continue::decode(&frame.payload).map_err(|error| error.to_string())?;
                if frame.kind != kind::CONTINUE || got != expected {
                    return Err(format!("{}, from {}", found(), got.from));
                }
                Ok(())
            }
            Opening::Nothing if frame.kind == kind::CONTINUE => Err(found()),
            Opening::Head | Opening::Nothing => Ok(()),
        }
    }

    /// Follows a link: the frame that it points to must name it.
    fn follow(&mut self) {
        // The link was the last frame of its zone; it started one block before.
        debug_assert!(self.at.block > 0, "a link takes a block");
        let from = self.grid.addr(self.at.zone, self.at.block - 1);
        self.opening = Opening::Continue(Continue { from, chain: self.cursor.chain });
    }

    /// Goes on at a splice.
    fn jump(&mut self, splice: Splice) {
        let (from, chain) = (self.grid.addr_of(self.at), self.cursor.chain);
        self.opening = Opening::Continue(Continue { from, chain });
        self.binding.epoch = splice.epoch;
        self.cursor = self.binding.start(splice.sequence);
        self.assembler = Assembler::default();
    }

    /// The frames of this zone have ended: an error if further frames must exist.
    fn ended(&mut self, source: &ZoneSource<'_>) -> Result<Option<BlockAddr>, StoreError> {
        let expected = match self.splices.peek() {
            Some(splice) => format!("frames up to {}, where the journal goes on", splice.sequence),
            None if self.cursor.sequence < self.known_end => vouched_for(self.known_end),
            None => return Ok(None),
        };
        let (region, offset) = source.place(self.at.block);
        Err(StoreError::Corruption {
            region,
            offset,
            expected,
            got: format!("no frame {}", self.cursor.sequence),
        })
    }

    fn finish(self, area: SuperblockArea, superblock: Superblock) -> Result<Replayed, StoreError> {
        let Stable { end, zones: count, pointer } = self.stable;
        let write = self.write;
        let (catalog, snapshot) = self.application.finish(end.epoch).map_err(|got| {
            let (region, offset) = self.grid.describe("journal", end.at);
            let expected = "a complete snapshot".into();
            StoreError::Corruption { region, offset, expected, got }
        })?;
        let mut zones = self.zones;
        let orphans = zones.split_off(count);
        debug_assert_eq!(
            zones.last().map(|zone| zone.zone),
            Some(end.at.zone),
            "the journal ends in the last of its zones"
        );
        let is_clean = pointer == Some(end.at.block) && orphans.is_empty();
        if self.assembler.is_open() {
            reached!("fs: a journal's append without its end is dropped");
        }
        let since_head = self.since_head;
        if write {
            check_room(
                superblock.uuid,
                "sequence of the journal",
                end.cursor.sequence,
                SEQUENCE_END,
            )?;
            catalog.check_growing(superblock.uuid)?;
        }
        Ok(Replayed {
            area,
            superblock,
            catalog,
            end,
            is_clean,
            zones,
            orphans,
            since_head,
            snapshot,
        })
    }
}
