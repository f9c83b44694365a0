//! [`Screen`]: the only way of the program to standard output and standard error. Clippy refuses
//! others (`disallowed_methods`, `print_stdout`, `print_stderr`).
//!
//! Text from a medium or a user - names, keys, values, messages with them - may hold commands to a
//! terminal. So a screen lets no invisible character through: it writes it as an escape.
//!
//! - [`Screen::text`] passes line ends and tabs, and escapes as [`Visible`] does (`\u{1b}`). A line
//!   end in a name would begin a line of its own, so a name is [`Escaped`] before it is written.
//! - [`Screen::json`] writes the escapes of JSON (`\u001b`), which have the same meaning there.
//! - [`Screen::bytes`] passes all bytes. It is for data that is not read by people.
//! - [`terminal`] is for a picture that fills the terminal; its widgets take escaped text.
//! - [`Paint::paint`] adds colours, unless the reader is no terminal or `NO_COLOR` is set.
//!
//! Text is collected up to [`PIECE`] bytes. Call [`Write::flush`] at the end, which tells of
//! errors; a screen that is dropped flushes without a word.
//!
//! [`Visible`]: crate::escape::Visible
//! [`Escaped`]: crate::escape::Escaped

use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use terrace_env::visible::is_visible;

/// Bytes after which text is handed over.
const PIECE: usize = 1 << 16;

/// How invisible characters are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Text,
    Json,
    Bytes,
}

/// See the [module](self).
pub(crate) struct Screen {
    to: Box<dyn Write>,
    rule: Rule,
    has_colours: bool,
    /// Written, and not handed over yet.
    held: Vec<u8>,
    /// Begin of a character of which the rest is not written yet.
    begun: Vec<u8>,
    /// The last character.
    before: Option<char>,
}

/// Writes text in colours.
pub(crate) trait Paint: Write {
    /// Writes text in a style, where there are colours.
    fn paint(&mut self, style: Style, text: &dyn Display) -> io::Result<()>;
}

#[expect(clippy::disallowed_methods, reason = "this is the place where everything is printed")]
mod place {
    use std::io;

    pub(super) fn stdout() -> io::Stdout {
        io::stdout()
    }

    pub(super) fn stderr() -> io::Stderr {
        io::stderr()
    }
}

/// Standard output as it is, for a picture that fills the terminal: the text of the picture must
/// have been escaped.
pub(crate) fn terminal() -> impl Write {
    place::stdout()
}

/// Whether text on standard output has colours.
pub(crate) fn has_colours() -> bool {
    AutoStream::choice(&place::stdout()) != ColorChoice::Never
}

/// Whether a person reads standard output.
pub(crate) fn is_terminal() -> bool {
    place::stdout().is_terminal()
}

/// Columns of the terminal, if standard output is one.
pub(crate) fn columns() -> Option<usize> {
    let size = terminal_size::terminal_size_of(place::stdout());
    size.map(|(columns, _)| usize::from(columns.0))
}

/// Keeps all others from printing as long as it lives.
pub(crate) fn silence() -> impl Sized {
    (place::stdout().lock(), place::stderr().lock())
}

impl Screen {
    /// Text for people, on standard output.
    pub(crate) fn text() -> Self {
        Self::new(Box::new(place::stdout()), Rule::Text, has_colours())
    }

    /// JSON, on standard output.
    pub(crate) fn json() -> Self {
        Self::new(Box::new(place::stdout()), Rule::Json, false)
    }

    /// Data as it is, on standard output; as text if a person reads it.
    pub(crate) fn bytes() -> Self {
        let rule = if is_terminal() { Rule::Text } else { Rule::Bytes };
        Self::new(Box::new(place::stdout()), rule, false)
    }

    /// Text for people, on standard error.
    pub(crate) fn errors() -> Self {
        Self::new(Box::new(place::stderr()), Rule::Text, false)
    }

    fn new(to: Box<dyn Write>, rule: Rule, has_colours: bool) -> Self {
        Self { to, rule, has_colours, held: Vec::new(), begun: Vec::new(), before: None }
    }

