//! The sweep of an opening: removes files of bodies that no entry names.
//!
//! A file of a body is a sealed file of a client that has the name `objects/` and its id. The sweep
//! lists these files, takes out those that an entry of an object or of a part names, and removes
//! the others. Other files of the volume are not touched. An entry that names a missing file is
//! counted as damage, and stays; but see [`origin`](super::origin).
//!
//! No body may be written meanwhile. It reads all entries of metadata once, and its memory is some
//! bytes for each file.

use std::collections::{BTreeMap, BTreeSet};

use terrace::fs::NamedFiles;
use terrace::{Bounds, StoreError};
use terrace_env::FileId;
use terrace_env::store::{FileInfo, FileKind, Transaction};

use super::objects::Objects;
use super::origin::files_of;
use super::segment::Segment;
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
    /// Objects and parts that were forgotten because files of them are not there.
    pub forgotten: u64,
}

/// The files of bodies in a volume, and their sizes.
#[derive(Debug, Default)]
pub(super) struct Bodies(BTreeMap<FileId, u64>);

impl Bodies {
    fn in_volume(files: &NamedFiles) -> Self {
        let all = files.list(PREFIX).into_iter().map(|(_, info)| info);
        Self(all.filter(is_body).map(|info| (info.id, info.size)).collect())
    }

    /// Whether the file of a segment is there.
    pub(super) fn have(&self, segment: &Segment) -> bool {
        self.0.get(&segment.file) == Some(&segment.size)
    }
}

/// The files of the entries, compared with those of the volume.
#[derive(Debug, Default)]
struct Survey {
    unnamed: BTreeSet<FileId>,
    missing: u64,
    /// The first entry with a missing file, as a text.
    example: String,
}

/// Name of a file of a body.
pub(super) fn name_of(file: FileId) -> String {
    format!("{PREFIX}{:016x}", file.0)
}

/// Whether a file is one of a body.
pub(super) fn is_body(info: &FileInfo) -> bool {
    let is_kind = info.kind == FileKind::Client && info.sealed;
    is_kind && info.names.contains(&name_of(info.id))
}

/// Removes files of bodies. Other files stay.
pub(super) fn remove_files(
    files: &NamedFiles,
    ids: impl IntoIterator<Item = FileId>,
) -> Result<u64, StoreError> {
    let store = files.store();
    let is_there = |id: &FileId| store.info(*id).is_some_and(|info| is_body(&info));
    let ids: Vec<FileId> = ids.into_iter().filter(is_there).collect();
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

    /// Removes files of bodies that no entry names, after it has made sure that the entries are of
    /// this store.
    pub(super) fn sweep(&self) -> Result<Swept, Fault> {
        let bodies = Bodies::in_volume(&self.files);
        let is_origin = self.is_origin()?;
        let (mut swept, mut survey) = (Swept::default(), self.survey(&bodies)?);
        if survey.missing > 0 && self.options.forget_missing {
            swept.forgotten = self.forget_without_files(&bodies)?;
            survey = self.survey(&bodies)?;
        }
        let Survey { unnamed, missing, example } = survey;
        if !is_origin {
            if missing > 0 {
                return Err(Fault::NoFiles { missing, example });
            }
            self.set_origin()?;
        }
        swept.missing = missing;
        swept.files = remove_files(&self.files, unnamed)?;
        Ok(swept)
    }

    /// Compares the files that entries name with those of the volume.
    fn survey(&self, bodies: &Bodies) -> Result<Survey, Fault> {
        let unnamed = bodies.0.keys().copied().collect();
        let mut survey = Survey { unnamed, ..Survey::default() };
        for kind in [key::OBJECTS, key::PARTS] {
            for entry in self.space.scan(Bounds::prefix(kind))? {
                let (place, value) = entry?;
                for segment in files_of(&place, &value)? {
                    let is_there = survey.unnamed.remove(&segment.file) && bodies.have(&segment);
                    if !is_there && survey.missing == 0 {
                        survey.example = key::described(&place);
                    }
                    survey.missing += u64::from(!is_there);
                }
            }
        }
        Ok(survey)
    }
}
