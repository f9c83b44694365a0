//! [`Tail`]: the journal's end, where frames are appended. When a zone is full, the tail goes on in
//! another one. On a device without zones, a zone here is a stretch.
//!
//! # Invariants
//! - One write is in flight at a time, and it is forced: frames before those in it are durable.
//! - A zone keeps its last block for a [`Link`]. The frame that a link points to is durable before
//!   the link is written. If the journal left a zone by a splice, no link is written.
//!
//! # Failure
//! - If the first write to another zone fails, the next one is tried, three in all. The first two
//!   are given up; after the third the append fails. If the host's disk has no room for that
//!   write, the tail tries again for up to [`HOST_WAIT_MAX`].
//! - The zone in which [`Tail::fresh`] begins is not exchanged: an error there is returned.
//! - After an append that fails, the content of the medium after the end is unknown, and nothing
//!   more may be appended.
//!
//! # Threads
//! One actor at a time may use it. Appends wait for the device.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use terrace_env::store::StoreError;
use terrace_env::{Cause, DeviceId, IoBuf, Uuid, ZoneId, runner};
use terrace_zone::Device;

use super::JournalSpace;
use super::payload::{Continue, Link, kind};
use crate::block::{end_writing, is_filled_by_blocks};
use crate::canary::{self, Rule};
use crate::frame::{Binding, Cursor, FrameHead, PAYLOAD_MAX, encode_frame, payload_room};
use crate::superblock::JournalHead;
use crate::{BLOCK, BlockAddr, ZoneGrid, ZonePlace, zone_blocks};

/// Number of zones that are tried when the journal's first write to one fails.
const TRIES: u32 = 3;
/// The longest wait of a commit for room on the disk of the host: the same as that of a writer for
/// space.
const HOST_WAIT_MAX: Duration = Duration::from_secs(60);
/// Time between two tries.
const HOST_WAIT_STEP: Duration = Duration::from_millis(100);

/// A zone of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JournalZone {
    pub(super) zone: ZoneId,
    /// The sequence of the first frame in it that counts.
    pub(super) first: u64,
}

/// End of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) at: ZonePlace,
    pub(super) cursor: Cursor,
    pub(super) epoch: u32,
}

/// The device that the journal lies on, and its zones: stretches, where the device has none.
#[derive(Clone)]
pub(super) struct Ground {
    pub(super) device: Arc<dyn Device>,
    pub(super) grid: ZoneGrid,
}

impl Ground {
    /// The device that has this number in the store.
    pub(super) fn new(id: DeviceId, device: &Arc<dyn Device>) -> Self {
        Self { device: Arc::clone(device), grid: ZoneGrid::new(id, device.geometry()) }
    }
}

/// The appending end of the journal. Belongs to the leader of the group commit.
pub(super) struct Tail {
    device: Arc<dyn Device>,
    space: Arc<dyn JournalSpace>,
    binding: Binding,
    at: ZonePlace,
    grid: ZoneGrid,
    cursor: Cursor,
    /// The zones in use, oldest first; the last one is written.
    zones: VecDeque<JournalZone>,
    /// Bytes written since the head.
    pub(super) since_head: u64,
}

impl Tail {
    /// Goes on at a position. The zone there must be writable at that block.
    pub(super) fn new(
        ground: Ground,
        space: Arc<dyn JournalSpace>,
        uuid: Uuid,
        position: Position,
        zones: Vec<JournalZone>,
    ) -> Self {
        let binding = Binding { uuid, owner: 0, epoch: position.epoch };
        debug_assert_eq!(zones.last().map(|zone| zone.zone), Some(position.at.zone));
        debug_assert!(
            zones.windows(2).all(|pair| pair[0].first <= pair[1].first),
            "zones from the oldest on: {zones:?}"
        );
        let (at, cursor, zones) = (position.at, position.cursor, zones.into());
        let Ground { device, grid } = ground;
        Self { device, space, binding, at, grid, cursor, zones, since_head: 0 }
    }

