//! [`JournalMark`]: the end of a journal as a replay has found it. It tells whether the journal has
//! gone on since, by a few reads and without a replay.
//!
//! The journal has not gone on if no frame stands at its end and the superblock is still the one
//! from which the replay began. Both are needed: a zone of the journal is released, and may be
//! written with anything, only after a newer superblock is durable. So the end is looked at first,
//! and the superblock after it.

use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_env::{DeviceId, Uuid};
use terrace_zone::Device;

use super::replay::Replayed;
use super::source::ZoneSource;
use crate::frame::{Binding, stands_at};
use crate::superblock::SuperblockArea;
use crate::{BlockAddr, ZoneGrid};

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(crate) struct JournalMark {
    uuid: Uuid,
    device: DeviceId,
    generation: u64,
    epoch: u32,
    at: BlockAddr,
    sequence: u64,
}

impl JournalMark {
    /// The end that a replay on this device has found.
    pub(crate) fn of(replayed: &Replayed, device: &dyn Device) -> Self {
        let (superblock, end) = (&replayed.superblock, &replayed.end);
        Self {
            uuid: superblock.uuid,
            device: superblock.device,
            generation: superblock.generation,
            epoch: end.epoch,
            at: ZoneGrid::new(superblock.device, device.geometry()).addr_of(end.at),
            sequence: end.cursor.sequence,
        }
    }

    /// The sequence of the next frame.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Whether the journal has gone on since.
    pub(crate) fn has_moved(&self, device: &Arc<dyn Device>) -> Result<bool, StoreError> {
        let grid = ZoneGrid::new(self.device, device.geometry());
        let (source, place) = ZoneSource::at(&**device, grid, self.at)?;
        let binding = Binding { uuid: self.uuid, owner: 0, epoch: self.epoch };
        if stands_at(&source, &binding, place.block, self.sequence)? {
            return Ok(true);
        }
        Ok(!self.is_in_force(device)?)
    }

    /// Whether the superblock from which the replay began is still the newest one. Then the replay
    /// has read no zone that was released before.
    pub(crate) fn is_in_force(&self, device: &Arc<dyn Device>) -> Result<bool, StoreError> {
        let (_, superblock) = SuperblockArea::find(Arc::clone(device))?;
        Ok((superblock.uuid, superblock.generation) == (self.uuid, self.generation))
    }
}
