//! [`Opened`]: the files of a target. It is opened in two ways:
//!
//! - [`Opened::view`] opens anything for reading: files with names, or the files below a store.
//! - [`Opened::names`] claims files with names, and refuses a store.
//!
//! A command that has written closes it before it prints its result, so that an error of the end is
//! not lost after it. For writing, an empty directory becomes a file system.

use std::sync::Arc;

use terrace::fs::{Access, DirStore, NamedFiles};
use terrace::{ErrorKind, Fs, Store};
use terrace_env::Claim;

use super::super::target::Target;
use crate::failure::{Failure, Kind};

/// Bytes read and written at a time.
pub(super) const CHUNK: usize = 1 << 20;

/// The files of a target.
pub(super) struct Opened {
    pub(super) files: NamedFiles,
    below: Below,
    // Until it is closed: no engine may use the files meanwhile.
    _claim: Option<Claim>,
}

enum Below {
    Drive(Arc<Fs>),
    Directory(Arc<DirStore>),
}

impl Opened {
    /// Opens a target for reading, whatever the use of its files.
    pub(super) fn view(target: &Target) -> Result<Self, Failure> {
        let (below, store) = below(target, Access::ReadOnly)?;
        Ok(Self { files: NamedFiles::new(store), below, _claim: None })
    }

    /// Opens files with names.
    pub(super) fn names(target: &Target, access: Access) -> Result<Self, Failure> {
        let (below, store) = below(target, access)?;
        let files = NamedFiles::new(store);
        let claim = files.claim(access).map_err(|error| match error.kind() {
            ErrorKind::Invalid => {
                let path = target.path().display();
                let message = format!(
                    "{path}: {error}; see `terrace checkpoint` and `terrace export` for stores"
                );
                Failure::new(Kind::Failed, message)
            }
            _ => target.named(error.into()),
        })?;
        Ok(Self { files, below, _claim: Some(claim) })
    }

    /// The store below.
    pub(super) fn store(&self) -> &dyn Store {
        &**self.files.store()
    }

    /// The file system of a drive; `None` for a directory.
    pub(super) fn fs(&self) -> Option<&Fs> {
        match &self.below {
            Below::Drive(fs) => Some(fs),
            Below::Directory(_) => None,
        }
    }

    /// Unmounts the drive, or closes the directory.
    pub(super) fn close(self) {
        match &self.below {
            Below::Drive(fs) => fs.unmount(),
            Below::Directory(directory) => directory.close(),
        }
    }
}

fn below(target: &Target, access: Access) -> Result<(Below, Arc<dyn Store>), Failure> {
    if target.is_directory()? {
        let directory = target.directory(access)?;
        return Ok((Below::Directory(Arc::clone(&directory)), directory as Arc<dyn Store>));
    }
    let fs = target.fs(access)?;
    Ok((Below::Drive(Arc::clone(&fs)), fs as Arc<dyn Store>))
}
