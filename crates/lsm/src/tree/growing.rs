//! Numbers of the tree that only grow: sequences of entries, and ids of runs.
//!
//! A number at or above its end is refused where it is decoded. An engine that may write needs
//! more: all numbers must be below half of their ends, which no store reaches in its life. So
//! nothing that is written gets a number that a later opening refuses.

use terrace_env::SeqNo;
use terrace_env::store::StoreError;

use super::version::Version;
use crate::Error;

/// Ids of runs are smaller.
pub(crate) const RUN_END: u64 = 1 << 62;

/// Numbers of entries and of tombstones of a table are smaller: sums of them do not overflow.
pub(crate) const COUNT_END: u64 = 1 << 44;

/// Sequences of a store that is written are smaller.
const SEQUENCES_TO_WRITE: u64 = 1 << 55;
const RUNS_TO_WRITE: u64 = RUN_END / 2;

/// Checks that the numbers of a store have room to grow. `next` is the sequence of the next entry.
pub(crate) fn check_room(next: SeqNo, version: &Version) -> Result<(), Error> {
    let newest = version.places().map(|(place, _)| place.run.0).max().unwrap_or_default();
    let numbers =
        [("sequence", next.0, SEQUENCES_TO_WRITE), ("id of a run", newest, RUNS_TO_WRITE)];
    for (field, number, end) in numbers {
        if number >= end {
            let power = end.ilog2();
            return Err(Error::Store(StoreError::Invalid(format!(
                "{field} of the tree: expected less than 2^{power} to write, found {number}; the \
                 store can still be opened for reading, and its data copied to a new one"
            ))));
        }
    }
    Ok(())
}
