//! [`JournalSpace`]: the interface through which the journal takes zones from the pool of its
//! device and releases them. On a device without zones, stretches take the place of zones.
//!
//! The actor that writes the journal makes one call at a time, without a lock. A call may wait for
//! the device, but must not wait for space: if no zone is free, `take` fails with `NoSpace`.

use terrace_env::ZoneId;
use terrace_env::store::StoreError;

/// The pool of the journal's device as the journal sees it. The leader of a group commit calls it,
/// and holds no lock.
pub trait JournalSpace: Send + Sync + 'static {
    /// Gives the journal a zone of its own. A sequential one is empty: its reset has completed if
    /// it needed one (it need not be durable: the journal's first forced write makes it so). A
    /// stretch of a device without zones may show old bytes. Never waits for reclaim: the journal
    /// is the first in rank, and the other ranks leave zones to it.
    fn take(&self) -> Result<ZoneId, StoreError>;

    /// A zone that the journal does not need any more, not even after a power cut; or that was
    /// taken and not written, because the disk of the host is full.
    fn release(&self, zone: ZoneId);

    /// A zone that was taken and could not be written. It is not given to the journal again.
    fn give_up(&self, zone: ZoneId);
}
