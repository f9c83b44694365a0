//! Who may write where: the zones' counts, the ranked reserves, and the leases of regions.
//!
//! On zoned devices a region is the rest of a zone. [`Allocator`] is the one place that hands
//! regions to writers and zones to the journal, and takes back what transactions free.

mod allocator;
mod governor;
mod journal_space;
mod region;
mod reservation;
mod slots;
mod space_wait;
mod state;
mod victims;
#[cfg(test)]
mod world;
mod zone_table;

pub(crate) use allocator::Allocator;
pub(crate) use governor::{
    COMPACTION_RESERVE, FLUSH_RESERVE, Governor, RECLAIM_RESERVE, URGENT_RESERVE, journal_zones,
};
pub(crate) use region::Region;
pub(crate) use reservation::Reserved;
pub(crate) use state::{Ask, Limits};
pub(crate) use victims::Outcome;
pub(crate) use zone_table::{Condition, Share, Totals, Zone, ZoneTable};
