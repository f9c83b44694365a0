//! `terrace load IMAGE [FILE]`: stores entries that `scan --values` has printed, as text or, with
//! `--format json`, as JSON. Hexadecimal digits (`scan --hex`) are understood in JSON, and in text
//! with `--hex`; else they are taken for the key and the value themselves. The entries are durable
//! when the command succeeds.
//!
//! - A line is an entry. A line that is no entry ends the command with an error that names its
//!   number. Empty lines, and in JSON the sums that end a scan, are passed over.
//! - A last line of text without a newline may be whole, or the input was cut off in it: nothing
//!   tells. Its entry is stored, with a warning. A JSON object that was cut off is no entry.
//! - After an error in a line, the entries of the lines before it are in the store, and durable.
//! - With `--sorted` the entries go into tables directly. Keys must then come in order, each once,
//!   and after an error in a line none of the entries is in the store.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use terrace::{Batch, ByteCount, Db, Ingest, KEY_BYTES_MAX, KeySpace, VALUE_BYTES_MAX};
use terrace_env::text::read_line;

use super::entry::{Space, parse_hex};
use super::target::Target;
use super::under::Under;
use crate::escape::{self, shown};
use crate::failure::{Failure, Kind};
use crate::output::{Output, counted};
use crate::progress::Progress;

/// The longest line: the largest entry, with every byte escaped.
const LINE_MAX: u64 = 8 * (VALUE_BYTES_MAX + KEY_BYTES_MAX) as u64;
/// Bytes after which a batch is written.
const BATCH: usize = 1 << 20;

/// Store entries from a file or standard input, as `scan --values` prints them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace scan drive.img --values > entries.tsv
  terrace load zns.img entries.tsv
  terrace scan drive.img --values --hex | terrace load zns.img --hex
  terrace scan drive.img --values --json | terrace load plain --format json --sorted")]
pub(crate) struct Load {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    under: Under,
    /// The file; standard input if it is `-` or missing
    file: Option<PathBuf>,
    #[command(flatten)]
    space: Space,
    /// How entries are written
    #[arg(long, value_enum, default_value_t = Format::Tsv)]
    format: Format,
    /// Keys and values of `tsv` are given as hexadecimal digits, as `scan --hex` prints them;
    /// without it such digits are stored as the text that they are. JSON says itself which they are
    #[arg(long)]
    hex: bool,
    /// The keys are in order, each once: they go into tables directly, and become visible as a
    /// whole or, after an error, not at all
    #[arg(long)]
    sorted: bool,
}

/// How entries are written, one a line.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// Key, tab, value, with escapes as `scan` prints them
    Tsv,
    /// An object with `key` or `key_hex`, and `value` or `value_hex`
    Json,
}

/// A line of the input.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    /// A key and its value.
    Entry(Vec<u8>, Vec<u8>),
    /// No entry, and no error: an empty line, or the sums that end a scan.
    Other,
    /// There is no further one.
    End,
}

/// Where entries go.
enum Sink<'a> {
    Batches(&'a Db, Box<Batch>),
    Tables(Box<Ingest>),
}

