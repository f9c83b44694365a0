//! The journal on a device: every change of the catalog, in a log of frames. Snapshots of the
//! catalog in it let its older zones come free.
//!
//! | part | task |
//! |---|---|
//! | [`Journal`] | commits transactions in groups, and rolls |
//! | `journal_writer`, `tail`, `roll` | writes of a leader, and their place; steps of a snapshot |
//! | [`replay()`], `apply` | read the journal, and apply it to a catalog |
//! | `start` | [`format()`] starts an empty journal; a mount goes on with one |
//! | `mark` | whether the journal has gone on since a replay |
//! | [`JournalWalk`] | walks the journal, damaged or not, for inspection |
//! | [`JournalSpace`] | source of its zones; of stretches, on a device without zones |
//! | `payload`, `source` | the types of frames; a zone of the journal as a scan reads it |
//!
//! `docs/format/journal.md` describes the bytes; decision 0003 has the reasons.
//!
//! # Invariants
//! - The journal has one write in flight at a time, and the write is forced.
//! - A commit is acknowledged after its write.
//! - A zone with frames is released after a superblock is durable whose replay does not read the
//!   zone.
//!
//! # Threads
//! Any number of actors may commit, and must hold no lock. One of them at a time is the leader and
//! writes. A replay or a walk is for one actor, while no actor writes.

mod apply;
mod committer;
mod first_snapshot;
#[cfg(test)]
mod fuzz;
mod journal_writer;
mod mark;
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
pub(crate) use first_snapshot::{SNAPSHOT_FRAMES, is_first_snapshot};
pub(crate) use mark::JournalMark;
pub(crate) use payload::kind;
pub(crate) use replay::replay_from;
pub(crate) use replay::vouched_for;
pub use replay::{Replayed, replay};
pub(crate) use roll::{Step, chunk, head, is_due};
pub(crate) use source::ZoneSource;
pub use space::JournalSpace;
pub use start::format;
pub(crate) use start::format_as;
pub use walk::{FrameSeen, JournalAppend, JournalContent, JournalWalk};