    /// Starts a new epoch in a fresh zone; the first frame appended has this sequence.
    pub(super) fn fresh(
        ground: Ground,
        space: Arc<dyn JournalSpace>,
        uuid: Uuid,
        epoch: u32,
        sequence: u64,
    ) -> Result<Self, StoreError> {
        let zone = space.take()?;
        let cursor = Binding { uuid, owner: 0, epoch }.start(sequence);
        let position = Position { at: ZonePlace { zone, block: 0 }, cursor, epoch };
        let zones = vec![JournalZone { zone, first: sequence }];
        Ok(Self::new(ground, space, uuid, position, zones))
    }

    /// Goes on after `before` in a fresh zone with a new epoch. Torn bytes may follow `before` in
    /// its zone.
    pub(super) fn splice(
        ground: Ground,
        space: Arc<dyn JournalSpace>,
        uuid: Uuid,
        before: Position,
        epoch: u32,
        mut zones: Vec<JournalZone>,
    ) -> Result<Self, StoreError> {
        let sequence = before.cursor.sequence;
        let mut tail = Self::fresh(ground, space, uuid, epoch, sequence)?;
        zones.extend(tail.zones.drain(..));
        tail.zones = zones.into();
        let from = tail.grid.addr_of(before.at);
        let payload = Continue { from, chain: before.cursor.chain }.encode();
        tail.append(kind::CONTINUE, &payload)?;
        Ok(tail)
    }

    /// Where the next frame goes.
    pub(super) fn position(&self) -> Position {
        Position { at: self.at, cursor: self.cursor, epoch: self.binding.epoch }
    }

    /// The head of a snapshot that was written at a position.
    pub(super) fn head_at(&self, position: Position) -> JournalHead {
        let Position { at, cursor, epoch } = position;
        let at = self.grid.addr_of(at);
        JournalHead { at, sequence: cursor.sequence, epoch, chain: cursor.chain }
    }

    /// The first block of the zone that is written.
    pub(super) fn zone_start(&self) -> BlockAddr {
        self.grid.addr(self.at.zone, 0)
    }

