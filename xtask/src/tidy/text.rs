//! Check of texts, without regard to syntax. A Rust source must begin with a head, and have at most
//! 800 lines of at most 100 columns. A text file must not have the marks of unfinished work in
//! [`MARKS`], which count as words of their own, nor the paths and words in [`STRANGERS`], which
//! are found anywhere in a line.

use std::path::Path;

use super::finding::Finding;

/// Past 500 lines a file usually has a second subject; past this it is not a matter of taste.
const LINES_MAX: usize = 800;

/// The width that rustfmt keeps in code, for the comments and strings that it leaves alone.
const COLUMNS_MAX: usize = 100;

/// Marks of work put off. Written in two halves, so that this file is not its own finding.
const MARKS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// Paths of somebody's machine, and words about how a text came to be.
const STRANGERS: [&str; 6] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/tm", "p/"),
    concat!("/wo", "rk/"),
    concat!("this se", "ssion"),
];

/// Checks a Rust source.
pub(crate) fn check_rust(path: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !text.starts_with("//!") {
        let first = text.lines().next().unwrap_or_default();
        findings.push(Finding::new(
            path,
            1,
            "`//!` and what the module is for",
            format!("`{first}`"),
        ));
    }
    let lines = text.lines().count();
    if lines > LINES_MAX {
        let expected = format!("at most {LINES_MAX} lines");
        findings.push(Finding::new(path, LINES_MAX + 1, expected, format!("{lines} lines")));
    }
    for (number, line) in numbered(text) {
        let columns = line.chars().count();
        if columns > COLUMNS_MAX {
            let expected = format!("at most {COLUMNS_MAX} columns");
            findings.push(Finding::new(path, number, expected, format!("{columns} columns")));
        }
    }
    findings
}

/// Checks a file of any kind.
pub(crate) fn check_any(path: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in numbered(text) {
        if let Some(mark) = MARKS.iter().find(|mark| has_word(line, mark)) {
            let expected = "the work itself, or an issue";
            findings.push(Finding::new(path, number, expected, format!("`{mark}`")));
        }
        if let Some(stranger) = STRANGERS.iter().find(|stranger| line.contains(*stranger)) {
            let expected = "words that mean something to every reader";
            findings.push(Finding::new(path, number, expected, format!("`{stranger}`")));
        }
    }
    findings
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// Whether `word` stands in `line` by itself, not as part of a longer one.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(at, _)| {
        !part(line[..at].chars().next_back()) && !part(line[at + word.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(text: &str) -> Vec<String> {
        check_rust(Path::new("a.rs"), text).iter().map(ToString::to_string).collect()
    }

    fn any(text: &str) -> Vec<String> {
        check_any(Path::new("a.md"), text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_module_without_a_head_is_found() {
        assert_eq!(
            rust("use std::fmt;\n"),
            ["a.rs:1: expected `//!` and what the module is for, found `use std::fmt;`"]
        );
        assert!(rust("//! Docs.\n").is_empty());
    }

    #[test]
    fn long_files_and_long_lines_are_found() {
        let line = format!("//! {}\n", "x".repeat(96));
        assert!(rust(&line.repeat(800)).is_empty());
        assert_eq!(
            rust(&line.repeat(801)),
            ["a.rs:801: expected at most 800 lines, found 801 lines"]
        );
        let wide = format!("//! Docs.\n// {}\n", "é".repeat(98));
        assert_eq!(rust(&wide), ["a.rs:2: expected at most 100 columns, found 101 columns"]);
    }

    #[test]
    fn marks_of_work_put_off_are_found_as_words_only() {
        for mark in MARKS {
            assert_eq!(any(&format!("first\n// {mark}: later")).len(), 1, "{mark}");
            assert!(any(&format!("{mark}RAW my{mark} _{mark}")).is_empty(), "{mark}");
        }
    }

    #[test]
    fn words_that_belong_to_one_machine_are_found() {
        for stranger in STRANGERS {
            let found = any(&format!("see {stranger}x"));
            assert_eq!(found.len(), 1, "{stranger}");
            assert!(found[0].starts_with("a.md:1: expected words"), "{found:?}");
        }
        assert!(any("see /usr/share and ./docs").is_empty());
    }
}
