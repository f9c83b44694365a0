//! Check of device layouts: code outside `crates/zone` and `crates/fs/src/space` asks methods of
//! `Layout` and `Geometry`, and does not tell the layouts apart itself. So a new layout is added in
//! these two places.
//!
//! The variants are read from the enum itself, in [`LAYOUT`]. A finding is a variant that is named
//! (`Layout::Plain`), in a pattern, an expression or the arguments of a macro, and a `use` that
//! takes variants out of the enum or renames it. Tests may do so: items under `#[cfg(test)]`,
//! files of a folder `tests`, and files named `fuzz.rs` or with an end in `tests.rs`. So may the
//! files of [`EXCEPTIONS`]; one that names no variant any more is a finding.

use std::collections::BTreeSet;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Item, Macro, UseTree};

use super::finding::Finding;
use super::order::is_for_tests;

/// The file of the enum.
const LAYOUT: &str = "crates/zone/src/layout.rs";
/// The name of the enum.
const NAME: &str = "Layout";

/// Folders that know what each layout means.
const OWNERS: [&str; 2] = ["crates/zone", "crates/fs/src/space"];

/// Files that name variants, and why.
const EXCEPTIONS: [(&str, &str); 1] =
    [("crates/fs/src/superblock/codec.rs", "the format has a number for each layout")];

/// Checks all Rust sources of the workspace.
pub(crate) fn check(sources: &[(&Path, &str)]) -> Vec<Finding> {
    let layout = sources.iter().find(|(path, _)| *path == Path::new(LAYOUT));
    let variants = layout.map_or_else(BTreeSet::new, |(_, text)| variants(text));
    if variants.is_empty() {
        let expected = format!("the variants of an enum `{NAME}`");
        return vec![Finding::new(Path::new(LAYOUT), 1, expected, "none")];
    }
    let others = sources
        .iter()
        .filter(|(path, _)| !is_test(path) && !OWNERS.iter().any(|owner| path.starts_with(owner)));
    let mut findings = Vec::new();
    for (path, text) in others {
        let found = check_file(path, text, &variants);
        let exception = EXCEPTIONS.iter().find(|(file, _)| *path == Path::new(file));
        match exception {
            None => findings.extend(found),
            Some((_, reason)) if found.is_empty() => {
                let expected = format!("a variant of `{NAME}` ({reason}), or no exception");
                findings.push(Finding::new(path, 1, expected, "none"));
            }
            Some(_) => {}
        }
    }
    findings
}

fn is_test(path: &Path) -> bool {
    let is_folder = path.iter().any(|part| part == "tests");
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    is_folder || name.ends_with("tests.rs") || name == "fuzz.rs"
}

fn variants(text: &str) -> BTreeSet<String> {
    // A source that is not Rust is a finding of another check.
    let Ok(file) = syn::parse_file(text) else { return BTreeSet::new() };
    let mut enums = file.items.iter().filter_map(|item| match item {
        Item::Enum(item) if item.ident == NAME => Some(item),
        _ => None,
    });
    let variants = enums.next().into_iter().flat_map(|item| &item.variants);
    variants.map(|variant| variant.ident.to_string()).collect()
}

fn check_file(path: &Path, text: &str, variants: &BTreeSet<String>) -> Vec<Finding> {
    let Ok(file) = syn::parse_file(text) else { return Vec::new() };
    let mut visitor = Visitor { path, variants, findings: Vec::new() };
    visitor.visit_file(&file);
    visitor.findings
}

struct Visitor<'a> {
    path: &'a Path,
    variants: &'a BTreeSet<String>,
    findings: Vec<Finding>,
}

