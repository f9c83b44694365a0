//! Oracle for a damaged store: the contents and errors that are allowed.
//!
//! Of a store that was closed, everything that was written and synced, or an error. Of one whose
//! process was killed, unverified parts may be missing; decision 0004 lists it.

use std::sync::Arc;

use terrace_env::store::{FileKind, StoreError};
use terrace_env::{Cause, Store};
use terrace_fs::{BLOCK, Checked};

use super::harm::Harm;
use super::specimen::{End, Known, Specimen};

/// Part that is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Superblock,
    Journal,
    Log,
    Table,
    Client,
}

impl Part {
    pub(super) fn of(kind: FileKind) -> Self {
        match kind {
            FileKind::Table => Self::Table,
            FileKind::Log => Self::Log,
            FileKind::Client => Self::Client,
        }
    }
}

/// Fate of a damaged store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Everything reads back.
    Whole,
    /// Something is missing that may be.
    Cut,
    /// The damage was reported: by the opening, by a read, or by the check.
    Reported,
}

/// The damage that was done.
#[derive(Clone, Copy)]
pub(super) struct Case {
    pub(super) part: Part,
    pub(super) harm: Harm,
    pub(super) on_zones: bool,
}

impl Case {
    /// How many bytes of a file must be found; `None`: not even the file.
    fn least(self, end: End, file: &Known) -> Option<usize> {
        let all = file.bytes.len();
        if end == End::Closed {
            return Some(all);
        }
        match self.part {
            Part::Journal if !self.harm.is_flip() => file.earlier,
            Part::Log if !self.harm.is_flip() => Some(file.committed),
            // The last frame may span blocks, and the contents of a lost block are not known.
            Part::Log if self.on_zones => Some(file.before_last),
            // One of a single block may have been written again.
            Part::Log if all - file.before_last <= BLOCK => Some(file.before_last),
            _ => Some(all),
        }
    }

    /// Whether the file's owner alone can see the damage.
    fn is_the_owners(self, file: &Known) -> bool {
        let same = self.part == Part::Client && self.harm.keeps_length();
        file.kind == FileKind::Client && same && !self.on_zones
    }
}

fn read(store: &Arc<dyn Store>, file: &Known) -> Result<Vec<u8>, StoreError> {
    let reader = store.open(file.id)?;
    let mut bytes = vec![0; reader.len() as usize];
    reader.read_at(0, &mut bytes, Cause::Recovery)?;
    Ok(bytes)
}

/// Judges a damaged store by the results of opening, reading and checking it.
pub(super) fn judge(
    specimen: &Specimen,
    case: Case,
    opened: Result<Arc<dyn Store>, StoreError>,
    checked: Result<Checked, StoreError>,
) -> Result<Outcome, String> {
    let is_clean = checked.as_ref().is_ok_and(Checked::is_clean);
    let reported = |error: &StoreError| match is_clean {
        true => Err(format!("{error}, and the check finds nothing")),
        false => Ok(Outcome::Reported),
    };
    let store = match opened {
        Ok(store) => store,
        Err(error) => return reported(&error),
    };
    let mut outcome = if is_clean { Outcome::Whole } else { Outcome::Reported };
    for file in &specimen.files {
        let (least, all) = (case.least(specimen.end, file), &file.bytes);
        match read(&store, file) {
            Ok(bytes) if bytes == *all => {}
            Ok(_) if case.is_the_owners(file) => {}
            Ok(bytes) if file.kind == FileKind::Log && all.starts_with(&bytes) => {
                if least.is_some_and(|least| bytes.len() < least) && is_clean {
                    let (found, all) = (bytes.len(), all.len());
                    return Err(format!("log {}: {found} of {all} bytes in silence", file.id));
                }
                outcome = outcome.max(Outcome::Cut);
            }
            Ok(bytes) if file.kind == FileKind::Log && bytes.starts_with(all) => {}
            Ok(_) if file.kind == FileKind::Log => {
                return Err(format!("log {}: other bytes than were written", file.id));
            }
            Ok(_) if is_clean => return Err(format!("file {}: other bytes in silence", file.id)),
            Ok(_) => outcome = Outcome::Reported,
            Err(StoreError::NotFound(_)) if least.is_none() => outcome = outcome.max(Outcome::Cut),
            Err(error) => outcome = outcome.max(reported(&error)?),
        }
    }
    Ok(outcome)
}
