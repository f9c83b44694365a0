//! `terrace checkpoint IMAGE TARGET`: copies a store, as of one moment, into an empty drive or
//! directory, and verifies the checksums of its tables on the way. The source is opened for reading
//! only. If another process has it open, that process reads it, and this one writes the copy.
//!
//! - A target that does not exist is made: a directory if the source is one or the name ends with
//!   `/`, else a drive of the source's shape. A copy of a directory to a name that ends with `.img`
//!   is refused, because a directory has no shape for a drive. The drive of `--to-log` must exist,
//!   and is refused if it holds a store. With a directory as target, `--to-log` is refused.
//! - With `--incremental` the copy is a backup: the target may also be an earlier backup of the
//!   same store, and gets only the tables that it lacks. Any other store is refused.
//! - A drive is formatted if it holds no store and, if it is zoned, its sequential zones are empty
//!   or have failed. Another drive is mounted as it is, and the copy fails if that is impossible or
//!   the store on it is not empty.
//! - A target that the command makes or formats is marked as an unfinished copy from its first
//!   durable write on; a store that is there is marked before the copy begins. The end of the copy
//!   takes the mark away. So an interrupted copy cannot be opened, and the same command completes
//!   it.
//! - An image that is made lies in a directory next to its place until it is formatted. The next
//!   command that makes an image there removes such a directory of a killed one.
//! - If the copy fails, nothing is left that would pass for it: an image that was made for it is
//!   removed, a drive that was formatted for it is made blank again, and a directory that was empty
//!   is emptied. An empty store that was there stays one, and so does an unfinished copy or an
//!   earlier backup. The error says which of these it was.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use terrace::device::{Device, Emulator};
use terrace::fs::{Access, DirStore, FormatOptions, Fs, MountOptions};
use terrace::{ByteCount, Checkpointed, Devices, ErrorKind, Store, TableComparison};
use terrace_env::{ZoneId, runner};
use terrace_fs::{holds_store, holds_unfinished_format};
use terrace_lsm::{backup_of, is_unfinished_copy, mark_of_unfinished_copy};

use super::format::is_untouched;
use super::source::Source;
use super::target::Target;
use super::{drive, log_drive};
use crate::escape::shown;
use crate::failure::{Failure, Kind};
use crate::output::{Output, counted};
use crate::progress::Progress;
use crate::scratch::Scratch;

/// Directories in which images are made.
const UNFINISHED: &str = ".terrace-unfinished-copy-";

/// Copy a store into an empty drive or directory, verifying every checksum on the way.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace checkpoint drive.img backup.img
  terrace checkpoint drive.img backup/
  terrace device create fast2.img --kind plain --size 1GiB
  terrace checkpoint drive.img backup2.img --to-log fast2.img
  terrace checkpoint drive.img daily/ --incremental")]
pub(crate) struct Checkpoint {
    #[command(flatten)]
    target: Target,
    /// An empty drive, which becomes a store, or an empty directory. If it is not there, it is
    /// made: like the source, a drive of the same shape or a directory; a directory in any case if
    /// the name ends with `/`
    #[arg(value_name = "TARGET")]
    to: PathBuf,
    /// An empty plain drive for the copy's journal and logs
    #[arg(long, value_name = "IMAGE")]
    to_log: Option<PathBuf>,
    /// Make a backup, which the same command brings up to date: it then copies only tables that the
    /// backup lacks, and replaces the earlier backup at the end. TARGET may be a backup of this
    /// store, if it was not opened for writing since
    #[arg(long)]
    incremental: bool,
    /// Compare whole tables of source and backup before they are kept
    #[arg(long, requires = "incremental")]
    verify: bool,
}

/// Target of a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Medium {
    /// An image that is there.
    Image,
    /// An image that is made.
    NewImage,
    Directory,
}

