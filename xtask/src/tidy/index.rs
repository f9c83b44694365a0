//! Check of `lib.rs` and `mod.rs`: they are tables of contents, made of documentation, `mod` lines,
//! `use` lines and `extern crate` lines. A module with a body is a finding there, even one of
//! tests: it gets a file of its own.

use std::path::Path;

use syn::Item;
use syn::spanned::Spanned;

use super::finding::Finding;

/// Whether the rule applies to a file.
pub(crate) fn is_index(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "lib.rs" || name == "mod.rs")
}

/// Finds whatever is not a module line or a re-export.
pub(crate) fn check(path: &Path, file: &syn::File) -> Vec<Finding> {
    let contents = |item: &&Item| match item {
        Item::Use(_) | Item::ExternCrate(_) => true,
        Item::Mod(module) => module.content.is_none(),
        _ => false,
    };
    let misplaced = file.items.iter().filter(|item| !contents(item));
    misplaced
        .map(|item| {
            Finding::new(
                path,
                item.span().start().line,
                "nothing but documentation, `mod` lines and `use` lines in a lib.rs or mod.rs",
                format!("{}; give it a file of its own", kind(item)),
            )
        })
        .collect()
}

fn kind(item: &Item) -> &'static str {
    match item {
        Item::Const(_) | Item::Static(_) => "a constant",
        Item::Enum(_) | Item::Struct(_) | Item::Union(_) | Item::Type(_) => "a type",
        Item::Fn(_) => "a function",
        Item::Impl(_) => "an implementation",
        Item::Macro(_) => "a macro",
        Item::Mod(_) => "a module with a body",
        Item::Trait(_) | Item::TraitAlias(_) => "a trait",
        _ => "an item",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let file = syn::parse_file(text).unwrap();
        check(Path::new("src/lib.rs"), &file).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn code_in_an_index_is_found_with_its_line() {
        assert_eq!(
            findings("//! Docs.\nmod a;\npub use a::A;\n\nfn stray() {}\n"),
            ["src/lib.rs:5: expected nothing but documentation, `mod` lines and `use` lines in a \
              lib.rs or mod.rs, found a function; give it a file of its own"]
        );
        assert_eq!(findings("mod tests { fn f() {} }").len(), 1);
        assert_eq!(findings("impl A {}\nstruct A;").len(), 2);
    }

    #[test]
    fn a_table_of_contents_is_fine() {
        let text = "//! Docs.\n#![warn(x)]\n/// A.\n#[cfg(unix)]\npub mod a;\npub use a::A;\n";
        assert!(findings(text).is_empty());
        assert!(is_index(Path::new("a/mod.rs")) && !is_index(Path::new("a/main.rs")));
    }
}
