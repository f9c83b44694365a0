//! The superblock: where everything starts.
//!
//! It has the identity of the store, the shape of the device, the features that a program must know
//! to use the store, and the place where the journal begins. The byte table and the rules of its
//! placement are in `docs/format/superblock.md`.
//!
//! | part | what it does |
//! |---|---|
//! | [`SuperblockArea`] | where a device's superblocks stand; finds the newest, writes the next |
//! | [`Superblock`] | its fields, and their bytes |
//! | `search` | finds superblocks on a device of which nothing is known |
//! | `home` | the zones that hold them |
//! | `foreign` | one of another format version |
//!
//! # Invariants
//! - Each device of a store has superblocks of its own. Only those of the journal's device are
//!   written after the format.
//! - The highest generation counts. A superblock is durable before the journal zones that it no
//!   longer needs are released.
//!
//! # Threads
//! None of its own: the actor that formats or mounts writes, and then the leader of the journal's
//! commits, with no lock held.

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
