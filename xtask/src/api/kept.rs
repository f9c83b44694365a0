//! The file of a version: `crates/terrace/api/MAJOR.MINOR.txt`, the public items of the library
//! that all releases of this version keep.
//!
//! As cargo compares versions, 0.1.0 and 0.1.5 are compatible, and 0.2.0 is not. So a release 0.1.x
//! may add items to the file of 0.1. An item that is removed or changed needs version 0.2, which
//! has a file of its own.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::bail;

/// Differences between a file and the code.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Differences<'a> {
    /// In the file, not in the code.
    removed: Vec<&'a str>,
    /// In the code, not in the file.
    added: Vec<&'a str>,
}

impl<'a> Differences<'a> {
    pub(super) fn between(kept: &'a str, found: &'a BTreeSet<String>) -> Self {
        let lines: BTreeSet<&str> = kept.lines().collect();
        let found_lines: BTreeSet<&str> = found.iter().map(String::as_str).collect();
        Self {
            removed: lines.difference(&found_lines).copied().collect(),
            added: found_lines.difference(&lines).copied().collect(),
        }
    }

    /// Refuses a code that lacks items, whether new items are to be written down or not.
    pub(super) fn keep(&self, path: &str, version: &str) -> anyhow::Result<()> {
        if self.removed.is_empty() {
            return Ok(());
        }
        bail!(
            "{path}: expected every item of version {version}, found {} removed or changed:\n{}\
             new:\n{}A program that uses them does not build any more. Keep them, or raise the \
             version in Cargo.toml to the next one that is not compatible",
            self.removed.len(),
            listed("-", &self.removed),
            listed("+", &self.added),
        );
    }

    /// Refuses items that are not written down.
    pub(super) fn know(&self, path: &str) -> anyhow::Result<()> {
        if self.added.is_empty() {
            return Ok(());
        }
        bail!(
            "{path}: found {} items that are not in it:\n{}If they are meant to be public: `cargo \
             xtask api --write`",
            self.added.len(),
            listed("+", &self.added),
        );
    }
}

fn listed(mark: &str, lines: &[&str]) -> String {
    lines.iter().fold(String::new(), |mut text, line| {
        writeln!(text, "  {mark} {line}").expect("a string takes any text");
        text
    })
}

/// The part of a version that compatible versions share: the first number that is not zero, and
/// those before it.
pub(super) fn compatible(version: &str) -> String {
    let numbers: Vec<&str> = version.split(['.', '-', '+']).take(3).collect();
    let first = numbers.iter().position(|number| *number != "0").unwrap_or(numbers.len() - 1);
    // 1.x is kept by one file, 0.1.x by another.
    numbers[..=first].join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_item_needs_another_version_and_a_new_one_needs_a_line() {
        let found: BTreeSet<String> = ["a", "c"].map(str::to_owned).into();
        let both = Differences::between("a\nb\n", &found);
        assert_eq!(both, Differences { removed: vec!["b"], added: vec!["c"] });
        let error = both.keep("0.1.txt", "0.1").unwrap_err().to_string();
        assert!(error.contains("1 removed or changed:\n  - b\nnew:\n  + c\n"), "{error}");
        let more = Differences::between("a\n", &found);
        more.keep("0.1.txt", "0.1").unwrap();
        let error = more.know("0.1.txt").unwrap_err().to_string();
        assert!(error.contains("found 1 items that are not in it:\n  + c\n"), "{error}");
        Differences::between("a\nc\n", &found).know("0.1.txt").unwrap();
    }

    #[test]
    fn versions_are_compatible_as_cargo_says() {
        for (version, expected) in [
            ("0.1.0", "0.1"),
            ("0.1.7", "0.1"),
            ("0.0.3", "0.0.3"),
            ("1.4.2", "1"),
            ("0.2.0-rc", "0.2"),
        ] {
            assert_eq!(compatible(version), expected, "{version}");
        }
    }
}
