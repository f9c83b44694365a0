//! [`Target`]: the store that a command works on: a block device or an emulated drive in a file,
//! perhaps with a second, plain drive for the journal and the logs or for offloaded tables; or a
//! directory.
//!
//! - [`Target::db`] and [`Target::db_under`] open a store with options that fit its size, under the
//!   system that it remembers or, for the latter, under another one that was asked for.
//! - They and [`Target::store`] refuse an empty directory, so that a mistyped name makes no store.
//!   [`Target::directory`] makes an empty directory a store if it is opened for writing.
//! - Files without a store are refused; [`Target::db_made`] makes a store of them if it may.
//! - A store that is opened for writing offers a live window (`docs/live.md`), as long as it is
//!   open. If another process has the store open, the error says how to look at it.
//! - An image is synced to the host's disk unless `--unsynced-image` is given.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use terrace::StoreError;
use terrace::fs::{DirOptions, DirStore};
use terrace::live::Live;
use terrace::{Db, Options, Reader, Store};
use terrace_env::runner;
use terrace_fs::inspect::Inspector;
use terrace_fs::superblock::Role;
use terrace_fs::{Access, Devices, Fs, MountOptions, check_copied, holds_store};
use terrace_zone::Device;

use super::full_warning::FullWarning;
use super::under::Under;
use super::{drive, log_drive};
use crate::escape::Visible;
use crate::failure::{Failure, Kind};
use crate::screen::Screen;

/// How often a store is tried that is in use, and the pause in between: a second in all.
pub(super) const TRIES: u32 = 20;
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// A drive or directory, as one types it.
#[derive(Clone, clap::Args)]
pub(crate) struct Target {
    /// The drive: a block device, or an image; or a directory that holds a store
    image: PathBuf,
    /// Leave it to the host when the image reaches its disk: faster, and if the host loses its
    /// power, the image may hold anything
    #[arg(long)]
    unsynced_image: bool,
    /// The plain drive that holds the store's journal and logs, if the store has one and it is no
    /// longer where it was when the store was made
    #[arg(long, value_name = "IMAGE")]
    log: Option<PathBuf>,
    /// The plain drive that takes the store's tables of the first level while compactions run, if
    /// the store has one and it is no longer where it was when the store was made
    #[arg(long, value_name = "IMAGE", conflicts_with = "log")]
    offload: Option<PathBuf>,
}

impl Target {
    /// The path as typed.
    pub(crate) fn path(&self) -> &Path {
        &self.image
    }

    /// Whether the target is a directory. It has no drives, so options about them are refused.
    pub(crate) fn is_directory(&self) -> Result<bool, Failure> {
        if !self.image.is_dir() {
            return Ok(false);
        }
        let flag = match self.second() {
            Some((role, _)) => log_drive::flag(role),
            None if self.unsynced_image => "--unsynced-image",
            None => return Ok(true),
        };
        let path = self.image.display();
        let message = format!("{flag}: expected a drive, found the directory {path}");
        Err(Failure::new(Kind::Usage, message))
    }

    /// The second drive, as it was typed, and its role.
    pub(crate) fn second(&self) -> Option<(Role, &Path)> {
        let log = self.log.as_deref().map(|path| (Role::Log, path));
        log.or(self.offload.as_deref().map(|path| (Role::Offload, path)))
    }

