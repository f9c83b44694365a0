//! Check of retired words: words of the project that standard terms have replaced.
//!
//! The table is in the glossary, under [`HEADING`]. A row has the retired word, the standard term,
//! and the exact forms that are refused, each in backticks. Some retired words are ordinary
//! English, such as "below"; of these only certain forms are refused, such as the name of a former
//! module. A form is found as a word of its own within one line, in any text file but the glossary.
//! A table without rows is a finding.

use std::path::Path;

use super::finding::Finding;
use super::text::has_word;

/// The page that holds the table.
pub(crate) const GLOSSARY: &str = "docs/glossary.md";

/// The heading over the table.
const HEADING: &str = "## Retired words";

/// A form that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Retired {
    form: String,
    /// The term to use instead.
    term: String,
}

/// Reads the table out of the glossary; empty if there is none.
pub(crate) fn read(glossary: &str) -> Vec<Retired> {
    let section = glossary.lines().skip_while(|line| *line != HEADING).skip(1);
    let rows = section.take_while(|line| !line.starts_with("## ")).filter(|l| l.starts_with('|'));
    let mut retired = Vec::new();
    // The first two rows are titles and rule.
    for row in rows.skip(2) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [_, term, forms] = cells[..] else { continue };
        let forms = forms.split('`').skip(1).step_by(2);
        retired.extend(forms.map(|form| Retired { form: form.into(), term: term.into() }));
    }
    retired
}

/// Checks that there is a table.
pub(crate) fn check_table(retired: &[Retired]) -> Option<Finding> {
    let missing = || {
        let expected = format!("a table of retired forms under `{HEADING}`");
        Finding::new(Path::new(GLOSSARY), 1, expected, "none")
    };
    retired.is_empty().then(missing)
}

/// Checks a file of any kind.
pub(crate) fn check(path: &Path, text: &str, retired: &[Retired]) -> Vec<Finding> {
    if path == Path::new(GLOSSARY) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for Retired { form, term } in retired.iter().filter(|one| has_word(line, &one.form)) {
            let expected = format!("{term}, as the glossary has it");
            findings.push(Finding::new(path, index + 1, expected, format!("`{form}`")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Vec<Retired> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(GLOSSARY);
        read(&std::fs::read_to_string(path).expect("the glossary"))
    }

    fn found(line: &str, retired: &[Retired]) -> usize {
        check(Path::new("a.rs"), line, retired).len()
    }

    #[test]
    fn every_retired_form_is_found_where_it_stands_by_itself() {
        let own = own();
        assert!(own.len() > 20, "{own:?}");
        assert_eq!(check_table(&own), None);
        for Retired { form, .. } in &own {
            assert_eq!(found(&format!("first\n    ({form}) there"), &own), 1, "{form}");
            assert_eq!(found(&format!("x{form}x"), &own), 0, "{form}");
            let page = Path::new(GLOSSARY);
            assert!(check(page, form, &own).is_empty(), "{form}");
        }
    }

    #[test]
    fn ordinary_uses_of_retired_words_are_not_found() {
        let own = own();
        for line in [
            "the store below, see below",
            "redraws figure 10 of the paper, one of its figures",
            "a reader is waiting for the lock, waiting = true",
            "keys that a range tombstone covers are covered",
            "bytes.slice(1..4), a slice of bytes, copy_from_slice(&x)",
            "the pool settles a claim: region.settle(true)",
            "a time stamp, and its stamp in the queue",
        ] {
            assert_eq!(found(line, &own), 0, "{line}");
        }
    }

    #[test]
    fn a_glossary_without_the_table_is_found() {
        assert!(check_table(&read("# Glossary\n")).is_some());
        let text =
            format!("{HEADING}\n\n| a | b | c |\n|---|---|---|\n| old | new | `x_y`, `Z` |\n");
        let forms: Vec<String> = read(&text).into_iter().map(|one| one.form).collect();
        assert_eq!(forms, ["x_y", "Z"]);
    }
}
