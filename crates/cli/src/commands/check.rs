//! `terrace check IMAGE`
//!
//! First the file system below: every structure, every checksum, every invariant between them.
//! Then the store: every key space is read from end to end, and with it every block of every table
//! and log that counts.

use std::sync::Arc;

use serde::Serialize;
use terrace::{Bounds, Db, Options};
use terrace_env::ByteCount;
use terrace_fs::{Access, CheckReport, Fs};
use terrace_zone::Device;

use super::target::Target;
use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::progress::Progress;

/// Verify every checksum and every invariant; changes nothing.
#[derive(clap::Args)]
pub(crate) struct Check {
    #[command(flatten)]
    target: Target,
}

/// What a check has seen.
#[derive(Serialize)]
pub(crate) struct Checked {
    /// `clean` or `corrupt`.
    pub(crate) check: &'static str,
    /// What was seen of the file system; a plain directory has none of ours.
    #[serde(flatten)]
    pub(crate) files: Option<CheckReport>,
    /// Keys in all key spaces.
    pub(crate) keys: u64,
    /// Bytes of their values.
    pub(crate) value_bytes: ByteCount,
}

impl Check {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let checked = if self.target.path().is_dir() {
            read_all(&self.target.db(Access::ReadOnly)?, None)?
        } else {
            check(self.target.drive(Access::ReadOnly)?)?
        };
        let Checked { files, keys, value_bytes, .. } = &checked;
        let problems = files.as_ref().map_or(&[][..], |report| &report.problems);
        output.result(&checked, |out| {
            if let Some(report) = files {
                let (count, extents, verified) = (report.files, report.extents, report.verified);
                writeln!(out, "{count} files in {extents} extents, {verified} verified")?;
            }
            for problem in problems {
                writeln!(out, "{problem}")?;
            }
            if problems.is_empty() {
                writeln!(out, "{keys} keys, {value_bytes} of values\nclean")?;
            }
            Ok(())
        })?;
        match problems.len() {
            0 => Ok(()),
            count => Err(Failure::new(
                Kind::Corruption,
                format!("expected a clean store, found {count} problems; see above"),
            )),
        }
    }
}

/// Checks the store on a drive that nobody writes.
pub(crate) fn check(drive: Arc<dyn Device>) -> Result<Checked, Failure> {
    let report = {
        let mut progress = None;
        Fs::check_watched(Arc::clone(&drive), &mut |done, total| {
            let bar = progress.get_or_insert_with(|| Progress::bytes("checking", total.0));
            bar.reach(done.0);
        })?
    };
    if !report.is_clean() {
        let value_bytes = ByteCount(0);
        return Ok(Checked { check: "corrupt", files: Some(report), keys: 0, value_bytes });
    }
    let options = Options { read_only: true, ..Options::default() };
    read_all(&Db::open_device(drive, options)?, Some(report))
}

/// Reads every key space from end to end.
fn read_all(db: &Db, files: Option<CheckReport>) -> Result<Checked, Failure> {
    let (mut keys, mut value_bytes) = (0, 0);
    for name in db.key_spaces() {
        let Some(space) = db.key_space(&name) else { continue };
        let mut scan = space.scan(Bounds::all())?;
        while scan.advance()? {
            keys += 1;
            value_bytes += scan.value().len() as u64;
        }
    }
    Ok(Checked { check: "clean", files, keys, value_bytes: ByteCount(value_bytes) })
}
