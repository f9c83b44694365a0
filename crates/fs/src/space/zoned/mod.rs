//! The pool of a device with zones. A *region*, which one writer appends to, is what is left of a
//! zone.
//!
//! | part | what it does |
//! |---|---|
//! | [`ZonedPool`] | joins the others under one lock, and carries out what they choose |
//! | [`ZoneTable`] | the use and contents of each [`Zone`]; `transitions`: how they change |
//! | [`Governor`] | reservations: who has set space aside |
//! | `reserves` | how many zones each rank leaves to others when zones run short |
//! | `state` | what the lock guards; which zone a writer gets |
//! | `slots` | how zones give back the device's active slots |
//! | `space_wait` | how long a writer waits |
//! | `victims` | when reclaim works, and on which zone |
//! | `moved` | what reclaim has moved in vain |
//! | [`SpaceParts`] | what all bytes of the zones are used for |
//! | `pool`, `journal_space` | what writers ask for; zones for the journal |
//! | `world` | a test: all that can happen in a store of a few zones |
//!
//! # Invariants
//! - A zone is written by one lease at a time, by the journal, or as the superblock's.
//! - The pool resets a zone when it is taken to be written, and only if it has no live, unsealed or
//!   pinned blocks.
//! - Each rank leaves to higher ranks what `reserves` says. A job may use what its reservation was
//!   granted, whatever is left to others then.
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
