//! [`Mix`]: fixed pieces of work on a store, such as `fillseq` or `readrandom`: their names, a few
//! words on each for people, and whether they write.
//!
//! Some mixes [begin with an empty store](Mix::begins_empty). The others work on a filled one. This
//! file does not carry them out.

use std::fmt;

use serde::{Serialize, Serializer};

/// A fixed mix of operations. In the order in which they are usually run: reads come after the
/// writes of their records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mix {
    /// All entries in order into an empty store.
    FillSeq,
    /// All entries in random order into an empty store, each once.
    FillUniqueRandom,
    /// A write for every second entry, each of a random one.
    Overwrite,
    /// Reads of random entries.
    ReadRandom,
    /// Reads of keys that are not there and lie between those that are.
    ReadMissing,
    /// All entries in order.
    ReadSeq,
    /// From a random entry on, fifty entries in order.
    SeekRandom,
    /// Reads of random entries while another thread overwrites as fast as it can.
    ReadWhileWriting,
    /// Deletes of half of the entries, in random order.
    DeleteRandom,
    /// As `FillUniqueRandom`, by two threads at once.
    FillUniqueRandomTwo,
    /// Synced writes of random entries into an empty store.
    FillSync,
}

impl Mix {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::FillSeq,
        Self::FillUniqueRandom,
        Self::Overwrite,
        Self::ReadRandom,
        Self::ReadMissing,
        Self::ReadSeq,
        Self::SeekRandom,
        Self::ReadWhileWriting,
        Self::DeleteRandom,
        Self::FillUniqueRandomTwo,
        Self::FillSync,
    ];

    /// The mix's name on the command line and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FillSeq => "fillseq",
            Self::FillUniqueRandom => "filluniquerandom",
            Self::Overwrite => "overwrite",
            Self::ReadRandom => "readrandom",
            Self::ReadMissing => "readmissing",
            Self::ReadSeq => "readseq",
            Self::SeekRandom => "seekrandom",
            Self::ReadWhileWriting => "readwhilewriting",
            Self::DeleteRandom => "deleterandom",
            Self::FillUniqueRandomTwo => "filluniquerandom2",
            Self::FillSync => "fillsync",
        }
    }

    /// Description of one of its operations, for people.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::FillSeq => "fillseq",
            Self::FillUniqueRandom => "filluniquerandom",
            Self::Overwrite => "overwrite (half)",
            Self::ReadRandom => "readrandom",
            Self::ReadMissing => "readmissing",
            Self::ReadSeq => "full scan, per key",
            Self::SeekRandom => "seek + 50",
            Self::ReadWhileWriting => "read while writing",
            Self::DeleteRandom => "deleterandom (half)",
            Self::FillUniqueRandomTwo => "two writers",
            Self::FillSync => "sync writes",
        }
    }

    /// Whether it begins with an empty store.
    #[must_use]
    pub fn begins_empty(self) -> bool {
        matches!(
            self,
            Self::FillSeq | Self::FillUniqueRandom | Self::FillUniqueRandomTwo | Self::FillSync
        )
    }

    /// Whether it leaves work in the background.
    #[must_use]
    pub fn writes(self) -> bool {
        self.begins_empty()
            || matches!(self, Self::Overwrite | Self::ReadWhileWriting | Self::DeleteRandom)
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Mix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
