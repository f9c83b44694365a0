//! Space of the devices: regions for writers, counts of used blocks, ranked reserves.
//!
//! | part | content |
//! |---|---|
//! | [`Pools`] | the pools of a store, one for each device |
//! | [`Pool`] | the seam: the space of one device, as writers see it |
//! | [`Region`], [`Reserved`] | a lease of a stretch of blocks; space set aside for a job |
//! | [`Group`] | the regions of files that shall lie together |
//! | [`Ask`], [`Share`] | a writer's request for a region; the kinds of blocks that are counted |
//! | [`zoned`] | the pool of a device with zones |
//! | [`plain`] | the pool of a device without |

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
