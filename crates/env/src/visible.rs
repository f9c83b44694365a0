//! Text that a medium or a user has given, as people can see all of it: for messages and lists on a
//! terminal, where a name must neither send commands to the terminal nor hide a part of itself.
//!
//! - [`Escaped`] escapes backslashes, bytes that are not UTF-8, and characters that cannot be seen:
//!   controls, those that turn the direction of text, those without width, spaces other than the
//!   plain one, and combining marks that follow no letter. Different bytes have different texts,
//!   but letters of different scripts may look alike. It is for names, keys and values.
//! - [`Visible`] escapes the same characters in a text, but no backslash, which may be that of a
//!   name that is escaped already. It is for messages and paths.
//!
//! A line end is escaped as well, so that a name cannot begin a line of its own.

use std::fmt::{self, Write};

/// Bytes as a person can read them: UTF-8 as it is, invisible characters and stray bytes escaped.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'a>(pub &'a [u8]);

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

/// A text with its invisible characters escaped.
#[derive(Clone, Copy, Debug)]
pub struct Visible<'a>(pub &'a str);

impl fmt::Display for Visible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_visible(f, self.0, |_| false)
    }
}

/// Writes a text. Invisible letters are escaped, and so are those that are `wanted`.
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

/// Whether a letter can be seen after the letter `before`.
pub fn is_visible(letter: char, before: Option<char>) -> bool {
    if letter.is_ascii() {
        return !letter.is_control();
    }
    if looks_empty(letter) {
        return false;
    }
    // The standard library decides which characters are printable. It takes a mark for printable
    // only after a letter. Here a mark is visible only after a letter.
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
    fn invisible_characters_are_escaped() {
        let invisible = "\u{202e}\u{2066}\u{200b}\u{200d}\u{200f}\u{feff}\u{ad}\u{a0}\u{3000}\
                         \u{2028}\u{fe0f}\u{3164}\u{2800}\u{34f}\u{e0041}\u{e000}\u{85}\u{9b}\
                         \u{61c}\u{7f}";
        for letter in invisible.chars() {
            let key = format!("a{letter}b");
            let text = Escaped(key.as_bytes()).to_string();
            assert!(text.is_ascii() && text.starts_with("a\\u{"), "{text}");
        }
        for plain in ["grün", "e\u{301}t\u{e9}", "日本語", "שלום", "نص", "😀", "naïve 'q' \"d\""]
        {
            assert_eq!(Escaped(plain.as_bytes()).to_string(), plain);
        }
        assert_eq!(Escaped("\u{301}x".as_bytes()).to_string(), "\\u{301}x");
        let message = "d\u{1b}[31m\n.img: no key `a\\tb`";
        assert_eq!(Visible(message).to_string(), "d\\u{1b}[31m\\n.img: no key `a\\tb`");
    }
}
