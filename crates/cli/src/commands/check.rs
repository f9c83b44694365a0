//! `terrace check IMAGE`: verifies a store and changes nothing.
//!
//! 1. `Fs::check_watched`, or `DirStore::check` for a directory, checks the files below the store.
//!    The problems that it finds are printed as a list.
//! 2. If step 1 found no problem, the store is opened for reading, which replays its logs, and
//!    `Db::verify` reads its tables. This step ends at the first damage.
//!
//! A drive or directory of files with names has no step 2: checksums of their contents are the
//! business of the program that wrote them.
//!
//! The command fails with exit code 3 if step 1 found problems, or if step 2 found damage; earlier
//! findings are printed first. If a step cannot be carried out, as with a drive that cannot be
//! read, only the error is printed.
//!
//! Traces of a crash, such as files that nothing names, are printed and are no problem. The
//! same holds for a store that was not closed, and for a plain drive that is read-only.

use serde::Serialize;
use terrace::fs::DirStore;
use terrace::{ByteCount, Db, Options, Store, StoreError, Verified};
use terrace_fs::{Access, CheckProgress, Checked, DeviceChecked, Devices, Fs, MountOptions};

use super::target::Target;
use super::zones;
use crate::escape::Visible;
use crate::failure::{Failure, Kind};
use crate::output::{Output, counted};
use crate::progress::Progress;

/// Verify every checksum and every invariant; changes nothing.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  terrace check backup.img")]
pub(crate) struct Check {
    #[command(flatten)]
    target: Target,
}

/// Outcome of a check that found no damage: the structures read.
#[derive(Serialize)]
pub(crate) struct Answer {
    /// `clean` or `corrupt`.
    pub(crate) check: &'static str,
    /// The part for the file system, or for the directory.
    #[serde(flatten)]
    pub(crate) files: Checked,
    /// The part for the store's tables; `None` if anything is corrupt, or there is no store.
    pub(crate) tables: Option<Verified>,
    /// The damage that step 2 ended at.
    #[serde(skip)]
    damage: Option<Failure>,
}

impl Check {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let mut checked = if self.target.is_directory()? {
            let files = watched(|progress| DirStore::check(self.target.path(), progress))?;
            checked(files, || {
                let names = holds_names(&*self.target.store(Access::ReadOnly)?);
                let is_store = !names.map_err(|failure| self.target.named(failure))?;
                is_store.then(|| self.target.db(Access::ReadOnly)).transpose()
            })?
        } else {
            let devices = self.target.devices(Access::ReadOnly)?;
            check_drive(devices).map_err(|failure| self.target.named(failure))?
        };
        let damage = checked.damage.take();
        let Answer { files, tables, .. } = &checked;
        let problems = &files.problems;
        output.result(&checked, |out| {
            let (count, verified) = (counted(files.files, "file", "files"), files.verified);
            let extents = |extents: u64| counted(extents, "extent", "extents");
            writeln!(out, "{count} in {}, {verified} verified", extents(files.extents))?;
            for device in files.devices.iter().filter(|_| files.devices.len() > 1) {
                let DeviceChecked { device, extents: on_device, verified, .. } = device;
                writeln!(out, "device {device}: {}, {verified} verified", extents(*on_device))?;
            }
            for DeviceChecked { device, failed, .. } in &files.devices {
                zones::tell_failed(out, *device, *failed)?;
            }
            for problem in problems {
                writeln!(out, "{}", Visible(&problem.to_string()))?;
            }
            if !files.closed {
                writeln!(out, "not closed in order: the last writes may be cut")?;
            }
            for leftover in &files.leftovers {
                writeln!(out, "left by a crash: {}", Visible(&leftover.to_string()))?;
            }
            if let Some(Verified { tables, bytes, entries: in_tables, entries_in_logs }) = tables {
                let bytes = ByteCount(*bytes);
                let entries = |count: u64| counted(count, "entry", "entries");
                let tables = counted(*tables, "table", "tables");
                writeln!(out, "{} in {tables}, {bytes} verified", entries(*in_tables))?;
                writeln!(out, "{} in logs, replayed\nclean", entries(*entries_in_logs))?;
            } else if checked.check == "clean" {
                writeln!(out, "files with names, whose contents are not verified here\nclean")?;
            }
            Ok(())
        })?;
        match (problems.len(), damage) {
            (0, None) => Ok(()),
            (0, Some(damage)) => Err(damage),
            (count, _) => Err(Failure::new(
                Kind::Corruption,
                format!(
                    "expected a clean store, found {}; see above",
                    counted(count as u64, "problem", "problems")
                ),
            )),
        }
    }
}

/// Checks the store on a drive without a writer; damage of its tables is an error.
pub(crate) fn check(devices: impl Into<Devices>) -> Result<Answer, Failure> {
    let mut checked = check_drive(devices.into())?;
    checked.damage.take().map_or(Ok(checked), Err)
}

fn check_drive(devices: Devices) -> Result<Answer, Failure> {
    let files = watched(|progress| Fs::check_watched(devices.clone(), progress))?;
    checked(files, || {
        let mount = MountOptions { access: Access::ReadOnly, ..MountOptions::default() };
        let fs = Fs::mount(devices, &mount)?;
        if holds_names(&*fs)? {
            return Ok(None);
        }
        Ok(Some(Db::open_fs(fs, Options::default().read_only(true))?))
    })
}

/// Whether files with names lie there, or none yet, and no store.
fn holds_names(store: &dyn Store) -> Result<bool, Failure> {
    let files = store.list();
    let is_store = terrace_lsm::remembered_system(store)?.is_some();
    let has_names = files.iter().any(|file| !file.names.is_empty());
    Ok(!is_store && (has_names || files.is_empty()))
}

/// Runs a check of files and shows how far it is.
fn watched(
    check: impl FnOnce(CheckProgress<'_>) -> Result<Checked, StoreError>,
) -> Result<Checked, Failure> {
    let mut progress = None;
    let checked = check(&mut |done, total| {
        let bar = progress.get_or_insert_with(|| Progress::bytes("checking", total.0));
        bar.reach(done.0);
    });
    Ok(checked?)
}

/// Checks the store above the files, if they are sound.
fn checked(
    files: Checked,
    open: impl FnOnce() -> Result<Option<Db>, Failure>,
) -> Result<Answer, Failure> {
    let corrupt = |files, damage| Answer { check: "corrupt", files, tables: None, damage };
    if !files.is_clean() {
        return Ok(corrupt(files, None));
    }
    match open().and_then(|db| Ok(db.map(|db| db.verify()).transpose()?)) {
        Ok(tables) => Ok(Answer { check: "clean", files, tables, damage: None }),
        Err(damage) if damage.kind == Kind::Corruption => Ok(corrupt(files, Some(damage))),
        Err(failure) => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_of_tables_is_told_beside_the_files_and_other_failures_alone() {
        let dir = tempfile::tempdir().unwrap();
        Db::open_directory(dir.path(), Options::default()).unwrap().close().unwrap();
        let outcome = |kind| {
            let files = DirStore::check(dir.path(), &mut |_, _| ()).unwrap();
            checked(files, || Err(Failure::new(kind, "in the table")))
        };
        let answer = outcome(Kind::Corruption).unwrap();
        assert_eq!((answer.check, answer.tables.is_none()), ("corrupt", true));
        assert_eq!(answer.damage.unwrap().message, "in the table");
        assert_eq!(outcome(Kind::Failed).err().unwrap().message, "in the table");
    }
}