    /// Writes formatted text, as [`Write::write_fmt`] does, where that trait is not in scope.
    pub(crate) fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
        Write::write_fmt(self, text)
    }

    /// Adds bytes, of which the last character may not be whole.
    fn add(&mut self, bytes: &[u8]) {
        let mut begun = std::mem::take(&mut self.begun);
        let joined;
        let bytes = if begun.is_empty() {
            bytes
        } else {
            begun.extend_from_slice(bytes);
            joined = begun;
            &joined
        };
        let chunks: Vec<_> = bytes.utf8_chunks().collect();
        let last = chunks.len().saturating_sub(1);
        for (index, chunk) in chunks.into_iter().enumerate() {
            self.add_text(chunk.valid());
            let invalid = chunk.invalid();
            if index == last && std::str::from_utf8(invalid).is_err_and(|e| e.error_len().is_none())
            {
                self.begun = invalid.to_vec();
                return;
            }
            self.add_stray(invalid);
        }
    }

    fn add_text(&mut self, text: &str) {
        for letter in text.chars() {
            let passes = matches!(letter, '\n' | '\t') && self.rule == Rule::Text
                || letter == '\n'
                || is_visible(letter, self.before);
            if passes {
                self.held.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            } else if self.rule == Rule::Json {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    self.held.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            } else {
                self.held.extend_from_slice(letter.escape_default().to_string().as_bytes());
            }
            self.before = Some(letter);
        }
    }

    /// Adds bytes that are no part of a character.
    fn add_stray(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.held.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
            self.before = Some('x');
        }
    }

    fn hand_over(&mut self) -> io::Result<()> {
        let written = self.to.write_all(&self.held);
        self.held.clear();
        written
    }
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
        let passes = self.begun.is_empty() && bytes.iter().all(is_plain);
        if passes || self.rule == Rule::Bytes {
            self.held.extend_from_slice(bytes);
            self.before = bytes.last().map_or(self.before, |byte| Some(char::from(*byte)));
        } else {
            self.add(bytes);
        }
        if self.held.len() >= PIECE {
            self.hand_over()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let begun = std::mem::take(&mut self.begun);
        self.add_stray(&begun);
        self.hand_over()?;
        self.to.flush()
    }
}

impl Paint for Screen {
    fn paint(&mut self, style: Style, text: &dyn Display) -> io::Result<()> {
        if !self.has_colours {
            return write!(self, "{text}");
        }
        self.held.extend_from_slice(style.render().to_string().as_bytes());
        write!(self, "{text}")?;
        self.held.extend_from_slice(style.render_reset().to_string().as_bytes());
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use anstyle::AnsiColor;
    use terrace_env::sync::Mutex;

    use super::*;

    /// A place that can be looked at.
    #[derive(Clone, Default)]
    struct Seen(Arc<Mutex<Vec<u8>>>);

    impl Write for Seen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(rule: Rule, write: impl Fn(&mut Screen) -> io::Result<()>) -> String {
        let seen = Seen::default();
        let mut screen = Screen::new(Box::new(seen.clone()), rule, true);
        write(&mut screen).unwrap();
        screen.flush().unwrap();
        let bytes = seen.0.lock().clone();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn a_screen_lets_no_command_to_the_terminal_through() {
        let text = "a\tb\n\u{1b}]0;x\u{7}\r\u{9b}2J\u{202e}e\u{301}";
        let shown = written(Rule::Text, |screen| screen.write_all(text.as_bytes()));
        assert_eq!(shown, "a\tb\n\\u{1b}]0;x\\u{7}\\r\\u{9b}2J\\u{202e}e\u{301}");
        let stray = written(Rule::Text, |screen| screen.write_all(b"\xffx\xe2\x80"));
        assert_eq!(stray, "\\xffx\\xe2\\x80");
    }

    #[test]
    fn a_screen_escapes_json_to_the_same_value() {
        let value = serde_json::json!({ "k": "a\u{1b}\u{7f}\u{9b}\u{202e}\u{e0041}\t\nä" });
        let shown = written(Rule::Json, |screen| write!(screen, "{value}"));
        assert!(shown.contains("\\u007f\\u009b\\u202e\\udb40\\udc41"), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn a_character_may_come_in_two_pieces_and_data_is_left_alone() {
        let bytes = "ü\u{202e}".as_bytes();
        let pieces = |screen: &mut Screen| bytes.iter().try_for_each(|b| screen.write_all(&[*b]));
        assert_eq!(written(Rule::Text, pieces), "ü\\u{202e}");
        assert_eq!(written(Rule::Bytes, pieces), "ü\u{202e}");
    }

    #[test]
    fn colours_are_those_of_the_program_alone() {
        let red = AnsiColor::Red.on_default();
        let shown = written(Rule::Text, |screen| screen.paint(red, &"a\u{1b}[0m"));
        assert_eq!(shown, "\u{1b}[31ma\\u{1b}[0m\u{1b}[0m");
    }
}
