//! The pool of a device with zones. A *region*, which one writer appends to, is the unwritten rest
//! of a zone.
//!
//! | part | task |
//! |---|---|
//! | [`ZonedPool`] | joins the others under one lock, and carries out their choices |
//! | [`ZoneTable`] | the use and contents of each [`Zone`]; `transitions`: how they change |
//! | [`Governor`] | reservations of space |
//! | `reserves` | how many zones each rank leaves to others when zones run short |
//! | `state` | the state under the lock; which zone a writer gets |
//! | `slots` | how zones give back the device's active slots |
//! | `space_wait` | how long a writer waits |
//! | `victims` | when reclaim works, and on which zone |
//! | `moved` | blocks that reclaim has moved for nothing |
//! | [`SpaceParts`] | the use of all bytes of the zones |
//! | `pool`, `journal_space` | requests of writers; zones for the journal |
//! | `world` | a test: all that can happen in a store of a few zones |
//!
//! # Invariants
//! - A zone is written by one lease at a time, by the journal, or as the superblock's.
//! - The pool resets a zone when it is taken to be written, and only if it has no live, unsealed or
//!   pinned blocks.
//! - Each rank leaves to higher ranks the zones that `reserves` says. A job may use its granted
//!   reservation, even if too little is left to others then.
//!
//! # Threads
//! One lock, not held over a device call. A zone that is being reset, finished or emptied is taken
//! from other writers meanwhile. Table, governor, reserves and the choices of `state` ask no device
//! and take no lock.

mod governor;
mod journal_space;
mod moved;
mod parts;
mod pool;
mod reserves;
mod slots;
mod space_wait;
mod state;
mod transitions;
mod victims;
#[cfg(test)]
mod world;
mod zone;
mod zone_table;
mod zoned_pool;

pub(crate) use governor::Governor;
pub use parts::{SpacePart, SpaceParts};
pub(crate) use reserves::{
    COMPACTION_RESERVE, FLUSH_RESERVE, RECLAIM_RESERVE, URGENT_RESERVE, journal_zones,
};
pub(crate) use state::Limits;
pub(crate) use victims::Outcome;
pub(crate) use zone::{Condition, Zone};
pub(crate) use zone_table::ZoneTable;
pub(crate) use zoned_pool::ZonedPool;
