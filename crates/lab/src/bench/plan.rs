//! How much is measured, of what, and with which options.

use terrace::Options;

/// How much a filled store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Entries.
    pub entries: u64,
    /// Bytes of a key.
    pub key_size: usize,
    /// Bytes of a value.
    pub value_size: usize,
}

impl Size {
    /// Bytes of all keys and values.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.entries * (self.key_size + self.value_size) as u64
    }
}

/// How much of what is done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What a filled store holds.
    pub size: Size,
    /// Point reads of a mix.
    pub reads: u64,
    /// Seeks.
    pub seeks: u64,
    /// Synced writes.
    pub syncs: u64,
    /// The seed of keys, values and order.
    pub seed: u64,
    /// How stores are opened.
    pub options: Options,
}
