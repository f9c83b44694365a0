//! [`Keys`]: the access keys, with their secrets and rights, from a file or the environment.
//!
//! The file is TOML:
//!
//! ```toml
//! [[key]]
//! access = "backup"
//! secret = "at least sixteen characters"
//! buckets = { nightly = "write", "*" = "read" }
//! ```
//!
//! - A file that others than its owner and group may read is refused.
//! - Secrets have at least 16 characters. They are in no message.
//! - Without keys, every request is taken that is not signed, with all rights.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use s3s::auth::SecretKey;
use serde::Deserialize;

use super::rights::Rights;

/// Least characters of a secret.
const SECRET_MIN: usize = 16;
/// Rights of others in the mode of a file.
const OTHERS: u32 = 0o007;

/// Reason why there are no keys.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The file cannot be read.
    #[error("{0}: cannot read the keys: {1}")]
    Io(PathBuf, io::Error),
    /// The file is no list of keys.
    #[error("the file of keys: {0}")]
    Syntax(String),
    /// Others may read the file.
    #[error(
        "the file of keys: expected one that only its owner and group may read, found the \
             mode {0:03o}; `chmod o= FILE` changes it"
    )]
    Open(u32),
    /// Half of a key is in the environment.
    #[error("the variable {expected}: expected the other half of the key in {found}, found none")]
    Half {
        /// The missing variable.
        expected: &'static str,
        /// The variable that is there.
        found: &'static str,
    },
    /// A key is unfit.
    #[error("the key {0:?}: expected {1}")]
    Unfit(String, &'static str),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    key: Vec<ListedKey>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListedKey {
    access: String,
    secret: String,
    buckets: Rights,
}

/// See the [module](self).
#[derive(Default)]
pub struct Keys(BTreeMap<String, (SecretKey, Rights)>);

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Keys {
    /// Keys of a file.
    pub fn read(path: &Path) -> Result<Self, KeysError> {
        let failed = |error| KeysError::Io(path.to_owned(), error);
        let mut file = File::open(path).map_err(failed)?;
        let mode = file.metadata().map_err(failed)?.mode();
        if mode & OTHERS != 0 {
            return Err(KeysError::Open(mode & 0o777));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        Self::parse(&text)
    }

    /// Keys in a text.
    pub fn parse(text: &str) -> Result<Self, KeysError> {
        // The error itself may show a line with a secret.
        let syntax = |error: toml::de::Error| KeysError::Syntax(error.message().to_owned());
        let listed: Listed = toml::from_str(text).map_err(syntax)?;
        let mut keys = Self::default();
        for key in listed.key {
            keys.add(key.access, key.secret, key.buckets)?;
        }
        if keys.is_empty() {
            return Err(KeysError::Syntax("expected at least one [[key]]".into()));
        }
        Ok(keys)
    }

    /// The key in two variables, by their names and values; no keys if neither is there. One of
    /// them alone is an error: the server would have no keys, and its owner expects some.
    pub(crate) fn of_variables(
        (access, secret): (&'static str, &'static str),
        values: (Option<String>, Option<String>),
    ) -> Result<Self, KeysError> {
        let mut keys = Self::default();
        match values {
            (None, None) => {}
            (Some(name), Some(value)) => keys.add(name, value, Rights::all())?,
            (Some(_), None) => return Err(KeysError::Half { expected: secret, found: access }),
            (None, Some(_)) => return Err(KeysError::Half { expected: access, found: secret }),
        }
        Ok(keys)
    }

    /// Adds a key.
    pub fn add(&mut self, access: String, secret: String, rights: Rights) -> Result<(), KeysError> {
        if access.is_empty() {
            return Err(KeysError::Unfit(access, "a name"));
        }
        if secret.chars().count() < SECRET_MIN {
            return Err(KeysError::Unfit(access, "a secret of at least 16 characters"));
        }
        if self.0.contains_key(&access) {
            return Err(KeysError::Unfit(access, "each key once"));
        }
        self.0.insert(access, (secret.into(), rights));
        Ok(())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Secret and rights of a key.
    pub(super) fn find(&self, access: &str) -> Option<&(SecretKey, Rights)> {
        self.0.get(access)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Need;

    #[test]
    fn half_a_key_in_the_environment_is_an_error_and_not_a_server_without_keys() {
        let of = |access: Option<&str>, secret: Option<&str>| {
            let values = (access.map(str::to_owned), secret.map(str::to_owned));
            Keys::of_variables(("ACCESS", "SECRET"), values)
        };
        assert!(of(None, None).unwrap().is_empty());
        assert!(of(Some("a"), Some("0123456789abcdef")).unwrap().find("a").is_some());
        for (half, missing) in
            [(of(Some("a"), None), "SECRET"), (of(None, Some("0123456789abcdef")), "ACCESS")]
        {
            let message = half.unwrap_err().to_string();
            assert!(message.starts_with(&format!("the variable {missing}:")), "{message}");
        }
    }

    #[test]
    fn a_file_gives_keys_and_an_unfit_one_an_error_without_its_secret() {
        let keys = Keys::parse(
            "[[key]]\naccess = 'a'\nsecret = '0123456789abcdef'\nbuckets = { x = 'write' }",
        )
        .unwrap();
        let (secret, rights) = keys.find("a").unwrap();
        assert_eq!(secret.expose(), "0123456789abcdef");
        assert!(rights.allow("x", Need::Write) && !rights.allow("y", Need::Read));
        for wrong in [
            "",
            "key = []",
            "[[key]]\naccess = 'a'\nsecret = 'hushhush'\nbuckets = {}",
            "[[key]]\naccess = 'a'\nsecret = 'hushhushhushhush'\nbuckets = { x = 'all' }",
            "[[key]]\naccess = 'a'\nsecret = 'hushhushhushhush'\nbuckets = {}\nmore = 1",
        ] {
            let message = Keys::parse(wrong).unwrap_err().to_string();
            assert!(!message.contains("hush"), "{message}");
        }
    }
}
