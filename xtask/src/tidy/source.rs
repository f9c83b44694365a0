//! Check of Rust sources: findings are lints silenced by `allow` (`expect` is accepted), unfinished
//! code (`todo!`, `unimplemented!`), tests that are ignored and that no chore runs, and reads of
//! the variable that writes goldens, except for the one in [`GOLDENS`].
//!
//! The check reads the syntax tree, so a word in a comment or a string is no finding. In the
//! arguments of macro calls it looks at the tokens, for unfinished code.

use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Macro, Meta};

use super::finding::Finding;

/// Checks one parsed file.
pub(crate) fn check(path: &Path, file: &syn::File) -> Vec<Finding> {
    let mut visitor = Visitor { path, findings: Vec::new() };
    visitor.visit_file(file);
    visitor.findings
}

struct Visitor<'a> {
    path: &'a Path,
    findings: Vec<Finding>,
}

impl Visitor<'_> {
    fn report(&mut self, span: proc_macro2::Span, expected: &str, found: &str) {
        self.findings.push(Finding::new(self.path, span.start().line, expected, found));
    }

    /// Looks for an `allow` among the attributes that a `cfg_attr` brings, and for unfinished code
    /// in the arguments of a macro.
    fn visit_tokens(&mut self, tokens: TokenStream, in_attribute: bool) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) => self.visit_tokens(group.stream(), in_attribute),
                TokenTree::Ident(word) if in_attribute && word == "allow" => {
                    self.report(word.span(), EXPECT, "`allow`");
                }
                TokenTree::Ident(word)
                    if is_unfinished(&word) && tokens.peek().is_some_and(is_bang) =>
                {
                    self.report(word.span(), FINISHED, &format!("`{word}!`"));
                }
                _ => {}
            }
        }
    }
}

/// The reasons of ignored tests, and what runs the tests.
const IGNORED: [(&str, &str); 3] = [
    ("needs root and a loop device", "`block_devices` of `suite.rs`"),
    ("needs block devices, whose data are lost", "`guest/work`"),
    ("needs a process without other threads, and gets it by the test of both", "a test"),
];

/// The files that may name [`REGENERATE`]: the first reads it for tests, and refuses it in CI.
const GOLDENS: [&str; 3] =
    ["crates/env/src/goldens.rs", "xtask/src/main.rs", "xtask/src/tidy/source.rs"];
const REGENERATE: &str = "TERRACE_REGENERATE";

const EXPECT: &str = "`#[expect(lint, reason = \"...\")]`, which says when it is no longer needed";
const FINISHED: &str = "finished code, or a typed error";

fn is_bang(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(mark) if mark.as_char() == '!')
}

fn is_unfinished(word: &proc_macro2::Ident) -> bool {
    word == "todo" || word == "unimplemented"
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let name = attribute.path().get_ident();
        let span = attribute.pound_token.span;
        if name.is_some_and(|name| name == "allow") {
            self.report(span, EXPECT, "`allow`");
        }
        if name.is_some_and(|name| name == "ignore") && matches!(attribute.meta, Meta::Path(_)) {
            self.report(span, "a reason: `#[ignore = \"...\"]`", "a test ignored without a word");
        }
        if name.is_some_and(|name| name == "ignore")
            && let Meta::NameValue(reason) = &attribute.meta
            && let Expr::Lit(ExprLit { lit: Lit::Str(reason), .. }) = &reason.value
            && IGNORED.iter().all(|(known, _)| *known != reason.value())
        {
            let expected =
                "a reason of the list in `tidy/source.rs`, which says what runs the test";
            self.report(span, expected, &format!("{:?}", reason.value()));
        }
        if let (Some(name), Meta::List(list)) = (name, &attribute.meta)
            && name == "cfg_attr"
        {
            self.visit_tokens(list.tokens.clone(), true);
        }
        visit::visit_attribute(self, attribute);
    }

    fn visit_lit_str(&mut self, text: &'ast LitStr) {
        if text.value() == REGENERATE && GOLDENS.iter().all(|file| !self.path.ends_with(file)) {
            let expected = "a call of `terrace_env::regenerates_goldens`";
            self.report(text.span(), expected, REGENERATE);
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        if let Some(last) = call.path.segments.last().map(|segment| &segment.ident)
            && is_unfinished(last)
        {
            self.report(last.span(), FINISHED, &format!("`{last}!`"));
        }
        self.visit_tokens(call.tokens.clone(), false);
        visit::visit_macro(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let file = syn::parse_file(text).unwrap();
        check(Path::new("a.rs"), &file).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn silenced_lints_are_found() {
        assert_eq!(lines("#[allow(dead_code)]\nfn f() {}"), [1]);
        assert_eq!(lines("#![allow(dead_code)]\nfn f() {}"), [1]);
        assert_eq!(lines("#[cfg_attr(\n    test,\n    allow(dead_code)\n)]\nfn f() {}"), [3]);
        assert_eq!(lines("fn f() {\n    #[allow(unused)]\n    let a = 1;\n}"), [2]);
    }

    #[test]
    fn unfinished_code_is_found_also_inside_macro_calls() {
        assert_eq!(lines("fn f() {\n    todo!()\n}"), [2]);
        assert_eq!(lines("fn f() {\n    std::unimplemented!(\"x\");\n}"), [2]);
        assert_eq!(lines("fn f() {\n    assert!(\n        todo!()\n    );\n}"), [3]);
    }

    #[test]
    fn goldens_are_written_by_one_switch() {
        let text = "fn f() -> bool {\n    std::env::var_os(\"TERRACE_REGENERATE\").is_some()\n}";
        assert_eq!(lines(text), [2]);
        let file = syn::parse_file(text).unwrap();
        assert!(check(Path::new(GOLDENS[0]), &file).is_empty());
    }

    #[test]
    fn a_test_is_not_ignored_without_a_reason() {
        assert_eq!(lines("#[test]\n#[ignore]\nfn f() {}"), [2]);
        assert_eq!(lines("#[test]\n#[ignore = \"an hour\"]\nfn f() {}"), [2]);
        let runs = "#[test]\n#[ignore = \"needs root and a loop device\"]\nfn f() {}";
        assert!(lines(runs).is_empty());
    }

    #[test]
    fn words_in_comments_strings_and_names_are_no_finding() {
        let text = "// todo!() and #[allow(x)]\nfn todo() { let allow = \"#[allow(x)] todo!()\"; }";
        assert!(lines(text).is_empty());
        assert!(lines("#[expect(dead_code, reason = \"allow\")]\nfn f() {}").is_empty());
    }
}
