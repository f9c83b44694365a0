//! [`WaitCause`]: the reasons why an actor waits, each with a name for metrics and a few words for
//! people. [`WaitCause::ALL`] has them in the order of reports.
//!
//! A cause is serialised as its name. Reading an unknown name is an error.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

use crate::Cause;
use crate::store::Rank;

/// Reason why an actor waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitCause {
    /// A writer is slowed, because compactions are late.
    TreeDelay,
    /// A writer is stopped, because level 0 is full of runs.
    TreeStop,
    /// A writer is slowed, because flushes are late.
    MemoryDelay,
    /// A writer waits for a flush: every memtable that may be in memory is full.
    Memtables,
    /// A writer waits for space to be set aside for the flush of its memtable.
    FlushSpace,
    /// A writer waits for the flush of all memtables, because the log found no space.
    LogSwitch,
    /// A writer waits for the group of writes before its own, or for the leader of its own.
    Queue,
    /// A change of the tree waits for the one before it.
    Commits,
    /// A job that found no space waits until it tries again.
    Retry,
    /// A writer of this rank waits for reclaim to empty a zone or, on shingled tracks, to gather
    /// free blocks.
    Zones(Rank),
    /// A writer of files waits for a zone that it may open: the device limits how many are open.
    OpenZones,
    /// A writer of files waits for readers to let go of deleted files.
    Pinned,
    /// A transaction waits for the journal, which others write.
    Journal,
    /// The device carries out a request.
    Device(Cause),
}

impl WaitCause {
    /// All causes, in the order in which they are reported.
    pub const ALL: [Self; 27] = [
        Self::TreeDelay,
        Self::TreeStop,
        Self::MemoryDelay,
        Self::Memtables,
        Self::FlushSpace,
        Self::LogSwitch,
        Self::Queue,
        Self::Commits,
        Self::Retry,
        Self::Zones(Rank::Journal),
        Self::Zones(Rank::Reclaim),
        Self::Zones(Rank::Compaction),
        Self::Zones(Rank::UrgentLog),
        Self::Zones(Rank::Flush),
        Self::Zones(Rank::Log),
        Self::OpenZones,
        Self::Pinned,
        Self::Journal,
        Self::Device(Cause::Superblock),
        Self::Device(Cause::Journal),
        Self::Device(Cause::Log),
        Self::Device(Cause::Flush),
        Self::Device(Cause::Compaction),
        Self::Device(Cause::Reclaim),
        Self::Device(Cause::Read),
        Self::Device(Cause::Recovery),
        Self::Device(Cause::Client),
    ];

    /// The name in metrics, JSON and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TreeDelay => "tree_delay",
            Self::TreeStop => "tree_stop",
            Self::MemoryDelay => "memory_delay",
            Self::Memtables => "memtables",
            Self::FlushSpace => "flush_space",
            Self::LogSwitch => "log_switch",
            Self::Queue => "queue",
            Self::Commits => "commits",
            Self::Retry => "retry",
            Self::Zones(Rank::Journal) => "zones_journal",
            Self::Zones(Rank::Reclaim) => "zones_reclaim",
            Self::Zones(Rank::Compaction) => "zones_compaction",
            Self::Zones(Rank::UrgentLog) => "zones_urgent_log",
            Self::Zones(Rank::Flush) => "zones_flush",
            Self::Zones(Rank::Log) => "zones_log",
            Self::OpenZones => "open_zones",
            Self::Pinned => "pinned",
            Self::Journal => "journal",
            Self::Device(Cause::Superblock) => "device_superblock",
            Self::Device(Cause::Journal) => "device_journal",
            Self::Device(Cause::Log) => "device_log",
            Self::Device(Cause::Flush) => "device_flush",
            Self::Device(Cause::Compaction) => "device_compaction",
            Self::Device(Cause::Reclaim) => "device_reclaim",
            Self::Device(Cause::Read) => "device_read",
            Self::Device(Cause::Recovery) => "device_recovery",
            Self::Device(Cause::Client) => "device_client",
        }
    }

    /// Reason for the wait in a few words, for people.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::TreeDelay => "writers slowed: compactions are late",
            Self::TreeStop => "writers stopped: level 0 is full",
            Self::MemoryDelay => "writers slowed: flushes are late",
            Self::Memtables => "a flush: all memtables are full",
            Self::FlushSpace => "space for a memtable's flush",
            Self::LogSwitch => "all flushes: the log found no space",
            Self::Queue => "other writers, one group at a time",
            Self::Commits => "the change of the tree before",
            Self::Retry => "another try of a job that found no space",
            Self::Zones(Rank::Journal) => "a free zone for the journal",
            Self::Zones(Rank::Reclaim) => "a free zone for reclaim",
            Self::Zones(Rank::Compaction) => "a free zone for a compaction",
            Self::Zones(Rank::UrgentLog) => "a free zone for the log of deletes",
            Self::Zones(Rank::Flush) => "a free zone for a flush",
            Self::Zones(Rank::Log) => "a free zone for new data",
            Self::OpenZones => "a zone that may be opened",
            Self::Pinned => "readers of deleted files",
            Self::Journal => "a transaction of others",
            Self::Device(Cause::Superblock) => "the device: superblock",
            Self::Device(Cause::Journal) => "the device: journal",
            Self::Device(Cause::Log) => "the device: log",
            Self::Device(Cause::Flush) => "the device: flushes",
            Self::Device(Cause::Compaction) => "the device: compactions",
            Self::Device(Cause::Reclaim) => "the device: reclaim",
            Self::Device(Cause::Read) => "the device: reads of clients",
            Self::Device(Cause::Recovery) => "the device: opening and checking",
            Self::Device(Cause::Client) => "the device: other files",
        }
    }

    /// The place of the cause in [`ALL`](Self::ALL).
    pub(super) fn index(self) -> usize {
        match self {
            Self::TreeDelay => 0,
            Self::TreeStop => 1,
            Self::MemoryDelay => 2,
            Self::Memtables => 3,
            Self::FlushSpace => 4,
            Self::LogSwitch => 5,
            Self::Queue => 6,
            Self::Commits => 7,
            Self::Retry => 8,
            Self::Zones(rank) => 9 + rank as usize,
            Self::OpenZones => 15,
            Self::Pinned => 16,
            Self::Journal => 17,
            Self::Device(cause) => 18 + cause as usize,
        }
    }
}

impl fmt::Display for WaitCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for WaitCause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for WaitCause {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = Self::ALL.into_iter().find(|cause| cause.name() == name);
        known.ok_or_else(|| D::Error::custom(format!("expected a cause of waits, found {name:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_cause_has_a_place_and_a_name_of_its_own() {
        for (at, cause) in WaitCause::ALL.into_iter().enumerate() {
            assert_eq!(cause.index(), at, "{cause}");
        }
        let names: BTreeSet<&str> = WaitCause::ALL.into_iter().map(WaitCause::name).collect();
        assert_eq!(names.len(), WaitCause::ALL.len());
        for cause in Cause::ALL {
            assert!(WaitCause::Device(cause).index() < WaitCause::ALL.len(), "{cause}");
        }
    }
}
