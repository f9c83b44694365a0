//! Changes of a [`Player`], as a batch and a transaction make them.

use terrace::{Batch, Transaction};

use super::super::contents::{expiring_value, operand, value};
use super::super::operation::Change;
use super::Player;

impl Player<'_> {
    /// Adds a change to a batch.
    pub(super) fn add_to(&self, batch: &mut Batch, change: &Change) {
        match *change {
            Change::Put { space, key, size, tag } => {
                let space = &self.spaces[self.contents.space(space)];
                batch.key_space(space).put(&key.bytes(), &value(size, tag));
            }
            Change::PutExpiring { space, key, size, tag, day } => {
                let space = &self.spaces[self.contents.space(space)];
                let (key, value) = (key.bytes(), expiring_value(size, tag, day));
                batch.key_space(space).put_with_expiry(&key, &value, self.expiry(day));
            }
            Change::Merge { space, key, size, tag } => {
                let space = &self.spaces[self.contents.space(space)];
                batch.key_space(space).merge(&key.bytes(), &operand(size, tag));
            }
            Change::Delete { space, key } => {
                batch.key_space(&self.spaces[self.contents.space(space)]).delete(&key.bytes());
            }
            Change::DeleteRange { space, range } => {
                let space = &self.spaces[self.contents.space(space)];
                batch.key_space(space).delete_range(range.bounds());
            }
        }
    }

    /// Makes a change in a transaction.
    pub(super) fn change_in(
        &self,
        transaction: &Transaction,
        change: &Change,
    ) -> Result<(), terrace::Error> {
        match *change {
            Change::Put { space, key, size, tag } => {
                let space = &self.spaces[self.contents.space(space)];
                transaction.key_space(space)?.put(&key.bytes(), &value(size, tag))
            }
            Change::PutExpiring { space, key, size, tag, day } => {
                let (space, expiry) = (self.contents.space(space), self.expiry(day));
                let (key, value) = (key.bytes(), expiring_value(size, tag, day));
                transaction.key_space(&self.spaces[space])?.put_with_expiry(&key, &value, expiry)
            }
            Change::Merge { space, key, size, tag } => {
                let space = &self.spaces[self.contents.space(space)];
                transaction.key_space(space)?.merge(&key.bytes(), &operand(size, tag))
            }
            Change::Delete { space, key } => {
                let space = &self.spaces[self.contents.space(space)];
                transaction.key_space(space)?.delete(&key.bytes())
            }
            Change::DeleteRange { space, range } => {
                let space = &self.spaces[self.contents.space(space)];
                transaction.key_space(space)?.delete_range(range.bounds())
            }
        }
    }
}
