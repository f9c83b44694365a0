//! [`Chain`]: the entries of one key that a read combines to its value: its operands, and the base
//! below them.
//!
//! The caller gives the entries newest first, and only those that the reader sees: none that is too
//! new, and none that a range tombstone hides. After the base, no more are taken. If the caller
//! finds no further entry, there is no base.
//!
//! A plain value.

use bytes::Bytes;
use terrace_env::Date;

use super::operator::{MergeKey, MergeRefused, Operator};
use crate::expiry::{Shown, has_expired};

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Chain {
    /// Newest first.
    operands: Vec<Bytes>,
    /// Below the operands: the value of a put; `Some(None)` for an entry that hides older ones.
    base: Option<Option<Shown>>,
}

impl Chain {
    /// Adds the next older operand.
    pub(crate) fn push(&mut self, operand: Bytes) {
        debug_assert!(self.base.is_none(), "operands are newer than the base");
        self.operands.push(operand);
    }

    /// Ends it with the value of a put, unless that had expired at `date`.
    pub(crate) fn end_with(&mut self, base: Shown, date: Date) {
        debug_assert!(self.base.is_none(), "a chain has one base");
        let is_seen = base.expiry.is_none_or(|expiry| !has_expired(expiry, date));
        self.base = Some(is_seen.then_some(base));
    }

    /// Ends it with an entry that hides older ones: a delete, or a range tombstone.
    pub(crate) fn end_deleted(&mut self) {
        debug_assert!(self.base.is_none(), "a chain has one base");
        self.base = Some(None);
    }

    /// Whether its base is known.
    pub(crate) fn is_ended(&self) -> bool {
        self.base.is_some()
    }

    /// The combined value, and its expiry: once the base has expired, the operands count without
    /// it.
    pub(crate) fn combine(
        self,
        operator: &Operator,
        key: MergeKey<'_>,
    ) -> Result<Shown, MergeRefused> {
        let base = self.base.flatten();
        let expiry = base.as_ref().and_then(|base| base.expiry);
        let base = base.map(|base| Vec::from(base.value));
        let operands = self.operands.iter().rev().map(|operand| &operand[..]);
        let value = operator.fold(key, base, operands)?.into();
        Ok(Shown { value, expiry })
    }
}

#[cfg(test)]
mod tests {
    use super::super::append::Append;
    use super::*;

    const KEY: MergeKey<'_> = MergeKey { key_space: "default", key: b"k" };

    fn chain(newest_first: &[&'static str]) -> Chain {
        let mut chain = Chain::default();
        newest_first.iter().for_each(|operand| chain.push(Bytes::from_static(operand.as_bytes())));
        chain
    }

    fn combined(chain: Chain) -> (String, Option<Date>) {
        let Shown { value, expiry } =
            chain.combine(&Operator::new(Append::new(b"+")), KEY).unwrap();
        (String::from_utf8(value.to_vec()).unwrap(), expiry)
    }

    fn base(expiry: Option<Date>) -> Shown {
        Shown { value: Bytes::from_static(b"base"), expiry }
    }

    #[test]
    fn operands_apply_to_the_base_from_the_oldest_to_the_newest() {
        let mut with_base = chain(&["c", "b", "a"]);
        assert!(!with_base.is_ended());
        with_base.end_with(base(None), Date(7));
        assert!(with_base.is_ended());
        assert_eq!(combined(with_base), ("base+a+b+c".into(), None));
    }

    #[test]
    fn without_a_base_the_operands_count_alone() {
        assert_eq!(combined(chain(&["b", "a"])), ("a+b".into(), None), "the end of the store");
        let mut deleted = chain(&["a"]);
        deleted.end_deleted();
        assert_eq!(combined(deleted), ("a".into(), None));
    }

    #[test]
    fn a_base_counts_until_it_expires_and_the_value_changes_then() {
        let mut alive = chain(&["a"]);
        alive.end_with(base(Some(Date(8))), Date(7));
        assert_eq!(combined(alive), ("base+a".into(), Some(Date(8))));
        let mut expired = chain(&["a"]);
        expired.end_with(base(Some(Date(7))), Date(7));
        assert!(expired.is_ended(), "it still hides what is older");
        assert_eq!(combined(expired), ("a".into(), None));
    }
}
