//! [`Load`]: the recent requests to a store, and the cost of a seek on its medium, as a decider
//! sees them. The engine counts it. A decider that heeds it
//! ([`Compaction::heeds_load`](crate::Compaction::heeds_load)) reads no clock, and stays pure.

use terrace_env::ByteCount;

/// Counts of the recent requests of clients. "Recent" ends now, and its beginning is the
/// counter's choice; all counts are of the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Bytes of keys and values that were written.
    pub written: ByteCount,
    /// Scans and cursors that were begun.
    pub scans: u64,
    /// Bytes that the medium moves in the time in which it goes to another place.
    pub seek: ByteCount,
}

impl Load {
    /// Bytes that the medium could have moved, for each byte that was written, while scans went to
    /// one run of the tree: the cost of one run more, in the unit of the cost of rewriting. 0
    /// without scans; infinite without writes.
    #[must_use]
    pub fn seeks_per_byte(&self) -> f64 {
        match (self.scans, self.written.0) {
            (0, _) => 0.0,
            (_, 0) => f64::INFINITY,
            (scans, written) => scans as f64 * self.seek.0 as f64 / written as f64,
        }
    }
}
