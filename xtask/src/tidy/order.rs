//! Check of imports between the modules of a crate: they point downward, in the order that the
//! crate's head states.
//!
//! The order is a numbered list under the heading `# Order` in the head of `lib.rs`. Each line
//! names modules of the crate's root in backquotes. A module may import from the modules of its own
//! line and of later lines. A module that no line names, a name that is no module, and a name in
//! two lines are findings. A crate without that heading is not checked.
//!
//! An import is a path that begins with `crate` or leaves the module by `super`, in a `use` or
//! elsewhere, also in the arguments of a macro. A name that the root re-exports counts as an import
//! of the module that it comes from. Code for tests (`#[cfg(test)]`) and for documentation alone
//! (`#[cfg(doc)]`) may import from anywhere, and a link in a comment is no import.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, Meta, UseTree};

use super::finding::Finding;

/// The heading of the list.
const HEADING: &str = "//! # Order";

/// Checks all crates among these Rust sources that state an order.
pub(crate) fn check(sources: &[(&Path, &str)]) -> Vec<Finding> {
    let heads = sources.iter().filter(|(path, text)| {
        path.ends_with("src/lib.rs") && text.lines().any(|line| line == HEADING)
    });
    heads.flat_map(|(head, text)| check_crate(head, text, sources)).collect()
}

fn check_crate(head: &Path, text: &str, sources: &[(&Path, &str)]) -> Vec<Finding> {
    // A source that is not Rust is a finding of another check.
    let Ok(root) = syn::parse_file(text) else { return Vec::new() };
    let order = Order::read(text);
    let mut findings = order.check(head, &root);
    let names = Names::of(&root);
    let folder = head.parent().unwrap_or(head);
    let files: Vec<(&Path, Vec<String>, syn::File)> = sources
        .iter()
        .filter_map(|(path, text)| {
            let module = module_of(path.strip_prefix(folder).ok()?)?;
            Some((*path, module, syn::parse_file(text).ok()?))
        })
        .collect();
    let tests: BTreeSet<Vec<String>> =
        files.iter().flat_map(|(_, module, file)| test_modules(module, file)).collect();
    for (path, module, file) in &files {
        if (1..=module.len()).any(|end| tests.contains(&module[..end])) {
            continue;
        }
        let Some(from) = module.first() else { continue };
        let mut visitor = Visitor { module: module.clone(), names: &names, found: Vec::new() };
        visitor.visit_file(file);
        for (line, to) in visitor.found {
            if order.is_upward(from, &to) {
                let expected =
                    format!("`{from}` to import from its own line of the order or below");
                findings.push(Finding::new(path, line, expected, format!("`{to}`, above it")));
            }
        }
    }
    findings
}

/// The lines of the order.
struct Order {
    /// Each name with its line in the file and its place in the list, in the order of the text.
    names: Vec<(String, usize, usize)>,
}

impl Order {
    fn read(text: &str) -> Self {
        let lines = text.lines().enumerate().skip_while(|(_, line)| *line != HEADING).skip(1);
        let lines = lines.take_while(|(_, line)| line.starts_with("//!") && !line.contains("# "));
        let (mut names, mut place) = (Vec::new(), 0);
        for (at, line) in lines {
            let line = line.trim_start_matches("//!").trim_start();
            let number = line.bytes().take_while(u8::is_ascii_digit).count();
            if number > 0 && line[number..].starts_with(". ") {
                place += 1;
            } else if place == 0 || line.is_empty() {
                continue;
            }
            let quoted = line.split('`').skip(1).step_by(2);
            names.extend(quoted.map(|name| (name.to_owned(), at + 1, place)));
        }
        Self { names }
    }

    fn place(&self, module: &str) -> Option<usize> {
        self.names.iter().find(|(name, ..)| name == module).map(|(_, _, place)| *place)
    }

    fn is_upward(&self, from: &str, to: &str) -> bool {
        self.place(from).zip(self.place(to)).is_some_and(|(from, to)| to < from)
    }

