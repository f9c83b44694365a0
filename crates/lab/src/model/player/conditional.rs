//! Conditional writes of a [`Player`]: a compare and swap, and a transaction, before whose commit
//! another write may come.
//!
//! Both may be refused for lack of space, and must then have written nothing.

use terrace::{Durability, ErrorKind, Swap, Transaction};

use super::super::contents::{Held, value, within};
use super::super::operation::{Change, KeyNumber, KeyRange};
use super::{Player, same};

impl Player<'_> {
    /// Swaps the value that is there, or a stale one, for another one, or for none.
    pub(super) fn swap(
        &mut self,
        (space, key): (u8, KeyNumber),
        new: Option<(u32, u32)>,
        stale: bool,
    ) -> Result<(), String> {
        let at = self.contents.space(space);
        let there = self.held(at, None).get(&key.bytes()).cloned();
        let expected = if stale { Some(b"stale".to_vec()) } else { there.clone() };
        let bytes = new.map(|(size, tag)| value(size, tag));
        let swap =
            self.spaces[at].compare_and_swap(&key.bytes(), expected.as_deref(), bytes.as_deref());
        match swap {
            Ok(Swap::Swapped) => {
                same(&stale, &false, "a swap of a stale value")?;
                self.contents.write(&[match new {
                    Some((size, tag)) => Change::Put { space, key, size, tag },
                    None => Change::Delete { space, key },
                }]);
                Ok(())
            }
            Ok(Swap::Kept(found)) => {
                same(&stale, &true, "a swap of the value that is there")?;
                same(&found.map(|value| value.to_vec()), &there, "a value that was kept")
            }
            Err(error) if error.is_space() => {
                self.tally.refused += 1;
                Ok(())
            }
            Err(error) => Err(format!("compare and swap: {error}")),
        }
    }

    /// Reads ranges of a key space in a transaction, makes changes there, writes another change
    /// outside, and commits.
    pub(super) fn transact(
        &mut self,
        space: u8,
        reads: &[KeyRange],
        changes: &[Change],
        meanwhile: Option<Change>,
    ) -> Result<(), String> {
        let told = |error: terrace::Error| format!("a transaction: {error}");
        let transaction = self.db().transaction().map_err(told)?;
        let at = self.contents.space(space);
        let before = self.held(at, None);
        self.scan_in(&transaction, at, reads, &before)?;
        for change in changes {
            self.change_in(&transaction, change).map_err(told)?;
        }
        let mut own = self.contents.clone();
        own.write(changes);
        self.scan_in(&transaction, at, reads, &own.now[at])?;
        if let Some(change) = meanwhile {
            self.write(&[change], false)?;
        }
        let now = self.held(at, None);
        let conflict = reads.iter().any(|range| within(&before, *range) != within(&now, *range));
        match transaction.commit_with(Durability::Gathered) {
            Ok(()) => {
                same(&conflict, &false, "a commit after a conflict")?;
                self.contents.write(changes);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Conflict => {
                same(&conflict, &true, "a conflict")
            }
            Err(error) if error.is_space() => {
                self.tally.refused += 1;
                Ok(())
            }
            Err(error) => Err(told(error)),
        }
    }

    fn scan_in(
        &mut self,
        transaction: &Transaction,
        at: usize,
        reads: &[KeyRange],
        held: &Held,
    ) -> Result<(), String> {
        let told = |error: terrace::Error| format!("a scan of a transaction: {error}");
        for range in reads {
            let seen = transaction.key_space(&self.spaces[at]).map_err(told)?;
            let mut found = Held::new();
            for entry in seen.scan(range.bounds()).map_err(told)? {
                let (key, value) = entry.map_err(told)?;
                found.insert(key.to_vec(), value.to_vec());
            }
            self.tally.reads += 1;
            same(&found, &within(held, *range), "a scan of a transaction")?;
        }
        Ok(())
    }
}
