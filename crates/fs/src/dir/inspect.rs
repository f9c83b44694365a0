//! Parts of a directory's store for an inspector, which does not open the store: the superblock,
//! the journal and the files.
//!
//! Bytes are handed on as they are, and not verified here. Without a superblock there is no store.
//! Any other file that is missing is corruption; so is a file that ends before the bytes that are
//! read through [`FilePart`]. A superblock that is too short is filled up with zeros. No process
//! may write to the directory meanwhile.

use std::sync::Arc;

use terrace_env::store::{FileReader, StoreError};
use terrace_env::{Cause, FileId, IoBuf, Uuid};

use super::opening::no_store;
use super::source::FileSource;
use super::tail::Records;
use super::volume::open_named;
use super::{FileHandle, Files, names};
use crate::catalog::FileRecord;
use crate::frame::BlockSource;
use crate::superblock::Superblock;
use crate::{Access, BLOCK};

/// The bytes that should be the superblock, and the name of their file.
pub(crate) fn superblock_block(files: &dyn Files) -> Result<(IoBuf, String), StoreError> {
    let names = files.list();
    let names = names.map_err(|error| StoreError::io(files.describe(), error))?;
    if !names.iter().any(|name| name == names::CURRENT) {
        return Err(StoreError::Invalid(no_store(files)));
    }
    let (file, size) = open(files, names::CURRENT)?;
    let path = names::path(files, names::CURRENT);
    let mut block = IoBuf::zeroed(BLOCK.min(usize::try_from(size).unwrap_or(BLOCK)));
    let read = file.read_at(0, &mut block);
    read.map_err(|error| StoreError::io(format!("reading {path}"), error))?;
    block.resize(BLOCK);
    Ok((block, path))
}

/// The journal that a superblock names.
pub(crate) fn journal_source(
    files: &dyn Files,
    superblock: &Superblock,
) -> Result<Box<dyn BlockSource>, StoreError> {
    let name = names::journal(superblock.generation);
    let (file, _) = open(files, &name)?;
    Ok(Box::new(FileSource::new(&file, names::path(files, &name), None)?))
}

/// The bytes of logs that are in no frame.
pub(crate) fn tail(files: &dyn Files, uuid: Uuid) -> Result<Option<Records>, StoreError> {
    Records::read(files, uuid)
}

/// The blocks of a log.
pub(crate) fn file_source(
    files: &dyn Files,
    id: FileId,
    record: &FileRecord,
) -> Result<Box<dyn BlockSource>, StoreError> {
    let name = names::file(id, record.kind);
    let (file, _) = open(files, &name)?;
    let blocks = record.sealed.then(|| record.extents.end());
    Ok(Box::new(FileSource::new(&file, names::path(files, &name), blocks)?))
}

fn open(files: &dyn Files, name: &str) -> Result<(Arc<dyn FileHandle>, u64), StoreError> {
    let file = open_named(files, name, Access::ReadOnly, || "a file".into())?;
    let what = || format!("opening {}", names::path(files, name));
    let size = file.size().map_err(|error| StoreError::io(what(), error))?;
    Ok((file, size))
}

/// A file of the directory, read as it is.
pub(crate) struct FilePart {
    file: Arc<dyn FileHandle>,
    id: FileId,
    name: String,
    size: u64,
}

impl FilePart {
    /// The file of a record.
    pub(crate) fn open(
        files: &dyn Files,
        id: FileId,
        record: &FileRecord,
    ) -> Result<Self, StoreError> {
        let name = names::file(id, record.kind);
        let (file, _) = open(files, &name)?;
        Ok(Self { file, id, name: names::path(files, &name), size: record.size })
    }
}

impl FileReader for FilePart {
    fn id(&self) -> FileId {
        self.id
    }

    fn len(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8], _: Cause) -> Result<(), StoreError> {
        self.file.read_at(offset, into).map_err(|error| {
            if error.kind() == std::io::ErrorKind::UnexpectedEof {
                let (region, expected) = (self.name.clone(), format!("{} bytes", into.len()));
                let got = "the end of the file".to_owned();
                return StoreError::Corruption { region, offset, expected, got };
            }
            StoreError::io(format!("reading {}", self.name), error)
        })
    }
}
