//! [`Pairs`]: which features of a store have met in scripts. A bug where two features meet is found
//! only if they do, so the model test counts the pairs and fails if one is missing.
//!
//! A feature is *used* by an operation, and stays *present* after it: a snapshot and a cursor while
//! they are kept, a range delete until the memtable is flushed, any other one for the next
//! [`PRESENT`] operations. A pair has met if one was used while the other was present.

use std::fmt;

/// Operations for which a feature stays present.
const PRESENT: usize = 20;

/// Feature of a store that scripts use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// A range delete, in memory.
    RangeDelete,
    /// An ingest.
    Ingest,
    /// A snapshot.
    Snapshot,
    /// A cursor.
    Cursor,
    /// A checkpoint.
    Checkpoint,
    /// The drop of a key space.
    DropSpace,
    /// A transaction, or a conditional write.
    Transaction,
    /// An entry that expires, or a day that passes.
    Expiry,
    /// An operand.
    Merge,
    /// A compaction that was asked for.
    Compaction,
    /// Another opening, maybe under another system.
    Reopen,
    /// A power cut.
    Cut,
}

impl Feature {
    /// All features.
    pub const ALL: [Self; 12] = [
        Self::RangeDelete,
        Self::Ingest,
        Self::Snapshot,
        Self::Cursor,
        Self::Checkpoint,
        Self::DropSpace,
        Self::Transaction,
        Self::Expiry,
        Self::Merge,
        Self::Compaction,
        Self::Reopen,
        Self::Cut,
    ];

    /// Whether it stays until [`Presence::end`].
    fn is_kept(self) -> bool {
        matches!(self, Self::RangeDelete | Self::Snapshot | Self::Cursor)
    }
}

/// Pairs of features that have met.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Pairs([u16; Feature::ALL.len()]);

impl Pairs {
    fn meet(&mut self, one: Feature, other: Feature) {
        self.0[one as usize] |= 1 << other as usize;
        self.0[other as usize] |= 1 << one as usize;
    }

    /// The pairs of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }

    /// Number of pairs of different features that have met.
    #[must_use]
    pub fn count(self) -> u64 {
        let all = Feature::ALL.len() * (Feature::ALL.len() - 1) / 2;
        (all - self.missing().len()) as u64
    }

    /// Pairs of different features that have not met.
    #[must_use]
    pub fn missing(self) -> Vec<(Feature, Feature)> {
        let pairs = Feature::ALL.iter().flat_map(|one| Feature::ALL.map(|other| (*one, other)));
        let different = pairs.filter(|(one, other)| (*one as usize) < *other as usize);
        different.filter(|(one, other)| self.0[*one as usize] & 1 << *other as usize == 0).collect()
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count: u32 = self.0.iter().map(|met| met.count_ones()).sum();
        write!(f, "{count} pairs")
    }
}

/// Features that are present in the play of one script.
#[derive(Debug, Default)]
pub(super) struct Presence {
    /// Operations so far.
    now: usize,
    /// The operation up to which each feature is present.
    until: [usize; Feature::ALL.len()],
    met: Pairs,
}

impl Presence {
    /// The next operation begins.
    pub(super) fn step(&mut self) {
        self.now += 1;
    }

    /// A feature is used.
    pub(super) fn used(&mut self, feature: Feature) {
        for other in Feature::ALL {
            if self.until[other as usize] >= self.now.max(1) {
                self.met.meet(feature, other);
            }
        }
        let until = if feature.is_kept() { usize::MAX } else { self.now + PRESENT };
        self.until[feature as usize] = until;
    }

    /// A feature that is kept has gone.
    pub(super) fn end(&mut self, feature: Feature) {
        self.until[feature as usize] = 0;
    }

    pub(super) fn met(&self) -> Pairs {
        self.met
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_meet_while_they_are_present() {
        let mut presence = Presence::default();
        let met =
            |presence: &Presence, one, other| !presence.met().missing().contains(&(one, other));
        presence.step();
        presence.used(Feature::Ingest);
        presence.used(Feature::Snapshot);
        assert!(met(&presence, Feature::Ingest, Feature::Snapshot));
        (0..PRESENT + 1).for_each(|_| presence.step());
        presence.used(Feature::Merge);
        assert!(!met(&presence, Feature::Ingest, Feature::Merge), "an ingest long ago");
        assert!(met(&presence, Feature::Snapshot, Feature::Merge), "a snapshot is kept");
        presence.end(Feature::Snapshot);
        presence.used(Feature::Cut);
        assert!(!met(&presence, Feature::Snapshot, Feature::Cut), "it has gone");
        assert!(met(&presence, Feature::Merge, Feature::Cut));
        assert_eq!(presence.met().missing().len(), 66 - 3);
    }
}
