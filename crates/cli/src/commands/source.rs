//! [`Source`]: a store that a command reads. It is opened, or, if another process has it open,
//! looked at through the live window of that process.
//!
//! - A store is opened first. Only if it is in use is the other process asked. If that offers no
//!   window, it may be about to open or to close the store: both are tried again for a second.
//! - Through a window, a scan does not skip damage.
//! - With [`Alone`] neither is done: a [`Reader`] reads the medium next to the other process.

use std::sync::Arc;

use serde::Serialize;
use terrace::device::Geometry;
use terrace::fs::{Access, Fs};
use terrace::live::{Live, Overview, Owner, ZoneMap};
use terrace::{ByteCount, Checkpointed, Db, Reader, Store, TableComparison};
use terrace_env::runner;

use super::target::{PAUSE, TRIES, Target};
use crate::failure::{Failure, Kind};

/// See the [module](self).
pub(crate) enum Source {
    /// The store is open here.
    Alone(Db),
    /// Another process has the store open.
    Owner(Box<Live>),
}

/// Whether to read without asking another process, as one types it.
#[derive(clap::Args)]
pub(crate) struct Alone {
    /// Read the store without a lock and without asking the process that has it open: the writes
    /// that this process has handed to the medium are seen
    #[arg(long)]
    alone: bool,
}

impl Alone {
    /// The reader, if one was asked for.
    pub(crate) fn reader(&self, target: &Target) -> Result<Option<Reader>, Failure> {
        self.alone.then(|| target.reader()).transpose()
    }
}

/// The process that was asked, for JSON.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Asked {
    pid: u32,
    command: String,
}

impl Asked {
    pub(crate) fn of(owner: &Owner) -> Self {
        Self { pid: owner.pid, command: owner.command.clone() }
    }

    /// The source in words.
    pub(crate) fn line(&self) -> String {
        format!("open in process {}, `{}`, which was asked", self.pid, self.command)
    }
}

/// The store or drive that a command opens, or the window of the process that has it open.
fn open_or_ask<T>(
    target: &Target,
    open: impl Fn() -> Result<T, Failure>,
) -> Result<Result<T, Live>, Failure> {
    let mut tries = TRIES;
    loop {
        tries -= 1;
        let failure = match open() {
            Ok(opened) => return Ok(Ok(opened)),
            Err(failure) if failure.kind != Kind::InUse => return Err(failure),
            Err(failure) => failure,
        };
        let asked = Live::connect(target.path());
        if let Ok(Some(live)) = asked {
            return Ok(Err(live));
        }
        if tries == 0 || asked.is_err() {
            return Err(target.told_how_to_look(failure));
        }
        runner::sleep(PAUSE);
    }
}

impl Target {
    /// Opens the store for reading, or asks the process that has it open.
    pub(crate) fn source(&self) -> Result<Source, Failure> {
        Ok(match open_or_ask(self, || self.db_quietly(Access::ReadOnly))? {
            Ok(db) => Source::Alone(db),
            Err(live) => Source::Owner(Box::new(live)),
        })
    }

    /// The contents of its drives, with the system of the store on them.
    pub(crate) fn zone_map(&self) -> Result<(ZoneMap, Option<String>), Failure> {
        match open_or_ask(self, || self.fs(Access::ReadOnly))? {
            Ok(fs) => self.zone_map_of(&fs),
            Err(mut live) => {
                let map = live.zone_map()?;
                Ok((map, Some(live.snapshot(u64::MAX)?.overview.system)))
            }
        }
    }

    fn zone_map_of(&self, fs: &Arc<Fs>) -> Result<(ZoneMap, Option<String>), Failure> {
        let system = self.remembered_system(&**fs)?;
        Ok((ZoneMap::of(fs)?, system))
    }
}

impl Source {
    /// The store as it is now, and the process that was asked.
    pub(crate) fn overview(&mut self) -> Result<(Overview, Option<Asked>), Failure> {
        match self {
            Self::Alone(db) => Ok((Overview::of(db)?, None)),
            Self::Owner(live) => {
                let overview = live.snapshot(u64::MAX)?.overview;
                Ok((overview, Some(Asked::of(live.owner()))))
            }
        }
    }

    /// The shape of the drive of the tables; `None` in a directory.
    pub(crate) fn geometry(&mut self) -> Result<Option<Geometry>, Failure> {
        match self {
            Self::Alone(db) => Ok(db.fs().map(|fs| fs.geometry().clone())),
            Self::Owner(_) => Ok(self.overview()?.0.geometry),
        }
    }

    /// Copies it into an empty store of files, or, with a comparison, backs it up there.
    pub(crate) fn copy(
        &mut self,
        to: Arc<dyn Store>,
        comparison: Option<TableComparison>,
        progress: &mut dyn FnMut(ByteCount, ByteCount),
    ) -> Result<Checkpointed, terrace::Error> {
        match (self, comparison) {
            (Self::Alone(db), None) => db.checkpoint_watched(to, progress),
            (Self::Alone(db), Some(comparison)) => db.backup_watched(to, comparison, progress),
            (Self::Owner(live), None) => live.checkpoint(&to, progress),
            (Self::Owner(live), Some(comparison)) => live.backup(&to, comparison, progress),
        }
    }
}
