//! [`Append`]: an operator that joins byte strings.

use super::operator::{MergeKey, MergeOperator, MergeRefused};

/// Appends operands to the value, oldest first, with a separator between them. A key without a
/// value begins with its first operand.
///
/// Its name has the separator, so that a store is not opened with another one.
#[derive(Clone, Debug)]
pub struct Append {
    separator: Vec<u8>,
    name: String,
}

impl Append {
    /// An operator with this separator, which may be empty. One of more than 32 bytes makes a name
    /// that may be too long.
    #[must_use]
    pub fn new(separator: &[u8]) -> Self {
        let name = format!("terrace.append:{}", separator.escape_ascii());
        Self { separator: separator.to_vec(), name }
    }

    /// The operator of a name; `None` for another name.
    pub(super) fn named(name: &str) -> Option<Self> {
        let mut rest = name.strip_prefix("terrace.append:")?.bytes();
        let mut separator = Vec::new();
        while let Some(byte) = rest.next() {
            separator.push(match byte {
                b'\\' => match rest.next()? {
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'n' => b'\n',
                    b'x' => {
                        let mut digit = || char::from(rest.next()?).to_digit(16);
                        (digit()? * 16 + digit()?) as u8
                    }
                    other => other,
                },
                other => other,
            });
        }
        let append = Self::new(&separator);
        (append.name == name).then_some(append)
    }
}

impl MergeOperator for Append {
    fn name(&self) -> &str {
        &self.name
    }

    fn merge(
        &self,
        _: MergeKey<'_>,
        older: Option<Vec<u8>>,
        newer: &[u8],
    ) -> Result<Vec<u8>, MergeRefused> {
        let Some(mut joined) = older else { return Ok(newer.to_vec()) };
        joined.extend_from_slice(&self.separator);
        joined.extend_from_slice(newer);
        Ok(joined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_joined_by_the_separator_and_grouped_as_one_likes() {
        let comma = Append::new(b", ");
        assert_eq!(comma.name(), "terrace.append:, ");
        let key = MergeKey { key_space: "default", key: b"k" };
        let join = |older: Option<Vec<u8>>, newer: &[u8]| comma.merge(key, older, newer).unwrap();
        let all = join(Some(join(None, b"a")), b"b");
        let all = join(Some(all), b"c");
        assert_eq!(all, b"a, b, c");
        let newer = join(Some(b"b".to_vec()), b"c");
        assert_eq!(join(Some(b"a".to_vec()), &newer), all);
    }

    #[test]
    fn a_name_leads_back_to_the_separator() {
        let all: Vec<u8> = (0..=255).collect();
        for separator in [&b""[..], b", ", b"\\x\n\"'", &all] {
            let append = Append::new(separator);
            let named = Append::named(append.name()).unwrap();
            assert_eq!((named.separator, named.name), (separator.to_vec(), append.name));
        }
        for other in ["terrace.append", "terrace.append:\\x4", "terrace.append:\\x41", "other"] {
            assert!(Append::named(other).is_none(), "{other}");
        }
    }
}
