//! `terrace export IMAGE DIR`: writes the files and symbolic links of a stored tree into a
//! directory, which is made if it does not exist.
//!
//! - Nothing is written outside the directory, as long as no other process changes it meanwhile: a
//!   path of the store cannot lead out of it, a link below it is not followed, and files are
//!   written before links.
//! - Where a path of the store needs a directory, a file or a link in its place is an error. Where
//!   a file or link is to be written, one that exists is an error unless `--overwrite` is given,
//!   which replaces it; a directory there is an error in any case.
//! - After an error or a signal, earlier written files stay, whole. A file that could not be
//!   written to its end is removed. A second signal ends the process at once.
//! - The store has no modes, times or empty directories, so these are not restored.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use serde_json::json;
use terrace::fs::Access;
use terrace::{Bounds, ByteCount, KeySpace, LeftOut};

use super::entry::{self, Space};
use super::skip::{self, Skip};
use super::target::Target;
use crate::failure::{Failure, Kind};
use crate::output::{Output, counted};
use crate::progress::Progress;
use crate::{signals, tree};

/// Write a directory tree that was imported.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  terrace export drive.img out --space documents")]
pub(crate) struct Export {
    #[command(flatten)]
    target: Target,
    /// The directory; made if it is not there
    dir: PathBuf,
    #[command(flatten)]
    space: Space,
    /// Replace files that are there already
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    skip: Skip,
}

impl Export {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        self.export(output).map_err(|failure| self.target.named(failure))
    }

    fn export(&self, output: &Output) -> Result<(), Failure> {
        let links = self.space.links()?;
        let db = self.target.db(Access::ReadOnly)?;
        let space = self.space.find(&db)?;
        match fs::create_dir_all(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                tree::check_directory(&self.dir)?;
            }
            other => other.map_err(|error| Failure::path(&self.dir, &error))?,
        }
        let ended_by = Arc::new(AtomicI32::new(0));
        let told = Arc::clone(&ended_by);
        signals::watch(move |signal| told.store(signal, Ordering::Release))
            .map_err(|error| Failure::from(error).while_doing("waiting for signals"))?;
        let progress = Progress::pieces("exporting", 0);
        let mut left_out = Vec::new();
        let (files, bytes) = self.each(&space, &mut left_out, &ended_by, |path, value| {
            progress.add(1);
            write_file(path, value)
        })?;
        let links = match db.key_space(&links) {
            Ok(space) => self.each(&space, &mut left_out, &ended_by, link)?.0,
            // A tree without links.
            Err(_) => 0,
        };
        drop(progress);
        if files + links == 0 {
            output.note(format_args!("no file{}", entry::no_keys(&db, &space)));
        }
        let mut json = json!({ "files": files, "links": links, "bytes": bytes });
        self.skip.add(&mut json, &db, &left_out, false);
        output.result(&json, |out| {
            let size = ByteCount(bytes);
            let files = counted(files, "file", "files");
            let links = counted(links, "symbolic link", "symbolic links");
            writeln!(out, "exported {files} of {size} in all, and {links}")
        })?;
        skip::tell(&db, &left_out, false, output)
    }

    /// Makes something at the place of each key of a space, until a signal comes; counts keys and
    /// bytes of values.
    fn each(
        &self,
        space: &KeySpace,
        left_out: &mut Vec<LeftOut>,
        ended_by: &AtomicI32,
        make: impl Fn(&Path, &[u8]) -> io::Result<()>,
    ) -> Result<(u64, u64), Failure> {
        let (mut entries, mut bytes) = (0, 0);
        let scan = self.skip.entries(space, Bounds::all(), false)?;
        left_out.extend(scan.left_out);
        for entry in scan.entries {
            let signal = ended_by.load(Ordering::Acquire);
            if signal != 0 {
                let message = format!(
                    "ended by {}; files that were written are whole",
                    signals::name(signal)
                );
                return Err(Failure::new(Kind::Signal(signal), message));
            }
            let (key, value) = entry?;
            let path = tree::place(&self.dir, &key)?;
            make_parents(&self.dir, &path)?;
            if self.overwrite {
                remove(&path)?;
            }
            make(&path, &value).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => Failure::new(
                    Kind::Failed,
                    format!("{}: expected nothing there; use --overwrite", path.display()),
                ),
                _ => Failure::path(&path, &error),
            })?;
            entries += 1;
            bytes += value.len() as u64;
        }
        Ok((entries, bytes))
    }
}

fn write_file(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    // A part of a file could be taken for all of it.
    file.write_all(contents).inspect_err(|_| drop(fs::remove_file(path)))
}

fn link(path: &Path, target: &[u8]) -> io::Result<()> {
    symlink(std::ffi::OsString::from_vec(target.to_vec()), path)
}

fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failure::path(path, &error)),
        _ => Ok(()),
    }
}

/// Makes the directories between `root` and `path`; an error if one of them is something else.
fn make_parents(root: &Path, path: &Path) -> Result<(), Failure> {
    let inside = path.strip_prefix(root).unwrap_or(path);
    let mut directory = root.to_path_buf();
    for part in inside.parent().iter().flat_map(|parent| parent.components()) {
        directory.push(part);
        match fs::symlink_metadata(&directory) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                let directory = directory.display();
                return Err(Failure::new(
                    Kind::Failed,
                    format!("{directory}: expected a directory, found a file or a link"),
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir(&directory).map_err(|error| Failure::path(&directory, &error))?;
            }
            Err(error) => return Err(Failure::path(&directory, &error)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_the_way_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        symlink(outside.path(), root.path().join("link")).unwrap();
        let failure = make_parents(root.path(), &root.path().join("link/file")).unwrap_err();
        assert!(failure.message.ends_with("expected a directory, found a file or a link"));
        make_parents(root.path(), &root.path().join("a/b/c")).unwrap();
        assert!(root.path().join("a/b").is_dir());
        assert!(!root.path().join("a/b/c").exists());
    }

    #[test]
    fn what_is_there_is_not_overwritten() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("file");
        write_file(&path, b"one").unwrap();
        assert_eq!(write_file(&path, b"two").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(link(&path, b"two").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        remove(&path).unwrap();
        remove(&path).unwrap();
        write_file(&path, b"two").unwrap();
    }
}
