//! `terrace dump IMAGE [PART]`: parses the arguments, finds the part and dumps it. A part is a
//! table or a log, by the id of its file, or `journal`, or `superblock`. Without a part the files
//! are listed, and damage of superblock and journal is reported.
//!
//! A drive without a store is an error (exit code 1), and so is an unknown part (exit code 5). A
//! file of a client is refused, because it has no known structure. Of an unfinished copy of a
//! store, superblock and journal are dumped, and the rest is refused.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use serde_json::json;
use terrace_env::store::{FileInfo, FileKind, StoreError};
use terrace_env::{ByteCount, FileId};
use terrace_fs::inspect::Inspector;
use terrace_lsm::KeySpaceEntry;
use terrace_lsm::inspect::Role;

use super::filter::KeyFilter;
use super::place::{annotation_object, kind_name, role_text};
use super::printer::Printer;
use super::{journal, log, superblock, table};
use crate::commands::target::Target;
use crate::escape::Visible;
use crate::failure::{Failure, Kind};
use crate::output::{Output, counted};

/// Take the structures on the medium apart: tables, logs, the journal, the superblock.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace dump drive.img
  terrace dump drive.img superblock
  terrace dump drive.img journal --json")]
pub(crate) struct Dump {
    #[command(flatten)]
    target: Target,
    /// The id of a file, `journal` or `superblock`; without it, the files are listed
    what: Option<String>,
    #[command(flatten)]
    detail: Detail,
    #[command(flatten)]
    filter: KeyFilter,
}

/// How much is shown of a table or a log.
#[derive(clap::Args)]
pub(crate) struct Detail {
    /// Show every data block of a table
    #[arg(long)]
    pub(crate) blocks: bool,
    /// Show every entry
    #[arg(long)]
    pub(crate) entries: bool,
    /// Show the values of entries, not only their sizes
    #[arg(long, requires = "entries")]
    pub(crate) values: bool,
}

impl Dump {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        self.check_options()?;
        let store = self.target.inspector()?;
        if let (Some(error @ StoreError::Invalid(_)), []) =
            (store.damage().first(), store.superblocks())
        {
            // Nothing is there that could be damaged.
            return Err(error.clone().into());
        }
        let mut printer = Printer::new(output);
        match self.what.as_deref() {
            Some("superblock") => superblock::dump(&mut printer, &store)?,
            Some("journal") => journal::dump(&mut printer, &store)?,
            Some(file) => {
                self.refuse_unfinished(&store)?;
                self.file(&mut printer, &store, file)?;
            }
            None => {
                self.refuse_unfinished(&store)?;
                list(&mut printer, &store)?;
                damage(&mut printer, &store)?;
            }
        }
        printer.finish()
    }

    /// Refuses options that choose parts of a table or a log where something else is dumped.
    fn check_options(&self) -> Result<(), Failure> {
        let found = match self.what.as_deref() {
            Some(what @ ("superblock" | "journal")) => format!("`{what}`"),
            Some(_) => return Ok(()),
            None => "none".to_owned(),
        };
        if !self.detail.blocks && !self.detail.entries && !self.filter.is_given() {
            return Ok(());
        }
        let message = format!(
            "expected the id of a table or a log, whose blocks and entries the options choose, \
             found {found}; `terrace dump {}` lists them",
            self.target.path().display()
        );
        Err(Failure::new(Kind::Usage, message))
    }

    /// Refuses an interrupted checkpoint: its files are not those of any store.
    fn refuse_unfinished(&self, store: &Inspector) -> Result<(), Failure> {
        let of_store = store.list().find(|info| info.id == FileId::STORE);
        match of_store.map(|info| role_of(&info)) {
            Some(Err(error @ terrace_lsm::Error::UnfinishedCopy)) => {
                Err(self.target.named(error.into()))
            }
            _ => Ok(()),
        }
    }

    fn file(
        &self,
        printer: &mut Printer<'_>,
        store: &Inspector,
        file: &str,
    ) -> Result<(), Failure> {
        let id = file.parse().ok().map(FileId);
        let Some(info) = id.and_then(|id| store.list().find(|info| info.id == id)) else {
            damage(printer, store)?;
            let message = format!(
                "expected the id of a file, `journal` or `superblock`, found `{file}`; without it, \
                 `dump` lists the files"
            );
            return Err(Failure::new(Kind::NotFound, message));
        };
        let wanted = self.filter.range(&key_spaces(store))?;
        match info.kind {
            FileKind::Table if matches!(role_of(&info), Ok(Some(Role::KeySpaces { .. }))) => {
                table::dump_annotation(printer, &info)
            }
            FileKind::Table => {
                table::dump(printer, &info, store.open(info.id)?, &self.detail, &wanted)
            }
            FileKind::Log => log::dump(printer, store, &info, &self.detail, &wanted),
            FileKind::Client => {
                let message = format!("file {}: expected a table or a log; see `fs cat`", info.id);
                Err(Failure::new(Kind::Failed, message))
            }
        }
    }
}

