//! Draws random scripts of operations from a seed.
//!
//! A longer script of the same seed and kind begins with the shorter one.

use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_zone::PowerCut;

use super::operation::{Change, KEYS, KeyNumber, KeyRange, Operation, Step};

/// Operations that a script may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Everything. The effect of a power cut depends on the setting.
    Everything,
    /// Only operations that must read back the same under every setting: before a power cut all is
    /// synced.
    Determined,
}

/// Draws a script of `length` operations.
#[must_use]
pub fn script(seed: u64, length: usize, kind: Kind) -> Vec<Operation> {
    let mut draw = Draw { random: Random::seeded(seed), kind, next_tag: 0, day: 0 };
    (0..length).map(|_| draw.operation()).collect()
}

struct Draw {
    random: Random,
    kind: Kind,
    next_tag: u32,
    /// Of the script so far.
    day: u8,
}

impl Draw {
    fn number(&mut self) -> u8 {
        self.random.random_range(0..4)
    }

    fn key(&mut self) -> KeyNumber {
        KeyNumber(self.random.random_range(0..KEYS))
    }

    fn range(&mut self) -> KeyRange {
        match self.random.random_range(0..4) {
            0 => KeyRange::All,
            1 => KeyRange::Prefix(self.key()),
            2 => KeyRange::Between(self.key(), self.key()),
            _ => KeyRange::Through(self.key(), self.key()),
        }
    }

    /// A snapshot now and then.
    fn at(&mut self) -> Option<u8> {
        self.random.random_bool(0.3).then(|| self.number())
    }

    fn change(&mut self) -> Change {
        let (space, key) = (self.number(), self.key());
        match self.random.random_range(0..200) {
            0..50 => return Change::Delete { space, key },
            50..53 => return Change::DeleteRange { space, range: self.range() },
            53..70 => {
                self.next_tag += 1;
                let (size, tag) = (self.random.random_range(0..500), self.next_tag);
                let day = self.day.saturating_add(self.random.random_range(0..3));
                return Change::PutExpiring { space, key, size, tag, day };
            }
            70..95 => {
                self.next_tag += 1;
                let (size, tag) = (self.random.random_range(0..60), self.next_tag);
                return Change::Merge { space, key, size, tag };
            }
            _ => {}
        }
        self.next_tag += 1;
        let size = match self.random.random_range(0..40) {
            0..2 => 0,
            2 => self.random.random_range(4_000..20_000),
            3..6 => self.random.random_range(500..4_000),
            _ => self.random.random_range(1..200),
        };
        Change::Put { space, key, size, tag: self.next_tag }
    }

    fn put(&mut self) -> Change {
        self.next_tag += 1;
        // Large enough for its tag, so that no two puts are the same.
        let size = self.random.random_range(16..500);
        Change::Put { space: self.number(), key: self.key(), size, tag: self.next_tag }
    }

    fn swap(&mut self) -> Operation {
        self.next_tag += 1;
        let new = self.random.random_bool(0.7);
        let new = new.then(|| (self.random.random_range(0..500), self.next_tag));
        let stale = self.random.random_bool(0.2);
        Operation::Swap { space: self.number(), key: self.key(), new, stale }
    }

    fn transact(&mut self) -> Operation {
        let reads = (0..self.random.random_range(0..3)).map(|_| self.range()).collect();
        let mut changes = vec![self.put()];
        let more = self.random.random_range(0..4);
        changes.extend((0..more).map(|_| self.change()));
        let meanwhile = self.random.random_bool(0.5).then(|| self.put());
        Operation::Transact { space: self.number(), reads, changes, meanwhile }
    }

    fn write(&mut self) -> Operation {
        let count = if self.random.random_bool(0.6) { 1 } else { self.random.random_range(0..25) };
        let changes = (0..count).map(|_| self.change()).collect();
        Operation::Write { changes, synced: self.random.random_bool(0.2) }
    }

    fn ingest(&mut self) -> Operation {
        let count = self.random.random_range(0..30);
        let entries = (0..count).map(|_| {
            self.next_tag += 1;
            (self.key(), self.random.random_range(0..400), self.next_tag)
        });
        let entries = entries.collect();
        Operation::Ingest { space: self.number(), entries }
    }

    fn step(&mut self) -> Step {
        // Walks go on in a direction for a while, and turn at times.
        match self.random.random_range(0..20) {
            0..9 => Step::Next,
            9..16 => Step::Prev,
            16 => Step::First,
            17 => Step::Last,
            18 => Step::Seek(self.key()),
            _ => Step::SeekBack(self.key()),
        }
    }

    fn cut(&mut self) -> Operation {
        let cut = PowerCut::any(&mut self.random);
        let synced = self.kind == Kind::Determined || self.random.random_bool(0.2);
        Operation::Cut { cut, synced, options: self.number() }
    }

    fn operation(&mut self) -> Operation {
        match self.random.random_range(0..1000) {
            0..584 => self.write(),
            584..594 => self.ingest(),
            594..597 => Operation::Checkpoint,
            597..600 => Operation::DropSpace(self.number()),
            600..620 => self.swap(),
            620..640 => self.transact(),
            640..780 => Operation::Get { space: self.number(), key: self.key(), at: self.at() },
            780..830 => Operation::Scan {
                space: self.number(),
                range: self.range(),
                backward: self.random.random(),
                limit: self.random.random_range(0..200),
                at: self.at(),
            },
            830..845 => {
                let (space, range, at) = (self.number(), self.range(), self.at());
                Operation::OpenCursor { space, range, at }
            }
            845..890 => {
                let count = self.random.random_range(1..15);
                let steps = (0..count).map(|_| self.step()).collect();
                Operation::Walk { cursor: self.number(), steps }
            }
            890..910 => Operation::TakeSnapshot,
            910..920 => Operation::DropSnapshot(self.number()),
            920..925 => Operation::CreateSpace,
            925..940 => Operation::Flush,
            940..948 => Operation::Compact { space: self.number(), range: self.range() },
            948..951 => Operation::CompactAll,
            951..958 => Operation::WaitIdle,
            958..966 => Operation::Sync,
            966..974 => Operation::Rest(Duration::from_micros(self.random.random_range(1..5_000))),
            974..984 => Operation::Reopen(self.number()),
            984..995 => self.cut(),
            995..998 => {
                self.day = self.day.saturating_add(1);
                Operation::NextDay
            }
            _ => Operation::Verify,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_script_and_another_seed_another() {
        assert_eq!(script(1, 300, Kind::Everything), script(1, 300, Kind::Everything));
        assert_ne!(script(1, 300, Kind::Everything), script(2, 300, Kind::Everything));
    }

    #[test]
    fn every_kind_of_operation_is_drawn() {
        let drawn = script(1, 5_000, Kind::Determined);
        let kinds: std::collections::BTreeSet<String> = drawn
            .iter()
            .map(|operation| {
                let name = format!("{operation:?}");
                name.split([' ', '(']).next().unwrap_or_default().to_owned()
            })
            .collect();
        assert_eq!(kinds.len(), 23, "{kinds:?}");
        let unsynced =
            |operation: &Operation| matches!(operation, Operation::Cut { synced: false, .. });
        assert!(!drawn.iter().any(unsynced));
    }
}
