//! [`Contents`]: the expected contents of a store, as plain ordered maps.
//!
//! After a power cut the newest batches that are not durable may be gone: the store may hold the
//! result of any prefix of these batches. The caller says when everything is durable; a new key
//! space counts as durable at once. After a recovery, so do the found contents.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::random::{Random, RngCore};

use super::operation::{Change, KeyRange};

/// Begin of a value that expires, before its day.
const EXPIRES: &[u8] = b"expires on day ";
/// Begin of an operand. No other value has it inside.
const OPERAND: &[u8] = b"; operand ";

/// Contents of a key space.
pub(super) type Held = BTreeMap<Vec<u8>, Vec<u8>>;
/// Contents of all key spaces.
pub(super) type Spaces = Vec<Arc<Held>>;

/// Expected contents of a store.
#[derive(Clone, Debug)]
pub(super) struct Contents {
    /// The present contents.
    pub(super) now: Spaces,
    /// Contents that survive any power cut, before the batches in `unsynced`.
    durable: Spaces,
    /// Batches since then, in order.
    unsynced: Vec<Batch>,
    /// Entries that expire on this day, or did before, are unseen.
    day: u8,
}

/// A batch that was written.
#[derive(Clone, Debug)]
struct Batch {
    changes: Vec<Change>,
    /// It is durable, though batches before it may not be.
    is_durable: bool,
}

impl Contents {
    pub(super) fn new() -> Self {
        let empty: Spaces = vec![Arc::default()];
        Self { now: empty.clone(), durable: empty, unsynced: Vec::new(), day: 0 }
    }

    /// The key space that a number means.
    pub(super) fn space(&self, number: u8) -> usize {
        usize::from(number) % self.now.len()
    }

    /// Makes a key space, which no power cut takes back.
    pub(super) fn create_space(&mut self) {
        self.now.push(Arc::default());
        self.durable.push(Arc::default());
    }

    pub(super) fn write(&mut self, changes: &[Change]) {
        self.add(changes, false);
    }

    /// Notes changes that no power cut takes back.
    pub(super) fn write_durably(&mut self, changes: &[Change]) {
        self.add(changes, true);
    }

    /// Empties a key space, which no power cut takes back.
    pub(super) fn drop_space(&mut self, space: u8) {
        self.add(&[Change::DeleteRange { space, range: KeyRange::All }], true);
    }

    fn add(&mut self, changes: &[Change], is_durable: bool) {
        apply(&mut self.now, changes);
        expire(&mut self.now, self.day);
        // A number means another key space once there are more of them.
        let spaces = self.now.len() as u8;
        let changes = changes.iter().map(|change| change.in_one_of(spaces)).collect();
        self.unsynced.push(Batch { changes, is_durable });
    }

    /// Everything written so far is durable.
    pub(super) fn synced(&mut self) {
        self.durable.clone_from(&self.now);
        self.unsynced.clear();
    }

    /// Another day begins, this one.
    pub(super) fn next_day(&mut self) -> u8 {
        self.day = self.day.saturating_add(1);
        expire(&mut self.now, self.day);
        self.day
    }

    /// Checks that `found` is the result of some prefix of the writes, with all durable ones, and
    /// goes on from there.
    pub(super) fn recovered(&mut self, found: Spaces) -> Result<(), String> {
        let mut state = self.durable.clone();
        expire(&mut state, self.day);
        let mut kept = 0;
        while self.with_durable_ones(&state, kept) != found {
            let Some(batch) = self.unsynced.get(kept) else {
                return Err(self.difference(&found));
            };
            apply(&mut state, &batch.changes);
            expire(&mut state, self.day);
            kept += 1;
        }
        // Changes that came back stay: they are in a log that was found, or in a table.
        *self = Self { now: found.clone(), durable: found, unsynced: Vec::new(), day: self.day };
        Ok(())
    }

    /// The state after the first `kept` batches, with the durable ones among the others.
    fn with_durable_ones(&self, state: &Spaces, kept: usize) -> Spaces {
        let mut state = state.clone();
        for batch in self.unsynced[kept..].iter().filter(|batch| batch.is_durable) {
            apply(&mut state, &batch.changes);
            expire(&mut state, self.day);
        }
        state
    }

    fn difference(&self, found: &Spaces) -> String {
        let count = |spaces: &Spaces| spaces.iter().map(|space| space.len()).sum::<usize>();
        let differs = |(number, (durable, found)): (usize, (&Arc<Held>, &Arc<Held>))| {
            let key = durable
                .keys()
                .chain(found.keys())
                .find(|key| durable.get(*key) != found.get(*key))?;
            Some(format!("{} of space {number}", key.escape_ascii()))
        };
        let first = self.durable.iter().zip(found).enumerate().find_map(differs);
        format!(
            "no prefix of {} unsynced batches leaves the {} keys that were found; {} are durable, \
             of which the first that differs is {first:?}",
            self.unsynced.len(),
            count(found),
            count(&self.durable),
        )
    }
}

