//! `terrace checkpoint IMAGE TARGET`

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use terrace::{Checkpointed, Store};
use terrace_env::ZoneId;
use terrace_fs::dir::{DirOptions, DirStore};
use terrace_fs::{Access, FormatOptions, Fs, MountOptions};
use terrace_zone::{Device as _, Emulator, ZoneState};

use super::target::Target;
use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::progress::Progress;

/// Copy a store into an empty drive or directory, verifying every checksum on the way.
#[derive(clap::Args)]
pub(crate) struct Checkpoint {
    #[command(flatten)]
    target: Target,
    /// An empty drive, which becomes a store; or a directory, which is made if it is not there
    #[arg(value_name = "TARGET")]
    to: PathBuf,
}

impl Checkpoint {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let db = self.target.db(Access::ReadOnly)?;
        let copied = if self.to.is_file() {
            let fs = self.drive()?;
            let copied = copy(&db, Arc::clone(&fs) as Arc<dyn Store>);
            fs.unmount();
            copied?
        } else {
            copy(&db, DirStore::open(&self.to, DirOptions { access: Access::ReadWrite })?)?
        };
        let Checkpointed { tables, logs, bytes, sequence } = copied;
        let json = json!({ "tables": tables, "logs": logs, "bytes": bytes, "sequence": sequence });
        output.result(&json, |out| {
            let to = self.to.display();
            writeln!(out, "copied {tables} tables and {logs} logs, {bytes} in all, to {to}")
        })
    }

    /// Mounts the target's drive, made a store if it is not one yet.
    fn drive(&self) -> Result<Arc<Fs>, Failure> {
        let drive = Arc::new(Emulator::open_image(&self.to, terrace_zone::Access::ReadWrite)?);
        let zones = drive.report(ZoneId(0), drive.geometry().zones)?;
        let untouched = |state| matches!(state, ZoneState::Empty | ZoneState::NotWritePointer);
        if zones.iter().all(|zone| untouched(zone.state)) {
            Fs::format(drive.clone(), &FormatOptions::default())?;
        }
        let fs = Fs::mount(drive, &MountOptions::default()).map_err(Failure::from);
        fs.map_err(|failure| {
            let to = self.to.display();
            let message = format!("{to}: expected an empty drive: {}", failure.message);
            Failure::new(Kind::Failed, message)
        })
    }
}

fn copy(db: &terrace::Db, to: Arc<dyn Store>) -> Result<Checkpointed, Failure> {
    let mut bar = None;
    let copied = db.checkpoint_watched(to, &mut |done, all| {
        let bar = bar.get_or_insert_with(|| Progress::bytes("copying", all.0));
        bar.reach(done.0);
    });
    Ok(copied?)
}
