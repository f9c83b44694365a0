//! [`MergeOperator`]: combines operands, as implemented by a client. [`Operator`]: the one of an
//! opening.
//!
//! - If an operator panics, that counts as a refusal: no read and no job ends by it.
//! - A combination that is longer than the limit of a value counts as refused.
//!
//! Any thread; readers and jobs call an operator from several threads at once, and hold no lock.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::append::Append;
use super::counter::Counter;
use crate::key::VALUE_BYTES_MAX;

/// A key whose operands are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeKey<'a> {
    /// The name of its key space.
    pub key_space: &'a str,
    /// The user key.
    pub key: &'a [u8],
}

/// Combines values with operands: the operands of a key are written one by one, and read as one
/// value.
///
/// It is *associative*: with `a * b` for the combination of an older `a` with a newer `b`, and with
/// nothing for `a` if the key had no value, `(a * b) * c` is `a * (b * c)`. The store groups
/// operands in any way, and keeps their order. The result depends only on the arguments.
pub trait MergeOperator: Send + Sync {
    /// Its name, of 1 to 255 bytes. The store remembers it from the first operand on, and is not
    /// opened with an operator of another name. An operator that combines in another way needs
    /// another name.
    fn name(&self) -> &str;

    /// Combines an older value or operand with the next newer operand of a key. `older` may be
    /// changed in place and returned; `None`: there is no older one.
    ///
    /// A refusal, for example of bytes that are no operand, makes reads of the key fail until it is
    /// written again. Jobs keep the operands as they are.
    fn merge(
        &self,
        key: MergeKey<'_>,
        older: Option<Vec<u8>>,
        newer: &[u8],
    ) -> Result<Vec<u8>, MergeRefused>;

    /// Checks an operand before it is written. A refusal makes the write fail, so that no read
    /// meets the operand. By default each is taken.
    fn check(&self, _key: MergeKey<'_>, _operand: &[u8]) -> Result<(), MergeRefused> {
        Ok(())
    }
}

/// Reason for which an operator refuses an operand, or to combine, as text for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MergeRefused(pub String);

impl From<String> for MergeRefused {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}

impl From<&str> for MergeRefused {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

/// The merge operator of an opening. Two are equal if they are the same object.
#[derive(Clone)]
pub struct Operator(Arc<dyn MergeOperator>);

impl Operator {
    /// An operator that readers and jobs share.
    pub fn new(operator: impl MergeOperator + 'static) -> Self {
        Self(Arc::new(operator))
    }

    /// The shipped operator of a name; `None` if there is none.
    pub(crate) fn shipped(name: &str) -> Option<Self> {
        if name == Counter::NAME {
            return Some(Self::new(Counter));
        }
        Append::named(name).map(Self::new)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Combines a base with operands, oldest first.
    pub(crate) fn fold<'a>(
        &self,
        key: MergeKey<'_>,
        base: Option<Vec<u8>>,
        operands: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Vec<u8>, MergeRefused> {
        let mut value = base;
        for operand in operands {
            let combined = self.merge(key, value.take(), operand)?;
            if combined.len() > VALUE_BYTES_MAX {
                let got = combined.len();
                let reason = format!("a combination of {got} bytes is longer than a value may be");
                return Err(MergeRefused(reason));
            }
            value = Some(combined);
        }
        Ok(value.unwrap_or_default())
    }

    /// Checks an operand that is to be written.
    pub(crate) fn check(&self, key: MergeKey<'_>, operand: &[u8]) -> Result<(), MergeRefused> {
        called(|| self.0.check(key, operand))
    }

    fn merge(
        &self,
        key: MergeKey<'_>,
        older: Option<Vec<u8>>,
        newer: &[u8],
    ) -> Result<Vec<u8>, MergeRefused> {
        called(|| self.0.merge(key, older, newer))
    }
}

/// Result of a call of a client's operator. The call cannot reach the store, so a panic leaves
/// nothing half done.
fn called<T>(call: impl FnOnce() -> Result<T, MergeRefused>) -> Result<T, MergeRefused> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err("it panicked".into()))
}

impl From<Arc<dyn MergeOperator>> for Operator {
    fn from(operator: Arc<dyn MergeOperator>) -> Self {
        Self(operator)
    }
}

impl PartialEq for Operator {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Operator {}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operator({:?})", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken;

    impl MergeOperator for Broken {
        fn name(&self) -> &str {
            "broken"
        }

        fn merge(
            &self,
            _: MergeKey<'_>,
            older: Option<Vec<u8>>,
            newer: &[u8],
        ) -> Result<Vec<u8>, MergeRefused> {
            match newer {
                b"panic" => panic!("as asked"),
                b"grow" => Ok(vec![0; VALUE_BYTES_MAX + 1]),
                _ => Ok([older.unwrap_or_default(), newer.to_vec()].concat()),
            }
        }
    }

    #[test]
    fn a_panic_and_a_result_that_is_too_long_are_refusals() {
        let operator = Operator::new(Broken);
        let key = MergeKey { key_space: "default", key: b"k" };
        let fold = |operands: [&[u8]; 2]| operator.fold(key, None, operands.into_iter());
        assert_eq!(fold([b"a", b"b"]).unwrap(), b"ab", "from the oldest to the newest");
        assert_eq!(fold([b"a", b"panic"]).unwrap_err(), "it panicked".into());
        let error = fold([b"grow", b"b"]).unwrap_err();
        assert!(error.0.contains("longer than a value"), "{error}");
        let shipped = |name| Operator::shipped(name).map(|shipped| shipped.name().to_owned());
        for name in [Counter::NAME, "terrace.append:,"] {
            assert_eq!(shipped(name).as_deref(), Some(name));
        }
        assert_eq!(shipped("broken"), None);
        assert_eq!(operator, operator.clone());
        assert_ne!(operator, Operator::new(Broken));
    }
}
