//! [`OldVersions`]: the entries of a table that only snapshots keep: overwritten and deleted ones,
//! and tombstones that hide nothing below their table. They are counted by the snapshots that keep
//! them ([`HeldBy`]).
//!
//! - A job counts such entries as it writes a table ([`OldVersionsBuilder`]). The table's
//!   annotation has the counts (`docs/format/annotation.md`).
//! - An entry can be dropped once no snapshot of its [`HeldBy`] is alive. Then an in-place rewrite
//!   of its table drops it.
//! - A snapshot that begins after the table was written keeps none of them: it sees the entries
//!   that hide them. So the snapshots of a [`HeldBy`] only become fewer, and a rewritten table does
//!   not have the dropped entries again.
//! - A table has at most [`GROUPS_MAX`] groups. More are joined. An entry of a joined group may
//!   count as kept for too long, and never as dropped too early.
//!
//! Values. No locks and no I/O. Nothing here drops an entry.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::{ByteCount, SeqNo};

/// The most groups of a table: 512 bytes of its annotation.
const GROUPS_MAX: usize = 16;
/// Bytes of a group in an annotation.
const GROUP_BYTES: usize = 32;

/// The snapshots that keep an entry: those with a sequence between two, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct HeldBy {
    oldest: SeqNo,
    newest: SeqNo,
}

impl HeldBy {
    /// The snapshots that see an entry of sequence `from`, and not its replacement at `until`;
    /// `None` if there is none. `snapshots`: all that are alive, ascending.
    pub(crate) fn between(snapshots: &[SeqNo], from: SeqNo, until: SeqNo) -> Option<Self> {
        let seen = snapshots.partition_point(|snapshot| *snapshot < from);
        let behind = snapshots.partition_point(|snapshot| *snapshot < until);
        let held = snapshots.get(seen..behind)?;
        Some(Self { oldest: *held.first()?, newest: *held.last()? })
    }

    /// The snapshots that do not see a tombstone: it stays while there may be entries that it hides
    /// from other readers. `None` if there is none.
    pub(crate) fn before(snapshots: &[SeqNo], tombstone: SeqNo) -> Option<Self> {
        let behind = snapshots.partition_point(|snapshot| *snapshot < tombstone);
        Some(Self { oldest: SeqNo(0), newest: *snapshots.get(..behind)?.last()? })
    }

    /// Those of these snapshots (ascending) that it names.
    pub(crate) fn alive(self, snapshots: &[SeqNo]) -> &[SeqNo] {
        let first = snapshots.partition_point(|snapshot| *snapshot < self.oldest);
        let behind = snapshots.partition_point(|snapshot| *snapshot <= self.newest);
        &snapshots[first..behind]
    }

    fn hull(self, other: Self) -> Self {
        Self { oldest: self.oldest.min(other.oldest), newest: self.newest.max(other.newest) }
    }
}

/// Entries that the same snapshots keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) held_by: HeldBy,
    pub(crate) entries: u64,
    /// Approximate bytes of them in the table.
    pub(crate) size: ByteCount,
}

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OldVersions(Arc<[Group]>);

impl OldVersions {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// By their snapshots, ascending.
    pub(crate) fn groups(&self) -> &[Group] {
        &self.0
    }

    /// Approximate bytes of all of them.
    pub(crate) fn size(&self) -> ByteCount {
        self.0.iter().fold(ByteCount(0), |sum, group| ByteCount(sum.0.saturating_add(group.size.0)))
    }

    /// Approximate bytes that a rewrite would drop while these snapshots (ascending) are alive.
    pub(crate) fn droppable(&self, snapshots: &[SeqNo]) -> ByteCount {
        let free = self.0.iter().filter(|group| group.held_by.alive(snapshots).is_empty());
        free.fold(ByteCount(0), |sum, group| ByteCount(sum.0.saturating_add(group.size.0)))
    }

    /// Appends the groups with their number.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.put_u16(self.0.len() as u16);
        for Group { held_by, entries, size } in &*self.0 {
            bytes.put_u64(held_by.oldest.0);
            bytes.put_u64(held_by.newest.0);
            bytes.put_u64(*entries);
            bytes.put_u64(size.0);
        }
    }

    /// Reads the output of [`encode`](Self::encode), of at least one group.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = usize::from(reader.u16("groups of old versions")?);
        if !(1..=GROUPS_MAX).contains(&count) {
            return Err(reader.wrong("groups of old versions", 2, "1 to 16", count as u64));
        }
        let mut groups: Vec<Group> = Vec::with_capacity(count);
        for _ in 0..count {
            let oldest = SeqNo(reader.u64("oldest snapshot")?);
            let newest = SeqNo(reader.u64("newest snapshot")?);
            let (held_by, entries) = (HeldBy { oldest, newest }, reader.u64("old versions")?);
            let size = ByteCount(reader.u64("size of old versions")?);
            let grows = groups.last().is_none_or(|last| last.held_by < held_by);
            if oldest > newest || newest > SeqNo::MAX || entries == 0 || !grows {
                let expected = "entries, and snapshots that grow";
                return Err(reader.wrong("old versions", GROUP_BYTES, expected, entries));
            }
            groups.push(Group { held_by, entries, size });
        }
        Ok(Self(groups.into()))
    }
}

