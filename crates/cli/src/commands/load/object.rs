//! [`entry`]: any JSON object as an entry, by the names of its fields.
//!
//! - The key is a field that holds text or a whole number; a number is stored as its digits.
//! - The value is another field: text is stored without quotes, anything else as JSON. Without a
//!   name for it, the value is the whole object, byte for byte as the line has it, without spaces
//!   around it.
//! - A field that is there twice, or is missing, is refused.

use serde_json::Value;
use serde_json::value::RawValue;

use super::format::{Fields, Line, check_size, wrong};
use crate::escape::Escaped;
use crate::failure::Failure;

/// The entry of an object on a line: `key` and `value` are names of fields.
pub(super) fn entry(line: &[u8], key: &str, value: Option<&str>) -> Result<Line, Failure> {
    let text = line.trim_ascii();
    if text.is_empty() {
        return Ok(Line::Other);
    }
    let Fields(fields) = serde_json::from_slice::<Fields<Box<RawValue>>>(text)
        .map_err(|error| wrong(format_args!("a JSON object: {error}")))?;
    let key = bytes_of_key(key, find(&fields, key)?)?;
    let value = match value {
        Some(name) => bytes_of_value(name, find(&fields, name)?)?,
        None => text.to_vec(),
    };
    check_size(Line::Entry(key, value))
}

fn find<'a>(fields: &'a [(String, Box<RawValue>)], name: &str) -> Result<&'a str, Failure> {
    let mut found = fields.iter().filter(|(field, _)| field == name);
    match (found.next(), found.next()) {
        (Some((_, value)), None) => Ok(value.get()),
        (first, _) => {
            let count = if first.is_some() { "it twice" } else { "none" };
            let name = Escaped(name.as_bytes());
            Err(wrong(format_args!("one field `{name}` in the object, found {count}")))
        }
    }
}

fn bytes_of_key(name: &str, json: &str) -> Result<Vec<u8>, Failure> {
    match serde_json::from_str(json) {
        Ok(Value::String(text)) => Ok(text.into_bytes()),
        Ok(Value::Number(number)) if !number.is_f64() => Ok(number.to_string().into_bytes()),
        _ => {
            let (name, found) = (Escaped(name.as_bytes()), Escaped(json.as_bytes()));
            Err(wrong(format_args!("text or a whole number as `{name}`, found {found}")))
        }
    }
}

fn bytes_of_value(name: &str, json: &str) -> Result<Vec<u8>, Failure> {
    if !json.starts_with('"') {
        return Ok(json.as_bytes().to_vec());
    }
    // Half of a surrogate pair is JSON, but no text.
    let text = serde_json::from_str::<String>(json).map_err(|_| {
        let (name, found) = (Escaped(name.as_bytes()), Escaped(json.as_bytes()));
        wrong(format_args!("text of whole characters as `{name}`, found {found}"))
    })?;
    Ok(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is(line: &str, key: &str, value: Option<&str>, stored: (&str, &str)) {
        let (key, value) = match entry(line.as_bytes(), key, value).unwrap() {
            Line::Entry(key, value) => (key, value),
            Line::Other => panic!("no entry"),
        };
        let text = |bytes| String::from_utf8(bytes).unwrap();
        assert_eq!((&*text(key), &*text(value)), stored);
    }

    #[test]
    fn a_value_is_text_or_any_json_as_it_is_written() {
        let line = r#" {"id": 7, "v": {"b": 1.50, "a": [1e3]}, "t": "x\n"} "#;
        is(line, "id", Some("v"), ("7", r#"{"b": 1.50, "a": [1e3]}"#));
        is(line, "t", Some("id"), ("x\n", "7"));
        is(line, "id", None, ("7", line.trim()));
        is(r#"{"k":"a","v":null}"#, "k", Some("v"), ("a", "null"));
        assert_eq!(entry(b" ", "k", None).unwrap(), Line::Other);
    }

    #[test]
    fn a_key_that_is_missing_or_no_text_is_refused() {
        let refused = |line: &str, expected: &str| {
            let failure = entry(line.as_bytes(), "k", None).unwrap_err();
            assert!(failure.message.contains(expected), "{}", failure.message);
        };
        refused(r#"{"a":1}"#, "one field `k` in the object, found none");
        refused(r#"{"k":1,"k":2}"#, "found it twice");
        refused(r#"{"k":1.5}"#, "text or a whole number as `k`, found 1.5");
        refused(r#"{"k":["a"]}"#, "found [\"a\"]");
        refused("[1]", "a JSON object");
        let half = entry(br#"{"k":"a","v":"\ud800"}"#, "k", Some("v")).unwrap_err();
        assert!(half.message.contains("whole characters as `v`"), "{}", half.message);
        refused(r#"{"k":"#, "a JSON object");
    }
}
