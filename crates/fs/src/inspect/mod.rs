//! Inspection of a store, damaged or not, without a mount: for users who want to look.
//!
//! | part | subject |
//! |---|---|
//! | [`Inspector`] | a store on devices or in a directory: its superblocks, files, journal, logs |
//! | [`JournalWalk`] | the journal's frames and records |
//! | [`LogWalk`] | a write-ahead file's frames and payloads |
//!
//! An inspection uses the decoders and scanners of a mount. Where those find damage, it reports the
//! error, and goes on with the next structure that verifies, if it finds one. How far an unsealed
//! log goes is shown by a [`LogWalk`]; the [`Inspector`] knows the journal's record of it.
//!
//! An inspection writes nothing, recovers no log, and must not panic on any bytes. The store must
//! not be written meanwhile. A directory with a file `LOCK` is locked against that; devices are
//! not.

mod extents;
mod inspector;
mod log;

pub use crate::journal::{FrameSeen, JournalAppend, JournalContent, JournalWalk};
pub use inspector::{Inspector, SuperblockSeen};
pub use log::{LogAppend, LogWalk};
