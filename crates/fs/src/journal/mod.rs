//! The journal: every change of the catalog, in one endless log of frames.
//!
//! | part | what it does |
//! |---|---|
//! | [`Journal`] | commits transactions in groups, and rolls |
//! | [`replay()`] | reads what is there |
//! | [`JournalWalk`] | goes through it, damaged or not, for people |
//! | [`format()`] | starts an empty one |
//! | [`JournalSpace`] | where its zones come from |
//!
//! The bytes are described in `docs/format/journal.md`, the reasons in decision 0003. The journal
//! has one forced write under way at a time. A commit is acknowledged, and the blocks that it frees
//! come free, only after its write.

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
