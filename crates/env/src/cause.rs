//! [`Cause`]: the job on whose behalf bytes are moved, such as a flush, a compaction, or a read of
//! a client. It is a label of requests and of counts: I/O can be counted by job.
//!
//! The caller chooses the cause; nothing here checks it. `cause as usize` is the place of the cause
//! in [`Cause::ALL`], and the index in arrays of counts.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The job on whose behalf a device is asked to do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// The superblock, at format and when the journal has rolled.
    Superblock,
    /// The file system's journal: transactions and snapshot rolls.
    Journal,
    /// The write-ahead log.
    Log,
    /// New data on its way into tables: of a memtable, or of an ingest.
    Flush,
    /// Compaction, reading and writing.
    Compaction,
    /// Reclaim: live extents moved out of a zone that is to be reset.
    Reclaim,
    /// A read on behalf of a client.
    Read,
    /// Mount, recovery and check.
    Recovery,
    /// Anything a foreign client of the file system does.
    Client,
}

impl Cause {
    /// All causes, in the order in which they are reported.
    pub const ALL: [Self; 9] = [
        Self::Superblock,
        Self::Journal,
        Self::Log,
        Self::Flush,
        Self::Compaction,
        Self::Reclaim,
        Self::Read,
        Self::Recovery,
        Self::Client,
    ];

    /// The cause's name in metrics, JSON and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Superblock => "superblock",
            Self::Journal => "journal",
            Self::Log => "log",
            Self::Flush => "flush",
            Self::Compaction => "compaction",
            Self::Reclaim => "reclaim",
            Self::Read => "read",
            Self::Recovery => "recovery",
            Self::Client => "client",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