impl Checkpoint {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let source = self.target.path();
        drive::refuse_twice(source, &self.to)?;
        if let Some(log) = &self.to_log {
            drive::refuse_twice(source, log)?;
            drive::refuse_twice(&self.to, log)?;
        }
        let medium = self.medium()?;
        if medium == Medium::Directory && self.to_log.is_some() {
            let to = self.to.display();
            let message = format!("--to-log: expected a copy on a drive, found directory {to}");
            return Err(Failure::new(Kind::Usage, message));
        }
        let db = &mut self.target.source()?;
        let copied = match medium {
            Medium::Image => self.copy_to_drive(db, self.open_drive()?, false),
            Medium::NewImage => self.make_image(db).and_then(|()| {
                let drive = self.open_drive();
                let copied = drive.and_then(|drive| self.copy_to_drive(db, drive, true));
                // A copy that failed is no store, and not the requested file.
                copied.map_err(|failure| self.remove_image(failure))
            }),
            Medium::Directory => self.copy_to_directory(db),
        };
        let Checkpointed {
            tables,
            logs,
            bytes,
            kept_tables,
            kept_bytes,
            sequence,
            left_files,
            left_bytes,
        } = copied?;
        let kind = if medium == Medium::Directory { "directory" } else { "image" };
        let json = json!({
            "tables": tables, "logs": logs, "bytes": bytes, "kept_tables": kept_tables,
            "kept_bytes": kept_bytes, "sequence": sequence, "target": kind,
            "left_files": left_files, "left_bytes": left_bytes,
        });
        output.result(&json, |out| {
            let (to, new) = (shown(&self.to), ByteCount(bytes.0 - kept_bytes.0));
            let copied = counted(tables - kept_tables, "table", "tables");
            let logs = counted(logs, "log", "logs");
            write!(out, "copied {copied} and {logs}, {new} in all, to the {kind} {to}")?;
            match kept_tables {
                0 => writeln!(out),
                kept => {
                    let kept = counted(kept, "table", "tables");
                    writeln!(out, "; kept {kept} of the earlier backup, {kept_bytes}")
                }
            }?;
            if left_files > 0 {
                let files = counted(left_files, "file", "files");
                let note = "such as objects of a server, which a client of it copies";
                writeln!(out, "not copied: {files} next to the store, {left_bytes}, {note}")?;
            }
            Ok(())
        })
    }

    fn medium(&self) -> Result<Medium, Failure> {
        match std::fs::metadata(&self.to) {
            Ok(found) if found.is_dir() => return Ok(Medium::Directory),
            // A file that is no image is refused when it is opened.
            Ok(_) => return Ok(Medium::Image),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::path(&self.to, &error)),
        }
        let slash = self.to.as_os_str().as_bytes().ends_with(b"/");
        if slash || self.target.path().is_dir() {
            let looks_like_image = self.to.extension().is_some_and(|end| end == "img");
            if looks_like_image && !slash {
                let to = self.to.display();
                let message = format!(
                    "{to}: expected a drive of which the copy could have the shape, found a \
                     directory to be copied; make the drive with `terrace device create`, or end \
                     the name with `/` for a directory"
                );
                return Err(Failure::new(Kind::Failed, message));
            }
            return Ok(Medium::Directory);
        }
        Ok(Medium::NewImage)
    }

    /// Makes an image of the source's shape, which is a marked store before it gets its name.
    fn make_image(&self, source: &mut Source) -> Result<(), Failure> {
        let missing = || Failure::path(&self.to, &io::ErrorKind::NotFound.into());
        let name = self.to.file_name().ok_or_else(missing)?;
        let parent = &log_drive::parent(&self.to);
        Scratch::sweep(parent, UNFINISHED);
        let scratch = Scratch::make(parent, UNFINISHED)?;
        let image = scratch.path().join(name);
        let geometry = source.geometry()?.ok_or_else(missing)?;
        let uuid = runner::fork_random().uuid();
        let drive: Arc<dyn Device> = Arc::new(Emulator::create_image(&image, geometry, uuid)?);
        let devices = self.devices(drive)?;
        self.format(&devices)?;
        let named = std::fs::rename(&image, &self.to)
            .and_then(|()| File::open(parent)?.sync_all())
            .map_err(|error| Failure::path(&self.to, &error));
        if named.is_err() {
            // A store on the log drive would be in the way of the next try.
            let _ = Fs::erase(devices);
        }
        named
    }

    /// Removes an image that was made for a copy that failed; returns the failure, with the result
    /// of the removal.
    fn remove_image(&self, mut failure: Failure) -> Failure {
        let to = self.to.display();
        failure.message += &match std::fs::remove_file(&self.to) {
            Ok(()) => format!("; the image {to} is removed"),
            Err(error) => {
                format!("; the image {to} is no copy, but could not be removed: {error}")
            }
        };
        failure
    }

    fn open_drive(&self) -> Result<Arc<dyn Device>, Failure> {
        drive::open(&self.to, terrace::device::Access::ReadWrite, false)
    }

    /// `is_made`: the drive was made and formatted for the copy.
    fn copy_to_drive(
        &self,
        db: &mut Source,
        drive: Arc<dyn Device>,
        is_made: bool,
    ) -> Result<Checkpointed, Failure> {
        let devices = self.devices(Arc::clone(&drive))?;
        let is_ours = is_made || self.make_store(&drive, &devices)?;
        let (mut is_unfinished, mut is_backup) = (false, false);
        let copied = self.mount(devices.clone()).and_then(|fs| {
            let copied = self.copy(db, Arc::clone(&fs) as Arc<dyn Store>);
            is_unfinished = is_unfinished_copy(&*fs);
            is_backup = self.incremental && backup_of(&*fs).is_some();
            fs.unmount();
            copied.map_err(|error| self.failure(&error))
        });
        copied.map_err(|mut failure| {
            let erased = is_ours.then(|| Fs::erase(devices));
            failure.message += &match erased {
                None if is_unfinished => "; the drive holds an unfinished copy: repeat the \
                     checkpoint, or format the drive anew with --force"
                    .to_owned(),
                None if is_backup => "; the drive still holds a backup".to_owned(),
                None => "; nothing was copied, the drive is as it was".to_owned(),
                Some(Ok(())) if is_made => "; nothing was copied".to_owned(),
                Some(Ok(())) => "; nothing was copied, the drive is blank again".to_owned(),
                Some(Err(error)) => format!(
                    "; nothing was copied, but the drive could not be made blank again and may \
                     have an unfinished copy: {error}"
                ),
            };
            failure
        })
    }

    fn copy_to_directory(&self, db: &mut Source) -> Result<Checkpointed, Failure> {
        let was_blank = DirStore::is_blank(&self.to)?;
        let opened = DirStore::open_annotated(&self.to, mark_of_unfinished_copy());
        let opened = opened.map_err(terrace::Error::from);
        // Another process may have just begun to make a store of it.
        let is_ours = !opened.as_ref().is_err_and(|error| error.kind() == ErrorKind::InUse);
        opened.and_then(|store| self.copy(db, store)).map_err(|error| {
            let mut failure = self.failure(&error);
            if was_blank && is_ours && self.to.exists() {
                failure.message += &match empty_directory(&self.to) {
                    Ok(()) => "; nothing was copied, the directory is empty again".to_owned(),
                    Err(error) => format!(
                        "; nothing was copied, but the directory could not be emptied and may \
                         have an unfinished copy: {error}"
                    ),
                };
            }
            failure
        })
    }

    /// Why the copy failed. If space is short, deletes in the source or in the empty target would
    /// not help.
    fn failure(&self, error: &terrace::Error) -> Failure {
        let to = self.to.display();
        if !error.is_space() {
            let from = self.target.path().display();
            let failure = Failure::from(error.clone());
            let mut failure = failure.while_doing(format!("copying {from} to {to}"));
            if error.kind() == ErrorKind::TargetNotEmpty && !self.incremental {
                failure.message += "; a backup is brought up to date by --incremental";
            }
            return failure;
        }
        let (of, earlier) = match self.incremental {
            true => ("new tables and logs", " next to those of an earlier backup"),
            false => ("tables and logs", ""),
        };
        let message = format!(
            "{to}: expected room for a copy of the store's {of}{earlier}, found too little; name a \
             larger target"
        );
        Failure::new(Kind::NoSpace, message)
    }

    /// Copies the store, with a bar of progress.
    fn copy(&self, db: &mut Source, to: Arc<dyn Store>) -> Result<Checkpointed, terrace::Error> {
        let comparison = self.incremental.then_some(match self.verify {
            true => TableComparison::Whole,
            false => TableComparison::Ends,
        });
        let mut bar = None;
        db.copy(to, comparison, &mut |done, all| {
            let bar = bar.get_or_insert_with(|| Progress::bytes("copying", all.0));
            bar.reach(done.0);
        })
    }

    /// The target's drives. A plain one that holds a store is left alone, unless both have an
    /// unfinished copy, or a backup that is to be brought up to date.
    fn devices(&self, drive: Arc<dyn Device>) -> Result<Devices, Failure> {
        let Some(path) = &self.to_log else { return Ok(drive.into()) };
        let log = drive::open(path, terrace::device::Access::ReadWrite, false)?;
        let holds_store = holds_store(&*log)?;
        let devices = Devices::pair(drive, log);
        if holds_store && !self.has_copy(&devices) {
            let path = path.display();
            let message = format!("{path}: expected an empty drive, found a store");
            return Err(Failure::new(Kind::Failed, message));
        }
        Ok(devices)
    }

    /// Makes the target's drives a store, if they are blank; returns whether they were.
    fn make_store(&self, drive: &Arc<dyn Device>, devices: &Devices) -> Result<bool, Failure> {
        let zones = drive.report(ZoneId(0), drive.geometry().zones)?;
        // Drives without zones have no pointers that would tell.
        let is_zoned = drive.geometry().layout.is_zoned();
        let is_untouched = !is_zoned || zones.iter().all(|zone| is_untouched(zone.state));
        let is_blank =
            is_untouched && !holds_store(&**drive)? || holds_unfinished_format(&**drive)?;
        if is_blank {
            self.format(devices)?;
        } else if self.to_log.is_some() && !self.has_copy(devices) {
            let (to, found) = (self.to.display(), if is_untouched { "a store" } else { "data" });
            let message = format!(
                "{to}: expected a blank drive, as --to-log makes one store of two, found {found}; \
                 name another, or leave out --to-log"
            );
            return Err(Failure::new(Kind::Failed, message));
        }
        Ok(is_blank)
    }

    /// Formats the target's drives for an unfinished copy.
    fn format(&self, devices: &Devices) -> Result<(), Failure> {
        let path = self.to_log.as_deref();
        let path = path.map(|log| log_drive::path_to_remember(&self.to, log));
        let (second_path, annotation) =
            (path.transpose()?.unwrap_or_default(), mark_of_unfinished_copy());
        let first_path = log_drive::home_to_remember(&self.to);
        let format =
            FormatOptions { first_path, second_path, annotation, ..FormatOptions::default() };
        Ok(Fs::format(devices.clone(), &format)?)
    }

    /// Mounts the target's drives.
    fn mount(&self, devices: Devices) -> Result<Arc<Fs>, Failure> {
        let fs = Fs::mount(devices, &MountOptions::default()).map_err(Failure::from);
        fs.map_err(|failure| {
            let to = self.to.display();
            let expected =
                if self.incremental { "an empty drive or a backup" } else { "an empty drive" };
            let message = format!("{to}: expected {expected}: {}", failure.message);
            Failure::new(Kind::Failed, message)
        })
    }

    /// Whether these drives have an unfinished copy, which an interrupted checkpoint has left, or a
    /// backup that may be brought up to date.
    fn has_copy(&self, devices: &Devices) -> bool {
        let options = MountOptions { access: Access::ReadOnly, ..MountOptions::default() };
        Fs::mount(devices.clone(), &options).is_ok_and(|fs| {
            let found = is_unfinished_copy(&*fs) || self.incremental && backup_of(&*fs).is_some();
            fs.unmount();
            found
        })
    }
}

/// Removes the files of a directory: a store's has nothing else.
fn empty_directory(directory: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        std::fs::remove_file(&path).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_cannot_be_emptied_is_not_said_to_be_empty() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("file"), b"").unwrap();
        empty_directory(directory.path()).unwrap();
        assert!(std::fs::read_dir(directory.path()).unwrap().next().is_none());
        let stays = directory.path().join("stays");
        std::fs::create_dir(&stays).unwrap();
        let error = empty_directory(directory.path()).unwrap_err().to_string();
        assert!(error.contains(&stays.display().to_string()), "{error}");
        empty_directory(&stays.join("missing")).unwrap_err();
    }
}
