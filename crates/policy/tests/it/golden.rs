//! Goldens in text. A file holds cases, separated by blank lines; a case is its input, a line of
//! `----`, and the output. Lines that start with `#` before a case belong to it as they are.
//!
//! `TERRACE_REGENERATE=1 cargo test -p terrace-policy` writes the outputs anew.

use std::path::PathBuf;

const RULE: &str = "----";

/// Runs every case of `tests/golden/<name>.txt` through `decide`.
pub(crate) fn check(name: &str, decide: impl Fn(&str) -> String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let actual: Vec<String> = cases(&text).map(|case| answer(case, &decide)).collect();
    assert!(!actual.is_empty(), "{}: no cases", path.display());
    let actual = actual.join("\n\n") + "\n";
    if terrace_env::regenerates_goldens() {
        std::fs::write(&path, actual).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        return;
    }
    for (expected, got) in cases(&text).zip(cases(&actual)) {
        assert_eq!(expected, got, "{name}: run with TERRACE_REGENERATE=1 if this is meant");
    }
}

fn cases(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").map(str::trim_end).filter(|case| !case.is_empty())
}

fn answer(case: &str, decide: &impl Fn(&str) -> String) -> String {
    let input = case.split_once(&format!("\n{RULE}")).map_or(case, |(input, _)| input);
    let plain: Vec<&str> = input.lines().filter(|line| !line.starts_with('#')).collect();
    format!("{input}\n{RULE}\n{}", decide(&plain.join("\n")).trim_end())
}

/// The value of `key=value` in a line.
pub(crate) fn field<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// The value of `key=value` in a line, read as a number or size.
pub(crate) fn number<T: std::str::FromStr>(line: &str, key: &str) -> Option<T> {
    let text = field(line, key)?;
    Some(text.parse().unwrap_or_else(|_| panic!("{key}={text:?} in {line:?}")))
}
