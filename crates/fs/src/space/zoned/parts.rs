//! [`SpaceParts`]: the use of all bytes of a device's zones, by the state of the zones.
//! Each zone is in one part, but for those of the journal, the superblock, and zones that are not
//! used or have failed, which are in none.
//!
//! Space efficiency is the live bytes of all parts but the free one, divided by the bytes of their
//! zones. The rest is their dead bytes and their room.

use terrace_env::{ByteCount, ZoneId};

use super::{Condition, Zone, ZonedPool};
use crate::block::BLOCK;

/// A part of the zones: their number, and the use of their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpacePart {
    /// How many zones.
    pub zones: u32,
    /// Bytes of files, unsealed ones included, and of deleted files that readers hold.
    pub live: ByteCount,
    /// Written bytes of nothing that exists; the room of zones that were finished early, too.
    pub dead: ByteCount,
    /// Bytes that can be written without a reset.
    pub room: ByteCount,
}

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceParts {
    /// Zones without room and without a writer.
    pub full: SpacePart,
    /// Zones that a writer has: a log, a file, or reclaim.
    pub writing: SpacePart,
    /// Zones with room and, for now, without a writer.
    pub resting: SpacePart,
    /// Zones that reclaim is emptying, or that are being finished.
    pub emptying: SpacePart,
    /// Zones without anything that counts: all of it is room. They may show old bytes until they
    /// are reset, which is done when they are taken.
    pub free: SpacePart,
}

impl SpacePart {
    fn add(&mut self, zone: &Zone) {
        self.zones += 1;
        for (sum, blocks) in [
            (&mut self.live, zone.used()),
            (&mut self.dead, zone.dead()),
            (&mut self.room, zone.room()),
        ] {
            sum.0 += u64::from(blocks) * BLOCK as u64;
        }
    }
}

impl ZonedPool {
    /// Uses of the zones. Walks all of them.
    pub(crate) fn parts(&self) -> SpaceParts {
        let state = self.state.lock();
        let mut parts = SpaceParts::default();
        for id in (0..state.table.len()).map(ZoneId) {
            let zone = state.table.get(id);
            let part = match zone.condition {
                Condition::Free => &mut parts.free,
                Condition::Leased if state.leases.contains_key(&id) => &mut parts.writing,
                Condition::Leased => &mut parts.emptying,
                Condition::Written if zone.room() == 0 => &mut parts.full,
                Condition::Written => &mut parts.resting,
                _ => continue,
            };
            part.add(zone);
        }
        parts
    }

    /// Bytes that reclaim has moved for nothing since the mount: see
    /// [`Moved`](super::moved::Moved).
    pub(crate) fn moved_in_vain(&self) -> ByteCount {
        ByteCount(self.state.lock().moved.in_vain() * BLOCK as u64)
    }
}