    /// The drives of the store: that of the tables, and the second one if it has one, which was
    /// typed or is found where it was when the store was made.
    pub(crate) fn devices(&self, access: Access) -> Result<Devices, Failure> {
        let drive = self.drive(access)?;
        log_drive::refuse_as_target(&drive, &self.image)?;
        let remembered = log_drive::remembered(&drive, &self.image);
        let typed = self.second().map(|(role, path)| (role, path.to_owned()));
        if let (Some((typed, _)), Some((role, _))) = (&typed, &remembered)
            && typed != role
        {
            let (expected, found) = (log_drive::flag(*role), log_drive::flag(*typed));
            let image = self.image.display();
            let message =
                format!("{image}: expected its second drive by {expected}, found {found}");
            return Err(Failure::new(Kind::Usage, message));
        }
        let is_typed = typed.is_some();
        let Some((role, path)) = typed.or(remembered) else { return Ok(drive.into()) };
        if access == Access::ReadWrite && !is_typed {
            check_copied(&drive, &self.image, &path)
                .map_err(|error| log_drive::with_flag(error.into(), role))?;
        }
        let second = self.open_drive(&path, access).map_err(|mut failure| {
            if self.second().is_none() {
                let holds = match role {
                    Role::Log => "journal and logs",
                    Role::Offload => "offloaded tables",
                };
                failure.message = format!(
                    "expected the drive of the store's {holds} at {}, where it was when the store \
                     was made: {}; name it with {}",
                    path.display(),
                    failure.message,
                    log_drive::flag(role)
                );
                if role == Role::Offload {
                    let image = self.image.display();
                    failure.message += &format!(
                        ", or, if the drive is lost, give it up with `terrace forget-offload \
                         {image}`, which lists the keys that are lost with it; `terrace dump` \
                         reads what is on {image} without that"
                    );
                }
            }
            failure
        })?;
        self.check_second(&*drive, &*second, (role, &path))?;
        Ok(Devices::pair(drive, second))
    }

    /// Refuses a drive without a superblock as the second one of a store.
    fn check_second(
        &self,
        first: &dyn Device,
        second: &dyn Device,
        (role, path): (Role, &Path),
    ) -> Result<(), Failure> {
        // Other faults of the drives are found when the store is opened.
        let holds = |drive| holds_store(drive).unwrap_or(true);
        if holds(second) || !holds(first) {
            return Ok(());
        }
        let (flag, path, image) = (log_drive::flag(role), path.display(), self.image.display());
        let drive = match role {
            Role::Log => "log drive",
            Role::Offload => "offload drive",
        };
        let message = format!(
            "{path}: expected the {drive} of the store on {image}, found a drive without a store; \
             name the right one with {flag}"
        );
        Err(Failure::new(Kind::Failed, message))
    }

    /// Opens the drive of the tables. Refuses one that was typed as the second drive, too.
    pub(crate) fn drive(&self, access: Access) -> Result<Arc<dyn Device>, Failure> {
        let path = &self.image;
        if path.is_dir() {
            return Err(Failure::new(
                Kind::Failed,
                format!("{}: expected the image of a drive, found a directory", path.display()),
            ));
        }
        if let Some((_, second)) = self.second() {
            drive::refuse_twice(path, second)?;
        }
        self.open_drive(path, access).map_err(|mut failure| {
            if failure.kind == Kind::NotFound {
                failure.message += "; make one with `terrace device create`";
            }
            failure
        })
    }

    /// Opens a block device, or an image as it is to be synced.
    pub(crate) fn open_drive(
        &self,
        path: &Path,
        access: Access,
    ) -> Result<Arc<dyn Device>, Failure> {
        drive::open(path, of_drive(access), self.unsynced_image)
    }

    /// The target in words: block device, image or directory, and whether the durable bytes of an
    /// image are on the host's disk.
    pub(crate) fn describe(&self) -> String {
        let path = self.image.display();
        if self.image.is_dir() {
            return format!("directory {path}");
        }
        if drive::is_block_device(&self.image) {
            return format!("block device {path}");
        }
        let lasts = if self.unsynced_image { "not synced" } else { "synced" };
        format!("image {path}, {lasts} to the host's disk")
    }

    /// Mounts the file system on the drive.
    pub(crate) fn fs(&self, access: Access) -> Result<Arc<Fs>, Failure> {
        let options = MountOptions { access, ..MountOptions::default() };
        let devices = self.devices(access)?;
        Fs::mount(devices, &options).map_err(|error| self.named(error.into()))
    }

    /// Opens the files, wherever they are.
    pub(crate) fn store(&self, access: Access) -> Result<Arc<dyn Store>, Failure> {
        if self.is_directory()? {
            if access == Access::ReadWrite {
                // For writing, an empty directory would become a store; only `format` does that.
                self.directory(Access::ReadOnly)?;
            }
            return Ok(self.directory(access)?);
        }
        Ok(self.fs(access)?)
    }

