//! Where a block lies: one address for every block of a store, and what follows from it.
//!
//! | part | what it is |
//! |---|---|
//! | [`BlockAddr`] | a device, and the number of a block on it |
//! | [`ZoneGrid`] | the zones of a device: in which zone and logical block an address lies |
//! | [`ZonePlace`] | where a zone is written next, which may be its end |
//! | [`AddressSpace`] | the devices of a store: which addresses there are |
//!
//! Everything that is recorded, checked or shown names a block by its address. A zone is computed
//! where one is needed: for a command to the device, for the counts of zones, and for messages. Why
//! it is so: decision 0017.

mod block_addr;
mod space;
mod zone_grid;
mod zone_place;

pub use block_addr::BlockAddr;
pub use space::AddressSpace;
pub use zone_grid::ZoneGrid;
pub use zone_place::ZonePlace;
