//! [`Plan`]: the parameters of a benchmark: number and sizes of the entries, numbers of operations,
//! clients, how operations arrive and choose records, the seed, and the options of the store.
//!
//! A plan says neither which work is done nor on which medium. This file does not check its values.

use terrace::Options;

use crate::arrivals::Process;
use crate::workload::{Chooser, Sizes};

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

/// Amounts of work.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Entries of a filled store.
    pub entries: u64,
    /// Sizes of keys.
    pub keys: Sizes,
    /// Sizes of values.
    pub values: Sizes,
    /// Point reads of a mix.
    pub reads: u64,
    /// Seeks.
    pub seeks: u64,
    /// Synced writes.
    pub syncs: u64,
    /// Operations of a workload that does not fill a store.
    pub operations: u64,
    /// Clients of a workload.
    pub clients: usize,
    /// When the operations of a workload arrive; `None`: each as soon as a client is free.
    pub arrivals: Option<Process>,
    /// How a workload chooses records, if not its own way.
    pub chooser: Option<Chooser>,
    /// The seed of keys, values and order.
    pub seed: u64,
    /// How stores are opened.
    pub options: Options,
}

impl Plan {
    /// The size, where keys and values have one.
    #[must_use]
    pub fn size(&self) -> Option<Size> {
        let (Sizes::Constant(key_size), Sizes::Constant(value_size)) = (self.keys, self.values)
        else {
            return None;
        };
        let (key_size, value_size) = (key_size as usize, value_size as usize);
        Some(Size { entries: self.entries, key_size, value_size })
    }

    /// Bytes of keys and values that a store has to hold, about: workloads insert no more than
    /// a tenth of their operations.
    pub(super) fn bytes(&self) -> u64 {
        let entries = self.entries + self.operations / 10;
        (entries as f64 * (self.keys.mean() + self.values.mean())) as u64
    }
}
