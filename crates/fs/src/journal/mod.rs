//! The journal: every change of the catalog, in one endless log of frames.
//!
//! | part | what it does |
//! |---|---|
//! | [`Journal`] | commits transactions in groups, and rolls |
//! | `leader`, `tail`, `roll` | what a group's leader writes, and where; steps of a snapshot |
//! | [`replay()`], `apply` | read what is there, and apply it to a catalog |
//! | `start` | [`format()`] starts an empty journal; a mount goes on with one |
//! | [`JournalWalk`] | goes through it, damaged or not, for people |
//! | [`JournalSpace`] | where its zones come from: on a plain device, stretches |
//! | `payload`, `source` | the types of frames; a zone of the journal as a scan reads it |
//!
//! The bytes are described in `docs/format/journal.md`, the reasons in decision 0003. The journal
//! has one write under way at a time, and it is forced. A commit is acknowledged, and the blocks
//! that it frees come free, only after its write. A zone that was written is released only once a
//! superblock is durable from which a replay does not come to it any more.
//!
//! # Threads
//! Any number of actors commit, and hold no lock then. One of them at a time leads, and alone
//! writes; it holds no lock over a device call. Replay and walks are for one actor, while nobody
//! writes.

mod apply;
mod committer;
mod leader;
mod payload;
mod replay;
mod roll;
mod source;
mod space;
mod start;
mod tail;
mod walk;

pub(crate) use apply::Application;
pub use committer::Journal;
pub(crate) use payload::kind;
pub(crate) use replay::replay_from;
pub(crate) use replay::vouched_for;
pub use replay::{Replayed, replay};
pub(crate) use roll::{Step, chunk, head, is_due};
pub(crate) use source::ZoneSource;
pub use space::JournalSpace;
pub use start::format;
pub(crate) use start::{format_as, write_twice};
pub use walk::{FrameSeen, JournalAppend, JournalContent, JournalWalk};
