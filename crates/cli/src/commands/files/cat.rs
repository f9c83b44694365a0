//! `terrace fs cat` prints the bytes of a file.
//!
//! The file is given by one of its names or by its id; if the argument is the name of one file and
//! the id of another, the name counts. The bytes are printed as the store returns them, with
//! `--json` as hex in pieces of at most [`PIECE`] bytes.

use std::io::Write;

use serde_json::json;
use terrace_env::{Cause, FileId};

use super::super::target::Target;
use super::directory::{Found, missing};
use super::opened::Opened;
use crate::escape;
use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::screen::Screen;

/// Bytes printed at a time.
const PIECE: usize = 1 << 16;

/// Print the bytes of a file.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  terrace fs cat files.img notes/drives.md")]
pub(crate) struct Print {
    #[command(flatten)]
    target: Target,
    /// The file's id or one of its names
    file: String,
}

impl Print {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        let opened = Opened::view(&self.target)?;
        let reader = opened.files.open_file(self.find(&opened)?)?;
        let mut out = if output.is_json() { Screen::json() } else { Screen::bytes() };
        let mut piece = vec![0; PIECE];
        let mut offset = 0;
        while offset < reader.len() {
            let len = (reader.len() - offset).min(PIECE as u64) as usize;
            let piece = &mut piece[..len];
            reader.read_at(offset, piece, Cause::Client)?;
            if output.is_json() {
                writeln!(out, "{}", json!({ "offset": offset, "hex": escape::hex(piece) }))?;
            } else {
                out.write_all(piece)?;
            }
            offset += len as u64;
        }
        out.flush()?;
        drop(out);
        // Named, so that a reader does not take it for a piece.
        output.result(&json!({ "file": { "id": reader.id(), "size": reader.len() } }), |_| Ok(()))
    }

    fn find(&self, opened: &Opened) -> Result<FileId, Failure> {
        let file = &self.file;
        let store = opened.store();
        if let Some(id) = store.lookup(file) {
            return Ok(id);
        }
        let by_id = file.parse().ok().map(FileId).filter(|id| store.info(*id).is_some());
        by_id.ok_or_else(|| match Found::of(&opened.files, file) {
            Found::Nothing => missing(&opened.files, file),
            found => {
                let found = found.describe();
                Failure::new(Kind::Failed, format!("{file}: expected a file, found {found}"))
            }
        })
    }
}
