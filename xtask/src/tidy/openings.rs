//! Check of the first words of doc comments, heads included: a comment begins with the name of its
//! subject, not with a clause that stands for it.
//!
//! "What a compaction reads." leaves open what kind of thing that is; "Inputs of a compaction."
//! says it. The words of [`OPENINGS`] are refused as the first word of a comment.

use std::path::Path;

use super::finding::Finding;

/// Words that a doc comment does not begin with.
const OPENINGS: [&str; 3] = ["What", "Who", "That"];

/// Checks a Rust source.
pub(crate) fn check(path: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_comment = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let Some(words) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            in_comment = false;
            continue;
        };
        let first = words.split_whitespace().next().unwrap_or_default();
        if !in_comment && OPENINGS.contains(&first) {
            let expected = "a doc comment that begins with its subject";
            findings.push(Finding::new(path, index + 1, expected, format!("`{first} ...`")));
        }
        in_comment = true;
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(Path::new("a.rs"), text).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_comment_that_begins_with_a_clause_for_its_subject_is_found() {
        for word in OPENINGS {
            assert_eq!(lines(&format!("//! {word} it is for.\n")), [1], "{word}");
            assert_eq!(
                lines(&format!("fn f() {{}}\n    /// {word} a job reads.\n")),
                [2],
                "{word}"
            );
        }
    }

    #[test]
    fn other_comments_and_later_lines_are_not_found() {
        assert!(lines("/// Inputs of a job.\n/// What it writes is not among them.\n").is_empty());
        assert!(lines("// What follows is slow.\n/// Whatever is left.\n").is_empty());
    }
}
