//! Keys and values are bytes; people and JSON want text.
//!
//! As text, what is not printable is escaped. In JSON, bytes that are not UTF-8 stand as hex under
//! a name that says so, so that nothing is ever replaced or guessed.

use std::fmt::{self, Write};

use serde_json::{Map, Value};

/// Bytes as a person can read them: UTF-8 as it is, control characters and stray bytes escaped.
pub(crate) struct Escaped<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for letter in chunk.valid().chars() {
                match letter {
                    '\\' => f.write_str("\\\\")?,
                    _ if letter.is_control() => write!(f, "{}", letter.escape_default())?,
                    _ => f.write_char(letter)?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// Adds bytes to a JSON object: under `name` if they are UTF-8, else as hex under `name_hex`.
pub(crate) fn insert(object: &mut Map<String, Value>, name: &str, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => object.insert(name.to_owned(), Value::from(text)),
        Err(_) => object.insert(format!("{name}_hex"), Value::from(hex(bytes))),
    };
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_bytes_are_printable_and_unambiguous() {
        for (bytes, text) in [
            (&b"plain"[..], "plain"),
            ("grün".as_bytes(), "grün"),
            (b"tab\there", "tab\\there"),
            (b"back\\slash", "back\\\\slash"),
            (b"\xff\x00z", "\\xff\\u{0}z"),
        ] {
            assert_eq!(Escaped(bytes).to_string(), text);
        }
    }

    #[test]
    fn bytes_that_are_not_text_are_hex_in_json() {
        let mut object = Map::new();
        insert(&mut object, "key", "grün".as_bytes());
        insert(&mut object, "value", b"\xff\x00");
        let text = Value::from(object).to_string();
        assert_eq!(text, r#"{"key":"grün","value_hex":"ff00"}"#);
    }
}