impl Load {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        if self.hex && matches!(self.format, Format::Json) {
            let expected = "--hex: expected --format tsv, found json, which says itself where \
                            digits are: in `key_hex` and `value_hex`";
            return Err(Failure::new(Kind::Usage, expected));
        }
        let from_file = self.file.as_deref().filter(|path| *path != Path::new("-"));
        let name = from_file.unwrap_or(Path::new("standard input"));
        let at = |error: &io::Error| Failure::path(name, error);
        let (mut input, size): (Box<dyn BufRead>, u64) = match from_file {
            Some(path) => {
                let file = File::open(path).map_err(|error| at(&error))?;
                let size = file.metadata().map_err(|error| at(&error))?.len();
                (Box::new(BufReader::new(file)), size)
            }
            None => (Box::new(BufReader::new(io::stdin())), 0),
        };
        let db = self.target.db_under(&self.under)?;
        let space = self.space.make(&db).map_err(|failure| self.target.named(failure))?;
        let mut sink = if self.sorted {
            Sink::Tables(Box::new(db.ingest()?))
        } else {
            Sink::Batches(&db, Box::default())
        };
        let progress = Progress::bytes("loading", size);
        let (mut line, mut number, mut entries, mut bytes) = (Vec::new(), 0u64, 0u64, 0u64);
        let (mut wrong, mut is_open) = (None, false);
        // The line of the first entry that is not written yet.
        let mut first = 1;
        loop {
            line.clear();
            number += 1;
            let entry = read_line(&mut input, LINE_MAX, &mut line).map_err(|error| at(&error));
            let entry = entry.and_then(|read| {
                progress.add(read as u64);
                is_open = read > 0 && !line.ends_with(b"\n");
                let text = line.strip_suffix(b"\n").unwrap_or(&line);
                if read == 0 { Ok(Line::End) } else { self.format.parse(text, self.hex) }
            });
            let (key, value) = match entry.and_then(check_size) {
                Ok(Line::Entry(key, value)) => (key, value),
                Ok(Line::Other) => continue,
                Ok(Line::End) => break,
                Err(failure) => {
                    wrong = Some(failure.while_doing(format!("line {number}")));
                    break;
                }
            };
            (entries, bytes) = (entries + 1, bytes + (key.len() + value.len()) as u64);
            if is_open && matches!(self.format, Format::Tsv) {
                output.note(format_args!(
                    "warning: {}: line {number} ends without a newline; if the input was cut off \
                     there, the value that is stored is not whole",
                    shown(name)
                ));
            }
            if sink.has_nothing_to_write() {
                first = number;
            }
            let put = sink.put(&space, &key, &value);
            put.map_err(|failure| self.target.named(failure).while_doing(lines(first, number)))?;
        }
        match (wrong, sink) {
            (Some(wrong), Sink::Tables(_)) => return Err(wrong),
            (wrong, sink) => {
                let rest = (!sink.has_nothing_to_write()).then(|| lines(first, number - 1));
                let named = |failure| self.target.named(failure);
                let finished = sink.finish().map_err(|failure| match rest {
                    Some(rest) => named(failure).while_doing(rest),
                    None => named(failure),
                });
                let kept = finished.and_then(|()| db.close().map_err(|e| named(e.into())));
                drop(progress);
                match wrong {
                    Some(wrong) => return Err(wrong.and(kept.err())),
                    None => kept?,
                }
            }
        }
        output.result(&json!({ "entries": entries, "bytes": bytes }), |out| {
            let entries = counted(entries, "entry", "entries");
            writeln!(out, "loaded {entries}, {} of keys and values", ByteCount(bytes))
        })
    }
}

/// The lines of a batch, which are written together or not at all, in words.
fn lines(first: u64, last: u64) -> String {
    if first < last { format!("lines {first} to {last}") } else { format!("line {last}") }
}

impl Sink<'_> {
    /// Whether the next entry begins a batch. Tables of an ingest are one whole, so an error is
    /// told of the line that met it.
    fn has_nothing_to_write(&self) -> bool {
        match self {
            Self::Tables(_) => true,
            Self::Batches(_, batch) => batch.is_empty(),
        }
    }

    fn put(&mut self, space: &KeySpace, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Tables(ingest) => ingest.key_space(space)?.put(key, value)?,
            Self::Batches(db, batch) => {
                batch.key_space(space).put(key, value);
                if batch.byte_size().0 as usize >= BATCH {
                    db.write(*std::mem::take(batch))?;
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Tables(ingest) => ingest.finish().map(drop)?,
            Self::Batches(db, batch) => db.write(*batch)?,
        }
        Ok(())
    }
}

impl Format {
    fn parse(self, line: &[u8], hex: bool) -> Result<Line, Failure> {
        match self {
            Self::Tsv => parse_text(line, hex),
            Self::Json => parse_json(line),
        }
    }
}

fn wrong(expected: &str) -> Failure {
    Failure::new(Kind::Failed, format!("expected {expected}"))
}

/// Refuses an entry that is too large for any store: the batch that it comes into would be lost.
fn check_size(line: Line) -> Result<Line, Failure> {
    if let Line::Entry(key, value) = &line {
        let parts = [("key", key, KEY_BYTES_MAX), ("value", value, VALUE_BYTES_MAX)];
        if let Some((what, part, max)) = parts.into_iter().find(|(_, part, max)| part.len() > *max)
        {
            let found = part.len();
            return Err(wrong(&format!("a {what} of at most {max} bytes, found one of {found}")));
        }
    }
    Ok(line)
}

