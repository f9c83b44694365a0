//! Check of names: files and directories are named after their subject.
//!
//! Names such as `util` and `common` ([`DRAWERS`]) are refused: such a file collects parts that
//! have no subject in common. They are also refused as a word of a longer name, as in
//! `common_types` or `io-utils`: underscores and hyphens divide a name into words. The check looks
//! at Rust files and the directories on their paths.

use std::ffi::OsStr;
use std::path::Path;

use super::finding::Finding;

const DRAWERS: [&str; 11] = [
    "util", "utils", "common", "helper", "helpers", "types", "traits", "misc", "manager",
    "managers", "stuff",
];

/// Checks the names of a Rust file and of the directories it lies in.
pub(crate) fn check(path: &Path) -> Option<Finding> {
    let parts = path.with_extension("");
    let drawer = parts
        .iter()
        .filter_map(OsStr::to_str)
        .find(|part| part.split(['_', '-']).any(|word| DRAWERS.contains(&word)))?;
    Some(Finding::new(path, 1, "a file named after its subject", format!("`{drawer}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawers_are_found_as_file_as_directory_and_as_part_of_a_name() {
        for path in [
            "crates/fs/src/util.rs",
            "crates/common/src/lib.rs",
            "src/zone_manager.rs",
            "crates/io-utils/src/lib.rs",
        ] {
            assert!(check(Path::new(path)).is_some(), "{path}");
        }
        assert_eq!(check(Path::new("crates/env/src/store/contract.rs")), None);
    }
}
