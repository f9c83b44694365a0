//! Gives puts without an expiry the default expiry of their key space
//! ([`Batch::with_default_expiry`]). Other writes do not change: deletes, operands, and puts with
//! an expiry of their own.
//!
//! No locks and no I/O.

use terrace_env::Date;

use super::batch::{Batch, Entry};
use crate::expiry;
use crate::key::{KeySpaceId, Kind};

impl Batch {
    /// The same writes, where a put without an expiry has the one that this gives for its key
    /// space, if any.
    pub(crate) fn with_default_expiry(
        &self,
        expiry_of: impl Fn(KeySpaceId) -> Option<Date>,
    ) -> Self {
        let mut batch = Self::new();
        for Entry { kind, space, key, value } in self.entries() {
            let (key, value) = (self.bytes_of(&key), self.bytes_of(&value));
            match (kind, expiry::split(value)) {
                (Kind::Put, _) => match expiry_of(space) {
                    Some(expiry) => drop(batch.put_with_expiry(space, key, value, expiry)),
                    None => drop(batch.put(space, key, value)),
                },
                (Kind::PutWithExpiry, Some((expiry, value))) => {
                    batch.put_with_expiry(space, key, value, expiry);
                }
                (Kind::Operand, _) => drop(batch.merge(space, key, value)),
                (Kind::RangeDelete, _) => batch.delete_keys(space, key, value),
                (Kind::Delete | Kind::PutWithExpiry, _) => drop(batch.delete(space, key)),
            }
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use terrace_env::SeqNo;

    use super::*;
    use crate::Bounds;

    #[test]
    fn puts_without_an_expiry_get_that_of_their_key_space_and_other_writes_stay() {
        let (with, without) = (KeySpaceId(1), KeySpaceId(2));
        let (own, default) = (Date(5), Date(70));
        let mut batch = Batch::new();
        let mut expected = Batch::new();
        for batch in [&mut batch, &mut expected] {
            batch.put(without, b"put", b"value").delete(with, b"gone").merge(with, b"sum", b"1");
            batch.put_with_expiry(with, b"own", b"value", own);
            batch.delete_range(with, &Bounds::all());
            batch.delete_range(with, &Bounds::from(b"a".to_vec()..b"b".to_vec()));
        }
        batch.put(with, b"put", b"value");
        expected.put_with_expiry(with, b"put", b"value", default);
        let found = batch.with_default_expiry(|space| (space == with).then_some(default));
        assert_eq!((found.len(), found.payload()), (expected.len(), expected.payload()));
        let bytes = |batch: Batch| batch.freeze(SeqNo(1)).bytes().to_vec();
        assert_eq!(bytes(found), bytes(expected));
    }
}
