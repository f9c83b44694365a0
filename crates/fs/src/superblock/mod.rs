//! The superblock: the record from which a mount finds everything else. It has, among other fields,
//! the identity of the store, the shape of the device and the features that a program must know. On
//! the device of the journal, it also has the place where the journal begins.
//! `docs/format/superblock.md` has the byte table and the rules of its placement.
//!
//! | part | task |
//! |---|---|
//! | [`SuperblockArea`] | where a device's superblocks stand; finds the newest, writes the next |
//! | [`Superblock`] | its fields, and their bytes |
//! | `search` | finds superblocks on a device of which nothing is known |
//! | `home` | the zones that hold them |
//! | `foreign` | one of another format version |
//! | `unsound` | a block that should be one and is none: damage, or left by a power cut |
//!
//! Each device of a store on devices has superblocks of its own. Of the superblocks of a device,
//! the one of the highest generation counts.
//!
//! # Threads
//! One actor at a time may use a [`SuperblockArea`]. That actor must hold no lock, because it waits
//! for the device.

mod area;
mod codec;
mod foreign;
#[cfg(test)]
mod fuzz;
mod home;
mod search;
mod unsound;

pub use area::SuperblockArea;
pub(crate) use area::write_twice;
pub use codec::{
    Features, JournalHead, Member, MountMark, PATH_MAX, Placement, Role, SPLICES_MAX, Shape,
    Splice, Superblock,
};
pub(crate) use foreign::Foreign;
pub(crate) use search::survey;
