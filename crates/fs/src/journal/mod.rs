//! The journal on a device: every change of the catalog, in a log of frames. Snapshots of the
//! catalog in it let its older zones come free.
//!
//! | part | what it does |
//! |---|---|
//! | [`Journal`] | commits transactions in groups, and rolls |
//! | `journal_writer`, `tail`, `roll` | what a leader writes, and where; steps of a snapshot |
//! | [`replay()`], `apply` | read what is there, and apply it to a catalog |
//! | `start` | [`format()`] starts an empty journal; a mount goes on with one |
//! | [`JournalWalk`] | goes through it, damaged or not, for people |
//! | [`JournalSpace`] | where its zones come from: on a device without zones, stretches |
//! | `payload`, `source` | the types of frames; a zone of the journal as a scan reads it |
//!
//! `docs/format/journal.md` describes the bytes; decision 0003 has the reasons.
//!
//! # Invariants
//! - The journal has one write under way at a time, and the write is forced.
//! - A commit is acknowledged after its write.
//! - A zone with frames is released once a superblock is durable from which a replay does not read
//!   the zone.
//!
//! # Threads
//! Any number of actors may commit, and must hold no lock. One of them at a time is the leader and
//! writes. A replay or a walk is for one actor, while nobody writes.

mod apply;
mod committer;
mod first_snapshot;
mod journal_writer;
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
