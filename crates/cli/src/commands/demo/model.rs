//! [`Model`]: the expected contents of a key space, to compare the store with. It holds, by key, a
//! digest of 128 bits of each value, so it needs memory for the keys and not for the values.
//!
//! [`Model::put`] and [`Model::delete`] set the expected contents. [`Model::read_all`] gets each
//! key, and [`Model::scan_all`] scans the key space; both fail with [`Kind::Corruption`] at the
//! first difference.

use std::collections::BTreeMap;

use terrace::{Bounds, KeySpace};
use xxhash_rust::xxh3::xxh3_128;

use crate::escape::Escaped;
use crate::failure::{Failure, Kind};
use crate::progress::Progress;

/// The expected contents of a key space.
#[derive(Default)]
pub(super) struct Model {
    digests: BTreeMap<Vec<u8>, u128>,
}

impl Model {
    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) {
        self.digests.insert(key.to_vec(), xxh3_128(value));
    }

    pub(super) fn delete(&mut self, key: &[u8]) {
        self.digests.remove(key);
    }

    pub(super) fn len(&self) -> u64 {
        self.digests.len() as u64
    }

    pub(super) fn keys(&self) -> Vec<Vec<u8>> {
        self.digests.keys().cloned().collect()
    }

    /// Gets every key; returns the number of right values, which is all of them.
    pub(super) fn read_all(&self, space: &KeySpace) -> Result<u64, Failure> {
        let progress = Progress::pieces("reading back", self.len());
        for (key, digest) in &self.digests {
            let value = space.get(key)?;
            compare(key, Some(*digest), value.as_deref())?;
            progress.add(1);
        }
        Ok(self.len())
    }

    /// Scans the space from end to end; returns how many keys it has, which are those of the
    /// model, in the same order and with the same values.
    pub(super) fn scan_all(&self, space: &KeySpace) -> Result<u64, Failure> {
        let progress = Progress::pieces("scanning", self.len());
        let mut expected = self.digests.iter();
        for entry in space.scan(Bounds::all())? {
            let (key, value) = entry?;
            match expected.next() {
                Some((next, digest)) if **next == *key => {
                    compare(&key, Some(*digest), Some(&value))?
                }
                Some((next, digest)) if **next < *key => compare(next, Some(*digest), None)?,
                _ => compare(&key, None, Some(&value))?,
            }
            progress.add(1);
        }
        match expected.next() {
            Some((key, digest)) => compare(key, Some(*digest), None).map(|()| 0),
            None => Ok(self.len()),
        }
    }
}

fn compare(key: &[u8], expected: Option<u128>, found: Option<&[u8]>) -> Result<(), Failure> {
    let digest = found.map(xxh3_128);
    if digest == expected {
        return Ok(());
    }
    let show = |digest: Option<u128>| digest.map_or("nothing".to_owned(), |d| format!("{d:032x}"));
    let (key, expected, digest) = (Escaped(key), show(expected), show(digest));
    Err(Failure::new(
        Kind::Corruption,
        format!("`{key}`: expected a value of digest {expected}, found {digest}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_missing_wrong_or_too_much_is_corruption() {
        let right = Some(xxh3_128(b"value"));
        assert!(compare(b"k", right, Some(b"value")).is_ok());
        assert!(compare(b"k", None, None).is_ok());
        for (expected, found) in
            [(right, None), (right, Some(&b"valu"[..])), (None, Some(&b"value"[..]))]
        {
            let failure = compare(b"k", expected, found).unwrap_err();
            assert_eq!(failure.kind, Kind::Corruption);
        }
    }
}
