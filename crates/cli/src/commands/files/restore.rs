//! `terrace fs restore` makes the files of a backup those of a drive, for any zones of that drive.
//!
//! 1. The files are written to the drive under passing names ([`Replacement`]). Their checksums are
//!    compared with the list of the backup, as they are read from the host and as they are read
//!    back from the drive.
//! 2. One transaction gives them their names. With `--force` it takes all other files away.
//!
//! After an error, a kill or a power cut before that transaction the drive has the files that it
//! had. There must be space for old and new files together.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::json;
use terrace::ByteCount;
use terrace::fs::{Access, NewFile, Replacement};
use terrace_env::store::{FileWriter, PlacementHint, Rank};
use terrace_env::{Cause, FileId};
use xxhash_rust::xxh3::Xxh3Default;

use super::super::target::Target;
use super::manifest::{Entry, Manifest, digits};
use super::opened::{CHUNK, Opened};
use crate::failure::{Failure, Kind};
use crate::output::{Output, counted};
use crate::progress::Progress;

/// Make the files of a backup those of a drive.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace device create other.img --size 2GiB --zone-size 16MiB
  terrace format other.img --files
  terrace fs restore other.img files-backup")]
pub(crate) struct Restore {
    #[command(flatten)]
    target: Target,
    /// The directory of the backup
    dir: PathBuf,
    /// Do it also if the drive has files, which are removed
    #[arg(long)]
    force: bool,
}

impl Restore {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        let manifest = Manifest::read(&self.dir)?;
        let opened = Opened::names(&self.target, Access::ReadWrite)?;
        let mut replacement = Replacement::begin(&opened.files)?;
        let replaced = replacement.replaced().len();
        if replaced > 0 && !self.force {
            let image = self.target.path().display();
            let message = format!(
                "{image}: expected no files, found {replaced} names; use --force to replace them"
            );
            return Err(Failure::new(Kind::Failed, message));
        }
        self.check_space(&opened, &manifest)?;
        let progress = Progress::bytes("restoring", manifest.bytes());
        for entry in &manifest.entries {
            let hint = PlacementHint { level: entry.level, stream: entry.stream };
            let size = Some(ByteCount(entry.size));
            let (kind, rank, modified) = (entry.kind, Rank::Log, entry.modified);
            let file = NewFile { kind, hint, size, rank, modified };
            let fill = |writer: &mut dyn FileWriter| self.copy(entry, writer, &progress);
            let id = replacement.add(&entry.names, &file, entry.sealed, fill)?;
            read_back(&opened, id, entry)?;
        }
        replacement.commit()?;
        drop(progress);
        opened.close();
        let (files, bytes) = (manifest.entries.len(), manifest.bytes());
        let json = json!({ "files": files, "bytes": bytes, "replaced": replaced });
        output.result(&json, |out| {
            let bytes = ByteCount(bytes);
            let files = counted(files as u64, "file", "files");
            writeln!(out, "restored and verified {files}, {bytes} in all")
        })
    }

    /// Refuses at once files that cannot fit. Zones may leave less.
    fn check_space(&self, opened: &Opened, manifest: &Manifest) -> Result<(), Failure> {
        let (needed, room) = (ByteCount(manifest.bytes()), opened.store().space().for_puts);
        if needed <= room {
            return Ok(());
        }
        let image = self.target.path().display();
        let message = format!(
            "{image}: expected room for {needed}, found {room}; a drive that is formatted anew by \
             `terrace format --files --force` has the most"
        );
        Err(Failure::new(Kind::NoSpace, message))
    }

    /// Writes a file of the backup, and compares it with the list.
    fn copy(
        &self,
        entry: &Entry,
        writer: &mut dyn FileWriter,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let mut checksum = Xxh3Default::new();
        let Some(path) = entry.path.as_deref().map(|path| self.dir.join(path)) else {
            return compare(Path::new(&entry.names[0]), entry, 0, &checksum);
        };
        let failure = |error| Failure::path(&path, &error);
        if !fs::symlink_metadata(&path).map_err(failure)?.is_file() {
            let path = path.display();
            let message = format!("{path}: expected a file of the backup, found something else");
            return Err(Failure::new(Kind::Corruption, message));
        }
        // A byte more than expected is enough to know.
        let mut file = File::open(&path).map_err(failure)?.take(entry.size.saturating_add(1));
        let mut chunk = vec![0; CHUNK];
        let mut size = 0;
        loop {
            let read = file.read(&mut chunk).map_err(failure)?;
            if read == 0 {
                break;
            }
            checksum.update(&chunk[..read]);
            writer.append(&chunk[..read])?;
            size += read as u64;
            progress.add(read as u64);
        }
        compare(&path, entry, size, &checksum)
    }
}

/// Compares a file on the drive with the list.
fn read_back(opened: &Opened, id: FileId, entry: &Entry) -> Result<(), Failure> {
    let reader = opened.store().open(id)?;
    let mut checksum = Xxh3Default::new();
    let mut chunk = vec![0; CHUNK];
    let mut offset = 0;
    while offset < reader.len() {
        let len = (reader.len() - offset).min(CHUNK as u64) as usize;
        reader.read_at(offset, &mut chunk[..len], Cause::Client)?;
        checksum.update(&chunk[..len]);
        offset += len as u64;
    }
    let name = Path::new(&entry.names[0]);
    compare(name, entry, offset, &checksum).map_err(|failure| failure.while_doing("on the drive"))
}

fn compare(path: &Path, entry: &Entry, size: u64, checksum: &Xxh3Default) -> Result<(), Failure> {
    let found = digits(checksum.digest128());
    if (size, &found) == (entry.size, &entry.xxh3_128) {
        return Ok(());
    }
    let (path, expected) = (path.display(), &entry.xxh3_128);
    let more = if size > entry.size { "at least " } else { "" };
    let message = format!(
        "{path}: expected {} bytes with checksum {expected}, found {more}{size} with {found}",
        entry.size
    );
    Err(Failure::new(Kind::Corruption, message))
}
