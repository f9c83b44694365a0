//! [`Csv`]: rows of comma-separated values as entries (RFC 4180).
//!
//! - A field in quotes may have commas, line breaks and doubled quotes in it, so a row may have
//!   several lines. The lines are given one at a time, and the last one completes the row.
//! - The first row names the columns, unless the input has no header.
//! - One column is the key. The value is another column; by default, the other one of two columns,
//!   or of a row with more columns the whole row as a JSON object of text fields.
//! - A row with more or fewer fields than the first row is refused, and so is a line with a
//!   carriage return between rows: the rows after it would be lost. So are bytes after the closing
//!   quote of a field ([`Quotes`]).
//! - Bytes of fields are stored as they are. Only a JSON object needs fields in UTF-8.
//!
//! The `csv-core` crate finds the fields.

use csv_core::{ReadRecordResult, Reader};
use serde_json::json;

use super::columns::Columns;
use super::format::{Line, check_size, wrong};
use super::quotes::Quotes;
use crate::escape::Escaped;
use crate::failure::Failure;

/// See the [module](self).
pub(super) struct Csv {
    columns: Columns,
    reader: Reader,
    quotes: Quotes,
    /// Bytes of the fields of the row so far, and the ends of complete fields in it.
    fields: Vec<u8>,
    ends: Vec<usize>,
    /// Lengths of these that are used.
    filled: (usize, usize),
    /// Whether a row has begun that needs further lines.
    is_open: bool,
    /// The columns, once the first row was read.
    layout: Option<Layout>,
}

/// Places of the key and the value in each row.
struct Layout {
    /// Name of each column, or its number if there is no header.
    names: Vec<String>,
    key: usize,
    /// `None`: the whole row.
    value: Option<usize>,
}

impl Csv {
    pub(super) fn new(columns: Columns) -> Self {
        let (fields, ends) = (vec![0; 1 << 12], vec![0; 64]);
        let (filled, is_open, layout) = ((0, 0), false, None);
        let (reader, quotes) = (Reader::new(), Quotes::default());
        Self { columns, reader, quotes, fields, ends, filled, is_open, layout }
    }

    /// Whether the next row is the header.
    pub(super) fn wants_header(&self) -> bool {
        self.columns.has_header && self.layout.is_none()
    }

    /// The columns of the key and the value in words, once they are known.
    pub(super) fn described(&self) -> Option<String> {
        let Layout { names, key, value } = self.layout.as_ref()?;
        let column = |at: usize| match self.columns.has_header {
            true => format!("column `{}`", Escaped(names[at].as_bytes())),
            false => format!("column {}", at + 1),
        };
        let value = match value {
            Some(value) => column(*value),
            None => "the whole row as a JSON object".to_owned(),
        };
        Some(format!("comma-separated values: the key is {}, the value {value}", column(*key)))
    }

    /// Takes the next line, without its newline. `None`: the row goes on in the next line.
    pub(super) fn line(&mut self, line: &[u8]) -> Result<Option<Line>, Failure> {
        if !self.is_open && line.trim_ascii().is_empty() {
            return Ok(Some(Line::Other));
        }
        self.is_open = true;
        self.quotes.line(line)?;
        let Some(rest) = self.feed(line).or_else(|| self.feed(b"\n")) else { return Ok(None) };
        if rest.iter().any(|&byte| byte != b'\r') {
            return Err(wrong(format_args!(
                "rows that end with a newline, found a carriage return, and `{}` after it; in a \
                 field it needs quotes",
                Escaped(&rest[..rest.len().min(20)])
            )));
        }
        self.is_open = false;
        let (_, count) = std::mem::take(&mut self.filled);
        let mut begin = 0;
        let mut row = Vec::with_capacity(count);
        for end in &self.ends[..count] {
            row.push(&self.fields[begin..*end]);
            begin = *end;
        }
        if self.layout.is_none() {
            let is_header = self.columns.has_header;
            self.layout = Some(Layout::new(&self.columns, &row)?);
            if is_header {
                return Ok(Some(Line::Other));
            }
        }
        let layout = self.layout.as_ref().expect("the first row made it");
        check_size(layout.entry(&row)?).map(Some)
    }

