//! `docs/parameters.md` is the parameters that the rows of systems declare.
//!
//! `TERRACE_REGENERATE=1 cargo test -p terrace-cli parameters_page` writes the page anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::program::Place;

const HEAD: &str = "\
# Parameters of the systems

`--system NAME:PARAMETER=VALUE,...` gives a system other parameters than its own, each at most \
once. `terrace systems NAME` prints those of one system. This page is made from the declarations \
in `crates/policy/src/systems`: `TERRACE_REGENERATE=1 cargo test -p terrace-cli parameters_page`.

| parameter | meaning | systems and their own values | range |
|---|---|---|---|
";

/// A parameter, and the systems that have it by the value that they have of their own.
#[derive(Default)]
struct Entry {
    meaning: String,
    range: String,
    systems: BTreeMap<String, Vec<String>>,
}

/// A value of a parameter that is derived from the size of the store.
const FITTED: &str = "fitted to the store";

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

/// A range with its words as code, since a word such as `beside` is a name here.
fn range(expected: &str) -> String {
    let Some(words) = expected.strip_prefix("one of ") else { return expected.to_owned() };
    let words: Vec<String> = words.split(", ").map(|word| format!("`{word}`")).collect();
    format!("one of {}", words.join(", "))
}

fn page() -> String {
    let list = Place::new().json(&["systems"]);
    let systems = list["systems"].as_array().expect("systems");
    let mut entries = BTreeMap::<String, Entry>::new();
    for system in systems {
        for parameter in system["parameters"].as_array().expect("parameters") {
            let entry = entries.entry(text(&parameter["name"])).or_default();
            entry.meaning = text(&parameter["meaning"]);
            entry.range = range(&text(&parameter["expected"]));
            let value = parameter["value"].as_str().unwrap_or(FITTED).to_owned();
            entry.systems.entry(value).or_default().push(format!("`{}`", text(&system["name"])));
        }
    }
    let mut page = HEAD.to_owned();
    for (name, Entry { meaning, range, systems: having }) in entries {
        let count: usize = having.values().map(Vec::len).sum();
        let mut having: Vec<(String, Vec<String>)> = having.into_iter().collect();
        having.sort_by_key(|(_, names)| names.len());
        let last = having.len() - 1;
        let values = having.iter().enumerate().map(|(at, (value, names))| {
            let value = if value == FITTED { value.clone() } else { format!("`{value}`") };
            match at == last && count == systems.len() {
                true if last == 0 => format!("all: {value}"),
                true => format!("others: {value}"),
                false => format!("{}: {value}", names.join(", ")),
            }
        });
        let values = values.collect::<Vec<_>>().join("; ");
        writeln!(page, "| `{name}` | {meaning} | {values} | {range} |").expect("a string");
    }
    page
}

#[test]
fn the_page_of_parameters_is_what_the_rows_declare() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/parameters.md");
    let page = page();
    if terrace_env::regenerates_goldens() {
        std::fs::write(path, &page).expect("the page");
    }
    let found = std::fs::read_to_string(path).expect("docs/parameters.md");
    assert!(found == page, "docs/parameters.md is not as the rows declare; regenerate it");
}
