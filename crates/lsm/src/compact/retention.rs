//! [`Retention`]: decides which entries of a key a job keeps: those that a reader may still see,
//! and deletes that hide older entries elsewhere.
//!
//! The snapshots divide the sequence numbers into stripes: each stripe but the newest ends with the
//! sequence of a snapshot, which still belongs to it.
//! - Of the entries of one key in one stripe, the newest is kept, and the others are dropped. If
//!   the newest is an operand, the operands below it are kept, too, and the first other entry: the
//!   caller combines them, if it can.
//! - If the newest of the oldest stripe is a delete, it is dropped too, unless an older entry of
//!   its key may lie below the job's inputs.
//!
//! Example: with a snapshot at 6, of puts 9, 7, 5 and 3 of one key, 9 and 5 are kept.
//!
//! Of an entry that is kept for snapshots alone, the [`Verdict`] names the snapshots ([`HeldBy`]).
//! There are two cases:
//! - A newer entry that is no operand, or a range tombstone, has replaced it. The snapshots see the
//!   entry and not its replacement.
//! - It is a delete that hides nothing below the inputs. It may hide an older entry that is kept
//!   for snapshots.
//!
//! The caller must ask in the order of internal keys (by key, newest first), and leave out entries
//! that a range tombstone hides ([`JobRanges`](crate::ranges::JobRanges)). One thread.

use terrace_env::SeqNo;

use crate::key::{Kind, Trailer};
use crate::old_versions::HeldBy;

/// Judge of entries, which come in the order of their internal keys.
#[derive(Debug)]
pub(crate) struct Retention {
    /// Ascending.
    snapshots: Vec<SeqNo>,
    full_key: Vec<u8>,
    /// The stripe of the key's last entry; `None` before the first entry of all.
    stripe: Option<usize>,
    /// Whether that stripe of the key has had an entry that is no operand.
    is_closed: bool,
    /// Sequence of the key's last entry that is no operand.
    newer: Option<SeqNo>,
}

/// Fate of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// `first`: it is the first entry of its key. `held_by`: the snapshots that it is kept for, if
    /// no other reader needs it. `joins`: the entry of its key before it is an operand that the
    /// same readers see.
    Keep {
        first: bool,
        held_by: Option<HeldBy>,
        joins: bool,
    },
    Drop,
}

impl Retention {
    /// A judge for these snapshots: the sequences that readers hold, ascending.
    pub(crate) fn new(snapshots: Vec<SeqNo>) -> Self {
        debug_assert!(snapshots.is_sorted(), "snapshots in order");
        Self { snapshots, full_key: Vec::new(), stripe: None, is_closed: false, newer: None }
    }

    /// Whether a reader holds a snapshot.
    pub(crate) fn has_snapshots(&self) -> bool {
        !self.snapshots.is_empty()
    }

