//! Numbers of the tree that only grow: sequences of entries, and ids of runs.
//!
//! A decoder refuses a number at or above its end. An engine that may write needs more: all numbers
//! must be below half of their ends, which no store reaches in its life. So an engine writes no
//! number that a later opening refuses.

use terrace_env::SeqNo;
use terrace_env::store::StoreError;

use super::version::Version;
use crate::Error;

/// End of the ids of runs.
pub(crate) const RUN_END: u64 = 1 << 62;

/// End of the numbers of entries and of tombstones of a table: sums of them do not overflow.
pub(crate) const COUNT_END: u64 = 1 << 44;

/// End of the sequences in a store that may be written.
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
