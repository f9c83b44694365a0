//! `terrace check IMAGE`
//!
//! First the file system below: every structure, every checksum, every invariant between them.
//! Then the store: every block of every table, the order of its entries, and that it holds what is
//! recorded of it.

use std::sync::Arc;

use serde::Serialize;
use terrace::{Db, Options, Verified};
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
    /// What was read of the store's tables; nothing if the file system is corrupt.
    pub(crate) tables: Option<Verified>,
}

impl Check {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let checked = if self.target.path().is_dir() {
            verify(&self.target.db(Access::ReadOnly)?, None)?
        } else {
            check(self.target.drive(Access::ReadOnly)?)?
        };
        let Checked { files, tables, .. } = &checked;
        let problems = files.as_ref().map_or(&[][..], |report| &report.problems);
        output.result(&checked, |out| {
            if let Some(report) = files {
                let (count, extents, verified) = (report.files, report.extents, report.verified);
                writeln!(out, "{count} files in {extents} extents, {verified} verified")?;
            }
            for problem in problems {
                writeln!(out, "{problem}")?;
            }
            if let Some(Verified { tables, bytes, entries }) = tables {
                let bytes = ByteCount(*bytes);
                writeln!(out, "{entries} entries in {tables} tables, {bytes} verified\nclean")?;
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
        return Ok(Checked { check: "corrupt", files: Some(report), tables: None });
    }
    let options = Options { read_only: true, ..Options::default() };
    verify(&Db::open_device(drive, options)?, Some(report))
}

fn verify(db: &Db, files: Option<CheckReport>) -> Result<Checked, Failure> {
    let tables = Some(db.verify()?);
    Ok(Checked { check: "clean", files, tables })
}
