//! `terrace scan IMAGE`: prints the keys of a range in order, or with `--reverse` from the last to
//! the first, each with its value or the size of it.
//!
//! Entries are printed as they are read. A damaged block ends the scan with exit code 3, after the
//! entries before it. With `--skip-damaged` the scan goes on after it: see [`skip`].

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, json};
use terrace::live::{Live, LiveEntry};
use terrace::{ErrorKind, Reader};

use super::entry::{self, Space};
use super::range::Range;
use super::skip::{self, Skip};
use super::source::{Alone, Source};
use super::target::Target;
use crate::escape::{self, Escaped};
use crate::failure::Failure;
use crate::output::Output;
use crate::screen::Screen;

/// Print keys in order, with their values or the sizes of them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace scan drive.img --prefix gr --values
  terrace scan drive.img --reverse --limit 3
  terrace scan drive.img --hex --json")]
pub(crate) struct Scan {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    space: Space,
    #[command(flatten)]
    range: Range,
    /// From the last key to the first; `--limit` then keeps the last ones
    #[arg(long, conflicts_with = "skip_damaged")]
    reverse: bool,
    #[command(flatten)]
    skip: Skip,
    /// At most this number of entries
    #[arg(long)]
    limit: Option<u64>,
    /// Print the values, not only their sizes
    #[arg(long)]
    values: bool,
    /// The keys of the range are given, and keys and values are printed, as hexadecimal digits
    #[arg(long)]
    hex: bool,
    #[command(flatten)]
    alone: Alone,
}

/// Sums over the printed entries.
#[derive(Default, Serialize)]
struct Printed {
    entries: u64,
    bytes: u64,
}

impl Printed {
    fn add(&mut self, bytes: u64) {
        self.entries += 1;
        self.bytes += bytes;
    }
}

impl Scan {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        self.scan(output).map_err(|failure| self.target.named(failure))
    }

    fn scan(&self, output: &Output) -> Result<(), Failure> {
        if let Some(reader) = self.alone.reader(&self.target)? {
            return self.scan_alone(&reader, output);
        }
        let db = match self.target.source()? {
            Source::Alone(db) => db,
            Source::Owner(live) => return self.scan_live(*live, output),
        };
        let space = self.space.find(&db)?;
        let mut printed = Printed::default();
        let mut out = output.screen();
        let limit = self.limit.unwrap_or(u64::MAX);
        let bounds = self.range.bounds(self.hex)?;
        let mut scan = self.skip.entries(&space, bounds, self.reverse)?;
        while printed.entries < limit {
            let Some(entry) = scan.entries.next() else { break };
            let (key, value) = entry?;
            self.print(&mut out, output, &key, &value, value.len() as u64)?;
            printed.add(value.len() as u64);
        }
        out.flush()?;
        drop(out);
        let mut total = json!(printed);
        self.skip.add(&mut total, &db, &scan.left_out, self.hex);
        if printed.entries == 0 && limit > 0 {
            let range = if self.range.is_given() { " of this range" } else { "" };
            output.note(format_args!("no key{range}{}", entry::no_keys(&db, &space)));
        }
        // Named, so that no reader takes it for an entry.
        output.result(&json!({ "total": total }), |_| Ok(()))?;
        skip::tell(&db, &scan.left_out, self.hex, output)
    }

    /// Scans by the process that has the store open.
    fn scan_live(&self, live: Live, output: &Output) -> Result<(), Failure> {
        self.skip.check_alone(live.owner())?;
        let limit = self.limit.unwrap_or(u64::MAX);
        let bounds = self.range.bounds(self.hex)?;
        let scan = live.scan(self.space.name(), bounds, self.reverse, limit, self.values)?;
        self.print_all(scan.map(|entry| Ok(entry?)), output)
    }

    /// Scans next to the process that has the store open, without asking it.
    fn scan_alone(&self, reader: &Reader, output: &Output) -> Result<(), Failure> {
        self.skip.check_unasked("--alone")?;
        let bounds = self.range.bounds(self.hex)?;
        let scan = reader.scan_key_space(self.space.name(), bounds)?;
        let entries: Box<dyn Iterator<Item = _>> =
            if self.reverse { Box::new(scan.rev()) } else { Box::new(scan) };
        let limit = usize::try_from(self.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        let entries = entries.take(limit).map(|entry| {
            let (key, value) = entry.map_err(moved_on)?;
            let size = value.len() as u64;
            Ok(LiveEntry { key, size, value: self.values.then_some(value) })
        });
        self.print_all(entries, output)
    }

    /// Prints entries as they come, and their sums.
    fn print_all(
        &self,
        entries: impl Iterator<Item = Result<LiveEntry, Failure>>,
        output: &Output,
    ) -> Result<(), Failure> {
        let mut printed = Printed::default();
        let mut out = output.screen();
        for entry in entries {
            let LiveEntry { key, size, value } = entry?;
            self.print(&mut out, output, &key, value.as_deref().unwrap_or_default(), size)?;
            printed.add(size);
        }
        out.flush()?;
        drop(out);
        if printed.entries == 0 && self.limit != Some(0) {
            let range = if self.range.is_given() { " of this range" } else { "" };
            let space = Escaped(self.space.name().as_bytes());
            output.note(format_args!("no key{range} in the key space `{space}`"));
        }
        output.result(&json!({ "total": printed }), |_| Ok(()))
    }

    /// Prints an entry. `value` is empty where only its size is known.
    fn print(
        &self,
        out: &mut Screen,
        output: &Output,
        key: &[u8],
        value: &[u8],
        size: u64,
    ) -> io::Result<()> {
        if output.is_json() {
            writeln!(out, "{}", serde_json::Value::from(self.object(key, value, size)))
        } else if self.values {
            writeln!(out, "{}\t{}", self.text(key), self.text(value))
        } else {
            writeln!(out, "{size:>12}  {}", self.text(key))
        }
    }

    fn text(&self, bytes: &[u8]) -> String {
        if self.hex { escape::hex(bytes) } else { Escaped(bytes).to_string() }
    }

    fn object(&self, key: &[u8], value: &[u8], size: u64) -> Map<String, serde_json::Value> {
        let mut object = Map::new();
        let insert = if self.hex { escape::insert_hex } else { escape::insert };
        insert(&mut object, "key", key);
        object.insert("bytes".to_owned(), size.into());
        if self.values {
            insert(&mut object, "value", value);
        }
        object
    }
}

/// The failure of a scan without asking. If the writer has freed a part of its view, the message
/// says what to do.
fn moved_on(error: terrace::Error) -> Failure {
    let has_moved = error.kind() == ErrorKind::Moved;
    let mut failure = Failure::from(error);
    if has_moved {
        failure.message += "; run the command again, or scan a smaller range";
    }
    failure
}
