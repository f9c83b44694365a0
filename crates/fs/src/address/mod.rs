//! Addresses of blocks.
//!
//! | part | what it is |
//! |---|---|
//! | [`BlockAddr`] | a device, and the number of a block on it |
//! | [`ZoneGrid`] | the zones of a device: in which zone and logical block an address lies |
//! | [`ZonePlace`] | a zone, and a number of blocks from its start; it may be the zone's end |
//! | [`AddressSpace`] | the devices of a store: which addresses there are |
//!
//! The metadata of a store name blocks by address. The zone of a block is computed from the address
//! where it is needed, such as for a command to the device or for the counts of zones. Decision
//! 0017 has the reasons.

mod block_addr;
mod space;
mod zone_grid;
mod zone_place;

pub use block_addr::BlockAddr;
pub use space::AddressSpace;
pub use zone_grid::ZoneGrid;
pub use zone_place::ZonePlace;
