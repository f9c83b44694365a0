//! Leaves the comment lines out of a Rust source, so that a hash of the rest does not change with
//! them.
//!
//! A comment line begins with `//`, after any blanks. Everything else counts as code, also empty
//! lines, block comments and comments after code.
//!
//! Known flaw: a line of a string literal that begins with `//` is taken for a comment.

/// The lines of a source that are no comments, each with its end.
pub(crate) fn code_lines(source: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_code = |line: &&[u8]| !line.trim_ascii_start().starts_with(b"//");
    source.split_inclusive(|byte| *byte == b'\n').filter(is_code)
}

#[cfg(test)]
mod tests {
    use super::code_lines;

    fn code(source: &str) -> String {
        String::from_utf8(code_lines(source.as_bytes()).collect::<Vec<_>>().concat()).unwrap()
    }

    #[test]
    fn comments_do_not_count_and_everything_else_does() {
        let source =
            "//! A head.\n\nuse a;\n/// Words.\nfn b() {\n    // More.\n    c(); // why\n}";
        let code_of_source = "\nuse a;\nfn b() {\n    c(); // why\n}";
        assert_eq!(code(source), code_of_source);
        assert_eq!(code(&source.replace("More", "Other").replace("Words", "Or two")), code(source));
        for changed in [("c()", "d()"), ("why", "because"), ("use a", "use b"), ("\n\n", "\n")] {
            assert_ne!(code(&source.replace(changed.0, changed.1)), code(source), "{changed:?}");
        }
        assert_eq!(code("a / b\n/ c\n\t//\r\n"), "a / b\n/ c\n");
        assert_eq!(code(""), "");
    }
}