/// Hexadecimal digits of a line. What is wrong with them is not the command line's fault.
fn digits(text: &[u8]) -> Result<Vec<u8>, Failure> {
    parse_hex(text).map_err(|failure| Failure { kind: Kind::Failed, ..failure })
}

fn parse_text(line: &[u8], hex: bool) -> Result<Line, Failure> {
    if line.is_empty() {
        return Ok(Line::Other);
    }
    let Some(tab) = line.iter().position(|&byte| byte == b'\t') else {
        return Err(wrong("a key, a tab and a value, as `scan --values` prints them"));
    };
    let bytes = |text| match hex {
        true => digits(text),
        false => escape::unescape(text).ok_or_else(|| wrong("escapes that `scan` prints")),
    };
    Ok(Line::Entry(bytes(&line[..tab])?, bytes(&line[tab + 1..])?))
}

fn parse_json(line: &[u8]) -> Result<Line, Failure> {
    if line.is_empty() {
        return Ok(Line::Other);
    }
    let object: Value = serde_json::from_slice(line)
        .map_err(|error| Failure::new(Kind::Failed, format!("expected a JSON object: {error}")))?;
    let field = |name: &str| -> Result<Option<Vec<u8>>, Failure> {
        let in_hex = &object[format!("{name}_hex")];
        match (object[name].as_str(), in_hex.as_str()) {
            (Some(_), _) if !in_hex.is_null() => {
                Err(wrong(&format!("`{name}` or `{name}_hex`, found both")))
            }
            (Some(text), _) => Ok(Some(text.as_bytes().to_vec())),
            (None, hex) => hex.map(|hex| digits(hex.as_bytes())).transpose(),
        }
    };
    match (field("key")?, field("value")?) {
        (Some(key), Some(value)) => Ok(Line::Entry(key, value)),
        // The sums that end what `scan --json` prints.
        (None, None) if object["total"].is_object() => Ok(Line::Other),
        _ => Err(wrong("an object with `key` and `value`, or `key_hex` and `value_hex`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_scan_prints_is_read_back() {
        let (key, value) = (b"a\tb\\\x00\xff".to_vec(), "ä\n\"'\u{7f}".as_bytes().to_vec());
        let line = format!("{}\t{}", escape::Escaped(&key), escape::Escaped(&value));
        let entry = || Line::Entry(key.clone(), value.clone());
        assert_eq!(parse_text(line.as_bytes(), false).unwrap(), entry());
        let line = format!("{}\t{}", escape::hex(&key), escape::hex(&value));
        assert_eq!(parse_text(line.as_bytes(), true).unwrap(), entry());
        let digits = |bytes: &[u8]| escape::hex(bytes).into_bytes();
        let as_text = Line::Entry(digits(&key), digits(&value));
        assert_eq!(parse_text(line.as_bytes(), false).unwrap(), as_text);
        let mut object = serde_json::Map::new();
        escape::insert(&mut object, "key", &key);
        escape::insert(&mut object, "value", &value);
        let line = Value::from(object).to_string();
        assert_eq!(parse_json(line.as_bytes()).unwrap(), entry());
        let sums = b"{\"total\":{\"bytes\":3,\"entries\":1}}";
        assert_eq!(parse_json(sums).unwrap(), Line::Other);
    }

    #[test]
    fn lines_that_are_no_entries_are_refused() {
        for line in [&b"no tab"[..], b"wrong \\q\tescape", b"cut \\x4\tescape"] {
            parse_text(line, false).unwrap_err();
        }
        for line in [&b"no tab"[..], b"00\t0", b"0g\t00", b"key\tvalue"] {
            assert_eq!(parse_text(line, true).unwrap_err().kind, Kind::Failed);
        }
        for line in [&b"{"[..], b"{\"key\":\"a\"}", b"{\"key_hex\":\"0\",\"value\":\"\"}", b"3"] {
            assert_eq!(parse_json(line).unwrap_err().kind, Kind::Failed);
        }
        let both = b"{\"key\":\"b1\",\"key_hex\":\"6232\",\"value\":\"\"}";
        assert!(parse_json(both).unwrap_err().message.contains("found both"));
    }
}
