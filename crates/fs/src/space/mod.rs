//! Space of the devices: regions for writers, counts of used blocks, ranked reserves.
//!
//! | part | content |
//! |---|---|
//! | [`Pools`] | the pools of a store, one for each device |
//! | [`Pool`] | the seam: the space of one device, as writers see it |
//! | [`Region`], [`Reserved`] | a lease of a run of blocks; space set aside for a job |
//! | [`Group`] | the regions of files that shall lie together |
//! | [`Ask`], [`Share`] | a writer's request for a region; the kinds of blocks that are counted |
//! | [`zoned`] | the pool of a device with zones |
//! | [`plain`] | the pool of a device without |
//!
//! # Invariants
//! - A block has one owner at most: a file, the journal, the superblock or a lease.
//! - What a reader may still read is *pinned*, and not given out.
//! - No job that has its reservation, and at most two files open, runs out of space, unless a
//!   device fails under it.
//!
//! # Threads
//! Each pool has one lock, taken after that of a file and never held over a device call. Writers
//! may wait in a pool for space: they hold no lock then. Pure parts, called under the pool's lock,
//! decide who gets space when it is short.

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
pub(crate) use plain::{PlainPool, Used, check_size};
pub(crate) use pool::Pool;
pub(crate) use pools::Pools;
pub(crate) use region::Region;
pub(crate) use reservation::{ReservationId, Reserved};
pub(crate) use share::Share;
pub(crate) use zoned::{
    COMPACTION_RESERVE, Condition, FLUSH_RESERVE, Limits, Outcome, RECLAIM_RESERVE, URGENT_RESERVE,
    Zone, ZoneTable, ZonedPool, journal_zones,
};
