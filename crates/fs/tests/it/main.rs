//! The integration tests of the file system.

#[cfg(feature = "canary")]
mod canary;
mod changes;
mod flips;
mod golden;
mod journal;
mod journal_cuts;
mod journal_world;
mod specimens;
