//! [`Records`]: the lines of an input as entries, in the format that was asked for or found.
//!
//! - Options that have no meaning in the format are refused, before anything is stored.
//! - A byte order mark before the first line is refused, or taken off with `--bom`.
//! - Lines before `--from-line` make no entries; the header of `csv` is read from them all the
//!   same.
//! - An entry may have several lines in `csv` only. [`Records::finish`] refuses an input that ends
//!   within an entry.

use std::borrow::Cow;
use std::path::Path;

use super::columns::Columns;
use super::csv::Csv;
use super::detect::detect;
use super::format::{Format, Line, Rules, parse_json, without_mark, wrong};
use super::object;
use crate::failure::{Failure, Kind};

/// The options that say how an input is read.
#[derive(clap::Args)]
pub(super) struct Reading {
    /// How entries are written [default: by the suffix of the file's name, .csv, .json, .jsonl,
    /// .ndjson or .tsv; else json if the first line begins with a brace, and tsv]
    #[arg(long, value_enum)]
    format: Option<Format>,
    #[command(flatten)]
    columns: Columns,
    /// Keys and values of `tsv` are given as hexadecimal digits, as `scan --hex` prints them;
    /// without it such digits are stored as the text that they are. JSON says itself which they are
    #[arg(long)]
    hex: bool,
    /// Text of `tsv` has no escapes: backslashes, control characters and all bytes are taken as
    /// they are. The key ends at the first tab, the value at the end of the line
    #[arg(long, conflicts_with = "hex")]
    raw: bool,
    /// Lines of `tsv` may end with a carriage return and a newline
    #[arg(long)]
    crlf: bool,
    /// Take off a byte order mark at the begin of the input
    #[arg(long)]
    bom: bool,
}

impl Reading {
    /// The format, as far as the options tell it.
    pub(super) fn format(&self) -> Option<Format> {
        let is_text = self.hex || self.raw || self.crlf;
        self.format.or(is_text.then_some(Format::Tsv))
    }

    /// Refuses options that have no meaning in a format.
    pub(super) fn check(&self, format: Format) -> Result<(), Failure> {
        let Columns { key, value, has_header } = &self.columns;
        let text_only = [("hex", self.hex), ("raw", self.raw), ("crlf", self.crlf)];
        let text_only = text_only.into_iter().filter(|_| format != Format::Tsv);
        let columns = [
            ("key", key.is_some() && format == Format::Tsv, "csv or json"),
            ("value", value.is_some() && format == Format::Tsv, "csv or json"),
            ("no-header", !has_header && format != Format::Csv, "csv"),
        ];
        let unfit = text_only.map(|(flag, given)| (flag, given, "tsv")).chain(columns);
        if let Some((flag, _, expected)) = unfit.into_iter().find(|(_, given, _)| *given) {
            let found = match format {
                Format::Tsv => "tsv",
                Format::Json => "json",
                Format::Csv => "csv",
            };
            let why = match (flag, format) {
                ("hex", Format::Json) => {
                    ", which says itself where digits are: in `key_hex` and `value_hex`"
                }
                ("raw", Format::Json) => ", which has escapes of its own",
                ("crlf", _) => ", in which a carriage return between entries has no meaning",
                _ => "",
            };
            let message = format!("--{flag}: expected --format {expected}, found {found}{why}");
            return Err(Failure::new(Kind::Usage, message));
        }
        if value.is_some() && key.is_none() && format == Format::Json {
            let message = "--value: expected --key as well, found --format json without it";
            return Err(Failure::new(Kind::Usage, message.to_owned()));
        }
        Ok(())
    }
}

/// See the [module](self).
pub(super) struct Records<'a> {
    reading: &'a Reading,
    name: &'a Path,
    from_line: u64,
    /// Lines that were taken.
    number: u64,
    /// The first line of the entry that the last line belongs to.
    begin: u64,
    reader: Option<Reader>,
}

