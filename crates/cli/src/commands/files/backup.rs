//! `terrace fs backup` copies all files with names to a new directory of the host.
//!
//! | in the directory | content |
//! |---|---|
//! | `files/...` | each file under its name, without a `/` at its start; further ones are links |
//! | `others/N` | files whose names no host takes, or that lie in the way of each other |
//! | `manifest.jsonl` | names, sizes, checksums, times of modification: [`Manifest`] |
//!
//! The backup is made next to its place, under a temporary name. All of it is synced, and then it
//! gets its name: a directory of that name is a whole backup. If the command is killed by a signal
//! that it cannot catch, the temporary directory, whose name begins with [`UNFINISHED`], is left,
//! and the next backup into the same directory removes it. The drive is opened for reading only.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use serde_json::json;
use terrace::ByteCount;
use terrace::fs::{Access, NamedFiles, Replacement, modified};
use terrace_env::store::FileInfo;
use terrace_env::{Cause, FileId};
use xxhash_rust::xxh3::Xxh3Default;

use super::super::target::Target;
use super::date;
use super::manifest::{self, Entry, Manifest, digits};
use super::opened::{CHUNK, Opened};
use crate::escape::shown;
use crate::failure::{Failure, Kind};
use crate::output::{Output, counted};
use crate::progress::Progress;
use crate::scratch::Scratch;

/// The beginning of the name of a backup that is being made.
const UNFINISHED: &str = ".terrace-unfinished-backup-";

/// Copy all files to a new directory of the host.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  terrace fs backup files.img files-backup")]
pub(crate) struct Backup {
    #[command(flatten)]
    target: Target,
    /// The directory, which must not be there yet, or be empty
    dir: PathBuf,
}

impl Backup {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        check_free(&self.dir)?;
        let opened = Opened::names(&self.target, Access::ReadOnly)?;
        let parent = match self.dir.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        Scratch::sweep(parent, UNFINISHED);
        let scratch = Scratch::make(parent, UNFINISHED)?;
        let mut copy = Copying::begin(scratch.path().join("backup"), &opened.files)?;
        let manifest = copy.all()?;
        copy.finish(&manifest)?;
        let place = &self.dir;
        fs::rename(&copy.root, place).map_err(|error| Failure::path(place, &error))?;
        sync_directory(parent)?;
        let (files, bytes) = (manifest.entries.len(), manifest.bytes());
        let directory = place.display().to_string();
        let json = json!({ "files": files, "bytes": bytes, "directory": directory });
        output.result(&json, |out| {
            let (bytes, place) = (ByteCount(bytes), shown(place));
            let files = counted(files as u64, "file", "files");
            writeln!(out, "copied {files}, {bytes} in all, to {place}")
        })
    }
}

/// Refuses a directory that holds something. The rename at the end would refuse it, too.
fn check_free(dir: &Path) -> Result<(), Failure> {
    let found = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Failure::path(dir, &error)),
        Ok(mut entries) => entries.next().is_some(),
    };
    if found {
        let dir = dir.display();
        let message = format!("{dir}: expected no directory or an empty one, found files in it");
        return Err(Failure::new(Kind::Failed, message));
    }
    Ok(())
}

/// Backup that is being made.
struct Copying<'a> {
    root: PathBuf,
    files: &'a NamedFiles,
    /// Directories that were made, to be synced.
    directories: BTreeSet<PathBuf>,
    /// Files that were given a number in place of their names.
    others: u64,
}

impl<'a> Copying<'a> {
    fn begin(root: PathBuf, files: &'a NamedFiles) -> Result<Self, Failure> {
        let mut copy = Self { root, files, directories: BTreeSet::new(), others: 0 };
        copy.make_directory(&copy.root.clone())?;
        copy.make_directory(&copy.root.join("files"))?;
        Ok(copy)
    }

    /// Copies all files.
    fn all(&mut self) -> Result<Manifest, Failure> {
        let mut all = self.files.all();
        // The remains of a killed restore are no file of a user.
        let is_named = |info: &FileInfo| info.names.iter().any(|it| !Replacement::is_staged(it));
        all.retain(is_named);
        // Of two names that need one place, the first in order gets it.
        all.sort_by(|one, other| one.names.cmp(&other.names));
        let progress = Progress::bytes("backing up", all.iter().map(|info| info.size).sum());
        let mut manifest = Manifest::default();
        for info in &all {
            manifest.entries.push(self.one(info, &progress)?);
        }
        Ok(manifest)
    }

