//! Golden specimens: encoded bytes that are kept in `tests/golden`, so that a test notices when the
//! format changes. [`specimen`] and [`readable_specimen`] return the kept bytes.
//!
//! [`specimen`] panics unless the bytes that the code writes now equal the kept ones.
//! [`readable_specimen`] does not compare them: it is for bytes of a compression library, whose
//! next version may write others. With `TERRACE_REGENERATE` in the environment, both first write
//! the specimen again. [`damaged`] makes damaged copies of a specimen, and [`survives`] tests a
//! decoder with them. [`kept`] gives all specimens of one kind.

use std::path::{Path, PathBuf};

use crate::Error;

/// The kept specimen, after checking that `written` is the same.
pub(crate) fn specimen(name: &str, written: &[u8]) -> Vec<u8> {
    let kept = readable_specimen(name, written);
    assert!(kept == written, "{name} is not written as it was; see docs/format before you agree");
    kept
}

/// The kept specimen, which must stay readable for ever. The bytes of a newer library may differ.
pub(crate) fn readable_specimen(name: &str, written: &[u8]) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if terrace_env::regenerates_goldens() {
        std::fs::write(&path, written).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The kept specimens whose names begin with `prefix`.
pub(crate) fn kept(prefix: &str) -> Vec<Vec<u8>> {
    terrace_fuzz::specimens_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden"), prefix)
}

/// The specimen with each of its bits flipped in turn, and cut at every length.
pub(crate) fn damaged(specimen: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> + '_ {
    let flipped = (0..specimen.len() * 8).map(|bit| {
        let mut bytes = specimen.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        (format!("bit {bit}"), bytes)
    });
    let cut = (0..specimen.len()).map(|len| (format!("length {len}"), specimen[..len].to_vec()));
    flipped.chain(cut)
}

/// Tests that every damaged specimen is refused or decodes to a value that encodes to itself.
pub(crate) fn survives<T>(
    bytes: &[u8],
    decode: impl Fn(&[u8]) -> Result<T, Error>,
    encode: fn(&T) -> Vec<u8>,
) {
    assert_eq!(encode(&decode(bytes).unwrap()), bytes);
    for (what, specimen) in damaged(bytes) {
        if let Ok(record) = decode(&specimen) {
            assert_eq!(encode(&record), specimen, "{what}");
            assert!(what.starts_with("bit"), "{what}");
        }
    }
    assert!(decode(&[bytes, &[0]].concat()).is_err());
}
