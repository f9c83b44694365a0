//! [`Output`]: how a command answers: in text, or with `--json` in JSON, an object a line.
//!
//! - [`Output::result`] prints the result on standard output.
//! - [`Output::line`] prints a line about work that goes on; with `--json`, nothing.
//! - [`Output::raw`] prints bytes as they are, also with `--json`. On a terminal it escapes
//!   invisible characters in them, and adds a newline if they do not end with one.
//! - [`Output::note`] prints text for people on standard error, also with `--json`.
//! - [`Output::failure`] prints an error: on standard error, or with `--json` as an object on
//!   standard output, if that can be written. Names of files and keys may stand in its message as
//!   they are: invisible characters in it are escaped here. For the failure [`Kind::OutputClosed`]
//!   it prints nothing.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use indicatif::HumanCount;
use serde::Serialize;

use crate::escape::Visible;
use crate::failure::{Failure, Kind};
use crate::screen::{self, Screen};

/// A number of things: `1 file`, `2 files`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A count and its noun, with the digits of the number in groups: `12,345 files`.
pub(crate) fn counted_in_groups(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", HumanCount(count), if count == 1 { one } else { many })
}

/// How a command answers.
pub(crate) struct Output {
    json: bool,
}

impl Output {
    /// Answers in JSON, or in text.
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether answers are in JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// The screen for text or JSON.
    pub(crate) fn screen(&self) -> Screen {
        if self.json { Screen::json() } else { Screen::text() }
    }

    /// Prints a result: the value as JSON, or the output of `text`.
    pub(crate) fn result(
        &self,
        value: &impl Serialize,
        text: impl FnOnce(&mut Screen) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut out = self.screen();
        if self.json {
            serde_json::to_writer(&mut out, value).map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            text(&mut out)?;
        }
        Ok(out.flush()?)
    }

    /// Prints a line about work that goes on; nothing in JSON, where only the result counts.
    pub(crate) fn line(&self, text: impl fmt::Display) -> Result<(), Failure> {
        if self.json {
            return Ok(());
        }
        let mut out = Screen::text();
        writeln!(out, "{text}")?;
        Ok(out.flush()?)
    }

    /// Prints bytes as they are; if a person reads them, as text that ends with a newline.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = Screen::bytes();
        out.write_all(bytes)?;
        if screen::is_terminal() && !bytes.ends_with(b"\n") {
            writeln!(out)?;
        }
        Ok(out.flush()?)
    }

    /// Tells the person at the terminal something that is not a result.
    pub(crate) fn note(&self, text: impl fmt::Display) {
        // There is no other place to report that standard error is gone.
        let _ = writeln!(Screen::errors(), "{text}");
    }

    /// Prints why a command failed, and gives the exit code for it.
    pub(crate) fn failure(&self, failure: &Failure) -> ExitCode {
        let code = failure.kind.code();
        let message = Visible(&failure.message).to_string();
        if failure.kind != Kind::OutputClosed {
            let mut json = serde_json::json!({
                "error": { "code": code, "message": message },
            });
            if let Some(line) = failure.stored_up_to_line {
                json["error"]["stored_up_to_line"] = line.into();
            }
            let printed = self.json && print_line(&json).is_ok();
            if !printed {
                self.note(format_args!("error: {message}"));
            }
        }
        ExitCode::from(code)
    }
}

fn print_line(json: &serde_json::Value) -> io::Result<()> {
    let mut out = Screen::json();
    writeln!(out, "{json}")?;
    out.flush()
}