    /// Gives bytes to the reader. If they complete a row, returns the bytes after it.
    fn feed<'a>(&mut self, mut bytes: &'a [u8]) -> Option<&'a [u8]> {
        while !bytes.is_empty() {
            let (at, field) = self.filled;
            let (result, read, written, ended) =
                self.reader.read_record(bytes, &mut self.fields[at..], &mut self.ends[field..]);
            bytes = &bytes[read..];
            self.filled = (at + written, field + ended);
            match result {
                ReadRecordResult::InputEmpty => return None,
                ReadRecordResult::OutputFull => self.fields.resize(2 * self.fields.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record | ReadRecordResult::End => return Some(bytes),
            }
        }
        None
    }
}

impl Layout {
    fn new(columns: &Columns, row: &[&[u8]]) -> Result<Self, Failure> {
        let names: Vec<String> = match columns.has_header {
            true => {
                row.iter().map(|name| text(name).map(str::to_owned)).collect::<Result<_, _>>()?
            }
            false => (1..=row.len()).map(|number| number.to_string()).collect(),
        };
        if names.len() < 2 {
            let found = Escaped(row.first().copied().unwrap_or_default());
            return Err(wrong(format_args!(
                "at least two columns, separated by commas, found one: `{found}`"
            )));
        }
        let key = match &columns.key {
            Some(name) => place(&names, "--key", name)?,
            None => 0,
        };
        let value = match &columns.value {
            Some(name) => Some(place(&names, "--value", name)?),
            None if names.len() == 2 => Some(1 - key),
            None if columns.has_header => {
                let mut sorted: Vec<&String> = names.iter().collect();
                sorted.sort();
                if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                    let name = Escaped(twice[0].as_bytes());
                    return Err(wrong(format_args!(
                        "columns with different names, to make an object of each row, found two \
                         of the name `{name}`; --value takes one column as the value"
                    )));
                }
                None
            }
            None => {
                let count = names.len();
                return Err(wrong(format_args!(
                    "--value with the number of a column, since no header names the {count} \
                     columns"
                )));
            }
        };
        Ok(Self { names, key, value })
    }

    fn entry(&self, row: &[&[u8]]) -> Result<Line, Failure> {
        if row.len() != self.names.len() {
            let (expected, found) = (self.names.len(), row.len());
            return Err(wrong(format_args!(
                "{expected} fields, as in the first row, found {found}"
            )));
        }
        let value = match self.value {
            Some(value) => row[value].to_vec(),
            None => {
                let fields =
                    self.names.iter().zip(row).map(|(name, field)| {
                        Ok(format!("{}:{}", json!(name), json!(text(field)?)))
                    });
                let fields = fields.collect::<Result<Vec<String>, Failure>>()?;
                format!("{{{}}}", fields.join(",")).into_bytes()
            }
        };
        Ok(Line::Entry(row[self.key].to_vec(), value))
    }
}

/// The place of the column that an option names, by its name or its number.
fn place(names: &[String], option: &str, name: &str) -> Result<usize, Failure> {
    let mut places = (0..names.len()).filter(|&at| names[at] == name);
    match (places.next(), places.next()) {
        (Some(at), None) => return Ok(at),
        (Some(_), Some(_)) => {
            return Err(wrong(format_args!(
                "{option} `{}` to name one column, found two of this name; its number is unique",
                Escaped(name.as_bytes())
            )));
        }
        (None, _) => {}
    }
    let number = name.parse::<usize>().ok().filter(|number| (1..=names.len()).contains(number));
    number.map(|number| number - 1).ok_or_else(|| {
        let known: Vec<String> =
            names.iter().map(|name| format!("`{}`", Escaped(name.as_bytes()))).collect();
        wrong(format_args!(
            "{option} to name a column, one of {}, or a number from 1 to {}, found `{}`",
            known.join(", "),
            names.len(),
            Escaped(name.as_bytes())
        ))
    })
}

