//! Addresses of blocks, and conversions between addresses, zones and places in zones.
//!
//! | part | meaning |
//! |---|---|
//! | [`BlockAddr`] | a device, and the number of a block on it |
//! | [`ZoneGrid`] | the zones of a device: in which zone and logical block an address lies |
//! | [`ZonePlace`] | a zone, and a number of blocks from its start; it may be the zone's end |
//! | [`AddressSpace`] | the devices of a store: which addresses there are |
//!
//! An address names no zone: the zone is computed from the block's number where it is needed.
//! `docs/decisions/0017-one-address.md` has the reasons.

mod block_addr;
mod space;
mod zone_grid;
mod zone_place;

pub use block_addr::BlockAddr;
pub use space::AddressSpace;
pub use zone_grid::ZoneGrid;
pub use zone_place::ZonePlace;