    /// Judges the next entry. `cover`: the oldest range tombstone over it that is newer.
    /// `older_below`: whether an older entry of the key may lie below the job's inputs.
    pub(crate) fn judge(
        &mut self,
        full_key: &[u8],
        trailer: Trailer,
        cover: Option<SeqNo>,
        older_below: impl FnOnce(&[u8]) -> bool,
    ) -> Verdict {
        let stripe = self.snapshots.partition_point(|&snapshot| snapshot < trailer.sequence());
        let same = self.stripe.is_some() && self.full_key == full_key;
        let newer = self.newer.filter(|_| same);
        debug_assert!(
            same || self.stripe.is_none() || &self.full_key[..] < full_key,
            "keys in order"
        );
        debug_assert!(!same || self.stripe >= Some(stripe), "entries of a key, the newest first");
        let joins = same && self.stripe == Some(stripe);
        if !trailer.is_operand() {
            self.newer = Some(trailer.sequence());
        }
        if joins && self.is_closed {
            return Verdict::Drop;
        }
        if !same {
            self.full_key.clear();
            self.full_key.extend_from_slice(full_key);
            self.newer = self.newer.filter(|_| !trailer.is_operand());
        }
        self.stripe = Some(stripe);
        self.is_closed = !trailer.is_operand();
        let hides_nothing = trailer.kind() == Some(Kind::Delete) && !older_below(full_key);
        if hides_nothing && stripe == 0 {
            return Verdict::Drop;
        }
        let sequence = trailer.sequence();
        let held_by = match newer.into_iter().chain(cover).min() {
            Some(until) => HeldBy::between(&self.snapshots, sequence, until),
            None if hides_nothing => HeldBy::before(&self.snapshots, sequence),
            None => None,
        };
        Verdict::Keep { first: !same, held_by, joins }
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
            retention.judge(b"key", trailer, None, |_| older_below) != Verdict::Drop
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
    fn operands_are_kept_with_the_entry_below_them_that_the_same_readers_see() {
        use Kind::{Delete, Operand, Put};
        let fates = |snapshots: &[u64], older_below: bool, entries: &[(u64, Kind)]| {
            let mut retention = Retention::new(snapshots.iter().copied().map(SeqNo).collect());
            let mut judge = |&(sequence, kind): &(u64, Kind)| {
                let trailer = Trailer::new(SeqNo(sequence), kind);
                match retention.judge(b"key", trailer, None, |_| older_below) {
                    Verdict::Keep { joins, held_by, .. } => Some((joins, held_by.is_some())),
                    Verdict::Drop => None,
                }
            };
            entries.iter().map(&mut judge).collect::<Vec<_>>()
        };
        let (alone, joins) = (Some((false, false)), Some((true, false)));
        let all = [(9, Operand), (8, Operand), (7, Put), (6, Operand), (5, Put)];
        assert_eq!(fates(&[], true, &all), [alone, joins, joins, None, None]);
        let held = Some((false, true));
        assert_eq!(fates(&[6], true, &all), [alone, joins, joins, held, Some((true, true))]);
        let apart = [(9, Operand), (5, Operand), (3, Put)];
        assert_eq!(fates(&[4, 6], true, &apart), [alone; 3], "needed below the operands");
        let deleted = [(9, Operand), (5, Delete), (3, Put)];
        assert_eq!(fates(&[], true, &deleted), [alone, joins, None]);
        assert_eq!(fates(&[], false, &deleted), [alone, None, None]);
        assert_eq!(fates(&[6], false, &deleted), [alone, None, None]);
        let replaced = [(9, Put), (5, Operand), (3, Put)];
        assert_eq!(fates(&[4, 6], true, &replaced), [alone, held, held]);
    }

    #[test]
    fn the_first_kept_entry_of_a_key_may_begin_a_table_and_the_others_may_not() {
        let mut retention = Retention::new(vec![SeqNo(4)]);
        let mut judge = |key: &[u8], sequence| {
            let trailer = Trailer::new(SeqNo(sequence), Kind::Put);
            match retention.judge(key, trailer, None, |_| true) {
                Verdict::Keep { first, .. } => Some(first),
                Verdict::Drop => None,
            }
        };
        assert_eq!(judge(b"a", 5), Some(true));
        assert_eq!(judge(b"a", 3), Some(false));
        assert_eq!(judge(b"b", 3), Some(true));
        assert_eq!(judge(b"b", 2), None);
    }

    #[test]
    fn an_entry_that_only_snapshots_keep_is_told_with_these() {
        let snapshots: Vec<SeqNo> = [2, 4, 8].map(SeqNo).to_vec();
        let held = |entries: &[(u64, Kind)], cover: Option<u64>, older_below: bool| {
            let mut retention = Retention::new(snapshots.clone());
            let judge = |(sequence, kind): &(u64, Kind)| {
                let trailer = Trailer::new(SeqNo(*sequence), *kind);
                match retention.judge(b"key", trailer, cover.map(SeqNo), |_| older_below) {
                    Verdict::Keep { held_by, .. } => held_by,
                    Verdict::Drop => panic!("{sequence} is dropped"),
                }
            };
            entries.iter().map(judge).collect::<Vec<_>>()
        };
        let between = |from, until| HeldBy::between(&snapshots, SeqNo(from), SeqNo(until));
        let puts = [(9, Kind::Put), (3, Kind::Put), (1, Kind::Put)];
        assert_eq!(held(&puts, None, true), [None, between(3, 9), between(1, 3)]);
        let deleted = [(9, Kind::Delete), (7, Kind::Put)];
        assert_eq!(held(&deleted, None, true), [None, between(7, 9)]);
        let all = HeldBy::before(&snapshots, SeqNo(9));
        assert_eq!(held(&deleted, None, false), [all, between(7, 9)]);
        assert_eq!(held(&[(3, Kind::Put)], Some(5), true), [between(3, 5)]);
        assert_eq!(held(&[(3, Kind::Delete)], Some(5), false), [between(3, 5)]);
    }
}
