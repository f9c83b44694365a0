//! [`History`]: the batches that one writer wrote, in order. It draws random batches, and checks
//! the contents of a store.
//!
//! A store agrees with a history if it contains the result of the first `n` batches, and nothing
//! else. Each batch also writes its own number, so the store itself tells `n`. The caller says
//! between which bounds `n` must lie.

use std::collections::BTreeMap;
use std::fmt;

use terrace_env::random::{Random, Rng, RngCore};

/// The key spaces of the workload: the default one, and another.
pub(super) const SPACES: usize = 2;

/// Keys of each key space.
pub(super) const KEYS: u32 = 600;

/// Holds the number of the last batch that was applied. In the first key space.
const COUNTER: &[u8] = b"~applied";

/// The contents of all key spaces.
pub(super) type State = [BTreeMap<Vec<u8>, Vec<u8>>; SPACES];

/// One change of a batch.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) space: usize,
    pub(super) key: Vec<u8>,
    pub(super) what: What,
}

/// Effect of a change on its key.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// The key gets a value.
    Put(Vec<u8>),
    /// The key is deleted.
    Delete,
    /// The key is deleted, with all later ones before this one.
    DeleteUntil(Vec<u8>),
}

/// A list of batches that were written one after another.
#[derive(Clone, Debug, Default)]
pub struct History {
    batches: Vec<Vec<Change>>,
}

/// A state that agrees with no allowed prefix of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The state holds fewer batches than were acknowledged, or more than were written.
    Prefix {
        /// Batches whose durability was acknowledged.
        least: usize,
        /// Batches that had been handed over.
        most: usize,
        /// Batches that the state claims to hold.
        got: usize,
    },
    /// A key does not hold the value that the prefix demands.
    Key {
        /// The key space.
        space: usize,
        /// The key.
        key: String,
        /// Value in the prefix.
        expected: String,
        /// Value in the store.
        got: String,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix { least, most, got } => {
                write!(f, "expected the first {least} to {most} batches, found {got}")
            }
            Self::Key { space, key, expected, got } => {
                write!(f, "key {key} of space {space}: expected {expected}, found {got}")
            }
        }
    }
}

impl History {
    /// How many batches there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.batches.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Forgets all batches but the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.batches.truncate(len);
    }

    /// Draws the next batch, adds it and returns its changes.
    pub(super) fn draw(&mut self, life: u32, random: &mut Random) -> Vec<Change> {
        let number = self.batches.len() + 1;
        let mut changes: Vec<Change> = (0..random.random_range(1..=4))
            .map(|_| {
                let (space, first) = (random.random_range(0..SPACES), random.random_range(0..KEYS));
                let what = match random.random_range(0..50) {
                    0..9 => What::Delete,
                    9 => What::DeleteUntil(key(first + random.random_range(1..KEYS / 4))),
                    _ => What::Put(value(life, number, random)),
                };
                Change { space, key: key(first), what }
            })
            .collect();
        let counter = (number as u64).to_be_bytes().to_vec();
        changes.push(Change { space: 0, key: COUNTER.to_vec(), what: What::Put(counter) });
        self.batches.push(changes.clone());
        changes
    }

    /// Holds a state against the history; returns which prefix it is.
    pub(super) fn check(
        &self,
        state: &State,
        least: usize,
        most: usize,
    ) -> Result<usize, Mismatch> {
        let counter = state[0].get(COUNTER).map(Vec::as_slice).unwrap_or_default();
        let got = match <[u8; 8]>::try_from(counter) {
            Ok(bytes) => usize::try_from(u64::from_be_bytes(bytes)).unwrap_or(usize::MAX),
            Err(_) => 0,
        };
        if got < least || got > most.min(self.batches.len()) {
            return Err(Mismatch::Prefix { least, most, got });
        }
        let expected = self.state_after(got);
        for (space, (expected, found)) in expected.iter().zip(state).enumerate() {
            compare(space, expected, found)?;
        }
        Ok(got)
    }

    fn state_after(&self, batches: usize) -> State {
        let mut state = State::default();
        for change in self.batches[..batches].iter().flatten() {
            let space = &mut state[change.space];
            match &change.what {
                What::Put(value) => drop(space.insert(change.key.clone(), value.clone())),
                What::Delete => drop(space.remove(&change.key)),
                What::DeleteUntil(end) => space.retain(|key, _| *key < change.key || key >= end),
            }
        }
        state
    }
}

/// A key by its number. All of them lie before the counter.
fn key(number: u32) -> Vec<u8> {
    format!("key{number:03}").into_bytes()
}

/// A value that no other batch writes; now and then one that spans many blocks.
fn value(life: u32, number: usize, random: &mut Random) -> Vec<u8> {
    let len = match random.random_range(0..40) {
        0..3 => random.random_range(4_000..20_000),
        3..10 => 0,
        _ => random.random_range(1..1_500),
    };
    let mut value = format!("life {life} batch {number} ").into_bytes();
    let text = value.len();
    value.resize(text + len, 0);
    random.fill_bytes(&mut value[text..]);
    value
}

fn compare(
    space: usize,
    expected: &BTreeMap<Vec<u8>, Vec<u8>>,
    found: &BTreeMap<Vec<u8>, Vec<u8>>,
) -> Result<(), Mismatch> {
    for key in expected.keys().chain(found.keys()) {
        let (expected, got) = (expected.get(key), found.get(key));
        if expected != got {
            return Err(Mismatch::Key {
                space,
                key: String::from_utf8_lossy(key).into_owned(),
                expected: brief(expected),
                got: brief(got),
            });
        }
    }
    Ok(())
}

fn brief(value: Option<&Vec<u8>>) -> String {
    value.map_or_else(
        || "nothing".to_owned(),
        |value| {
            let start = String::from_utf8_lossy(&value[..value.len().min(24)]).into_owned();
            format!("{} bytes {start:?}", value.len())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history_of(batches: usize) -> History {
        let mut random = Random::seeded(1);
        let mut history = History::default();
        for _ in 0..batches {
            history.draw(0, &mut random);
        }
        history
    }

    #[test]
    fn every_prefix_agrees_with_itself_only_within_the_bounds() {
        let history = history_of(30);
        for prefix in 0..=30 {
            let state = history.state_after(prefix);
            assert_eq!(history.check(&state, 0, 30), Ok(prefix));
            let too_few = history.check(&state, prefix + 1, 30);
            assert!(matches!(too_few, Err(Mismatch::Prefix { .. })));
        }
    }

    #[test]
    fn a_lost_a_stale_and_an_invented_value_are_each_noticed() {
        let history = history_of(30);
        let good = history.state_after(30);
        let key = good[1].keys().next().expect("a key").clone();
        let mut lost = good.clone();
        lost[1].remove(&key);
        let mut stale = good.clone();
        stale[1].insert(key, b"life 0 batch 1 ".to_vec());
        let mut invented = good;
        invented[0].insert(b"key999".to_vec(), Vec::new());
        for state in [lost, stale, invented] {
            assert!(matches!(history.check(&state, 0, 30), Err(Mismatch::Key { .. })));
        }
    }
}