    /// Compares the list with the modules that there are.
    fn check(&self, head: &Path, root: &syn::File) -> Vec<Finding> {
        let mut findings = Vec::new();
        let modules = || modules(&root.items).filter(|module| !is_for_tests(&module.attrs));
        for module in modules() {
            if self.place(&module.ident.to_string()).is_none() {
                let (line, expected) = (module.span().start().line, "a module in the order");
                findings.push(Finding::new(head, line, expected, format!("`{}`", module.ident)));
            }
        }
        let mut seen = BTreeSet::new();
        for (name, line, _) in &self.names {
            if !modules().any(|module| module.ident == name) {
                findings.push(Finding::new(
                    head,
                    *line,
                    "the name of a module",
                    format!("`{name}`"),
                ));
            } else if !seen.insert(name) {
                let found = format!("`{name}` again");
                findings.push(Finding::new(head, *line, "each module once", found));
            }
        }
        findings
    }
}

/// Names that can follow `crate::`, each with its module of the root.
struct Names(BTreeMap<String, String>);

impl Names {
    fn of(root: &syn::File) -> Self {
        let mut names: BTreeMap<String, String> = modules(&root.items)
            .map(|module| (module.ident.to_string(), module.ident.to_string()))
            .collect();
        for item in &root.items {
            let Item::Use(item) = item else { continue };
            for path in paths(&item.tree) {
                let path = if path[0] == "crate" { &path[1..] } else { &path[..] };
                if let [module, .., name] = path
                    && names.contains_key(module)
                {
                    names.insert(name.clone(), module.clone());
                }
            }
        }
        Self(names)
    }
}

/// Finds the imports of a file.
struct Visitor<'a> {
    /// Module that is being visited.
    module: Vec<String>,
    names: &'a Names,
    /// Lines, and modules of the root that they import from.
    found: Vec<(usize, String)>,
}

impl Visitor<'_> {
    fn path(&mut self, line: usize, path: &[String]) {
        let ups = path.iter().take_while(|word| *word == "super").count();
        let path = match path.first().map(String::as_str) {
            Some("crate") => &path[1..],
            Some("super") if ups >= self.module.len() => &path[ups..],
            _ => return,
        };
        let module = path.first().and_then(|name| self.names.0.get(name));
        self.found.extend(module.map(|module| (line, module.clone())));
    }

    fn tokens(&mut self, tokens: TokenStream) {
        let mut words: Vec<(usize, String)> = Vec::new();
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    self.words(&mut words);
                    self.tokens(group.stream());
                }
                TokenTree::Ident(word) => {
                    // Two words without a mark in between are no path.
                    if words.last().is_some_and(|(_, last)| last != ":") {
                        self.words(&mut words);
                    }
                    words.push((word.span().start().line, word.to_string()));
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => words.push((0, ":".to_owned())),
                TokenTree::Punct(_) | TokenTree::Literal(_) => self.words(&mut words),
            }
        }
        self.words(&mut words);
    }

    /// Takes the words of a path that has ended.
    fn words(&mut self, words: &mut Vec<(usize, String)>) {
        words.retain(|(_, word)| word != ":");
        if let Some((line, _)) = words.first().cloned() {
            let path: Vec<String> = words.drain(..).map(|(_, word)| word).collect();
            self.path(line, &path);
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

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        for path in paths(&item.tree) {
            self.path(item.span().start().line, &path);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Vec<String> = path.segments.iter().map(|one| one.ident.to_string()).collect();
        self.path(path.span().start().line, &words);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

fn modules(items: &[Item]) -> impl Iterator<Item = &ItemMod> {
    items.iter().filter_map(|item| match item {
        Item::Mod(module) => Some(module),
        _ => None,
    })
}

/// Whether an item is there for tests or for documentation alone.
pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            matches!(list.tokens.to_string().as_str(), "test" | "doc")
        }
        _ => false,
    })
}

/// Modules below `module` that are compiled for tests alone.
fn test_modules(module: &[String], file: &syn::File) -> Vec<Vec<String>> {
    let tests = modules(&file.items).filter(|module| is_for_tests(&module.attrs));
    tests.map(|test| [module, &[test.ident.to_string()]].concat()).collect()
}

/// The module that a file is, below `src`; `None` for a program of its own.
fn module_of(path: &Path) -> Option<Vec<String>> {
    let path: PathBuf = path.with_extension("");
    let mut module: Vec<String> =
        path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    match module.last().map(String::as_str) {
        Some("main") | None => None,
        Some("mod" | "lib") => {
            module.pop();
            Some(module)
        }
        Some(_) => Some(module),
    }
}

