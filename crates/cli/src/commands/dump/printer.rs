//! [`Printer`] of a dump: writes each part as lines of text or as a JSON object, and counts the
//! damaged parts. Other functions here format keys and entries.
//!
//! A dump ends with [`Printer::finish`], which writes the buffered rest, and fails with
//! [`Kind::Corruption`] if a part was damaged. Bytes that were trimmed are reported by
//! [`Printer::missing`] and are no damage.

use std::fmt::Display;
use std::io::{self, Write};

use serde_json::{Map, Value, json};
use terrace_env::store::StoreError;
use terrace_lsm::inspect::{self, Entry, FullKey};

use crate::escape::{self, Escaped, Visible};
use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::screen::Screen;

/// The kind whose value is the end of a range.
const RANGE_DELETE: u8 = 2;

/// Prints parts as they come, and counts the damaged ones.
pub(crate) struct Printer<'a> {
    output: &'a Output,
    out: Screen,
    damaged: u64,
}

impl<'a> Printer<'a> {
    pub(crate) fn new(output: &'a Output) -> Self {
        Self { output, out: output.screen(), damaged: 0 }
    }

    /// Whether parts are printed as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.output.is_json()
    }

    /// Prints a part: an object in JSON, lines in text.
    pub(crate) fn part(
        &mut self,
        object: impl FnOnce() -> Value,
        text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        if self.is_json() {
            serde_json::to_writer(&mut self.out, &object()).map_err(io::Error::from)?;
            writeln!(self.out)?;
        } else {
            text(&mut self.out)?;
        }
        Ok(())
    }

    /// Tells of a part that does not verify, and goes on.
    pub(crate) fn damage(&mut self, what: &str, error: &impl Display) -> Result<(), Failure> {
        self.damaged += 1;
        let message = error.to_string();
        self.part(
            || json!({ "part": what, "damage": message }),
            |out| writeln!(out, "DAMAGED {what}: {}", Visible(&message)),
        )
    }

    /// Reports a damaged part, or that its bytes have been given back on purpose.
    pub(crate) fn missing(
        &mut self,
        what: &str,
        error: &terrace_lsm::Error,
    ) -> Result<(), Failure> {
        let given_back = matches!(error, terrace_lsm::Error::Store(StoreError::OutOfRange { .. }));
        if !given_back {
            return self.damage(what, error);
        }
        self.part(
            || json!({ "part": what, "given_back": true }),
            |out| writeln!(out, "{what}: given back to the store, not to be read any more"),
        )
    }

    /// Ends the dump with the result, which fails if anything was damaged.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.out.flush()?;
        if self.damaged > 0 {
            let count = self.damaged;
            let message =
                format!("expected parts that verify, found {count} damaged; they are marked above");
            return Err(Failure::new(Kind::Corruption, message));
        }
        self.output.result(&json!({ "damaged": 0 }), |_| Ok(()))
    }
}

/// A key in words: its key space in front unless that is the default one.
pub(crate) fn key_text(key: &FullKey) -> String {
    let user_key = Escaped(&key.user_key);
    if key.space.0 == 0 {
        format!("\"{user_key}\"")
    } else {
        format!("{}:\"{user_key}\"", key.space)
    }
}

/// Adds a key to a JSON object.
pub(crate) fn insert_key(object: &mut Map<String, Value>, name: &str, key: &FullKey) {
    object.insert(format!("{name}_space"), key.space.0.into());
    escape::insert(object, name, &key.user_key);
}

/// An entry as a JSON object.
pub(crate) fn entry_object(entry: &Entry, values: bool) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("part".into(), "entry".into());
    object.insert("space".into(), entry.key.space.0.into());
    escape::insert(&mut object, "key", &entry.key.user_key);
    object.insert("sequence".into(), entry.sequence.0.into());
    object.insert("kind".into(), kind_text(entry.kind).into());
    object.insert("bytes".into(), entry.value.len().into());
    if let Some(expiry) = entry.expiry {
        object.insert("expiry_millis".into(), expiry.0.into());
    }
    if entry.kind == RANGE_DELETE {
        escape::insert(&mut object, "end", &entry.value);
    } else if values {
        escape::insert(&mut object, "value", &entry.value);
    }
    object
}

/// An entry as a line.
pub(crate) fn entry_line(out: &mut dyn Write, entry: &Entry, values: bool) -> io::Result<()> {
    let (sequence, kind, key) = (entry.sequence, kind_text(entry.kind), key_text(&entry.key));
    write!(out, "{:>12}  {kind:6}  {key}", sequence.0)?;
    if entry.kind == RANGE_DELETE {
        let end = FullKey { space: entry.key.space, user_key: entry.value.clone() };
        write!(out, "  up to, without, {}", key_text(&end))?;
    } else if values && !entry.value.is_empty() {
        write!(out, "  {}", Escaped(&entry.value))?;
    } else {
        write!(out, "  {} bytes", entry.value.len())?;
    }
    if let Some(expiry) = entry.expiry {
        write!(out, "  expires {expiry}")?;
    }
    writeln!(out)
}

fn kind_text(number: u8) -> String {
    inspect::kind_name(number).map_or_else(|| format!("kind {number}"), str::to_owned)
}
