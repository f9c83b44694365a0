//! `terrace fs put` stores a file of the host, or standard input, under a name.
//!
//! The file gets its name, and takes it from another one with `--force`, by one transaction, when
//! all of its bytes are on the medium. After an error, a kill or a power cut in the middle the name
//! is as it was.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::json;
use terrace::ByteCount;
use terrace::fs::{Access, NewFile};
use terrace_env::store::{FileKind, FileWriter, PlacementHint, Rank};

use super::super::target::Target;
use super::date;
use super::directory::{Found, in_the_way, place};
use super::opened::{CHUNK, Opened};
use crate::escape::Escaped;
use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::progress::Progress;

/// Store a file of the host, or standard input.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace fs put files.img docs/cli.md notes/cli.md
  terrace fs put files.img docs/cli.md scratch/
  date | terrace fs put files.img - notes/today")]
pub(crate) struct Put {
    #[command(flatten)]
    target: Target,
    /// The file; standard input if it is `-`
    file: PathBuf,
    /// Its name; in a directory, or if it ends with `/`, the file keeps the last part of its own
    name: String,
    /// Replace a file that has the name
    #[arg(long)]
    force: bool,
    /// Expected lifetime: files of one number share zones. 1 for the shortest, up to 200; 0 where
    /// nothing is known
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=200))]
    lifetime: u8,
}

/// Bytes to store.
struct Source {
    from: Box<dyn Read>,
    size: Option<u64>,
    modified: u64,
}

impl Put {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        let mut source = self.source()?;
        let opened = Opened::names(&self.target, Access::ReadWrite)?;
        let name = place(&opened.files, &self.name, self.own_name())?;
        in_the_way(&opened.files, &name, self.force)?;
        let replaced = matches!(Found::of(&opened.files, &name), Found::File(_));
        let hint = PlacementHint { level: self.lifetime.checked_sub(1), stream: 0 };
        let (size, modified) = (source.size.map(ByteCount), source.modified);
        let (kind, rank) = (FileKind::Client, Rank::Log);
        let file = NewFile { kind, hint, size, rank, modified };
        let mut writer = opened.files.begin(&file)?;
        self.copy(&mut source, &mut *writer)?;
        let size = writer.len();
        opened.files.publish(&mut *writer, &[&name], &file)?;
        drop(writer);
        opened.close();
        let json = json!({ "name": name, "size": size, "replaced": replaced });
        output.result(&json, |out| {
            writeln!(out, "stored {}, {}", Escaped(name.as_bytes()), ByteCount(size))
        })
    }

    fn is_input(&self) -> bool {
        self.file.as_os_str() == "-"
    }

    /// The part of the file's name that it keeps in a directory; standard input has none, and one
    /// that is not UTF-8 cannot be kept.
    fn own_name(&self) -> &str {
        let own = if self.is_input() { None } else { self.file.file_name() };
        own.and_then(OsStr::to_str).unwrap_or_default()
    }

    fn source(&self) -> Result<Source, Failure> {
        if self.is_input() {
            let from = Box::new(io::stdin().lock());
            return Ok(Source { from, size: None, modified: date::now() });
        }
        let failure = |error| Failure::path(&self.file, &error);
        let file = File::open(&self.file).map_err(failure)?;
        let found = file.metadata().map_err(failure)?;
        if found.is_dir() {
            let path = self.file.display();
            let message = format!("{path}: expected a file, found a directory");
            return Err(Failure::new(Kind::Failed, message));
        }
        let modified = found.modified().map_or_else(|_| date::now(), date::seconds);
        let size = found.is_file().then_some(found.len());
        Ok(Source { from: Box::new(file), size, modified })
    }

    fn copy(&self, source: &mut Source, writer: &mut dyn FileWriter) -> Result<(), Failure> {
        let progress = match source.size {
            Some(size) => Progress::bytes("storing", size),
            None => Progress::written("storing"),
        };
        let path = if self.is_input() { Path::new("standard input") } else { &*self.file };
        let mut chunk = vec![0; CHUNK];
        loop {
            let read = source.from.read(&mut chunk).map_err(|error| Failure::path(path, &error))?;
            if read == 0 {
                return Ok(());
            }
            writer.append(&chunk[..read])?;
            progress.add(read as u64);
        }
    }
}
