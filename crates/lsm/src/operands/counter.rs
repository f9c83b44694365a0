//! [`Counter`]: an operator that adds 64-bit numbers.

use super::operator::{MergeKey, MergeOperator, MergeRefused};

/// Adds numbers of 64 bits, little-endian, in two's complement. A sum that leaves their range wraps
/// around, so that the order in which operands are added never matters. A value or an operand of
/// another length than 8 bytes is refused.
///
/// A key without a value counts from 0, and the value of a counter can be put like any other one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter;

impl Counter {
    /// The name in stores.
    pub const NAME: &'static str = "terrace.counter";

    /// The bytes of a number, as an operand that adds it or as a value.
    #[must_use]
    pub fn bytes(number: i64) -> [u8; 8] {
        number.to_le_bytes()
    }

    /// The number of a value; `None` for a value of another length.
    #[must_use]
    pub fn number(value: &[u8]) -> Option<i64> {
        value.try_into().ok().map(i64::from_le_bytes)
    }
}

impl MergeOperator for Counter {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn merge(
        &self,
        _: MergeKey<'_>,
        older: Option<Vec<u8>>,
        newer: &[u8],
    ) -> Result<Vec<u8>, MergeRefused> {
        let newer = number(newer, "an operand")?;
        let Some(mut older) = older else { return Ok(newer.to_le_bytes().to_vec()) };
        let sum = number(&older, "a number")?.wrapping_add(newer);
        older.copy_from_slice(&sum.to_le_bytes());
        Ok(older)
    }

    fn check(&self, _: MergeKey<'_>, operand: &[u8]) -> Result<(), MergeRefused> {
        number(operand, "an operand").map(drop)
    }
}

fn number(bytes: &[u8], what: &str) -> Result<i64, MergeRefused> {
    let refused = || format!("expected {what} of 8 bytes, found {}", bytes.len());
    Counter::number(bytes).ok_or_else(|| MergeRefused(refused()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(older: Option<&[u8]>, newer: &[u8]) -> Result<Option<i64>, MergeRefused> {
        let key = MergeKey { key_space: "default", key: b"k" };
        let sum = Counter.merge(key, older.map(<[u8]>::to_vec), newer)?;
        Ok(Counter::number(&sum))
    }

    #[test]
    fn numbers_are_added_and_wrap_around() {
        let bytes = Counter::bytes;
        assert_eq!(add(None, &bytes(-3)), Ok(Some(-3)));
        assert_eq!(add(Some(&bytes(5)), &bytes(-8)), Ok(Some(-3)));
        assert_eq!(add(Some(&bytes(i64::MAX)), &bytes(1)), Ok(Some(i64::MIN)));
        assert_eq!(bytes(258)[..3], [2, 1, 0], "little-endian");
    }

    #[test]
    fn bytes_that_are_no_number_are_refused() {
        for (older, newer) in [(None, &b"short"[..]), (Some(&b"long value"[..]), &[0; 8])] {
            let error = add(older, newer).unwrap_err();
            assert!(error.0.contains("8 bytes"), "{error}");
        }
        let check = |operand| Counter.check(MergeKey { key_space: "default", key: b"k" }, operand);
        assert_eq!(check(&[0; 8]), Ok(()));
        assert!(check(b"short").is_err(), "before it is written");
        assert_eq!(Counter::number(b""), None);
    }
}