/// The paths that a `use` names.
fn paths(tree: &UseTree) -> Vec<Vec<String>> {
    let below = |name: &syn::Ident, paths: Vec<Vec<String>>| -> Vec<Vec<String>> {
        paths.into_iter().map(|path| [vec![name.to_string()], path].concat()).collect()
    };
    match tree {
        UseTree::Path(path) => below(&path.ident, paths(&path.tree)),
        UseTree::Name(name) => vec![vec![name.ident.to_string()]],
        UseTree::Rename(name) => vec![vec![name.ident.to_string()]],
        UseTree::Glob(_) => vec![Vec::new()],
        UseTree::Group(group) => group.items.iter().flat_map(paths).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "//! A crate.\n//!\n//! # Order\n//! Downward.\n//!\n//! 1. `top`\n\
        //! 2. `left`, `right`\n//! 3. `base`\n\nmod base;\nmod left;\nmod right;\nmod top;\n\n\
        pub use base::Error;\npub use top::{Engine, Other};\n";

    fn findings(head: &str, files: &[(&str, &str)]) -> Vec<String> {
        let mut sources = vec![(Path::new("c/src/lib.rs"), head)];
        sources.extend(files.iter().map(|(path, text)| (Path::new(path), *text)));
        check(&sources).iter().map(ToString::to_string).collect()
    }

    fn lines(path: &str, text: &str) -> usize {
        findings(HEAD, &[(path, text)]).len()
    }

    #[test]
    fn an_import_that_points_up_is_found_with_its_line() {
        assert_eq!(
            findings(HEAD, &[("c/src/base/disk.rs", "use std::fmt;\nuse crate::left::Left;\n")]),
            ["c/src/base/disk.rs:2: expected `base` to import from its own line of the order or \
              below, found `left`, above it"]
        );
        assert_eq!(lines("c/src/base.rs", "use crate::{Error, top::{a, b}};"), 2);
        assert_eq!(lines("c/src/base.rs", "fn f() { crate::top::run() }"), 1);
        assert_eq!(lines("c/src/base.rs", "fn f(e: &crate::top::Engine) {}"), 1);
        assert_eq!(lines("c/src/base.rs", "fn f() { assert!(1 == crate::top::run()) }"), 1);
        assert_eq!(lines("c/src/base/mod.rs", "use super::top::run;"), 1);
        assert_eq!(lines("c/src/base/disk.rs", "use super::super::top::run;"), 1);
    }

    #[test]
    fn a_name_of_the_root_counts_as_its_module() {
        assert_eq!(lines("c/src/base.rs", "use crate::Engine;"), 1);
        assert_eq!(lines("c/src/right.rs", "use crate::{Error, Other};"), 1);
        assert_eq!(lines("c/src/right.rs", "use crate::Error;"), 0);
    }

    #[test]
    fn imports_downward_and_within_a_line_are_fine() {
        assert_eq!(lines("c/src/top.rs", "use crate::{base, left, right};"), 0);
        assert_eq!(lines("c/src/left/a.rs", "use crate::right::R;\nuse super::b::B;"), 0);
        assert_eq!(lines("c/src/base/disk.rs", "use super::top::run;"), 0, "`base::top`");
        assert_eq!(lines("c/tests/it/main.rs", "use crate::top::run;"), 0);
    }

    #[test]
    fn tests_may_import_from_anywhere() {
        assert_eq!(lines("c/src/base.rs", "#[cfg(test)]\nmod tests { use crate::top::run; }"), 0);
        assert_eq!(lines("c/src/base.rs", "#[cfg(doc)]\nuse crate::top::run;"), 0);
        let base = ("c/src/base/mod.rs", "#[cfg(test)]\nmod specimens;");
        let specimens = ("c/src/base/specimens.rs", "use crate::top::run;");
        assert!(findings(HEAD, &[base, specimens]).is_empty());
    }

    #[test]
    fn the_list_names_each_module_once() {
        let without = HEAD.replace("`left`, ", "");
        assert!(findings(&without, &[])[0].contains("found `left`"));
        let unknown = HEAD.replace("`left`", "`left`, `middle`");
        assert!(findings(&unknown, &[])[0].contains("the name of a module, found `middle`"));
        let twice = HEAD.replace("`base`", "`base`, `left`");
        assert!(findings(&twice, &[])[0].contains("found `left` again"));
    }

    #[test]
    fn a_crate_without_an_order_is_not_checked() {
        let head = HEAD.replace("# Order", "Order");
        assert!(findings(&head, &[("c/src/base.rs", "use crate::top::run;")]).is_empty());
    }
}