    /// The zones in use, oldest first.
    pub(super) fn zones(&self) -> impl Iterator<Item = ZoneId> + '_ {
        self.zones.iter().map(|zone| zone.zone)
    }

    /// Gives back the zones that hold only frames before `sequence`.
    pub(super) fn release_before(&mut self, sequence: u64) {
        while self.zones.get(1).is_some_and(|next| next.first <= sequence) {
            if let Some(old) = self.zones.pop_front() {
                self.space.release(old.zone);
            }
        }
        debug_assert!(
            self.zones.back().is_some_and(|zone| zone.zone == self.at.zone),
            "the zone that is written stays the journal's"
        );
    }

    /// Appends a payload, in one or more frames and zones. Returns its start once it is durable.
    pub(super) fn append(&mut self, kind: u8, payload: &[u8]) -> Result<Position, StoreError> {
        let mut rest = payload;
        let mut first = None;
        loop {
            self.make_room()?;
            let position = *first.get_or_insert(self.position());
            let start = self.at;
            let synced = self.cursor.sequence;
            let mut data = IoBuf::with_capacity((payload.len() + BLOCK).next_multiple_of(BLOCK));
            let mut done = false;
            while !done && self.room() > 0 && data.len() < PAYLOAD_MAX {
                let len = rest.len().min(payload_room(self.room()));
                let (now, later) = rest.split_at(len);
                (rest, done) = (later, later.is_empty());
                let head = FrameHead { synced, kind, continues: !done };
                encode_frame(&self.binding, &mut self.cursor, head, now, &mut data);
                self.at.block = start.block + (data.len() / BLOCK) as u32;
                debug_assert!(
                    self.at.block < zone_blocks(self.device.geometry(), start.zone),
                    "no block of zone {} is left for the link",
                    start.zone
                );
            }
            self.write(start, data)?;
            if done {
                return Ok(position);
            }
        }
    }

    /// Blocks of the current zone that frames other than the link may take.
    fn room(&self) -> u32 {
        let capacity = zone_blocks(self.device.geometry(), self.at.zone);
        capacity.saturating_sub(self.at.block + 1)
    }

    fn write(&mut self, at: ZonePlace, data: IoBuf) -> Result<(), StoreError> {
        self.since_head += data.len() as u64;
        let fua = !canary::is_broken(Rule::JournalDurableBeforeAck);
        debug_assert!(
            !data.is_empty() && data.len().is_multiple_of(BLOCK),
            "the journal writes {} bytes",
            data.len()
        );
        let at = self.grid.addr_of(at);
        self.device
            .write(self.grid.lba(at), data, fua, Cause::Journal)
            .map(drop)
            .map_err(|error| StoreError::io(format!("journal write at {at}"), error))
    }

    /// Makes sure that a frame of at least one block fits the current zone. If the disk of the host
    /// has no room for another zone, waits for it, at most [`HOST_WAIT_MAX`]: staged records cannot
    /// be taken back, and an error would stop the store.
    fn make_room(&mut self) -> Result<(), StoreError> {
        let mut tries = 1;
        let mut full_since = None;
        while self.room() == 0 {
            let zone = self.space.take()?;
            match self.go_on_in(zone) {
                Ok(()) => {}
                Err(Moved::Continue(error @ StoreError::HostFull { .. })) => {
                    // Nothing was written, and the zone is sound.
                    self.space.release(zone);
                    let since = *full_since.get_or_insert_with(runner::now);
                    if runner::now().since(since) >= HOST_WAIT_MAX {
                        return Err(error);
                    }
                    runner::sleep(HOST_WAIT_STEP);
                }
                // No link refers to the new zone yet, so another one can replace it.
                Err(Moved::Continue(_)) if tries < TRIES => {
                    self.space.give_up(zone);
                    tries += 1;
                }
                Err(Moved::Continue(error) | Moved::Link(error)) => return Err(error),
            }
        }
        Ok(())
    }

    fn go_on_in(&mut self, zone: ZoneId) -> Result<(), Moved> {
        debug_assert_eq!(self.room(), 0, "the journal leaves a zone with room");
        let (from, to) = (self.at, ZonePlace { zone, block: 0 });
        let synced = self.cursor.sequence;
        let before = self.cursor;
        let (mut link, mut first) = (IoBuf::default(), IoBuf::default());
        let head = |kind| FrameHead { synced, kind, continues: false };
        let payload = Link { to: self.grid.addr_of(to) }.encode();
        encode_frame(&self.binding, &mut self.cursor, head(kind::LINK), &payload, &mut link);
        let sequence = self.cursor.sequence;
        let from_addr = self.grid.addr_of(from);
        let payload = Continue { from: from_addr, chain: self.cursor.chain }.encode();
        encode_frame(&self.binding, &mut self.cursor, head(kind::CONTINUE), &payload, &mut first);
        debug_assert_ne!(zone, self.at.zone, "the journal goes on in another zone");
        debug_assert!(first.len().is_multiple_of(BLOCK) && link.len() == BLOCK, "whole blocks");
        let blocks = (first.len() / BLOCK) as u32;
        if let Err(error) = self.write(to, first) {
            self.cursor = before;
            return Err(Moved::Continue(error));
        }
        self.write(from, link).map_err(Moved::Link)?;
        if !is_filled_by_blocks(self.device.geometry(), from.zone) {
            end_writing(&*self.device, from.zone, Cause::Journal);
        }
        self.at = ZonePlace { zone, block: blocks };
        debug_assert!(
            self.zones.iter().all(|held| held.zone != zone && held.first <= sequence),
            "zone {zone} is the journal's already, or it is no later one: {:?}",
            self.zones
        );
        self.zones.push_back(JournalZone { zone, first: sequence });
        Ok(())
    }
}

/// The failed one of the two writes that lead to another zone.
enum Moved {
    Continue(StoreError),
    Link(StoreError),
}
