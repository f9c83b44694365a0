//! [`Format`]: a line as an entry.
//!
//! The output of `scan --values` is read back exactly. Text that it never prints is refused,
//! because it may mean something else than its bytes: control characters, such as the carriage
//! return of a line end of two characters, a byte order mark, a second tab, bytes that are not
//! UTF-8, a field of JSON that is there twice or that would be lost. Flags take some of them
//! ([`Rules`]). [`Csv`](super::csv::Csv) and [`object`](super::object) read the output of other
//! programs.
//!
//! An empty line is no entry and no error, and so are the sums that end a scan in JSON.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use terrace::{KEY_BYTES_MAX, VALUE_BYTES_MAX};

use crate::commands::entry::parse_hex;
use crate::escape::{self, Escaped};
use crate::failure::{Failure, Kind};

/// How entries are written.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// A line has a key, a tab and a value, with escapes as `scan` prints them
    Tsv,
    /// A line has an object with `key` or `key_hex`, and `value` or `value_hex`; with --key any
    /// object
    Json,
    /// Comma-separated values; the first row names the columns
    Csv,
}

/// How a line of text is read.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// Text is of hexadecimal digits.
    pub(super) hex: bool,
    /// Text has no escapes.
    pub(super) raw: bool,
    /// Lines may end with a carriage return.
    pub(super) crlf: bool,
}

/// A line of the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A key and its value.
    Entry(Vec<u8>, Vec<u8>),
    /// No entry, and no error.
    Other,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

const ESCAPES: &str = r"`\\`, `\t`, `\n`, `\r`, `\xff`, `\u{1f600}`";

pub(super) fn wrong(expected: impl fmt::Display) -> Failure {
    Failure::new(Kind::Failed, format!("expected {expected}"))
}

/// The first line of an input, without a byte order mark if `bom` takes it off.
pub(super) fn without_mark(line: &[u8], bom: bool) -> Result<&[u8], Failure> {
    if line.starts_with(b"\xff\xfe") || line.starts_with(b"\xfe\xff") {
        return Err(wrong("text in UTF-8, found the byte order mark of UTF-16"));
    }
    match line.strip_prefix(BOM) {
        Some(text) if bom => Ok(text),
        Some(_) => {
            Err(wrong("an entry, found a byte order mark before it; --bom takes the mark off"))
        }
        None => Ok(line),
    }
}

impl Rules {
    /// The entry of a line of text, which has no newline.
    pub(super) fn parse(self, line: &[u8]) -> Result<Line, Failure> {
        self.parse_text(line).and_then(check_size)
    }

    fn parse_text(self, line: &[u8]) -> Result<Line, Failure> {
        let line = match line.strip_suffix(b"\r") {
            Some(text) if self.crlf => text,
            Some(_) => {
                return Err(wrong(
                    "a line that ends with a newline alone, found a carriage return before it; \
                     --crlf takes it off, and as a part of the value it is written as `\\r`",
                ));
            }
            None => line,
        };
        if line.is_empty() {
            return Ok(Line::Other);
        }
        let Some(tab) = line.iter().position(|&byte| byte == b'\t') else {
            let hint = if line.starts_with(b"{") { "; --format json reads objects" } else { "" };
            let expected = "a key, a tab and a value, as `scan --values` prints them, found no tab";
            return Err(wrong(format_args!("{expected}{hint}")));
        };
        let (key, value) = (&line[..tab], &line[tab + 1..]);
        if self.raw {
            return Ok(Line::Entry(key.to_vec(), value.to_vec()));
        }
        let bytes = |text: &[u8]| match self.hex {
            true => digits(text),
            false => plain(text),
        };
        Ok(Line::Entry(bytes(key)?, bytes(value)?))
    }
}

/// The bytes of text with escapes.
fn plain(text: &[u8]) -> Result<Vec<u8>, Failure> {
    let is_text = std::str::from_utf8(text);
    let is_text = is_text.map_err(|error| {
        let at = error.valid_up_to();
        let found = Escaped(&text[at..text.len().min(at + 1)]).to_string();
        wrong(format_args!(
            "text in UTF-8, found the byte `{found}`, which is written so, or --raw"
        ))
    })?;
    let is_refused = |letter: &char| letter.is_control() || *letter == '\u{feff}';
    if let Some(letter) = is_text.chars().find(is_refused) {
        let what = match letter {
            '\t' => "a second tab",
            '\r' => "a carriage return",
            '\0' => "a zero byte",
            '\u{feff}' => "a byte order mark",
            _ => "a control character",
        };
        let shown = Escaped(letter.encode_utf8(&mut [0; 4]).as_bytes()).to_string();
        return Err(wrong(format_args!(
            "text without control characters, found {what}; it is written as `{shown}`, and --raw \
             takes it as it is"
        )));
    }
    escape::unescape(text).ok_or_else(|| {
        wrong(format_args!(
            "a backslash to begin an escape, one of {ESCAPES}, found another; --raw takes \
             backslashes as they are"
        ))
    })
}