fn text(field: &[u8]) -> Result<&str, Failure> {
    std::str::from_utf8(field).map_err(|_| {
        let found = Escaped(field);
        wrong(format_args!(
            "text in UTF-8, found `{found}`; --value stores the bytes of a column as they are"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(key: Option<&str>, value: Option<&str>, has_header: bool) -> Csv {
        let (key, value) = (key.map(str::to_owned), value.map(str::to_owned));
        Csv::new(Columns { key, value, has_header })
    }

    fn read(csv: &mut Csv, lines: &[&str]) -> Vec<(String, String)> {
        let mut entries = Vec::new();
        for line in lines {
            if let Some(Line::Entry(key, value)) = csv.line(line.as_bytes()).unwrap() {
                entries.push((String::from_utf8(key).unwrap(), String::from_utf8(value).unwrap()));
            }
        }
        assert!(!csv.is_open);
        entries
    }

    fn entry(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn quoted_fields_have_commas_quotes_and_line_breaks() {
        let lines = ["id,name\r", "1,\"a, \"\"b\"\"", "", "c\"\r", "\r", "2,\"\""];
        let entries = read(&mut csv(None, None, true), &lines);
        assert_eq!(entries, [entry("1", "a, \"b\"\n\nc"), entry("2", "")]);
    }

    #[test]
    fn rows_of_more_columns_are_objects_unless_one_column_is_chosen() {
        let lines = ["id,name,city", "7,Ann,\"Paris, TX\""];
        let object = r#"{"id":"7","name":"Ann","city":"Paris, TX"}"#;
        assert_eq!(read(&mut csv(None, None, true), &lines), [entry("7", object)]);
        assert_eq!(read(&mut csv(Some("name"), Some("1"), true), &lines), [entry("Ann", "7")]);
        assert_eq!(
            read(&mut csv(Some("3"), Some("2"), false), &lines),
            [entry("city", "name"), entry("Paris, TX", "Ann")]
        );
    }

    #[test]
    fn of_two_columns_the_one_that_is_not_the_key_is_the_value() {
        let lines = ["id,name", "7,Ann"];
        for (key, value) in [(None, None), (Some("id"), None), (None, Some("name"))] {
            assert_eq!(read(&mut csv(key, value, true), &lines), [entry("7", "Ann")]);
        }
        for value in [None, Some("id")] {
            assert_eq!(read(&mut csv(Some("name"), value, true), &lines), [entry("Ann", "7")]);
        }
    }

    #[test]
    fn long_and_wide_rows_are_read_whole() {
        let wide: Vec<String> = (0..500).map(|at| format!("c{at}")).collect();
        let long = "x".repeat(100_000);
        let mut row: Vec<String> = (0..500).map(|at| format!("{long}{at}")).collect();
        row[0] = "k".to_owned();
        let mut csv = csv(Some("c0"), Some("c499"), true);
        let entries = read(&mut csv, &[&*wide.join(","), &*row.join(",")]);
        assert_eq!(entries, [entry("k", &format!("{long}499"))]);
    }

    #[test]
    fn rows_that_fit_no_column_are_refused() {
        let told = |csv: &mut Csv, lines: &[&[u8]]| {
            let mut lines = lines.iter();
            loop {
                if let Err(failure) = csv.line(lines.next().expect("one of them is refused")) {
                    return failure.message;
                }
            }
        };
        let all = |csv: Csv, lines: &[&[u8]], expected: &str| {
            let mut csv = csv;
            let message = told(&mut csv, lines);
            assert!(message.contains(expected), "{message}");
        };
        all(csv(None, None, true), &[b"id,a", b"1,2,3"], "2 fields, as in the first row, found 3");
        all(csv(None, None, true), &[b"id;a"], "at least two columns");
        all(csv(Some("x"), None, true), &[b"id,a"], "one of `id`, `a`, or a number from 1 to 2");
        all(csv(Some("a"), None, true), &[b"a,a"], "found two of this name");
        all(csv(None, None, true), &[b"i,a,a"], "found two of the name `a`");
        all(csv(None, None, false), &[b"1,2,3"], "--value with the number of a column");
        all(csv(None, None, true), &[b"i,a,b", b"1,\xff,2"], "text in UTF-8, found `\\xff`");
        all(csv(None, None, true), &[b"id,a\r1,x\r2,y\r"], "and `1,x\\r2,y\\r` after it");
        all(csv(None, None, true), &[b"id,a", b"1,x\ry"], "a carriage return, and `y` after it");
    }
}
