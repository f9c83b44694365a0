//! Keys and values as text: escaped for people, and as hex for JSON where they are not UTF-8.
//!
//! - [`Escaped`] escapes backslashes, bytes that are not UTF-8, characters that cannot be seen,
//!   such as controls, those that turn the direction of text, and combining marks that follow no
//!   letter. Different bytes have different texts, but letters of different scripts may look alike.
//! - [`Visible`] escapes what cannot be seen in a text that has names in it, such as a message. A
//!   backslash in it stays as it is, for it may be that of a name that is escaped already.
//! - [`shown`] is a path, in a result for people, so escaped.
//! - [`unescape`] takes such a text back to the bytes.
//! - [`insert`] adds bytes to a JSON object: as `name` if they are UTF-8, else as hex in
//!   `name_hex`.

use std::fmt::{self, Write};
use std::path::Path;

use serde_json::{Map, Value};

/// Bytes as a person can read them: UTF-8 as it is, what cannot be seen in it and stray bytes
/// escaped.
pub(crate) struct Escaped<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            write_visible(f, chunk.valid(), |letter| letter == '\\')?;
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// A text of which people can see everything: that of a message, with names that nobody has escaped
/// yet.
pub(crate) struct Visible<'a>(pub(crate) &'a str);

impl fmt::Display for Visible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_visible(f, self.0, |_| false)
    }
}

/// A path as people can see all of it. In an error it need not be escaped: the whole message is.
pub(crate) fn shown(path: &Path) -> String {
    Visible(&path.display().to_string()).to_string()
}

/// Writes a text. Letters that cannot be seen are escaped, and so are those that are `wanted`.
fn write_visible(
    f: &mut fmt::Formatter<'_>,
    text: &str,
    wanted: impl Fn(char) -> bool,
) -> fmt::Result {
    let mut before = None;
    for letter in text.chars() {
        match is_visible(letter, before) && !wanted(letter) {
            true => f.write_char(letter)?,
            false => write!(f, "{}", letter.escape_default())?,
        }
        before = Some(letter);
    }
    Ok(())
}

/// Whether a letter can be seen behind the one before it.
fn is_visible(letter: char, before: Option<char>) -> bool {
    if letter.is_ascii() {
        return !letter.is_control();
    }
    if looks_empty(letter) {
        return false;
    }
    // The standard library decides which characters are printable. It takes a mark for printable
    // only behind a letter. A mark is that only behind a letter.
    let base = before.filter(|before| before.is_alphanumeric()).map_or("", |_| "a");
    let mut text = String::from(base);
    text.push(letter);
    text.escape_debug().count() == text.chars().count()
}

/// Characters that are letters, marks or symbols by their class, and show nothing.
fn looks_empty(letter: char) -> bool {
    matches!(
        letter,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}'
            | '\u{e0000}'..='\u{e0fff}'
    )
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
    fn what_cannot_be_seen_is_escaped_and_read_back() {
        let invisible = "\u{202e}\u{2066}\u{200b}\u{200d}\u{200f}\u{feff}\u{ad}\u{a0}\u{3000}\
                         \u{2028}\u{fe0f}\u{3164}\u{2800}\u{34f}\u{e0041}\u{e000}\u{85}\u{7f}";
        for letter in invisible.chars() {
            let key = format!("a{letter}b");
            let text = Escaped(key.as_bytes()).to_string();
            assert!(text.is_ascii() && text.starts_with("a\\u{"), "{text}");
            assert_eq!(unescape(text.as_bytes()).unwrap(), key.as_bytes());
        }
        for plain in ["grün", "e\u{301}t\u{e9}", "日本語", "שלום", "نص", "😀", "naïve 'q' \"d\""]
        {
            assert_eq!(Escaped(plain.as_bytes()).to_string(), plain);
        }
        assert_eq!(Escaped("\u{301}x".as_bytes()).to_string(), "\\u{301}x");
        let message = "d\u{1b}[31m\n.img: no key `a\\tb`";
        assert_eq!(Visible(message).to_string(), "d\\u{1b}[31m\\n.img: no key `a\\tb`");
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
