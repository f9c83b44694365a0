//! [`Work`]: the loads by name. N is the number of entries.

use clap::ValueEnum;

/// A load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Work {
    /// N puts in order, into a new store
    Fillseq,
    /// N puts in random order, into a new store
    Fillrandom,
    /// N puts of random keys that are there
    Overwrite,
    /// N gets of random keys
    Readrandom,
    /// N gets of keys that are not there, between those that are
    Absent,
    /// N gets by two threads
    Tworeaders,
    /// N gets, 32 in a call
    Multiget,
    /// All entries in order, three times
    Scan,
    /// N/20 scans of 50 entries from a random key on
    Seek,
    /// N overwrites by two threads
    Twowriters,
    /// N overwrites in batches of 10
    Batch10,
    /// N overwrites in batches of 100
    Batch100,
    /// N gets next to a writer that overwrites one entry for every two gets
    Readwhilewriting,
    /// N/2 deletes of random keys that are there
    Deleterandom,
    /// Puts in random order, and gets, of values of 64 KiB in a new store
    Large64k,
    /// The same with values of 1 MiB
    Large1m,
    /// An opening after N random puts and the death of the process
    Open,
}

impl Work {
    /// Whether it needs the filled store.
    pub(crate) fn is_on_filled(self) -> bool {
        !matches!(self, Self::Fillseq | Self::Large64k | Self::Large1m | Self::Open)
    }
}