    /// Opens the files of a directory; for writing, an empty one becomes a store.
    pub(crate) fn directory(&self, access: Access) -> Result<Arc<DirStore>, StoreError> {
        DirStore::open(&self.image, DirOptions { access })
    }

    /// Looks at the store without mounting it. If its offload drive is not there, it is left out,
    /// with a warning.
    pub(crate) fn inspector(&self) -> Result<Inspector, Failure> {
        if self.is_directory()? {
            return Ok(Inspector::directory(&self.image)?);
        }
        let missing = match self.devices(Access::ReadOnly) {
            Ok(devices) => {
                let inspector = Inspector::device(devices);
                return inspector.map_err(|error| self.named(error.into()));
            }
            Err(failure) => failure,
        };
        let drive = self.drive(Access::ReadOnly)?;
        let remembered = log_drive::remembered(&drive, &self.image);
        let Some((Role::Offload, _)) = remembered.filter(|_| self.second().is_none()) else {
            return Err(missing);
        };
        // Nothing is written, so the contents of this drive can be inspected as well.
        let why = Visible(&missing.message);
        writeln!(Screen::errors(), "warning: left out the offload drive: {why}")?;
        Ok(Inspector::device(Devices::without_offload(drive)?)?)
    }

    /// The system of the store above these files; `None` if they are not a store's.
    pub(crate) fn remembered_system(&self, files: &dyn Store) -> Result<Option<String>, Failure> {
        terrace_lsm::remembered_system(files).map_err(|error| self.named(error.into()))
    }

    /// A failure of the drives or of the store on them, or a lack of space there, with the path
    /// before the message. Others name their subject. A failure of device 1 gets the path of
    /// the second drive, if that was typed.
    pub(crate) fn named(&self, mut failure: Failure) -> Failure {
        if let Some((_, second)) = self.second()
            && let Some(rest) = failure.message.strip_prefix("device 1: ")
        {
            failure.message = format!("{}: {rest}", second.display());
            return failure;
        }
        let path = self.image.display();
        let says_where = names(&failure.message, &path.to_string());
        let is_of_store = matches!(failure.kind, Kind::Failed | Kind::InUse | Kind::NoSpace);
        if !is_of_store || says_where {
            return failure;
        }
        failure.while_doing(path)
    }

    /// Opens the store under the system it was opened under last.
    pub(crate) fn db(&self, access: Access) -> Result<Db, Failure> {
        self.opened(access, &Under::default(), false)
    }

    /// Opens the store; if it is in use, the error does not say how to look at it.
    pub(super) fn db_quietly(&self, access: Access) -> Result<Db, Failure> {
        self.open(access, &Under::default(), false).map_err(|failure| self.named(failure))
    }

    /// A reader of the store next to a process that may have it open.
    pub(crate) fn reader(&self) -> Result<Reader, Failure> {
        let opened = if self.is_directory()? {
            Db::open_reader(&self.image, Options::default().shipped_merge_operators(true))
        } else {
            let devices = self.devices(Access::Beside)?;
            let options = Options::fitting(devices.tables().geometry().capacity());
            Reader::on_devices(devices, options.shipped_merge_operators(true))
        };
        opened.map_err(|error| self.named(error.into()))
    }

    /// Opens the store for writing, under the system that was asked for.
    pub(crate) fn db_under(&self, under: &Under) -> Result<Db, Failure> {
        self.opened(Access::ReadWrite, under, false)
    }

    /// Opens the store for writing; where there is a file system without a store, it makes one if
    /// `create`.
    pub(crate) fn db_made(&self, under: &Under, create: bool) -> Result<Db, Failure> {
        self.opened(Access::ReadWrite, under, create)
    }

    /// Opens the store. It may be in use for a moment, by another command: it is tried again,
    /// unless another process offers a live window to it.
    fn opened(&self, access: Access, under: &Under, create: bool) -> Result<Db, Failure> {
        let mut tries = TRIES;
        loop {
            tries -= 1;
            let failure = match self.open(access, under, create) {
                Ok(db) => return Ok(self.watched(db, access)),
                Err(failure) => self.named(failure),
            };
            let may_end = || Live::connect(&self.image).is_ok_and(|live| live.is_none());
            if failure.kind != Kind::InUse || tries == 0 || !may_end() {
                return Err(self.told_how_to_look(failure));
            }
            runner::sleep(PAUSE);
        }
    }

