//! The integration tests of the file system.

mod cache;
#[cfg(debug_assertions)]
mod canary;
mod catalog;
mod changes;
mod conformance;
mod contention;
mod crowd;
mod crowd_cuts;
mod cuts;
mod damaged;
#[cfg(debug_assertions)]
mod deletions;
mod dir;
mod drive;
mod extremes;
mod failures;
mod faults;
mod flips;
mod flushes;
mod format;
mod full;
mod golden;
mod groups;
mod inspect;
mod joint_reads;
mod journal;
mod journal_cuts;
mod journal_world;
mod late_reads;
mod late_seals;
mod leader_panics;
mod leaks;
mod limits;
mod log_cuts;
mod log_writes;
mod logs;
mod offload;
mod pairing;
mod placed;
mod placement_groups;
mod readers;
mod reclaim;
#[cfg(debug_assertions)]
mod resets;
mod rolls;
mod specimens;
mod stopped;
mod superblock_copies;
mod superblocks;
mod toy_device;
mod two_devices;
