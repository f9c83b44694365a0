//! [`Position`]: line and column in an experiment's file, counted from 1.
//!
//! It is found for a byte, or for the path of a field such as `plot[0].series[1]`. The position of
//! a field is where its value begins; that of a table with a header is where the header begins. If
//! the field is missing, the position is that of the innermost value of the path that is there, or
//! the beginning of the file.
//!
//! [`field_at`] goes the other way: from a byte of a value or of a table's header to the path of
//! the innermost field. A byte of a key has no path, unless an inline table encloses the key.

use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A place in a text; both count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl Position {
    /// The place of a byte of a text.
    pub(super) fn of_byte(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { line: before.matches('\n').count() + 1, column: before[start..].chars().count() + 1 }
    }

    /// The place of a field; of its enclosing table, where it is not there.
    pub(super) fn of_field(text: &str, field: &str) -> Self {
        let Ok(table) = DeTable::parse(text) else { return Self::of_byte(text, 0) };
        Self::of_byte(text, span(table.get_ref(), field).start)
    }
}

/// The innermost field that has a byte of the text in its value, or `None`.
pub(super) fn field_at(text: &str, byte: usize) -> Option<String> {
    let table = DeTable::parse(text).ok()?;
    let mut path = Vec::new();
    descend_to(table.get_ref(), byte, &mut path);
    let mut field = String::new();
    for step in path {
        match step {
            Step::Key(key) if field.is_empty() => field += &key,
            Step::Key(key) => field += &format!(".{key}"),
            Step::Index(index) => field += &format!("[{index}]"),
        }
    }
    (!field.is_empty()).then_some(field)
}

/// A part of a field's name.
enum Step {
    Key(String),
    Index(usize),
}

fn steps(field: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in field.split('.') {
        let mut pieces = part.split('[');
        steps.extend(pieces.next().map(|key| Step::Key(key.to_owned())));
        let index = |piece: &str| piece.trim_end_matches(']').parse().ok();
        steps.extend(pieces.filter_map(index).map(Step::Index));
    }
    steps
}

/// The bytes of a field's value, or of its enclosing table where it is not there.
fn span(table: &DeTable<'_>, field: &str) -> Range<usize> {
    let mut steps = steps(field).into_iter();
    let Some(Step::Key(first)) = steps.next() else { return 0..0 };
    let Some(mut value) = entry(table, &first) else { return 0..0 };
    for step in steps {
        let inner = match (&step, value.get_ref()) {
            (Step::Key(key), DeValue::Table(table)) => entry(table, key),
            (Step::Index(index), DeValue::Array(array)) => array.get(*index),
            _ => None,
        };
        let Some(inner) = inner else { break };
        value = inner;
    }
    value.span()
}

fn entry<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> Option<&'a Spanned<DeValue<'i>>> {
    table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
}

fn descend_to(table: &DeTable<'_>, byte: usize, path: &mut Vec<Step>) {
    let Some((key, value)) = table.iter().find(|(_, value)| holds(value, byte)) else { return };
    path.push(Step::Key(key.get_ref().to_string()));
    let mut value = value;
    while let DeValue::Array(array) = value.get_ref() {
        let Some(index) = array.iter().position(|inner| holds(inner, byte)) else { return };
        path.push(Step::Index(index));
        value = &array[index];
    }
    if let DeValue::Table(inner) = value.get_ref() {
        descend_to(inner, byte, path);
    }
}

/// Whether a value has this byte. A table's own span is only its header.
fn holds(value: &Spanned<DeValue<'_>>, byte: usize) -> bool {
    value.span().contains(&byte)
        || match value.get_ref() {
            DeValue::Table(table) => table.iter().any(|(_, inner)| holds(inner, byte)),
            DeValue::Array(array) => array.iter().any(|inner| holds(inner, byte)),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
title = \"t\"
[store]
memory = \"1GiB\"
[[plot]]
series = [\"a\", \"b\"]
[[plot]]
metrics = [\"c\"]
quantity = { system = \"s\" }
";

    #[test]
    fn a_field_is_found_by_its_name_and_named_by_its_place() {
        for (field, line, column) in [
            ("title", 1, 9),
            ("store.memory", 3, 10),
            ("plot[0].series[1]", 5, 16),
            ("plot[1].metrics[0]", 7, 12),
            ("plot[1].quantity.system", 8, 23),
        ] {
            let position = Position::of_field(TEXT, field);
            assert_eq!(position, Position { line, column }, "{field}");
            let newlines = TEXT.match_indices('\n').map(|(at, _)| at + 1);
            let start = std::iter::once(0).chain(newlines).nth(line - 1).unwrap();
            let byte = start + column - 1;
            assert_eq!(field_at(TEXT, byte).as_deref(), Some(field));
            assert_eq!(Position::of_byte(TEXT, byte), position);
        }
        assert_eq!(Position::of_field(TEXT, "plot[1].missing").line, 6);
        assert_eq!(Position::of_field(TEXT, "missing").line, 1);
    }
}
