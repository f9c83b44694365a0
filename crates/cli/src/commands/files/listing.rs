//! `terrace fs ls` lists files: those that lie directly in a directory, with the directories in it
//! as sums; with `--recursive` all files whose names begin with the directory.
//!
//! Files without names, as a store has them, are listed by id. A file of several names is listed
//! under each of them. Of a store the column `level` is the level of its tree. Of files with names
//! there is `lifetime` instead, from 1 for the shortest, as the C API has it.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};
use terrace::ByteCount;
use terrace::fs::modified;
use terrace_env::FileId;
use terrace_env::store::{FileInfo, FileKind};

use super::super::target::Target;
use super::date;
use super::directory::{Child, Found, Named, children, missing, prefix};
use super::opened::Opened;
use crate::escape::Escaped;
use crate::failure::Failure;
use crate::output::Output;

/// List files.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace fs ls drive.img
  terrace fs ls files.img --recursive --long
  terrace fs ls files.img notes")]
pub(crate) struct List {
    #[command(flatten)]
    target: Target,
    /// The directory, or a file; all files if it is left out
    #[arg(default_value = "", hide_default_value = true)]
    name: String,
    /// List the contents of directories, too
    #[arg(short, long)]
    recursive: bool,
    /// Show zones and time of modification, too
    #[arg(short, long)]
    long: bool,
}

/// Row of the list.
enum Row {
    File { name: Option<String>, info: FileInfo },
    Directory { name: String, files: usize, bytes: u64 },
}

/// How files are shown.
struct Look<'a> {
    opened: &'a Opened,
    /// Whether the files are those of a store.
    of_store: bool,
    long: bool,
}

impl List {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        let opened = Opened::view(&self.target)?;
        let of_store = self.target.remembered_system(opened.store())?.is_some();
        let rows = self.rows(&opened)?;
        let look = Look { opened: &opened, of_store, long: self.long };
        let (mut files, mut directories) = (Vec::new(), Vec::new());
        for row in &rows {
            match row {
                Row::File { name, info } => files.push(look.object(name.as_deref(), info)),
                Row::Directory { name, files, bytes } => {
                    directories.push(json!({ "name": name, "files": files, "size": bytes }));
                }
            }
        }
        let json = json!({ "files": files, "directories": directories });
        output.result(&json, |out| look.list(out, &rows))
    }

    fn rows(&self, opened: &Opened) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        let inside = match Found::of(&opened.files, &self.name) {
            Found::File(info) => {
                rows.push(Row::File { name: Some(self.name.clone()), info });
                return Ok(rows);
            }
            Found::Nothing => return Err(missing(&opened.files, &self.name)),
            Found::Directory(inside) => inside,
        };
        if self.name.is_empty() {
            let all = opened.store().list().into_iter();
            let unnamed = all.filter(|info| info.names.is_empty());
            rows.extend(unnamed.map(|info| Row::File { name: None, info }));
        }
        rows.extend(if self.recursive { all(inside) } else { direct(&inside, &self.name) });
        Ok(rows)
    }
}

/// All files of a directory, and the marks of directories.
fn all(inside: Named) -> Vec<Row> {
    let row = |(name, info): (String, FileInfo)| {
        if name.ends_with('/') && info.size == 0 {
            Row::Directory { name, files: 0, bytes: 0 }
        } else {
            Row::File { name: Some(name), info }
        }
    };
    inside.into_iter().map(row).collect()
}

fn direct(inside: &Named, directory: &str) -> Vec<Row> {
    let row = |child| match child {
        Child::File(name, index) => {
            Row::File { name: Some(name.to_owned()), info: inside[index].1.clone() }
        }
        Child::Directory(name, count, bytes) => {
            let marked = inside.iter().any(|(other, _)| other == name);
            let files = count - usize::from(marked);
            Row::Directory { name: prefix(name), files, bytes }
        }
    };
    children(inside, directory).into_iter().map(row).collect()
}

impl Look<'_> {
    fn list(&self, out: &mut dyn Write, rows: &[Row]) -> io::Result<()> {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        let level = if self.of_store { "level" } else { "lifetime" };
        let mut titles = vec!["id", "kind", "state", "size", level];
        if self.long {
            titles.extend(["zones", "modified"]);
        }
        titles.push("names");
        table.set_header(titles);
        for column in [0, 3, 4] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for row in rows {
            table.add_row(self.cells(row));
        }
        writeln!(out, "{table}")
    }

    fn cells(&self, row: &Row) -> Vec<String> {
        let mut cells;
        match row {
            Row::Directory { name, files, bytes } => {
                let size = ByteCount(*bytes).to_string();
                let files = format!("{files} {}", if *files == 1 { "file" } else { "files" });
                cells = vec!["-".to_owned(), "directory".to_owned(), files, size, "-".to_owned()];
                if self.long {
                    cells.extend(["-".to_owned(), "-".to_owned()]);
                }
                cells.push(Escaped(name.as_bytes()).to_string());
            }
            Row::File { name, info } => {
                cells = vec![
                    info.id.to_string(),
                    kind_name(info.kind).to_owned(),
                    if info.sealed { "sealed" } else { "open" }.to_owned(),
                    ByteCount(info.size).to_string(),
                    self.level(info).map_or("-".to_owned(), |level| level.to_string()),
                ];
                if self.long {
                    cells.push(self.zones_in_words(info.id));
                    cells.push(self.modified(info).map_or("-".to_owned(), date::words));
                }
                let name = name.as_deref().unwrap_or_default();
                cells.push(Escaped(name.as_bytes()).to_string());
            }
        }
        cells
    }

    fn object(&self, name: Option<&str>, file: &FileInfo) -> Value {
        let mut object = json!({
            "id": file.id,
            "kind": file.kind,
            "sealed": file.sealed,
            "size": file.size,
            "level": file.annotation.hint.level,
            "stream": file.annotation.hint.stream,
            "name": name,
            "names": file.names,
        });
        if !self.of_store {
            object["lifetime"] = json!(self.level(file).unwrap_or(0));
            object["modified"] = json!(modified(&file.annotation));
        }
        if self.long {
            let zones = self.zones(file.id).into_iter();
            let zones = zones.map(|(zone, bytes)| json!({ "zone": zone, "bytes": bytes }));
            object["zones"] = zones.collect();
        }
        object
    }

    /// The level of a table of a store; the lifetime of a file with a name.
    fn level(&self, file: &FileInfo) -> Option<u16> {
        let level = file.annotation.hint.level.map(u16::from)?;
        Some(if self.of_store { level } else { level + 1 })
    }

    /// The engine's annotations hold no times.
    fn modified(&self, file: &FileInfo) -> Option<u64> {
        (!self.of_store).then(|| modified(&file.annotation))
    }

    fn zones(&self, file: FileId) -> Vec<(terrace_env::ZoneId, ByteCount)> {
        self.opened.fs().map(|fs| fs.zones_of(file)).unwrap_or_default()
    }

    /// Zones of a file, neighbours joined: `3-5 9`.
    fn zones_in_words(&self, file: FileId) -> String {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for (zone, _) in self.zones(file) {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == zone.0 => *last = zone.0,
                _ => runs.push((zone.0, zone.0)),
            }
        }
        let word = |(first, last): &(u32, u32)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        };
        let words: Vec<String> = runs.iter().map(word).collect();
        if words.is_empty() { "-".to_owned() } else { words.join(" ") }
    }
}

/// A kind in a word.
pub(super) fn kind_name(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Table => "table",
        FileKind::Log => "log",
        FileKind::Client => "client",
    }
}
