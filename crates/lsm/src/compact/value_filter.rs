//! [`ValueFilter`]: asks the user's functions ([`CompactionFilters`]) which values a subcompaction
//! keeps. A value that is not kept becomes a delete of its key, with the sequence of the value.
//!
//! A function is asked about an entry if all of these hold:
//! - It is a put in a key space that has a filter, or operands that the job has combined to one.
//! - It is newer than every snapshot that was alive when the subcompaction began.
//! - It is the newest entry of its key in the inputs, and no range tombstone in the inputs hides
//!   it. The tree may hold newer entries of the key in tables that are no inputs. Of operands, this
//!   is the newest.
//!
//! Operands that stay operands are not asked about.
//!
//! The delete is dropped at once if no older entry of its key may lie below the inputs and no
//! snapshot is alive. Otherwise it stays, and hides the older entries, until a later compaction
//! drops it.
//!
//! A function may be asked about an entry twice: a subcompaction that ends early leaves its last
//! entry to the next one, and a subcompaction may be discarded. A drop is counted when the entry is
//! dropped or written as a delete, and the count is committed with the tables.
//!
//! The names of key spaces are looked up when the subcompaction begins. One thread.

use std::sync::Arc;

use terrace_env::SeqNo;
use terrace_policy::Span;

use super::compactor::Compactor;
use crate::canary::{self, Rule};
use crate::expiry;
use crate::key::{self, KeySpaceId, Kind, SPACE_BYTES, Trailer};
#[cfg(doc)]
use crate::options::CompactionFilters;
use crate::options::Keep;

/// See the [module](self).
#[derive(Default)]
pub(crate) struct ValueFilter {
    filters: Vec<(KeySpaceId, Arc<Keep>)>,
    /// The newest snapshot that was alive.
    snapshot: Option<SeqNo>,
    /// The full key of the last entry in these key spaces.
    last: Vec<u8>,
}

impl Compactor {
    /// The filter of a subcompaction that begins now. `snapshots`: all live ones, ascending.
    pub(super) fn value_filter(&self, snapshots: &[SeqNo]) -> ValueFilter {
        let filters = &self.options.compaction_filters;
        if filters.is_empty() {
            return ValueFilter::default();
        }
        let filters = self.tree.with_spaces(|spaces| {
            let of =
                |(name, keep): (&str, &Arc<Keep>)| Some((spaces.find(name)?, Arc::clone(keep)));
            filters.iter().filter_map(of).collect()
        });
        ValueFilter::new(filters, snapshots)
    }
}

impl ValueFilter {
    /// A filter by these functions. `snapshots`: all live ones, ascending.
    pub(crate) fn new(filters: Vec<(KeySpaceId, Arc<Keep>)>, snapshots: &[SeqNo]) -> Self {
        let snapshot = snapshots.last().copied();
        let snapshot = snapshot.filter(|_| !canary::is_broken(Rule::FilterSparesSnapshots));
        Self { filters, snapshot, last: Vec::new() }
    }

    /// The ranges of the key spaces that have a filter.
    pub(super) fn spans(&self) -> Vec<Span> {
        let span = |(id, _): &(KeySpaceId, Arc<Keep>)| {
            let end = key::space_end(*id).expect("no key space has the largest id");
            Span::new(key::full_key(*id, &[]), end)
        };
        self.filters.iter().map(span).collect()
    }

    /// Whether an entry is to become a delete. Must be asked in the order of internal keys, of
    /// every entry that no range tombstone hides.
    pub(super) fn drops(&mut self, full_key: &[u8], trailer: Trailer, stored: &[u8]) -> bool {
        if self.filters.is_empty() {
            return false;
        }
        let space = key::space_of(full_key);
        let Some((_, keep)) = self.filters.iter().find(|(id, _)| *id == space) else {
            return false;
        };
        let is_first = self.last != full_key;
        if is_first {
            self.last.clear();
            self.last.extend_from_slice(full_key);
        }
        let value = match trailer.kind() {
            Some(Kind::Put) => Some(stored),
            Some(Kind::PutWithExpiry) => expiry::split(stored).map(|(_, value)| value),
            _ => None,
        };
        is_first
            && self.snapshot.is_none_or(|snapshot| trailer.sequence() > snapshot)
            && value.is_some_and(|value| !keep(&full_key[SPACE_BYTES..], value))
    }

    /// The same for the combined value of operands. The trailer is that of the newest operand,
    /// which is the newest entry of its key.
    pub(super) fn drops_combined(&self, full_key: &[u8], trailer: Trailer, value: &[u8]) -> bool {
        let space = key::space_of(full_key);
        let filter = self.filters.iter().find(|(id, _)| *id == space);
        filter.is_some_and(|(_, keep)| {
            self.snapshot.is_none_or(|snapshot| trailer.sequence() > snapshot)
                && !keep(&full_key[SPACE_BYTES..], value)
        })
    }
}

#[cfg(test)]
mod tests {
    use terrace_env::Date;

    use super::*;

    #[test]
    fn the_newest_put_of_a_key_that_no_snapshot_sees_is_asked_about() {
        let keep: Arc<Keep> = Arc::new(|key, value| key != b"doomed" && value != b"doomed");
        let space = KeySpaceId(7);
        let mut filter = ValueFilter::new(vec![(space, keep)], &[SeqNo(2), SeqNo(5)]);
        let mut drops = |space, key: &[u8], sequence, kind, value: &[u8]| {
            let trailer = Trailer::new(SeqNo(sequence), kind);
            filter.drops(&key::full_key(space, key), trailer, value)
        };
        assert!(!drops(KeySpaceId::DEFAULT, b"doomed", 9, Kind::Put, b""), "another key space");
        assert!(drops(space, b"a", 9, Kind::Put, b"doomed"));
        assert!(!drops(space, b"a", 8, Kind::Put, b"doomed"), "not the newest");
        assert!(!drops(space, b"b", 9, Kind::Delete, b"doomed"), "a delete");
        assert!(!drops(space, b"b", 8, Kind::Put, b"doomed"), "deleted");
        assert!(!drops(space, b"c", 5, Kind::Put, b"doomed"), "a snapshot sees it");
        assert!(!drops(space, b"d", 9, Kind::Put, b"kept"));
        assert!(drops(space, b"doomed", 6, Kind::Put, b"kept"));
        assert!(!drops(space, b"operand", 9, Kind::Operand, b"doomed"), "no value");
        let stored = [&expiry::encode(Date(1))[..], b"doomed"].concat();
        assert!(drops(space, b"e", 9, Kind::PutWithExpiry, &stored), "without its expiry");
        let combined = |sequence, value: &[u8]| {
            let trailer = Trailer::new(SeqNo(sequence), Kind::Put);
            filter.drops_combined(&key::full_key(space, b"f"), trailer, value)
        };
        assert!(combined(6, b"doomed") && !combined(6, b"kept") && !combined(5, b"doomed"));
        assert!(!ValueFilter::default().drops(b"", Trailer::NEWEST, b""), "no filter");
    }
}
