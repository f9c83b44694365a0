//! Damaged inputs of `load`: text, JSON and comma-separated values.

use std::path::Path;

use clap::Parser;
use terrace_fuzz::{Target, fuzz};

use super::format::Line;
use super::records::{Reading, Record, Records};

#[derive(Parser)]
struct Options {
    #[command(flatten)]
    reading: Reading,
}

/// The entries of an input that is read with these options; `None` if it is refused.
fn entries(options: &[&str], input: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let words = [&["load"], options].concat();
    let reading = Options::try_parse_from(words).expect("options that exist").reading;
    let mut records = Records::new(&reading, Path::new("input"), 0);
    let mut entries = Vec::new();
    for line in input.strip_suffix(b"\n").unwrap_or(input).split(|byte| *byte == b'\n') {
        if let Record::Whole(Line::Entry(key, value)) = records.line(line).ok()? {
            entries.push((key, value));
        }
    }
    records.finish().ok()?;
    Some(entries)
}

/// Entries as lines of hexadecimal digits.
fn in_digits(entries: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let line = |(key, value): &(Vec<u8>, Vec<u8>)| format!("{}\t{}\n", hex(key), hex(value));
    entries.iter().map(line).collect::<String>().into_bytes()
}

/// Reads an input, and the entries again in digits.
fn check(options: &[&str], input: &[u8]) -> bool {
    let Some(read) = entries(options, input) else { return false };
    if read.iter().all(|(key, value)| !(key.is_empty() && value.is_empty())) {
        assert_eq!(entries(&["--hex"], &in_digits(&read)).as_ref(), Some(&read));
    }
    true
}

/// A target that reads with these options.
fn target(options: &'static [&'static str], specimen: &[u8]) -> Target {
    let decode = move |input: &[u8]| check(options, input);
    let target = Target::decoding("input of load", vec![specimen.to_vec()], decode);
    target.memory(256 << 10, 128).with_seeds(3_000)
}

const TEXT: &[u8] = b"key\tvalue\nk\\xff\\t\tv\\u{1f600}\\\\\n\n\xc3\xa4\t\n";
const OBJECTS: &[u8] = b"{\"id\":7,\"name\":\"x\",\"deep\":[1,{\"a\":null}]}\n\
                         {\"id\":\"8\",\"name\":\"\"}\n";
const ROWS: &[u8] = b"id,name,text\n1,one,\"a, \"\"b\"\"\nc\"\n2,,\n";

#[test]
fn text() {
    fuzz!(target(&[], TEXT));
}

#[test]
fn raw_text() {
    fuzz!(target(&["--raw", "--crlf"], TEXT));
}

#[test]
fn digits() {
    fuzz!(target(&["--hex"], b"6b6579\t76616c7565\n00\tFF\n"));
}

#[test]
fn scanned_objects() {
    let lines = b"{\"key\":\"a\",\"value\":\"\\u00e4\"}\n{\"key_hex\":\"00ff\",\"value_hex\":\"\",\
                  \"bytes\":0}\n{\"total\":{\"entries\":2}}\n";
    fuzz!(target(&["--format", "json"], lines));
}

#[test]
fn objects() {
    fuzz!(target(&["--format", "json", "--key", "id"], OBJECTS));
}

#[test]
fn fields_of_objects() {
    fuzz!(target(&["--format", "json", "--key", "id", "--value", "name"], OBJECTS));
}

#[test]
fn rows() {
    fuzz!(target(&["--format", "csv"], ROWS));
}

#[test]
fn columns_of_rows() {
    fuzz!(target(&["--format", "csv", "--key", "name", "--value", "text"], ROWS));
}