/// Tells faults of the journal: then files may be missing.
fn damage(printer: &mut Printer<'_>, store: &Inspector) -> Result<(), Failure> {
    store.damage().iter().try_for_each(|error| printer.damage("superblock or journal", error))
}

fn role_of(info: &FileInfo) -> Result<Option<Role>, terrace_lsm::Error> {
    Role::of(info.id, info.kind, &info.annotation)
}

/// The key spaces of the store, as far as the annotations that list them can be read.
fn key_spaces(store: &Inspector) -> Vec<KeySpaceEntry> {
    let listed = store.list().filter_map(|info| match role_of(&info) {
        Ok(Some(Role::Store { spaces, .. } | Role::KeySpaces { spaces })) => Some(spaces),
        _ => None,
    });
    listed.flatten().collect()
}

/// Lists the structures that can be dumped.
fn list(printer: &mut Printer<'_>, store: &Inspector) -> Result<(), Failure> {
    if printer.is_json() {
        return store.list().try_for_each(|info| {
            let object = json!({
                "part": "file",
                "id": info.id,
                "kind": if info.id == FileId::STORE { "store" } else { kind_name(info.kind) },
                "sealed": info.sealed,
                "size": info.size,
                "annotation": annotation_object(&info.annotation),
            });
            printer.part(|| object, |_| Ok(()))
        });
    }
    printer.part(|| json!({}), |out| list_text(out, store))
}

fn list_text(out: &mut dyn Write, store: &Inspector) -> io::Result<()> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["what", "kind", "state", "size", "level", "contents"]);
    for column in [0, 3, 4] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for what in ["superblock", "journal"] {
        table.add_row([what, "-", "-", "-", "-", ""]);
    }
    let mut of_store = Vec::new();
    for info in store.list() {
        let said = role_of(&info);
        if info.id == FileId::STORE {
            of_store = match said {
                Ok(role) => role.map(|role| role_text(&role)).unwrap_or_default(),
                Err(error) => vec![error.to_string()],
            };
            continue;
        }
        let level = info.annotation.hint.level;
        table.add_row([
            info.id.to_string(),
            kind_name(info.kind).to_owned(),
            if info.sealed { "sealed" } else { "open" }.to_owned(),
            // Only its frames say how long a log is that is still open.
            if info.sealed { ByteCount(info.size).to_string() } else { "-".to_owned() },
            level.map_or("-".to_owned(), |level| level.to_string()),
            said.map_or_else(
                |error| Visible(&error.to_string()).to_string(),
                |role| summary(role.as_ref()),
            ),
        ]);
    }
    of_store.iter().try_for_each(|line| writeln!(out, "{}", Visible(line)))?;
    writeln!(out, "{table}")
}

fn summary(role: Option<&Role>) -> String {
    match role {
        Some(Role::Table { entries, first_sequence, last_sequence, segments, .. }) => {
            let segments = counted(segments.len() as u64, "segment", "segments");
            let entries = counted(*entries, "entry", "entries");
            format!("{entries}, sequences {first_sequence} to {last_sequence}, {segments}")
        }
        Some(role) => role_text(role).join("; "),
        None => String::new(),
    }
}
