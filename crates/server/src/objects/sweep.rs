//! The sweep of an opening: removes files of bodies that no entry names.
//!
//! A file of a body has the name `objects/` and its id. The sweep lists these files, takes out
//! those that an entry of an object or of a part names, and removes the others. Other files of the
//! volume are not touched. An entry that names a missing file is counted as damage, and stays.
//!
//! No body may be written meanwhile. It reads all entries of metadata once, and its memory is a
//! few bytes for each file.

use std::collections::BTreeSet;

use terrace::fs::NamedFiles;
use terrace::{Bounds, StoreError};
use terrace_env::FileId;
use terrace_env::store::Transaction;

use super::objects::Objects;
use super::record::{ObjectRecord, PartRecord};
use super::{Fault, key};

/// Beginning of the names of files of bodies.
const PREFIX: &str = "objects/";
/// Files that one transaction removes.
const AT_ONCE: usize = 1000;

/// Findings of the sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Files that no entry named, and that were removed.
    pub files: u64,
    /// Old uploads that were forgotten.
    pub uploads: u64,
    /// Files that entries name, and that are not there.
    pub missing: u64,
}

/// Name of a file of a body.
pub(super) fn name_of(file: FileId) -> String {
    format!("{PREFIX}{:016x}", file.0)
}

/// Removes files.
pub(super) fn remove_files(
    files: &NamedFiles,
    ids: impl IntoIterator<Item = FileId>,
) -> Result<u64, StoreError> {
    let store = files.store();
    let ids: Vec<FileId> = ids.into_iter().filter(|&id| store.info(id).is_some()).collect();
    for some in ids.chunks(AT_ONCE) {
        let mut transaction = Transaction::new();
        for &id in some {
            transaction.delete(id);
        }
        store.commit(transaction)?;
    }
    Ok(ids.len() as u64)
}

impl Objects {
    /// Files of bodies in the volume.
    #[must_use]
    pub fn body_files(&self) -> u64 {
        self.files.list(PREFIX).len() as u64
    }

    /// Removes files of bodies that no entry names.
    pub(super) fn remove_unnamed(&self) -> Result<Swept, Fault> {
        let all = self.files.list(PREFIX);
        let mut unnamed: BTreeSet<FileId> = all.into_iter().map(|(_, info)| info.id).collect();
        let mut swept = Swept::default();
        let mut named = |file: FileId| swept.missing += u64::from(!unnamed.remove(&file));
        for entry in self.space.scan(Bounds::prefix(key::OBJECTS))? {
            let record = ObjectRecord::decode(&entry?.1)?;
            record.segments().iter().for_each(|segment| named(segment.file));
        }
        for entry in self.space.scan(Bounds::prefix(key::PARTS))? {
            named(PartRecord::decode(&entry?.1)?.segment.file);
        }
        swept.files = remove_files(&self.files, unnamed)?;
        Ok(swept)
    }
}