/// Refuses an entry that is too large for any store: the batch that it comes into would be lost.
pub(super) fn check_size(line: Line) -> Result<Line, Failure> {
    if let Line::Entry(key, value) = &line {
        let parts = [("key", key, KEY_BYTES_MAX), ("value", value, VALUE_BYTES_MAX)];
        if let Some((what, part, max)) = parts.into_iter().find(|(_, part, max)| part.len() > *max)
        {
            let found = part.len();
            return Err(wrong(format_args!(
                "a {what} of at most {max} bytes, found one of {found}"
            )));
        }
    }
    Ok(line)
}

/// Hexadecimal digits of a line. An error in them is not the command line's fault.
fn digits(text: &[u8]) -> Result<Vec<u8>, Failure> {
    parse_hex(text).map_err(|failure| Failure { kind: Kind::Failed, ..failure })
}

/// Fields of a JSON object, in their order, each as often as it is there.
pub(super) struct Fields<V>(pub(super) Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Fields<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Object<V> {
            type Value = Fields<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<V>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Object(PhantomData))
    }
}

/// The entry of an object, as `scan --json` prints it.
pub(super) fn parse_json(line: &[u8]) -> Result<Line, Failure> {
    if line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
        return Ok(Line::Other);
    }
    let Fields(fields) = serde_json::from_slice::<Fields<Value>>(line)
        .map_err(|error| wrong(format_args!("a JSON object: {error}")))?;
    // The sums that end the output of `scan --json`.
    if let [(name, Value::Object(_))] = &fields[..]
        && name == "total"
    {
        return Ok(Line::Other);
    }
    let (mut key, mut value, mut bytes) = (None, None, None);
    for (name, found) in &fields {
        let (part, name_of_part) = match name.as_str() {
            "key" | "key_hex" => (&mut key, "key"),
            "value" | "value_hex" => (&mut value, "value"),
            "bytes" if bytes.is_none() => {
                bytes = Some(found);
                continue;
            }
            _ => {
                let twice = if name == "bytes" { ", found it twice" } else { "" };
                let shown = Escaped(name.as_bytes());
                return Err(wrong(format_args!(
                    "no field but `key` or `key_hex`, `value` or `value_hex`, and `bytes`{twice}, \
                     found `{shown}`, which is not stored"
                )));
            }
        };
        if part.is_some() {
            return Err(wrong(format_args!(
                "`{name_of_part}` or `{name_of_part}_hex`, found both, or one of them twice"
            )));
        }
        let Some(text) = found.as_str() else {
            return Err(wrong(format_args!("a string as `{name}`, found {found}")));
        };
        let is_hex = name.ends_with("_hex");
        *part = Some(if is_hex { digits(text.as_bytes())? } else { text.as_bytes().to_vec() });
    }
    let (Some(key), Some(value)) = (key, value) else {
        return Err(wrong("an object with `key` and `value`, or `key_hex` and `value_hex`"));
    };
    if let Some(bytes) = bytes
        && bytes.as_u64() != Some(value.len() as u64)
    {
        return Err(wrong(format_args!("a value of {bytes} bytes, found {}", value.len())));
    }
    check_size(Line::Entry(key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: Rules = Rules { hex: false, raw: false, crlf: false };
    const HEX: Rules = Rules { hex: true, ..TEXT };
    const RAW: Rules = Rules { raw: true, ..TEXT };

    fn entry(key: &[u8], value: &[u8]) -> Line {
        Line::Entry(key.to_vec(), value.to_vec())
    }

    fn refused(rules: Rules, line: &[u8], told: &str) {
        is_told(without_mark(line, false).and_then(|line| rules.parse(line)), line, told);
    }

    fn refused_json(line: &[u8], told: &str) {
        is_told(without_mark(line, false).and_then(parse_json), line, told);
    }

    fn is_told(read: Result<Line, Failure>, line: &[u8], told: &str) {
        let failure = read.unwrap_err();
        assert_eq!(failure.kind, Kind::Failed);
        assert!(failure.message.contains(told), "{line:?}: {}", failure.message);
    }

    #[test]
    fn what_a_scan_prints_is_read_back() {
        // Every character up to the surrogates, and every byte.
        let letters: String = (0..0xd800).filter_map(char::from_u32).collect();
        let bytes: Vec<u8> = (0..=255).collect();
        for (key, value) in [(letters.as_bytes(), &bytes[..]), (&bytes, letters.as_bytes())] {
            let key = &key[..key.len().min(60_000)];
            let line = format!("{}\t{}", Escaped(key), Escaped(value));
            assert_eq!(TEXT.parse(line.as_bytes()).unwrap(), entry(key, value));
            let line = format!("{}\t{}", escape::hex(key), escape::hex(value));
            assert_eq!(HEX.parse(line.as_bytes()).unwrap(), entry(key, value));
            let digits = |bytes: &[u8]| escape::hex(bytes).into_bytes();
            if key.len() < 1000 {
                let as_text = entry(&digits(key), &digits(value));
                assert_eq!(TEXT.parse(line.as_bytes()).unwrap(), as_text);
            }
            let mut object = serde_json::Map::new();
            escape::insert(&mut object, "key", key);
            object.insert("bytes".to_owned(), value.len().into());
            escape::insert(&mut object, "value", value);
            let line = Value::from(object).to_string();
            assert_eq!(parse_json(line.as_bytes()).unwrap(), entry(key, value));
        }
        let sums = b"{\"total\":{\"bytes\":3,\"entries\":1}}";
        assert_eq!(parse_json(sums).unwrap(), Line::Other);
    }

    #[test]
    fn text_that_a_scan_never_prints_is_refused() {
        refused(TEXT, b"no tab", "found no tab");
        refused(TEXT, b"{\"key\":1}", "--format json");
        refused(TEXT, b"wrong \\q\tescape", "one of `\\\\`, `\\t`");
        refused(TEXT, b"cut \\x4\tescape", "--raw takes backslashes");
        refused(TEXT, b"k\tv\r", "--crlf");
        refused(TEXT, b"\r", "--crlf");
        refused(TEXT, b"k\tv\rw", "a carriage return; it is written as `\\r`");
        refused(TEXT, b"k\tv\tw", "a second tab");
        refused(TEXT, b"k\0\tv", "a zero byte");
        refused(TEXT, b"k\tv\x1b[2J", "it is written as `\\u{1b}`");
        refused(TEXT, b"k\x7f\tv", "a control character");
        refused(TEXT, "k\tv\u{85}".as_bytes(), "a control character");
        refused(TEXT, b"k\tv\xff", "found the byte `\\xff`");
        refused(TEXT, b"\xef\xbb\xbfk\tv", "--bom");
        refused(TEXT, b"k\t\xef\xbb\xbfv", "a byte order mark");
        refused(TEXT, b"\xff\xfek\0\t\0v\0", "UTF-16");
        for line in [&b"no tab"[..], b"00\t0", b"0g\t00", b"key\tvalue", b"00\t00\r", b"00\t00\t00"]
        {
            assert_eq!(HEX.parse(line).unwrap_err().kind, Kind::Failed);
        }
    }

    #[test]
    fn flags_take_what_they_name_and_nothing_else() {
        let parse = |rules: Rules, line: &[u8]| rules.parse(line).unwrap();
        assert_eq!(parse(RAW, b"C:\\temp\t\\q\x1b\tx\xff"), entry(b"C:\\temp", b"\\q\x1b\tx\xff"));
        refused(RAW, b"k\tv\r", "--crlf");
        refused(RAW, b"\xef\xbb\xbfk\tv", "--bom");
        let crlf = Rules { crlf: true, ..TEXT };
        assert_eq!(parse(crlf, b"k\tv\r"), entry(b"k", b"v"));
        assert_eq!(parse(crlf, b"k\tv"), entry(b"k", b"v"));
        assert_eq!(parse(crlf, b"\r"), Line::Other);
        refused(crlf, b"k\tv\r\r", "a carriage return");
        assert_eq!(without_mark(b"\xef\xbb\xbfk\tv", true).unwrap(), b"k\tv");
        assert_eq!(without_mark(b"k\tv", true).unwrap(), b"k\tv");
        refused(TEXT, b"\xef\xbb\xbf\xef\xbb\xbfk\tv", "a byte order mark");
        assert!(TEXT.parse(b"\xef\xbb\xbfk\tv").is_err());
        assert_eq!(parse(TEXT, b"C:\\temp\tv"), entry(b"C:\temp", b"v"));
    }

    #[test]
    fn objects_that_would_lose_something_are_refused() {
        refused_json(b"{", "a JSON object");
        refused_json(b"3", "an object");
        refused_json(b"{\"key\":\"a\"}", "an object with `key` and `value`");
        refused_json(b"{\"key_hex\":\"0\",\"value\":\"\"}", "pairs of hexadecimal digits");
        refused_json(
            b"{\"key\":\"a\",\"key\":\"b\",\"value\":\"\"}",
            "found both, or one of them twice",
        );
        refused_json(b"{\"key\":\"b1\",\"key_hex\":\"6232\",\"value\":\"\"}", "found both");
        refused_json(
            b"{\"key\":5,\"key_hex\":\"00\",\"value\":\"\"}",
            "a string as `key`, found 5",
        );
        refused_json(b"{\"key\":\"a\",\"value\":\"v\",\"ttl\":5}", "found `ttl`");
        refused_json(b"{\"key\":\"a\",\"value\":\"v\",\"bytes\":2}", "a value of 2 bytes, found 1");
        refused_json(b"{\"key\":\"a\",\"value\":\"v\",\"total\":{}}", "found `total`");
        refused_json(b"{\"error\":{\"code\":3}}", "found `error`");
        refused_json(b"{\"key\":\"a\",\"value\":\"\xff\"}", "a JSON object");
        refused_json(b"\xef\xbb\xbf{\"key\":\"a\",\"value\":\"v\"}", "--bom");
        // A carriage return between objects has no meaning in JSON.
        let line = b"{\"key\":\"a\",\"value\":\"v\\r\"}\r";
        assert_eq!(parse_json(line).unwrap(), entry(b"a", b"v\r"));
        assert_eq!(parse_json(b"\r").unwrap(), Line::Other);
    }
}
