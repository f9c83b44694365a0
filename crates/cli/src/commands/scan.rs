//! `terrace scan IMAGE`: prints the keys of a range in order, or with `--reverse` from the last to
//! the first, each with its value or the size of it.
//!
//! Entries are printed as they are read. A damaged block ends the scan with exit code 3, after the
//! entries before it. With `--skip-damaged` the scan goes on behind it: see [`skip`].

use std::io::Write;

use serde_json::{Map, json};
use terrace::fs::Access;

use super::entry::{self, Space};
use super::range::Range;
use super::skip::{self, Skip};
use super::target::Target;
use crate::escape::{self, Escaped};
use crate::failure::Failure;
use crate::output::Output;

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
    /// At most so many entries
    #[arg(long)]
    limit: Option<u64>,
    /// Print the values, not only their sizes
    #[arg(long)]
    values: bool,
    /// The keys of the range are given, and keys and values are printed, as hexadecimal digits
    #[arg(long)]
    hex: bool,
}

impl Scan {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        self.scan(output).map_err(|failure| self.target.named(failure))
    }

    fn scan(&self, output: &Output) -> Result<(), Failure> {
        let db = self.target.db(Access::ReadOnly)?;
        let space = self.space.find(&db)?;
        let mut out = output.screen();
        let (mut entries, mut bytes) = (0u64, 0u64);
        let limit = self.limit.unwrap_or(u64::MAX);
        let bounds = self.range.bounds(self.hex)?;
        let mut scan = self.skip.entries(&space, bounds, self.reverse)?;
        while entries < limit {
            let Some(entry) = scan.entries.next() else { break };
            let (key, value) = entry?;
            if output.is_json() {
                writeln!(out, "{}", serde_json::Value::from(self.object(&key, &value)))?;
            } else if self.values {
                writeln!(out, "{}\t{}", self.text(&key), self.text(&value))?;
            } else {
                writeln!(out, "{:>12}  {}", value.len(), self.text(&key))?;
            }
            entries += 1;
            bytes += value.len() as u64;
        }
        out.flush()?;
        drop(out);
        let mut total = json!({ "entries": entries, "bytes": bytes });
        self.skip.add(&mut total, &db, &scan.left_out, self.hex);
        if entries == 0 && limit > 0 {
            let range = if self.range.is_given() { " of this range" } else { "" };
            output.note(format_args!("no key{range}{}", entry::no_keys(&db, &space)));
        }
        // Named, so that no reader takes it for an entry.
        output.result(&json!({ "total": total }), |_| Ok(()))?;
        skip::tell(&db, &scan.left_out, self.hex, output)
    }

    fn text(&self, bytes: &[u8]) -> String {
        if self.hex { escape::hex(bytes) } else { Escaped(bytes).to_string() }
    }

    fn object(&self, key: &[u8], value: &[u8]) -> Map<String, serde_json::Value> {
        let mut object = Map::new();
        let insert = if self.hex { escape::insert_hex } else { escape::insert };
        insert(&mut object, "key", key);
        object.insert("bytes".to_owned(), value.len().into());
        if self.values {
            insert(&mut object, "value", value);
        }
        object
    }
}
