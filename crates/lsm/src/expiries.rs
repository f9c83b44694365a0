//! [`Expiries`]: the entries of a table that expire, counted by their dates.
//!
//! - A table is counted as it is written ([`ExpiriesBuilder`]), and its annotation has the counts
//!   (`docs/format/annotation.md`). So a search for garbage finds tables with expired entries
//!   without a read.
//! - A table has at most [`GROUPS_MAX`] groups of neighbouring dates. More are joined. A group
//!   counts as expired once its last entry is, never too early.
//! - The counts are of the whole table. An entry that only a snapshot keeps is counted here as well
//!   as in the old versions.
//!
//! Values. No locks and no I/O. Nothing here drops an entry.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::{ByteCount, Date};

/// The most groups of a table: 512 bytes of its annotation.
const GROUPS_MAX: usize = 16;
/// Bytes of a group in an annotation.
const GROUP_BYTES: usize = 32;

/// Entries that expire between two dates, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    first: Date,
    last: Date,
    entries: u64,
    /// Approximate bytes of them in the table.
    size: ByteCount,
}

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expiries(Arc<[Group]>);

impl Expiries {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether any entry may have expired at a date; `false` is certain.
    pub(crate) fn may_have_expired(&self, date: Date) -> bool {
        self.0.first().is_some_and(|first| first.first <= date)
    }

    /// Approximate bytes of the entries that have certainly expired at a date.
    pub(crate) fn expired(&self, date: Date) -> ByteCount {
        let expired = self.0.iter().take_while(|group| group.last <= date);
        expired.fold(ByteCount(0), |sum, group| ByteCount(sum.0.saturating_add(group.size.0)))
    }

    /// The next date after this one at which more entries will have expired.
    pub(crate) fn next_after(&self, date: Date) -> Option<Date> {
        self.0.iter().map(|group| group.last).find(|last| *last > date)
    }

    /// Appends the groups with their number.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.put_u16(self.0.len() as u16);
        for Group { first, last, entries, size } in &*self.0 {
            bytes.put_u64(first.0);
            bytes.put_u64(last.0);
            bytes.put_u64(*entries);
            bytes.put_u64(size.0);
        }
    }

    /// Reads the output of [`encode`](Self::encode), of at least one group.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = usize::from(reader.u16("groups of expiries")?);
        if !(1..=GROUPS_MAX).contains(&count) {
            return Err(reader.wrong("groups of expiries", 2, "1 to 16", count as u64));
        }
        let mut groups: Vec<Group> = Vec::with_capacity(count);
        for _ in 0..count {
            let (first, last) = (Date(reader.u64("first expiry")?), Date(reader.u64("last")?));
            let entries = reader.u64("entries that expire")?;
            let size = ByteCount(reader.u64("size of entries that expire")?);
            let grows = groups.last().is_none_or(|before| before.last < first);
            if first > last || entries == 0 || !grows {
                let expected = "entries, and dates that grow";
                return Err(reader.wrong("expiries", GROUP_BYTES, expected, entries));
            }
            groups.push(Group { first, last, entries, size });
        }
        Ok(Self(groups.into()))
    }
}

/// Counts the expiring entries of a table that is being written.
#[derive(Debug, Default)]
pub(crate) struct ExpiriesBuilder {
    /// By the last date of a group: the first date, the number of entries, and their bytes before
    /// compression.
    groups: BTreeMap<Date, (Date, u64, u64)>,
}

impl ExpiriesBuilder {
    /// Counts an entry of `plain` bytes.
    pub(crate) fn add(&mut self, at: Date, plain: u64) {
        if let Some((_, group)) = self.groups.range_mut(at..).next()
            && group.0 <= at
        {
            (group.1, group.2) = (group.1 + 1, group.2 + plain);
            return;
        }
        self.groups.insert(at, (at, 1, plain));
        while self.groups.len() > GROUPS_MAX {
            self.join_smallest();
        }
    }

    /// Joins the two neighbours that have the fewest bytes together.
    fn join_smallest(&mut self) {
        let pairs = self.groups.iter().zip(self.groups.iter().skip(1));
        let smallest = pairs.min_by_key(|((_, a), (_, b))| a.2 + b.2);
        let Some(((&a, _), (&b, _))) = smallest else { return };
        let Some((first, entries, plain)) = self.groups.remove(&a) else { return };
        self.groups.entry(b).and_modify(|group| {
            *group = (first, group.1 + entries, group.2 + plain);
        });
    }

    /// Those of a table of `size`, whose entries had `plain` bytes before compression.
    pub(crate) fn finish(self, size: ByteCount, plain: u64) -> Expiries {
        let part = |bytes: u64| {
            let part = u128::from(size.0) * u128::from(bytes.min(plain)) / u128::from(plain.max(1));
            ByteCount(part as u64)
        };
        debug_assert!(
            self.groups.iter().zip(self.groups.values().skip(1)).all(|(a, b)| *a.0 < b.0),
            "groups do not overlap: {:?}",
            self.groups
        );
        let group = |(last, (first, entries, plain))| {
            let size = part(plain);
            Group { first, last, entries, size }
        };
        Expiries(self.groups.into_iter().map(group).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_env::random::{Random, Rng};
    use terrace_env::test_seeds;

    #[test]
    fn groups_that_are_joined_never_count_as_expired_too_early() {
        for seed in test_seeds(200) {
            let mut random = Random::seeded(seed);
            let (mut builder, mut entries) = (ExpiriesBuilder::default(), Vec::new());
            for _ in 0..random.random_range(1..300) {
                let (at, plain) = (random.random_range(0..2000), random.random_range(1..100));
                builder.add(Date(at), plain);
                entries.push((at, plain));
            }
            let plain: u64 = entries.iter().map(|entry| entry.1).sum();
            let expiries = builder.finish(ByteCount(plain), plain);
            assert!(expiries.0.len() <= GROUPS_MAX, "seed {seed}");
            let counted: u64 = expiries.0.iter().map(|group| group.entries).sum();
            assert_eq!(counted, entries.len() as u64, "seed {seed}");
            let mut bytes = Vec::new();
            expiries.encode(&mut bytes);
            assert_eq!(Expiries::read(&mut Reader::new(&bytes)).unwrap(), expiries);
            for date in (0..2000).step_by(50) {
                let gone = entries.iter().filter(|(at, _)| *at <= date);
                let gone: u64 = gone.map(|entry| entry.1).sum();
                assert!(expiries.expired(Date(date)).0 <= gone, "seed {seed} at {date}");
                assert_eq!(expiries.may_have_expired(Date(date)), gone > 0, "seed {seed}");
                let next = expiries.next_after(Date(date));
                assert!(next.is_none_or(|next| {
                    next > Date(date) && expiries.expired(next) > expiries.expired(Date(date))
                }));
            }
            assert_eq!(expiries.expired(Date(2000)).0, plain, "all have expired at the end");
        }
    }
}