/// Contents of a key space within a range.
pub(super) fn within(held: &Held, range: KeyRange) -> Held {
    let inside = held.iter().filter(|(key, _)| range.contains(key));
    inside.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The value that a put writes.
pub(super) fn value(size: u32, tag: u32) -> Vec<u8> {
    let mut value = format!("{tag} ").into_bytes();
    let text = value.len();
    if tag.is_multiple_of(2) {
        value.resize(size as usize, b'.');
    } else {
        value.resize((size as usize).max(text), 0);
        Random::seeded(tag.into()).fill_bytes(&mut value[text..]);
        value.truncate(size as usize);
    }
    value
}

/// The value that a put writes which expires on a day; it names the day, so that plain maps know.
pub(super) fn expiring_value(size: u32, tag: u32, day: u8) -> Vec<u8> {
    [EXPIRES, &[day], &value(size, tag)].concat()
}

/// An operand, which is appended to a value.
pub(super) fn operand(size: u32, tag: u32) -> Vec<u8> {
    [OPERAND, &value(size, tag)].concat()
}

/// Takes out entries that are unseen from this day on: of a value with operands, all but these.
pub(super) fn expire(spaces: &mut Spaces, today: u8) {
    let is_gone = |value: &Vec<u8>| {
        let day = value.strip_prefix(EXPIRES).and_then(<[u8]>::first);
        day.is_some_and(|day| *day <= today)
    };
    for held in spaces {
        if held.values().any(is_gone) {
            Arc::make_mut(held).retain(|_, value| {
                if is_gone(value) {
                    let operands = value.windows(OPERAND.len()).position(|part| part == OPERAND);
                    *value = operands.map_or_else(Vec::new, |at| value.split_off(at));
                    return !value.is_empty();
                }
                true
            });
        }
    }
}

fn apply(spaces: &mut Spaces, changes: &[Change]) {
    for change in changes {
        match *change {
            Change::Put { space, key, size, tag } => {
                let at = usize::from(space) % spaces.len();
                Arc::make_mut(&mut spaces[at]).insert(key.bytes(), value(size, tag));
            }
            Change::PutExpiring { space, key, size, tag, day } => {
                let at = usize::from(space) % spaces.len();
                let value = expiring_value(size, tag, day);
                Arc::make_mut(&mut spaces[at]).insert(key.bytes(), value);
            }
            Change::Merge { space, key, size, tag } => {
                let at = usize::from(space) % spaces.len();
                let value = Arc::make_mut(&mut spaces[at]).entry(key.bytes()).or_default();
                value.extend_from_slice(&operand(size, tag));
            }
            Change::Delete { space, key } => {
                let at = usize::from(space) % spaces.len();
                Arc::make_mut(&mut spaces[at]).remove(&key.bytes());
            }
            Change::DeleteRange { space, range } => {
                let at = usize::from(space) % spaces.len();
                Arc::make_mut(&mut spaces[at]).retain(|key, _| !range.contains(key));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::operation::KeyNumber;
    use super::*;

    fn put(key: u16, tag: u32) -> Vec<Change> {
        vec![Change::Put { space: 0, key: KeyNumber(key), size: 9, tag }]
    }

    #[test]
    fn only_prefixes_with_all_that_is_durable_may_come_back() {
        let mut contents = Contents::new();
        contents.write(&put(1, 1));
        contents.synced();
        let durable = contents.now.clone();
        contents.write(&put(2, 2));
        contents.write(&put(3, 3));
        for (changes, good) in [
            (vec![], true),
            (put(2, 2), true),
            ([put(2, 2), put(3, 3)].concat(), true),
            (put(3, 3), false),
            (put(2, 3), false),
        ] {
            let mut found = durable.clone();
            apply(&mut found, &changes);
            assert_eq!(contents.clone().recovered(found).is_ok(), good, "{changes:?}");
        }
        assert!(contents.recovered(vec![Arc::default()]).is_err(), "a lost durable write");
    }

    #[test]
    fn a_durable_batch_comes_back_without_those_before_it() {
        let mut contents = Contents::new();
        contents.write(&put(1, 1));
        contents.write_durably(&put(2, 2));
        contents.write(&put(3, 3));
        for (changes, good) in [
            (put(2, 2), true),
            ([put(1, 1), put(2, 2)].concat(), true),
            ([put(1, 1), put(2, 2), put(3, 3)].concat(), true),
            ([put(2, 2), put(3, 3)].concat(), false),
            (put(1, 1), false),
            (vec![], false),
        ] {
            let mut found: Spaces = vec![Arc::default()];
            apply(&mut found, &changes);
            assert_eq!(contents.clone().recovered(found).is_ok(), good, "{changes:?}");
        }
    }

    #[test]
    fn a_value_that_expires_leaves_its_operands() {
        let (space, key) = (0, KeyNumber(1));
        let merge = |tag| Change::Merge { space, key, size: 3, tag };
        let expiring = Change::PutExpiring { space, key, size: 5, tag: 1, day: 2 };
        let mut contents = Contents::new();
        contents.write(&[merge(1), expiring, merge(2), merge(3)]);
        let all = [expiring_value(5, 1, 2), operand(3, 2), operand(3, 3)].concat();
        assert_eq!(contents.now[0][&key.bytes()], all);
        contents.next_day();
        assert_eq!(contents.now[0][&key.bytes()], all);
        contents.next_day();
        assert_eq!(contents.now[0][&key.bytes()], [operand(3, 2), operand(3, 3)].concat());
    }

    #[test]
    fn values_have_their_size_and_differ_by_their_tag() {
        for size in [0, 1, 5, 1000] {
            assert_eq!(
                (value(size, 7).len(), value(size, 8).len()),
                (size as usize, size as usize)
            );
        }
        assert_ne!(value(10, 7), value(10, 9));
    }
}
