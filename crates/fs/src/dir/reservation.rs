//! Reservations of space on the host's disk.
//!
//! A reservation is a count of bytes, which the writers that use it count down. It is granted if
//! the disk has this room in addition to other reservations, and to the bytes that its rank leaves
//! to more urgent ranks.
//!
//! Tables and logs are written without a look at the rank: the engine reserves before. A client's
//! file has no reservation, so an append to it is refused if the disk has not this room
//! ([`Allowance::check_room`]). Otherwise files could take the room that deletes need.
//!
//! Other programs write to the same disk, so a reservation does not promise room. If the write of a
//! file finds the disk or the quota full, it fails with `NoSpace`, with or without a reservation.
//! Nothing here waits for space.

use std::any::Any;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::ByteCount;
use terrace_env::store::{Rank, Reservation, ReservedSpace, StoreError};

use super::node::Node;
use super::volume::{State, Volume};
use super::{Files, Room};

/// Bytes that each rank leaves to every more urgent rank: enough for a roll of the journal of ten
/// thousand files.
const STEP: u64 = 4 << 20;

/// A reservation's space.
pub(super) struct Reserved {
    volume: Arc<Volume>,
    left: Arc<AtomicU64>,
}

impl ReservedSpace for Reserved {
    fn remaining(&self) -> ByteCount {
        ByteCount(self.left.load(Ordering::Relaxed))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Allowance of a writer: its rank, and a reservation if it came with one.
pub(super) struct Allowance {
    rank: Rank,
    /// Bytes left of the reservation: spent bytes are not set aside any more.
    reserved: Option<Arc<AtomicU64>>,
    /// Bytes for which there was room at the last look, and that were not written since.
    seen: u64,
    volume: Arc<Volume>,
}

/// Most bytes that are written without another look at the room.
const LOOK: u64 = 256 << 10;

impl Allowance {
    pub(super) fn new(
        volume: &Arc<Volume>,
        rank: Rank,
        reservation: Option<&Reservation>,
    ) -> Result<Self, StoreError> {
        let own = |reservation: &Reservation| {
            let own = reservation.space().as_any().downcast_ref::<Reserved>();
            let own = own.filter(|own| Arc::ptr_eq(&own.volume, volume));
            let foreign = || StoreError::Invalid("expected a reservation of this store".to_owned());
            own.map(|own| Arc::clone(&own.left)).ok_or_else(foreign)
        };
        let reserved = reservation.map(own).transpose()?;
        Ok(Self { rank, reserved, seen: 0, volume: Arc::clone(volume) })
    }

    /// Checks that the disk has room for bytes without a reservation. Other writers may take it
    /// meanwhile, each the larger of [`LOOK`] bytes and one append: some of the room that is left
    /// to other ranks then is gone.
    pub(super) fn check_room(&mut self, bytes: u64) -> Result<(), StoreError> {
        if self.reserved.is_some() || bytes <= self.seen {
            self.seen = self.seen.saturating_sub(bytes);
            return Ok(());
        }
        let room = room(&self.volume)?;
        let available = available(room, &mut self.volume.lock(), self.rank)?;
        if bytes > available.0 {
            return Err(no_space(self.rank, ByteCount(bytes), available));
        }
        self.seen = available.0.min(bytes.max(LOOK)) - bytes;
        Ok(())
    }

    /// Notes that bytes were written.
    pub(super) fn spend(&self, bytes: u64) {
        if let Some(reserved) = &self.reserved {
            let _ = reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(left.saturating_sub(bytes))
            });
        }
    }

    /// The error for a write that failed.
    pub(super) fn describe(&self, node: &Node, bytes: usize, error: io::Error) -> StoreError {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        if full.contains(&error.kind()) {
            let available = self.volume.files.room().map_or(ByteCount(0), |room| room.available);
            return no_space(self.rank, ByteCount(bytes as u64), available);
        }
        StoreError::io(format!("writing file {}", node.id), error)
    }
}

/// Bytes that a rank leaves to those above it.
pub(super) fn kept(rank: Rank) -> u64 {
    STEP * rank as u64
}

/// Room of the disk in addition to reservations, and to the bytes that `rank` leaves.
fn available(room: Room, state: &mut State, rank: Rank) -> Result<ByteCount, StoreError> {
    state.check()?;
    let taken = state.reserved() + kept(rank);
    Ok(ByteCount(room.available.0.saturating_sub(taken)))
}

fn room(volume: &Volume) -> Result<Room, StoreError> {
    let room = volume.files.room();
    room.map_err(|error| volume.describe("asking for the space of", "", error))
}

fn no_space(rank: Rank, needed: ByteCount, available: ByteCount) -> StoreError {
    StoreError::NoSpace { rank, needed, available, on_host: true, empty: false, device: None }
}

/// Sets space aside, if the disk has this room in addition to other reservations and the bytes that
/// `rank` leaves.
pub(super) fn reserve(
    volume: &Arc<Volume>,
    rank: Rank,
    bytes: ByteCount,
) -> Result<Reservation, StoreError> {
    let room = room(volume)?;
    let mut state = volume.lock();
    let available = available(room, &mut state, rank)?;
    if bytes > available {
        return Err(no_space(rank, bytes, available));
    }
    let left = Arc::new(AtomicU64::new(bytes.0));
    let reserved = Arc::new(Reserved { volume: Arc::clone(volume), left });
    state.reservations.push(Arc::downgrade(&reserved));
    Ok(Reservation::new(reserved))
}

impl State {
    /// Bytes that are set aside.
    pub(super) fn reserved(&mut self) -> u64 {
        self.reservations.retain(|reserved| reserved.strong_count() > 0);
        let alive = self.reservations.iter().filter_map(std::sync::Weak::upgrade);
        alive.map(|reserved| reserved.left.load(Ordering::Relaxed)).sum()
    }
}
