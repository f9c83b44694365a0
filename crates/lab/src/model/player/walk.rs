//! [`Walk`]: a cursor of a [`Player`](super::Player) next to the entries that it must see.

use std::ops::Bound::{Excluded, Included, Unbounded};

use terrace::Cursor;

use super::super::contents::Held;
use super::super::operation::Step;
use super::same;

/// A cursor, the entries that it must see, and the place where it must stand.
pub(super) struct Walk {
    pub(super) cursor: Cursor,
    pub(super) held: Held,
    pub(super) at: Option<Vec<u8>>,
}

impl Walk {
    /// Takes a step, and compares.
    pub(super) fn step(&mut self, step: Step) -> Result<(), String> {
        let (first, last) = (|| self.held.iter().next(), || self.held.iter().next_back());
        let (moved, expected) = match step {
            Step::Next => {
                let from = |at: &Vec<u8>| self.held.range((Excluded(at.clone()), Unbounded)).next();
                (self.cursor.next(), self.at.as_ref().map_or_else(first, from))
            }
            Step::Prev => {
                let to = |at: &Vec<u8>| self.held.range(..at.clone()).next_back();
                (self.cursor.prev(), self.at.as_ref().map_or_else(last, to))
            }
            Step::First => (self.cursor.seek_to_first(), first()),
            Step::Last => (self.cursor.seek_to_last(), last()),
            Step::Seek(key) => {
                (self.cursor.seek(&key.bytes()), self.held.range(key.bytes()..).next())
            }
            Step::SeekBack(key) => {
                let to = (Unbounded, Included(key.bytes()));
                (self.cursor.seek_back(&key.bytes()), self.held.range(to).next_back())
            }
        };
        let moved = moved.map_err(|error| format!("{step:?}: {error}"))?;
        let found = moved.then(|| (self.cursor.key().to_vec(), self.cursor.value().to_vec()));
        let expected = expected.map(|(key, value)| (key.clone(), value.clone()));
        same(&found, &expected, &format!("{step:?} from {:?}", self.at))?;
        self.at = expected.map(|(key, _)| key);
        Ok(())
    }
}
