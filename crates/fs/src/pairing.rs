//! Marks that tell whether the devices of a store are copies of the same age.
//!
//! A store on two devices has its journal on one of them, and tables on the other or on both. If
//! one of them is put back from an older copy, each still looks sound by itself, but the journal
//! describes other tables. A mount for writing therefore leaves the same mark, a
//! [`MountMark`](crate::superblock::MountMark), on both devices. Below, the *other device* is the
//! one without the journal. If the offload device is lost, a mount without it
//! changes no mark.
//!
//! # Steps of a mount for writing
//! `a` is the mark that was found on the other device, `b` the mark of this mount.
//!
//! 1. The superblock of the journal's device gets the marks `a` and `b`.
//! 2. The superblock of the other device gets the mark `b`. It is written twice, so one copy may be
//!    lost.
//! 3. The superblock of the journal's device gets the mark `b` alone. If step 2 failed, step 3 is
//!    left out: a store can be mounted though the place of the superblocks on the other device has
//!    worn out.
//!
//! Each step is durable before the next one begins.
//!
//! # Check
//! Devices are refused if the mark of the other device is neither of the two on the journal's
//! device. A power cut between two steps leaves devices that pass. Devices that were never mounted
//! for writing pass too: their marks are of epoch 0.
//!
//! # Limits
//! The marks do not change during a mount. So the check passes a copy of one device that was made
//! during the last mount, although it is older than the other device.

use terrace_env::store::StoreError;

use crate::canary::{self, Rule};
use crate::journal::Replayed;
use crate::superblock::{Superblock, SuperblockArea, write_twice};

/// Refuses a device that is an older copy than the other one.
pub(crate) fn check(other: &Superblock, of_journal: &Superblock) -> Result<(), StoreError> {
    let (found, [last, next]) = (other.marks[0], of_journal.marks);
    if found == last || found == next {
        return Ok(());
    }
    let store = other.uuid;
    Err(StoreError::Invalid(match found.epoch.cmp(&last.epoch) {
        std::cmp::Ordering::Equal => format!(
            "expected device 0 and device 1 of store {store} as the same mount left them, found \
             copies that were written apart, both at mount {}",
            last.epoch
        ),
        order => {
            let devices = (other.device, of_journal.device);
            let (older, newer) = if order.is_lt() { devices } else { (devices.1, devices.0) };
            let (least, most) = (found.epoch.min(last.epoch), found.epoch.max(last.epoch));
            format!(
                "expected device {older} of store {store} as mount {most} left it, like device \
                 {newer}; found an older copy, of mount {least}"
            )
        }
    }))
}

/// Marks both devices for a mount that is going to write. The first argument is where the
/// superblocks of the other device lie, with the newest of them; `replayed` has the journal's.
pub(crate) fn renew(
    (area, superblock): (&mut SuperblockArea, &mut Superblock),
    replayed: &mut Replayed,
) -> Result<(), StoreError> {
    let found = superblock.marks[0];
    let mark = replayed.mark();
    let kept = if canary::is_broken(Rule::OldMarkKept) { mark } else { found };
    replayed.put_marks([kept, mark])?;
    superblock.marks = [mark; 2];
    if write_twice(area, superblock).is_ok() {
        replayed.put_marks([mark; 2])?;
    }
    Ok(())
}