    fn one(&mut self, info: &FileInfo, progress: &Progress) -> Result<Entry, Failure> {
        let (path, checksum) = match self.mark(info) {
            true => (None, Xxh3Default::new().digest128()),
            false => {
                let (path, file) = self.place(&info.names)?;
                let checksum = self.copy(info.id, file, &path, info, progress)?;
                self.link(&path, &info.names);
                let path = path.strip_prefix(&self.root).unwrap_or(&path);
                (Some(path.display().to_string()), checksum)
            }
        };
        let hint = info.annotation.hint;
        Ok(Entry {
            names: info.names.clone(),
            path,
            size: info.size,
            kind: info.kind,
            sealed: info.sealed,
            level: hint.level,
            stream: hint.stream,
            modified: modified(&info.annotation),
            xxh3_128: digits(checksum),
        })
    }

    /// Whether a file only marks directories, which are made then, as far as the host takes them.
    fn mark(&mut self, info: &FileInfo) -> bool {
        let is_mark = info.size == 0 && info.names.iter().all(|name| name.ends_with('/'));
        if is_mark {
            for name in &info.names {
                if let Some(place) = self.inside(name.trim_end_matches('/')) {
                    let _ = self.make_directory(&place);
                }
            }
        }
        is_mark
    }

    /// The place of a name below `files`; `None` if it has none there.
    fn inside(&self, name: &str) -> Option<PathBuf> {
        let name = name.strip_prefix('/').unwrap_or(name);
        let path = Path::new(name);
        // Components are normalised: only a name that is spelled like its components has a place.
        let plain = path.components().collect::<PathBuf>().as_os_str() == path.as_os_str();
        let normal = path.components().all(|part| matches!(part, Component::Normal(_)));
        let place = !name.is_empty() && plain && normal && !name.contains('\0');
        place.then(|| self.root.join("files").join(path))
    }

    /// A new file for the first name that has a place.
    fn place(&mut self, names: &[String]) -> Result<(PathBuf, File), Failure> {
        for name in names {
            let Some(path) = self.inside(name) else { continue };
            let made = path.parent().is_none_or(|parent| self.make_directory(parent).is_ok());
            if made && let Ok(file) = File::create_new(&path) {
                return Ok((path, file));
            }
        }
        let others = self.root.join("others");
        self.make_directory(&others)?;
        let path = others.join(self.others.to_string());
        self.others += 1;
        let file = File::create_new(&path).map_err(|error| Failure::path(&path, &error))?;
        Ok((path, file))
    }

    /// Makes a directory and those above it, from the root on.
    fn make_directory(&mut self, path: &Path) -> Result<(), Failure> {
        if self.directories.contains(path) {
            return Ok(());
        }
        if path != self.root
            && let Some(parent) = path.parent()
        {
            self.make_directory(parent)?;
        }
        fs::create_dir(path).map_err(|error| Failure::path(path, &error))?;
        self.directories.insert(path.to_owned());
        Ok(())
    }

    /// Writes the bytes of a file, syncs them, and returns their checksum.
    fn copy(
        &self,
        id: FileId,
        mut file: File,
        path: &Path,
        info: &FileInfo,
        progress: &Progress,
    ) -> Result<u128, Failure> {
        let failure = |error| Failure::path(path, &error);
        let reader = self.files.open_file(id)?;
        let mut checksum = Xxh3Default::new();
        let mut chunk = vec![0; CHUNK];
        let mut offset = 0;
        while offset < info.size {
            let len = (info.size - offset).min(CHUNK as u64) as usize;
            let chunk = &mut chunk[..len];
            reader.read_at(offset, chunk, Cause::Client)?;
            checksum.update(chunk);
            file.write_all(chunk).map_err(failure)?;
            offset += len as u64;
            progress.add(len as u64);
        }
        if let Some(time) = date::of_host(modified(&info.annotation)) {
            file.set_modified(time).map_err(failure)?;
        }
        file.sync_all().map_err(failure)?;
        Ok(checksum.digest128())
    }

    /// Gives a file its further names, for readers of the directory: a restore takes them from the
    /// list. So a host that has no links, or has no place for a name, does no harm.
    fn link(&mut self, path: &Path, names: &[String]) {
        for name in names {
            let Some(further) = self.inside(name).filter(|further| further != path) else {
                continue;
            };
            let made = further.parent().is_none_or(|parent| self.make_directory(parent).is_ok());
            if made {
                let _ = fs::hard_link(path, &further);
            }
        }
    }

    /// Writes the list, and syncs it and all directories.
    fn finish(&self, manifest: &Manifest) -> Result<(), Failure> {
        let path = self.root.join(manifest::NAME);
        let text = manifest.text()?;
        let write = || {
            let mut file = File::create_new(&path)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()
        };
        write().map_err(|error| Failure::path(&path, &error))?;
        self.directories.iter().try_for_each(|directory| sync_directory(directory))
    }
}

fn sync_directory(path: &Path) -> Result<(), Failure> {
    let sync = || File::open(path)?.sync_all();
    sync().map_err(|error| Failure::path(path, &error))
}
