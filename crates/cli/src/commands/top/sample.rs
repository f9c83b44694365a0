//! [`Sample`]: a store at a moment, with its zones; and [`Rates`], events in a second between two
//! samples.

use std::sync::Arc;

use terrace::live::{LiveSnapshot, Owner, ZoneMap};
use terrace::{Waits, WriteAmplification};
use terrace_env::Cause;
use terrace_env::store::IoCounts;

/// A store at a moment.
#[derive(Clone)]
pub(super) struct Sample {
    /// Metrics, events and latencies.
    pub(super) snapshot: LiveSnapshot,
    /// Contents of the drives. They are asked for less often than the metrics.
    pub(super) map: Arc<ZoneMap>,
    /// The process that has the store open; `None`: the store was opened for this sample alone.
    pub(super) owner: Option<Owner>,
}

/// Differences between two samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rates {
    /// Entries written in a second: puts and deletes.
    pub(super) writes: f64,
    /// Bytes of keys and values written in a second.
    pub(super) user_bytes: f64,
    /// Point reads in a second.
    pub(super) gets: f64,
    /// Scans begun in a second.
    pub(super) scans: f64,
    /// Bytes written to the medium in a second.
    pub(super) written: f64,
    /// Bytes read from the medium in a second.
    pub(super) read: f64,
    /// Zones reset in a second.
    pub(super) resets: f64,
    /// Bytes written to the medium for a byte of keys and values.
    pub(super) amplification: WriteAmplification,
    /// Waits, by cause.
    pub(super) waits: Waits,
    /// The seconds in between.
    pub(super) seconds: f64,
}

impl Sample {
    /// Rates since an earlier sample of the same opening; `None` if they are of two openings, or of
    /// the same moment.
    pub(super) fn since(&self, before: &Self) -> Option<Rates> {
        let is_same = self.owner.is_some() && self.owner == before.owner;
        if !is_same || self.snapshot.age <= before.snapshot.age {
            return None;
        }
        let seconds = (self.snapshot.age - before.snapshot.age) as f64 / 1e9;
        let (now, then) = (&self.snapshot.overview.stats, &before.snapshot.overview.stats);
        let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
        let sum = |counts: &[u64]| counts.iter().sum::<u64>();
        let user_bytes = now.user_bytes.saturating_sub(then.user_bytes);
        let io = written_since(&now.io, &then.io);
        Some(Rates {
            writes: rate(now.entries_written, then.entries_written),
            user_bytes: user_bytes as f64 / seconds,
            gets: rate(now.gets, then.gets),
            scans: rate(now.scans, then.scans),
            written: rate(sum(&now.io.written_bytes), sum(&then.io.written_bytes)),
            read: rate(sum(&now.io.read_bytes), sum(&then.io.read_bytes)),
            resets: rate(now.io.zones_reset, then.io.zones_reset),
            amplification: WriteAmplification::of(user_bytes, &io),
            waits: now.waits.since(&then.waits),
            seconds,
        })
    }
}

/// The bytes written between two moments.
fn written_since(now: &IoCounts, then: &IoCounts) -> IoCounts {
    let mut io = IoCounts::default();
    for cause in 0..Cause::ALL.len() {
        io.written_bytes[cause] =
            now.written_bytes[cause].saturating_sub(then.written_bytes[cause]);
    }
    io
}