enum Reader {
    Text(Rules),
    Scanned,
    Objects,
    Csv(Box<Csv>),
}

/// A line, read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// An entry, or no entry, that ends with this line.
    Whole(Line),
    /// The entry goes on in the next line.
    Open,
    /// The line lies before the first one that is asked for.
    Before,
}

impl<'a> Records<'a> {
    /// `name`: of the input; lines before `from_line` make no entries.
    pub(super) fn new(reading: &'a Reading, name: &'a Path, from_line: u64) -> Self {
        Self { reading, name, from_line, number: 0, begin: 1, reader: None }
    }

    /// Number of the last line.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether lines are text, of which nothing tells whether the last one is whole.
    pub(super) fn may_be_cut(&self) -> bool {
        matches!(self.reader, Some(Reader::Text(_) | Reader::Csv(_)))
    }

    /// How rows are read, in words; `None` if that is not known yet, or the lines are no rows.
    pub(super) fn described(&self) -> Option<String> {
        match &self.reader {
            Some(Reader::Csv(csv)) => csv.described(),
            _ => None,
        }
    }

    /// Takes the next line, without its newline.
    pub(super) fn line(&mut self, line: &[u8]) -> Result<Record, Failure> {
        self.number += 1;
        if self.begin == 0 {
            self.begin = self.number;
        }
        let begin = self.begin;
        let read = self.read(line).map_err(|wrong| wrong.while_doing(lines(begin, self.number)))?;
        if read != Record::Open {
            self.begin = 0;
        }
        Ok(read)
    }

    /// The end of the input.
    pub(super) fn finish(&self) -> Result<(), Failure> {
        if self.begin != 0 && self.number > 0 {
            let wrong = wrong("a quote that ends the field, found the end of the input");
            return Err(wrong.while_doing(lines(self.begin, self.number)));
        }
        if self.number + 1 < self.from_line {
            let (expected, found) = (self.from_line - 1, self.number);
            let message = format!(
                "--from-line {}: expected at least {expected} lines, found {found}",
                self.from_line
            );
            return Err(Failure::new(Kind::Failed, message));
        }
        Ok(())
    }

    fn read(&mut self, line: &[u8]) -> Result<Record, Failure> {
        let mut line = Cow::Borrowed(line);
        if self.reader.is_none() {
            let text = without_mark(&line, self.reading.bom)?.to_vec();
            let format = self.reading.format().unwrap_or_else(|| detect(self.name, &text));
            self.reading.check(format)?;
            self.reader = Some(self.reader_of(format));
            line = Cow::Owned(text);
        }
        let is_before = self.number < self.from_line;
        let columns = &self.reading.columns;
        match self.reader.as_mut().expect("set above") {
            Reader::Csv(csv) if !is_before || csv.wants_header() => {
                Ok(csv.line(&line)?.map_or(Record::Open, Record::Whole))
            }
            _ if is_before => Ok(Record::Before),
            Reader::Csv(csv) => Ok(csv.line(&line)?.map_or(Record::Open, Record::Whole)),
            Reader::Text(rules) => rules.parse(&line).map(Record::Whole),
            Reader::Scanned => parse_json(&line).map(Record::Whole),
            Reader::Objects => {
                let key = columns.key.as_deref().expect("objects are read by a key");
                object::entry(&line, key, columns.value.as_deref()).map(Record::Whole)
            }
        }
    }

    fn reader_of(&self, format: Format) -> Reader {
        let Reading { hex, raw, crlf, ref columns, .. } = *self.reading;
        match format {
            Format::Tsv => Reader::Text(Rules { hex, raw, crlf }),
            Format::Json if columns.key.is_some() => Reader::Objects,
            Format::Json => Reader::Scanned,
            Format::Csv => Reader::Csv(Box::new(Csv::new(columns.clone()))),
        }
    }
}

/// Lines in words.
pub(super) fn lines(first: u64, last: u64) -> String {
    if first < last { format!("lines {first} to {last}") } else { format!("line {last}") }
}
