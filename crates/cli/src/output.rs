//! [`Output`]: results go to standard output, as text or JSON; everything else goes to standard
//! error.
//!
//! - With `--json` every line of standard output is one JSON object, and the last one is the
//!   command's result or its error. Exceptions: the script of `completions`, and the answers to a
//!   call for help and to a command line that cannot be parsed, are text.
//! - Without `--json` an error goes to standard error; with it, only if standard output cannot be
//!   written.
//! - A result that cannot be written ends the command. If the reader of standard output has gone,
//!   no error is printed.
//! - Bars and notes are for people. They go to standard error, also with `--json`.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::failure::{Failure, Kind};

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

    /// Prints a result: the value as JSON, or what `text` writes.
    pub(crate) fn result(
        &self,
        value: &impl Serialize,
        text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        // Strips colours where the reader is no terminal, or NO_COLOR is set.
        let mut out = anstream::stdout().lock();
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
        let mut out = anstream::stdout().lock();
        writeln!(out, "{text}")?;
        Ok(out.flush()?)
    }

    /// Prints bytes as they are, followed by a newline if a person reads them.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        if io::stdout().is_terminal() && !bytes.ends_with(b"\n") {
            writeln!(out)?;
        }
        Ok(out.flush()?)
    }

    /// Tells the person at the terminal something that is not a result.
    pub(crate) fn note(&self, text: impl fmt::Display) {
        // Nobody is there to be told that standard error is gone.
        let _ = writeln!(anstream::stderr().lock(), "{text}");
    }

    /// Prints why a command failed, and gives the exit code for it.
    pub(crate) fn failure(&self, failure: &Failure) -> ExitCode {
        let code = failure.kind.code();
        if failure.kind != Kind::OutputClosed {
            let json = serde_json::json!({
                "error": { "code": code, "message": failure.message },
            });
            let printed = self.json && writeln!(io::stdout().lock(), "{json}").is_ok();
            if !printed {
                self.note(format_args!("error: {}", failure.message));
            }
        }
        ExitCode::from(code)
    }
}