    /// The store, which warns if it is nearly full and is to be written.
    fn watched(&self, db: Db, access: Access) -> Db {
        if access == Access::ReadWrite {
            db.listen(Arc::new(FullWarning { path: self.image.clone() }));
        }
        db
    }

    /// A failure because the store is in use, with advice; others as they are.
    pub(crate) fn told_how_to_look(&self, mut failure: Failure) -> Failure {
        if failure.kind == Kind::InUse {
            let path = self.image.display();
            failure.message += &match Live::connect(&self.image) {
                Ok(Some(_)) => format!(
                    "; `terrace top {path}` and `terrace stats {path}` ask the process that has \
                     it open"
                ),
                Ok(None) => format!(
                    "; no process offers a live window to it; `terrace get`, `scan` and `stats` \
                     read {path} meanwhile with --alone"
                ),
                Err(error) => format!(
                    "; its live window cannot be used: {error}; `terrace get`, `scan` and `stats` \
                     read {path} meanwhile with --alone"
                ),
            };
        }
        failure
    }

    /// Opens the store on this drive as one whose offload drive is lost.
    pub(crate) fn db_without_offload(
        &self,
        drive: Arc<dyn Device>,
        access: Access,
    ) -> Result<Db, Failure> {
        let fitting = Options::fitting(drive.geometry().capacity());
        let options = fitting.read_only(access == Access::ReadOnly).shipped_merge_operators(true);
        Ok(Db::open_without_offload(drive, options)?)
    }

    /// Refuses files without a store, unless one may be made there: they wait for files with
    /// names, and a store would take their place.
    fn check_store(&self, files: &dyn Store, create: bool) -> Result<(), Failure> {
        let waits_for_files =
            !create && files.list().is_empty() && self.remembered_system(files)?.is_none();
        if !waits_for_files {
            return Ok(());
        }
        let message = format!(
            "{}: expected a store, found room for files with names, as `format --files` makes it; \
             `put`, `load` and `import` make a store of it with --create-store",
            self.image.display()
        );
        Err(Failure::new(Kind::Failed, message))
    }

    fn open(&self, access: Access, under: &Under, create: bool) -> Result<Db, Failure> {
        let of = |fitting: Options| {
            let options = fitting.live(&self.image).read_only(access == Access::ReadOnly);
            let rate = under.compaction_rate.unwrap_or(options.compaction_rate);
            options.system(under.system).compaction_rate(rate).shipped_merge_operators(true)
        };
        if self.is_directory()? {
            let store = self.store(access)?;
            self.check_store(&*store, create)?;
            let options = of(Options::fitting(store.space().capacity));
            return Ok(Db::open(store, options)?);
        }
        let fs = self.fs(access)?;
        self.check_store(&*fs, create)?;
        let options = of(Options::fitting(fs.space().capacity));
        Ok(Db::open_fs(fs, options)?)
    }
}

/// Whether a message names a path: as a word of its own that ends at a sign, because names of files
/// may be words of the message.
fn names(message: &str, path: &str) -> bool {
    message.match_indices(path).any(|(at, _)| {
        let (before, after) = (&message[..at], &message[at + path.len()..]);
        let begins = !before.ends_with(char::is_alphanumeric);
        begins && !after.starts_with(|next: char| next == ' ' || next.is_alphanumeric())
    })
}

fn of_drive(access: Access) -> terrace::device::Access {
    match access {
        Access::ReadWrite => terrace::device::Access::ReadWrite,
        Access::ReadOnly => terrace::device::Access::ReadOnly,
        Access::Beside => terrace::device::Access::Beside,
    }
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_message_names_a_path_that_is_no_word_of_it() {
        for message in ["copy: in use", "write copy: full", "of copy, found", "at x/copy"] {
            assert!(names(message, "copy"), "{message}");
        }
        for message in ["found an unfinished copy of one", "copying: no", "a photocopy: no"] {
            assert!(!names(message, "copy"), "{message}");
        }
    }
}
