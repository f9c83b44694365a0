//! Space of the devices: runs of blocks for writers (*regions*), counts of used blocks, and
//! reserves: space that less urgent work leaves to more urgent work.
//!
//! | part | content |
//! |---|---|
//! | [`Pools`] | the pools of a store, one for each device |
//! | [`Pool`] | the interface: the space of one device, as writers see it |
//! | [`Region`], [`Reserved`] | a lease of a run of blocks; space set aside for a job |
//! | [`Group`] | the regions of files that should lie together |
//! | [`Ask`], [`Share`] | a writer's request for a region; the kinds of blocks that are counted |
//! | [`zoned`] | the pool of a device with zones |
//! | [`plain`] | the pool of a device without: plain, or of shingled tracks |
//!
//! # Invariants
//! - A block has one owner at most: a file, the journal, the superblock or a lease.
//! - Blocks that no file has any more, and that a reader may still read, are *pinned* and not given
//!   out.
//!
//! # Threads
//! Each pool has one lock, taken after that of a file and not held over a device call. Writers may
//! wait in a pool for space. On a device with zones, most calls that lease or end a write can wait
//! for the device. The caller must hold no lock then.

mod ask;
mod group;
mod plain;
mod pool;
mod pools;
mod region;
mod reservation;
mod share;
mod zoned;

pub(crate) use ask::Ask;
pub(crate) use group::{Group, GroupLease, Member};
pub(crate) use plain::{Holds, Part, PlainPool, Span, Used, check_size};
pub(crate) use pool::Pool;
pub(crate) use pools::{DevicePool, Pools};
pub(crate) use region::Region;
pub(crate) use reservation::{ReservationId, Reserved};
pub(crate) use share::Share;
pub(crate) use zoned::{
    COMPACTION_RESERVE, Condition, FLUSH_RESERVE, Limits, Outcome, RECLAIM_RESERVE, URGENT_RESERVE,
    Zone, ZoneTable, ZonedPool, journal_zones,
};
pub use zoned::{SpacePart, SpaceParts};
