//! What the store must hold: for each entry its generation, and whether it is deleted.
//!
//! Four bytes an entry. One thread at a time writes an entry, and notes it after the store has
//! taken it; so whoever reads an entry must find at least what is noted before the read, and at
//! most one generation more than what is noted after it.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};

/// The bit of an entry that is deleted; the generation is beside it.
const DELETED: u32 = 1;

/// What the store must hold.
#[derive(Debug)]
pub struct Ledger(Vec<AtomicU32>);

impl Ledger {
    /// None of `count` entries was ever written.
    #[must_use]
    pub fn new(count: u64) -> Self {
        Self((0..count).map(|_| AtomicU32::new(DELETED)).collect())
    }

    /// The number of entries, held or not.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }

    fn word(&self, number: u64) -> u32 {
        self.0[number as usize].load(Ordering::Acquire)
    }

    /// The newest generation that an entry is known to have had; 0 before the first.
    #[must_use]
    pub fn generation(&self, number: u64) -> u32 {
        self.word(number) >> 1
    }

    /// Whether the store must hold the entry.
    #[must_use]
    pub fn holds(&self, number: u64) -> bool {
        self.word(number) & DELETED == 0
    }

    /// The store has taken this generation of the entry.
    pub fn wrote(&self, number: u64, generation: u32) {
        self.0[number as usize].store(generation << 1, Ordering::Release);
    }

    /// The store has deleted the entry.
    pub fn deleted(&self, number: u64) {
        self.0[number as usize].fetch_or(DELETED, Ordering::Release);
    }

    /// The generations a read may find that began when `before` was known.
    #[must_use]
    pub fn allowed(&self, number: u64, before: u32) -> RangeInclusive<u32> {
        before..=self.generation(number) + 1
    }

    /// How many entries the store must hold.
    #[must_use]
    pub fn held(&self) -> u64 {
        (0..self.count()).filter(|number| self.holds(*number)).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_knows_what_was_written_and_what_was_deleted() {
        let ledger = Ledger::new(3);
        assert_eq!((ledger.held(), ledger.generation(1)), (0, 0));
        ledger.wrote(1, 1);
        ledger.wrote(2, 1);
        ledger.wrote(2, 2);
        ledger.deleted(1);
        assert_eq!((ledger.held(), ledger.holds(1), ledger.holds(2)), (1, false, true));
        assert_eq!((ledger.generation(1), ledger.generation(2)), (1, 2));
    }

    #[test]
    fn a_read_may_find_what_is_being_written_and_nothing_older_than_it_knew() {
        let ledger = Ledger::new(1);
        ledger.wrote(0, 4);
        let before = ledger.generation(0);
        ledger.wrote(0, 5);
        assert_eq!(ledger.allowed(0, before), 4..=6);
    }
}
