//! The integration tests of the file system.

mod cache;
#[cfg(feature = "canary")]
mod canary;
mod catalog;
mod changes;
mod conformance;
mod contention;
mod crowd;
mod crowd_cuts;
mod cuts;
mod damaged;
mod dir;
mod drive;
mod failures;
mod faults;
mod flips;
mod format;
mod full;
mod golden;
mod groups;
mod inspect;
mod journal;
mod journal_cuts;
mod journal_world;
mod limits;
mod log_writes;
mod logs;
mod placed;
mod readers;
mod reclaim;
mod rolls;
mod specimens;
mod stopped;
mod superblocks;
