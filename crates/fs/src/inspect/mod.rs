//! Inspection of the medium, damaged or not, without a mount: for people who want to look.
//!
//! | part | of what |
//! |---|---|
//! | [`Inspector`] | a store on a device or in a directory: its superblocks, files, journal, logs |
//! | [`JournalWalk`] | the journal's frames and records |
//! | [`LogWalk`] | a write-ahead file's frames and payloads |
//!
//! Reads with the decoders and scanners that a mount uses, so it shows what a mount would see; but
//! where a mount ends with an error, an inspection reports it and goes on with the next structure
//! that verifies. Nothing is written, no log is recovered, and nothing panics whatever the bytes
//! are.

mod extents;
mod inspector;
mod log;

pub use crate::journal::{FrameSeen, JournalAppend, JournalContent, JournalWalk};
pub use inspector::{Inspector, SuperblockSeen};
pub use log::{LogAppend, LogWalk};
