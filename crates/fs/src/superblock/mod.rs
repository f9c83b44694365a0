//! The superblock: where everything starts.
//!
//! It says whose store this is, on what shape of device, what a program must understand to use it,
//! and where the journal begins. The byte table and the rules of its placement are in
//! `docs/format/superblock.md`.

mod area;
mod codec;

pub use area::SuperblockArea;
pub(crate) use area::survey;
pub use codec::{Features, JournalHead, Placement, SPLICES_MAX, Shape, Splice, Superblock};
