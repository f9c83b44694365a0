//! [`Rights`]: the buckets that a key may read or write. A right to write is one to read, too. The
//! name `*` stands for all buckets that have no entry of their own.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Access of a request to a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Need {
    /// Nothing is allowed: takes a bucket out of the rights for all others.
    None,
    /// It reads.
    Read,
    /// It changes the bucket, or objects in it.
    Write,
}

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Rights(BTreeMap<String, Need>);

impl Rights {
    /// All buckets, for writing.
    #[must_use]
    pub fn all() -> Self {
        Self(BTreeMap::from([("*".to_owned(), Need::Write)]))
    }

    /// Whether a request is allowed.
    #[must_use]
    pub fn allow(&self, bucket: &str, need: Need) -> bool {
        let has = self.0.get(bucket).or_else(|| self.0.get("*"));
        has.is_some_and(|has| *has >= need)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_of_its_own_goes_before_all_others() {
        let rights = Rights(BTreeMap::from([
            ("*".to_owned(), Need::Read),
            ("photos".to_owned(), Need::Write),
            ("secret".to_owned(), Need::None),
        ]));
        assert!(rights.allow("photos", Need::Write) && rights.allow("photos", Need::Read));
        assert!(rights.allow("music", Need::Read) && !rights.allow("music", Need::Write));
        assert!(!rights.allow("secret", Need::Read));
        assert!(!Rights::default().allow("photos", Need::Read));
    }
}