impl Visitor<'_> {
    fn report(&mut self, span: proc_macro2::Span, found: &str) {
        let expected = format!("a method of `{NAME}` or `Geometry`");
        self.findings.push(Finding::new(self.path, span.start().line, expected, found));
    }

    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for token in &tokens {
            if let TokenTree::Group(group) = token {
                self.tokens(group.stream());
            }
        }
        for four in tokens.windows(4) {
            if let [TokenTree::Ident(name), one, other, TokenTree::Ident(variant)] = four
                && name == NAME
                && [one, other].iter().all(|mark| mark.to_string() == ":")
                && self.variants.contains(&variant.to_string())
            {
                self.report(name.span(), &format!("`{NAME}::{variant}`"));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_use_tree(&mut self, tree: &'ast UseTree) {
        match tree {
            UseTree::Path(path) if path.ident == NAME => {
                self.report(path.ident.span(), &format!("a `use` below `{NAME}`"));
            }
            UseTree::Rename(rename) if rename.ident == NAME => {
                self.report(rename.ident.span(), &format!("`{NAME}` under another name"));
            }
            _ => visit::visit_use_tree(self, tree),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Vec<String> = path.segments.iter().map(|one| one.ident.to_string()).collect();
        if let [.., name, variant] = &words[..]
            && name == NAME
            && self.variants.contains(variant)
        {
            self.report(path.span(), &format!("`{NAME}::{variant}`"));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENUM: &str = "pub enum Layout {\n    Zoned,\n    Tracks(u32),\n}\n";

    fn findings(path: &str, text: &str) -> Vec<String> {
        let sources = [(Path::new(LAYOUT), ENUM), (Path::new(path), text)];
        check(&sources).iter().map(ToString::to_string).collect()
    }

    fn lines(text: &str) -> usize {
        findings("crates/cli/src/a.rs", text).len()
    }

    #[test]
    fn a_layout_that_is_told_by_name_is_found_with_its_line() {
        assert_eq!(
            findings(
                "crates/cli/src/a.rs",
                "fn f(a: Layout) {\n    match a {\n        \
                Layout::Zoned => {}\n        _ => {}\n    }\n}"
            ),
            ["crates/cli/src/a.rs:3: expected a method of `Layout` or `Geometry`, found \
              `Layout::Zoned`"]
        );
        assert_eq!(lines("fn f() { if let zone::Layout::Tracks(t) = layout {} }"), 1);
        assert_eq!(lines("fn f() -> bool { layout == Layout::Zoned }"), 1);
        assert_eq!(lines("fn f() { matches!(layout, Some(Layout::Tracks(_)) | None) }"), 1);
        assert_eq!(lines("use terrace_zone::Layout::{Tracks, Zoned};"), 1);
        assert_eq!(lines("use terrace_zone::{Device, Layout::*};"), 1);
        assert_eq!(lines("use terrace_zone::Layout as Kind;"), 1);
    }

    #[test]
    fn methods_and_other_layouts_are_no_finding() {
        assert_eq!(lines("use terrace_zone::{Device, Layout};"), 0);
        assert_eq!(lines("fn f(a: Layout) -> bool { a.is_zoned() }"), 0);
        assert_eq!(lines("fn f() { [1].map(Layout::is_plain); Layout::vertical([1]) }"), 0);
        assert_eq!(lines("// Layout::Zoned\nfn f() { \"Layout::Zoned\"; TableLayout::new() }"), 0);
    }

    #[test]
    fn owners_tests_and_exceptions_may_name_layouts() {
        let text = "fn f() -> Layout { Layout::Zoned }";
        assert_eq!(findings("crates/fs/src/superblock/area.rs", text).len(), 1);
        for path in [
            "crates/zone/src/emulator/image.rs",
            "crates/fs/src/space/plain/guard.rs",
            "crates/fs/tests/it/a.rs",
            "crates/fs/src/a/tests.rs",
            "crates/fs/src/a/fuzz.rs",
            EXCEPTIONS[0].0,
        ] {
            assert_eq!(findings(path, text).len(), 0, "{path}");
        }
        assert_eq!(lines(&format!("#[cfg(test)]\nmod tests {{ {text} }}")), 0);
        let stale = findings(EXCEPTIONS[0].0, "fn f() {}");
        assert!(stale[0].ends_with("or no exception, found none"), "{stale:?}");
    }

    #[test]
    fn a_workspace_without_the_enum_is_found() {
        assert_eq!(check(&[(Path::new("crates/cli/src/a.rs"), "fn f() {}")]).len(), 1);
    }
}
