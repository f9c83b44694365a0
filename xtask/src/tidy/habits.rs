//! Check of comments and pages for habits that make them hard to read, such as `behind` for order
//! and `nobody` for a subject. [`HABITS`] has the forms, each with its mend.
//!
//! A comment is a line of a Rust source that begins with `//`; a page is a file in Markdown. Words
//! count in small and capital letters, and a form may go on from one line to the next.
//!
//! Code is not read, in spans or in blocks, and neither are headings. Other clauses that stand for
//! a noun ("what the load leaves") are not found.

use std::path::Path;

use super::finding::Finding;

/// Forms that are refused, as words in small letters, and the words to use instead.
const HABITS: [(&str, &str); 18] = [
    ("behind", "`after`, `next` or `at the end of`; `late` for work that lags"),
    ("beside", "`next to`, `with` or `compared with`"),
    ("besides", "`in addition to` or `except`"),
    ("nobody", "the subject, such as `no reader`"),
    ("somebody", "the subject, such as `another process`"),
    ("anybody", "the subject, such as `any reader`"),
    ("everybody", "the subject, such as `all writers`"),
    ("under way", "`in flight` or `running`"),
    ("so many", "the number, such as `n blocks`"),
    ("so much", "the number, such as `n bytes`"),
    ("in vain", "`without success` or `for nothing`"),
    ("what is", A_NOUN),
    ("what was", A_NOUN),
    ("what are", A_NOUN),
    ("what were", A_NOUN),
    ("what it", A_NOUN),
    ("what they", A_NOUN),
    ("what has", A_NOUN),
];

const A_NOUN: &str = "a noun instead of the clause";

/// Checks a Rust source.
pub(crate) fn check_rust(path: &Path, text: &str) -> Vec<Finding> {
    let comments = text.lines().map(|line| {
        let words = line.trim_start().strip_prefix("//")?;
        Some(words.trim_start_matches(['/', '!']))
    });
    check(path, comments)
}

/// Checks a page in Markdown.
pub(crate) fn check_page(path: &Path, text: &str) -> Vec<Finding> {
    check(path, text.lines().map(Some))
}

/// Checks lines of text; `None` stands for a line of something else, which ends a paragraph.
fn check<'a>(path: &Path, lines: impl Iterator<Item = Option<&'a str>>) -> Vec<Finding> {
    let words = words(lines);
    let mut findings = Vec::new();
    for (habit, mend) in HABITS {
        let form: Vec<&str> = habit.split(' ').collect();
        for found in words.windows(form.len()) {
            if found.iter().map(|(_, word)| &**word).eq(form.iter().copied()) {
                findings.push(Finding::new(path, found[0].0, mend, format!("`{habit}`")));
            }
        }
    }
    findings
}

/// The words of all paragraphs in small letters, with their lines. An empty word stands between
/// paragraphs and in the place of code.
fn words<'a>(lines: impl Iterator<Item = Option<&'a str>>) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    let (mut in_block, mut in_span) = (false, false);
    for (index, line) in lines.enumerate() {
        let text = line.map_or("", str::trim);
        let is_border = text.starts_with("```");
        in_block = line.is_some() && in_block != is_border;
        if in_block || is_border || text.is_empty() || text.starts_with('#') {
            in_span = false;
            words.push((index + 1, String::new()));
            continue;
        }
        for (at, part) in text.split('`').enumerate() {
            if at > 0 {
                in_span = !in_span;
                words.push((index + 1, String::new()));
            }
            let part = part.split(|c: char| c.is_whitespace() || c == '|');
            let part = part.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
            let part = part.filter(|word| !in_span && !word.is_empty());
            words.extend(part.map(|word| (index + 1, word.to_lowercase())));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Vec<String> {
        check_page(Path::new("a.md"), text).iter().map(ToString::to_string).collect()
    }

    fn rust(text: &str) -> Vec<usize> {
        check_rust(Path::new("a.rs"), text).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn each_form_is_found_with_its_mend() {
        for (form, mend) in HABITS {
            let expected = format!("a.md:1: expected {mend}, found `{form}`");
            assert_eq!(page(&format!("Blocks, {form}, blocks.\n")), [expected]);
        }
    }

    #[test]
    fn a_form_is_found_in_each_kind_of_comment_and_over_the_end_of_a_line() {
        assert_eq!(rust("//! Behind it.\nfn f() {}\n/// A read under\n/// way.\n"), [1, 3]);
        assert_eq!(rust("fn f() {\n    // Nobody waits.\n}\n"), [2]);
        assert_eq!(
            page("| a | What is it |\n"),
            ["a.md:1: expected a noun instead of the clause, found `what is`"]
        );
        assert_eq!(page("Of `code\nin` two lines, so\nmany.\n").len(), 1);
    }

    #[test]
    fn code_headings_and_other_words_are_not_found() {
        assert!(rust("let behind = \"nobody\";\n").is_empty());
        assert!(rust("/// Reads `behind`, and under\nfn way() {}\n").is_empty());
        assert!(rust("/// ```\n/// let beside = behind;\n/// ```\n").is_empty());
        assert!(page("## What it is\n\nAn underway ship.\n").is_empty());
        assert!(page("It goes under\n\nway.\n").is_empty());
    }
}