/// Counts the old versions of a table that is being written.
#[derive(Debug, Default)]
pub(crate) struct OldVersionsBuilder {
    /// Number of entries, and their bytes before compression.
    groups: BTreeMap<HeldBy, (u64, u64)>,
}

impl OldVersionsBuilder {
    /// Counts an entry of `plain` bytes.
    pub(crate) fn add(&mut self, held_by: HeldBy, plain: u64) {
        self.add_all(held_by, (1, plain));
        while self.groups.len() > GROUPS_MAX {
            self.join_smallest();
        }
    }

    fn add_all(&mut self, held_by: HeldBy, (entries, plain): (u64, u64)) {
        let group = self.groups.entry(held_by).or_default();
        *group = (group.0 + entries, group.1 + plain);
    }

    /// Joins the two neighbours that have the fewest bytes together.
    fn join_smallest(&mut self) {
        let pairs = self.groups.iter().zip(self.groups.iter().skip(1));
        let smallest = pairs.min_by_key(|((_, a), (_, b))| a.1 + b.1);
        let Some(((&a, &of_a), (&b, &of_b))) = smallest else { return };
        self.groups.remove(&a);
        self.groups.remove(&b);
        self.add_all(a.hull(b), of_a);
        self.add_all(a.hull(b), of_b);
    }

    /// The counts of a table of `size`, whose entries had `plain` bytes before compression.
    pub(crate) fn finish(self, size: ByteCount, plain: u64) -> OldVersions {
        let part = |bytes: u64| {
            let part = u128::from(size.0) * u128::from(bytes.min(plain)) / u128::from(plain.max(1));
            ByteCount(part as u64)
        };
        debug_assert!(self.groups.len() <= GROUPS_MAX, "{} groups", self.groups.len());
        let groups = self.groups.into_iter();
        let group = |(held_by, (entries, plain))| Group { held_by, entries, size: part(plain) };
        OldVersions(groups.map(group).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_env::random::{Random, Rng};
    use terrace_env::test_seeds;

    fn sequences(numbers: &[u64]) -> Vec<SeqNo> {
        numbers.iter().copied().map(SeqNo).collect()
    }

    #[test]
    fn an_old_version_is_held_by_the_snapshots_between_it_and_the_next_one() {
        let snapshots = sequences(&[3, 5, 9]);
        let between = |from, until| {
            let held = HeldBy::between(&snapshots, SeqNo(from), SeqNo(until));
            held.map(|held| (held.oldest.0, held.newest.0))
        };
        assert_eq!(between(3, 4), Some((3, 3)), "a snapshot sees its own sequence");
        assert_eq!(between(3, 5), Some((3, 3)), "the next one is seen at its own sequence");
        assert_eq!(between(1, 9), Some((3, 5)));
        assert_eq!(between(6, 9), None);
        assert_eq!(between(10, 12), None);
        let before = |at| HeldBy::before(&snapshots, SeqNo(at)).map(|held| held.newest.0);
        assert_eq!([3, 4, 9, 10].map(before), [None, Some(3), Some(5), Some(9)]);
        let held = HeldBy::between(&snapshots, SeqNo(4), SeqNo(10)).unwrap();
        assert_eq!(held.alive(&snapshots), sequences(&[5, 9]));
        assert!(held.alive(&sequences(&[3, 4, 10])).is_empty());
    }

    #[test]
    fn groups_that_are_joined_are_never_droppable_before_their_entries_are() {
        for seed in test_seeds(200) {
            let mut random = Random::seeded(seed);
            let snapshots: Vec<SeqNo> = (1..=60).map(|at| SeqNo(at * 10)).collect();
            let (mut builder, mut entries) = (OldVersionsBuilder::default(), Vec::new());
            for _ in 0..300 {
                let from = random.random_range(0..600);
                let until = random.random_range(from..=600);
                let held = HeldBy::between(&snapshots, SeqNo(from), SeqNo(until));
                if let Some(held) = held {
                    let bytes = random.random_range(1..100);
                    builder.add(held, bytes);
                    entries.push((held, bytes));
                }
            }
            let plain: u64 = entries.iter().map(|entry| entry.1).sum();
            let old = builder.finish(ByteCount(plain), plain);
            assert!(old.groups().len() <= GROUPS_MAX, "seed {seed}");
            assert_eq!(old.groups().iter().map(|group| group.entries).sum::<u64>(), {
                entries.len() as u64
            });
            assert_eq!((old.size().0, old.droppable(&[]).0), (plain, plain), "seed {seed}");
            let mut alive = snapshots;
            while !alive.is_empty() {
                let free = entries.iter().filter(|(held, _)| held.alive(&alive).is_empty());
                let free: u64 = free.map(|entry| entry.1).sum();
                assert!(old.droppable(&alive).0 <= free, "seed {seed}");
                alive.remove(random.random_range(0..alive.len()));
            }
        }
    }
}
