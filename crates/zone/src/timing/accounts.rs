//! [`DeviceTime`]: where the time of a modelled drive went, by cause. It has two kinds of time that
//! do not add up to each other:
//!
//! - [`CauseTime::queued`] and [`CauseTime::service`] are times of requests: before the drive
//!   begins to serve them, and from then until they complete. The times of requests that are in
//!   flight together overlap. A request is added when its completion is decided, also if it is
//!   refused.
//! - [`Work`] is time of the mechanism: the head of a disk, or the dies of an SSD, summed over all
//!   dies. A write that waits in a disk's cache is added when the head writes it, and work that
//!   lies ahead of the head is left out. An SSD's work is added as soon as it is planned.
//!
//! Drives with a [translation layer](super::Translated) also count the bytes that the host wrote
//! and the bytes that the medium took, rewrites and cleaning included. They count the rewrites of
//! bands, too.
//!
//! New counters are zero. Plain values, without locks.

use std::time::Duration;

use terrace_env::{ByteCount, Cause, Time};

const CAUSES: usize = Cause::ALL.len();

/// Time that the mechanism has worked, by cause: the head of a disk, or all dies of an SSD
/// together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    positioning: [u64; CAUSES],
    transfer: [u64; CAUSES],
    host_written: [u64; CAUSES],
    medium_written: [u64; CAUSES],
    rewrites: u64,
    rewritten: u64,
}

impl Work {
    pub(super) fn add(&mut self, cause: Cause, positioning: u64, transfer: u64) {
        self.positioning[cause as usize] += positioning;
        self.transfer[cause as usize] += transfer;
    }

    /// Takes back work that was added and lies in the future. Where work for several causes does,
    /// it is taken from the last of them, as far as that one has any.
    pub(super) fn take_back(&mut self, cause: Cause, positioning: u64, transfer: u64) {
        for (total, ahead) in [(&mut self.positioning, positioning), (&mut self.transfer, transfer)]
        {
            let total = &mut total[cause as usize];
            *total = total.saturating_sub(ahead);
        }
    }

    /// Counts bytes that the host has written, and bytes that the medium takes.
    pub(super) fn count(&mut self, cause: Cause, host: ByteCount, medium: ByteCount) {
        self.host_written[cause as usize] += host.0;
        self.medium_written[cause as usize] += medium.0;
    }

    /// Counts a band that is written again, and the bytes written.
    pub(super) fn count_rewrite(&mut self, cause: Cause, bytes: ByteCount) {
        self.count(cause, ByteCount(0), bytes);
        (self.rewrites, self.rewritten) = (self.rewrites + 1, self.rewritten + bytes.0);
    }

    /// Takes over the bytes that another account has counted.
    pub(super) fn take_counts(&mut self, from: &Self) {
        (self.host_written, self.medium_written) = (from.host_written, from.medium_written);
        (self.rewrites, self.rewritten) = (from.rewrites, from.rewritten);
    }

    /// How often such a drive has written a band again, and the bytes that it wrote in doing so.
    #[must_use]
    pub fn rewrites(&self) -> (u64, ByteCount) {
        (self.rewrites, ByteCount(self.rewritten))
    }

    /// Bytes that the host has written to a drive with a translation layer.
    #[must_use]
    pub fn host_written(&self, cause: Cause) -> ByteCount {
        ByteCount(self.host_written[cause as usize])
    }

    /// Bytes that such a drive has written to its medium. A rewrite of a band counts under the
    /// cause of the write that made it necessary, the cleaning of a persistent cache under
    /// [`Cause::Reclaim`].
    #[must_use]
    pub fn medium_written(&self, cause: Cause) -> ByteCount {
        ByteCount(self.medium_written[cause as usize])
    }

    /// Auxiliary write amplification (SEALDB, table I): bytes that the drive writes for each byte
    /// that the host writes. `None` for a drive without a translation layer, and before any write.
    #[must_use]
    pub fn auxiliary_write_amplification(&self) -> Option<f64> {
        let (host, medium): (u64, u64) =
            (self.host_written.iter().sum(), self.medium_written.iter().sum());
        (host > 0).then(|| medium as f64 / host as f64)
    }

    /// Seeking, settling and waiting for the platter to turn. SSDs have none.
    #[must_use]
    pub fn positioning(&self, cause: Cause) -> Duration {
        Duration::from_nanos(self.positioning[cause as usize])
    }

    /// Reading and writing the medium; for an SSD also erasing it, summed over dies.
    #[must_use]
    pub fn transfer(&self, cause: Cause) -> Duration {
        Duration::from_nanos(self.transfer[cause as usize])
    }
}

/// The times of one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CauseTime {
    /// Requests that were timed.
    pub requests: u64,
    /// Time that they waited before the drive began to serve them, summed.
    pub queued: Duration,
    /// Time that the drive took to serve them, summed.
    pub service: Duration,
    /// Time that the mechanism spent on getting into position for them.
    pub positioning: Duration,
    /// Time that the mechanism spent on moving their data.
    pub transfer: Duration,
}

/// The device time of an emulated drive, by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceTime {
    requests: [u64; CAUSES],
    queued: [u64; CAUSES],
    service: [u64; CAUSES],
    work: Work,
}

impl DeviceTime {
    /// Counts a request whose completion has been decided.
    pub(crate) fn add(&mut self, cause: Cause, submitted: Time, start: Time, end: Time) {
        let nanos = |later: Time, earlier: Time| later.0.saturating_sub(earlier.0);
        self.requests[cause as usize] += 1;
        self.queued[cause as usize] += nanos(start, submitted);
        self.service[cause as usize] += nanos(end, start);
    }

    /// Takes over the requests of a cause from another account, because this drive has served them.
    /// Work stays where it is: it is counted where it is done.
    pub fn take_requests(&mut self, from: &mut Self, cause: Cause) {
        let moved = [
            (&mut self.requests, &mut from.requests),
            (&mut self.queued, &mut from.queued),
            (&mut self.service, &mut from.service),
        ];
        for (to, from) in moved {
            to[cause as usize] += std::mem::take(&mut from[cause as usize]);
        }
    }

    pub(crate) fn with_work(mut self, work: Work) -> Self {
        self.work = work;
        self
    }

    /// Work of the mechanism.
    #[must_use]
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// The times of one cause.
    #[must_use]
    pub fn of(&self, cause: Cause) -> CauseTime {
        CauseTime {
            requests: self.requests[cause as usize],
            queued: Duration::from_nanos(self.queued[cause as usize]),
            service: Duration::from_nanos(self.service[cause as usize]),
            positioning: self.work.positioning(cause),
            transfer: self.work.transfer(cause),
        }
    }
}
