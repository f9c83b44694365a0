//! Goldens: files of this crate that results of tests are compared with, byte by byte.
//! `TERRACE_REGENERATE=1` writes them anew.

use std::path::PathBuf;

/// A file of this crate.
pub(crate) fn file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Whether files are to be written.
pub(crate) fn regenerates() -> bool {
    terrace_env::regenerates_goldens()
}

/// Compares with a golden, or writes it.
pub(crate) fn check(path: &str, actual: &str) {
    let at = file(path);
    if regenerates() {
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::write(&at, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&at).unwrap_or_else(|e| panic!("{path}: {e}"));
    assert!(expected == actual, "{path}: run with TERRACE_REGENERATE=1 if this is meant");
}
