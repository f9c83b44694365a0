//! The superblock: where everything starts.
//!
//! It has the identity of the store, the shape of the device, the features that a program must know
//! to use the store, and the place where the journal begins. The byte table and the rules of its
//! placement are in `docs/format/superblock.md`.

mod area;
mod codec;
mod foreign;
mod home;
mod search;

pub use area::SuperblockArea;
pub use codec::{
    Features, JournalHead, Member, PATH_MAX, Placement, SPLICES_MAX, Shape, Splice, Superblock,
};
pub(crate) use foreign::Foreign;
pub(crate) use search::survey;
