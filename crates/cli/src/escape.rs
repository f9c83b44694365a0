//! Keys and values as text: escaped for people, and as hex for JSON where they are not UTF-8.
//!
//! - [`Escaped`] and [`Visible`] are those of `env`: for names and keys, and for messages.
//! - [`shown`] is a path, in a result for people, so escaped.
//! - [`unescape`] takes a text that was [`Escaped`] back to the bytes.
//! - [`insert`] adds bytes to a JSON object: as `name` if they are UTF-8, else as hex in
//!   `name_hex`.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Map, Value};
pub(crate) use terrace_env::{Escaped, Visible};

/// A path as people can see all of it. In an error it need not be escaped: the whole message is.
pub(crate) fn shown(path: &Path) -> String {
    Visible(&path.display().to_string()).to_string()
}

/// The bytes that were [`Escaped`]; `None` if there is an escape that it does not make.
pub(crate) fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let (&letter, behind) = rest.split_first()?;
        rest = behind;
        match letter {
            b'\\' => bytes.push(b'\\'),
            b't' => bytes.push(b'\t'),
            b'n' => bytes.push(b'\n'),
            b'r' => bytes.push(b'\r'),
            b'x' => {
                let (digits, behind) = rest.split_at_checked(2)?;
                rest = behind;
                bytes.push(u8::try_from(number(digits)?).ok()?);
            }
            b'u' => {
                let end = rest.iter().position(|&byte| byte == b'}')?;
                let (digits, behind) = rest.split_at(end);
                rest = &behind[1..];
                let letter = char::from_u32(number(digits.strip_prefix(b"{")?)?)?;
                bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return None,
        }
    }
    Some(bytes)
}

/// Value of hexadecimal digits; `None` for anything else.
fn number(digits: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(digits).ok()?;
    let all = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if all { u32::from_str_radix(text, 16).ok() } else { None }
}

/// Adds bytes to a JSON object: under `name` if they are UTF-8, else as hex under `name_hex`.
pub(crate) fn insert(object: &mut Map<String, Value>, name: &str, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => drop(object.insert(name.to_owned(), Value::from(text))),
        Err(_) => insert_hex(object, name, bytes),
    }
}

/// Adds bytes to a JSON object as hex under `name_hex`.
pub(crate) fn insert_hex(object: &mut Map<String, Value>, name: &str, bytes: &[u8]) {
    object.insert(format!("{name}_hex"), Value::from(hex(bytes)));
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
    fn escaped_bytes_are_read_back() {
        for letter in "\u{202e}\u{2066}\u{200b}\u{feff}\u{85}\u{7f}\t\n\r\\\u{0}".chars() {
            let key = format!("a{letter}b");
            let text = Escaped(key.as_bytes()).to_string();
            assert_eq!(unescape(text.as_bytes()).unwrap(), key.as_bytes());
        }
        assert_eq!(unescape(b"\\xff\\x00").unwrap(), b"\xff\0");
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
