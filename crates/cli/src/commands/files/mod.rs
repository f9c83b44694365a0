//! `terrace fs ls` lists the files below a store; `terrace fs cat` prints the bytes of one.
//!
//! A file is given by one of its names or by its id; if the argument is the name of one file and
//! the id of another, the name counts. The store is opened for reading only. `cat` prints bytes as
//! the store returns them, with `--json` as hex in pieces of at most [`CHUNK`] bytes.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};
use terrace::fs::Access;
use terrace_env::store::{FileInfo, FileKind};
use terrace_env::{ByteCount, Cause, FileId, Store};

use super::target::Target;
use crate::escape;
use crate::failure::{Failure, Kind};
use crate::output::Output;

/// Bytes read at a time.
const CHUNK: usize = 1 << 16;

/// Look at the files below a store, as the file system sees them.
#[derive(clap::Subcommand)]
pub(crate) enum Files {
    /// List all files
    Ls(List),
    /// Print the bytes of a file
    Cat(Print),
}

impl Files {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        match self {
            Self::Ls(command) => command.run(output),
            Self::Cat(command) => command.run(output),
        }
    }
}

/// List all files.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  terrace fs ls drive.img")]
pub(crate) struct List {
    #[command(flatten)]
    target: Target,
}

impl List {
    fn run(&self, output: &Output) -> Result<(), Failure> {
        let files = self.target.store(Access::ReadOnly)?.list();
        let json = json!({ "files": files.iter().map(object).collect::<Vec<_>>() });
        output.result(&json, |out| list(out, &files))
    }
}

/// Print the bytes of a file.
#[derive(clap::Args)]
pub(crate) struct Print {
    #[command(flatten)]
    target: Target,
    /// The file's id or one of its names
    file: String,
}

impl Print {
    fn run(&self, output: &Output) -> Result<(), Failure> {
        let store = self.target.store(Access::ReadOnly)?;
        let reader = store.open(self.find(&*store)?)?;
        let mut out = io::stdout().lock();
        let mut chunk = vec![0; CHUNK];
        let mut offset = 0;
        while offset < reader.len() {
            let len = (reader.len() - offset).min(CHUNK as u64) as usize;
            let chunk = &mut chunk[..len];
            reader.read_at(offset, chunk, Cause::Client)?;
            if output.is_json() {
                writeln!(out, "{}", json!({ "offset": offset, "hex": escape::hex(chunk) }))?;
            } else {
                out.write_all(chunk)?;
            }
            offset += len as u64;
        }
        out.flush()?;
        drop(out);
        // Named, so that nobody takes it for a piece.
        output.result(&json!({ "file": { "id": reader.id(), "size": reader.len() } }), |_| Ok(()))
    }

    fn find(&self, store: &dyn Store) -> Result<FileId, Failure> {
        let by_name = store.lookup(&self.file);
        let by_id = || self.file.parse().ok().map(FileId).filter(|id| store.info(*id).is_some());
        by_name.or_else(by_id).ok_or_else(|| {
            let file = &self.file;
            Failure::new(
                Kind::NotFound,
                format!("expected a file with the id or name `{file}`, found none; see `fs ls`"),
            )
        })
    }
}

fn list(out: &mut dyn Write, files: &[FileInfo]) -> io::Result<()> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["id", "kind", "state", "size", "level", "names"]);
    for column in [0, 3, 4] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for file in files {
        let level = file.annotation.hint.level;
        table.add_row([
            file.id.to_string(),
            kind_name(file.kind).to_owned(),
            if file.sealed { "sealed" } else { "open" }.to_owned(),
            ByteCount(file.size).to_string(),
            level.map_or("-".to_owned(), |level| level.to_string()),
            file.names.join(" "),
        ]);
    }
    writeln!(out, "{table}")
}

fn object(file: &FileInfo) -> Value {
    json!({
        "id": file.id,
        "kind": file.kind,
        "sealed": file.sealed,
        "size": file.size,
        "level": file.annotation.hint.level,
        "stream": file.annotation.hint.stream,
        "names": file.names,
    })
}

fn kind_name(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Table => "table",
        FileKind::Log => "log",
        FileKind::Client => "client",
    }
}
