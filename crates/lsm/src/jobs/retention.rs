//! [`Retention`]: decides which entries of a key a job keeps: those that some reader may still see,
//! and deletes that hide older entries elsewhere.
//!
//! The snapshots divide the sequence numbers into stripes: each stripe but the newest ends with the
//! sequence of a snapshot, which still belongs to it.
//! - Of the entries of one key in one stripe, the newest is kept, and the others are dropped.
//! - If the newest of the oldest stripe is a delete, it is dropped too, unless an older entry of
//!   its key may lie below the job's inputs.
//!
//! Example: with a snapshot at 6, of puts 9, 7, 5 and 3 of one key, 9 and 5 are kept.
//!
//! The caller must ask in the order of internal keys (by key, the newest first), and leave out
//! entries that a range tombstone hides ([`JobRanges`](crate::ranges::JobRanges)). One thread.

use terrace_env::SeqNo;

use crate::key::{Kind, Trailer};

/// Judges entries that come in the order of their internal keys.
#[derive(Debug)]
pub(crate) struct Retention {
    /// Growing.
    snapshots: Vec<SeqNo>,
    full_key: Vec<u8>,
    /// The stripe of the key's last entry; `None` before the first entry of all.
    stripe: Option<usize>,
}

/// Fate of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The first entry of its key, or another one of the same key.
    Keep {
        first: bool,
    },
    Drop,
}

impl Retention {
    /// `snapshots`: the sequences that readers hold, growing.
    pub(crate) fn new(snapshots: Vec<SeqNo>) -> Self {
        debug_assert!(snapshots.is_sorted(), "snapshots in order");
        Self { snapshots, full_key: Vec::new(), stripe: None }
    }

    /// Judges the next entry. `older_below` tells whether anything older of the key may lie below
    /// the job's inputs.
    pub(crate) fn judge(
        &mut self,
        full_key: &[u8],
        trailer: Trailer,
        older_below: impl FnOnce(&[u8]) -> bool,
    ) -> Verdict {
        let stripe = self.snapshots.partition_point(|&snapshot| snapshot < trailer.sequence());
        let same = self.stripe.is_some() && self.full_key == full_key;
        if same && self.stripe == Some(stripe) {
            return Verdict::Drop;
        }
        if !same {
            self.full_key.clear();
            self.full_key.extend_from_slice(full_key);
        }
        self.stripe = Some(stripe);
        let delete = trailer.kind() == Some(Kind::Delete);
        if delete && stripe == 0 && !older_below(full_key) {
            return Verdict::Drop;
        }
        Verdict::Keep { first: !same }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kept entries of one key, given newest first as (sequence, is a delete).
    fn kept(snapshots: &[u64], older_below: bool, entries: &[(u64, bool)]) -> Vec<u64> {
        let mut retention = Retention::new(snapshots.iter().copied().map(SeqNo).collect());
        let keep = |&&(sequence, delete): &&(u64, bool)| {
            let kind = if delete { Kind::Delete } else { Kind::Put };
            let trailer = Trailer::new(SeqNo(sequence), kind);
            retention.judge(b"key", trailer, |_| older_below) != Verdict::Drop
        };
        entries.iter().filter(keep).map(|entry| entry.0).collect()
    }

    const PUTS: [(u64, bool); 4] = [(9, false), (7, false), (5, false), (3, false)];

    #[test]
    fn without_snapshots_only_the_newest_entry_stays() {
        assert_eq!(kept(&[], true, &PUTS), [9]);
    }

    #[test]
    fn each_snapshot_keeps_the_entry_it_sees() {
        assert_eq!(kept(&[7], true, &PUTS), [9, 7]);
        assert_eq!(kept(&[6], true, &PUTS), [9, 5]);
        assert_eq!(kept(&[2, 4, 8], true, &PUTS), [9, 7, 3]);
        assert_eq!(kept(&[9], true, &PUTS), [9]);
    }

    #[test]
    fn a_delete_goes_only_when_nothing_older_is_left_for_anybody() {
        let entries = [(9, true), (5, false)];
        assert_eq!(kept(&[], true, &entries), [9]);
        assert_eq!(kept(&[], false, &entries), []);
        assert_eq!(kept(&[6], false, &entries), [9, 5]);
        assert_eq!(kept(&[12], false, &entries), []);
        assert_eq!(kept(&[3], false, &[(9, false), (5, true), (3, true)]), [9]);
    }

    #[test]
    fn the_first_kept_entry_of_a_key_may_begin_a_table_and_the_others_may_not() {
        let mut retention = Retention::new(vec![SeqNo(4)]);
        let mut judge = |key: &[u8], sequence| {
            retention.judge(key, Trailer::new(SeqNo(sequence), Kind::Put), |_| true)
        };
        assert_eq!(judge(b"a", 5), Verdict::Keep { first: true });
        assert_eq!(judge(b"a", 3), Verdict::Keep { first: false });
        assert_eq!(judge(b"b", 3), Verdict::Keep { first: true });
        assert_eq!(judge(b"b", 2), Verdict::Drop);
    }
}
