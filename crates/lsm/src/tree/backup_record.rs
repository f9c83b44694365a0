//! [`BackupRecord`]: of which store a backup is, as of which write, and from which tables of that
//! store its own tables were copied. It is a part of the store's own annotation
//! (`docs/format/annotation.md`).
//!
//! - It is there from the transaction that ends a backup until the store is opened for writing. So
//!   a store that has it has just the files of that transaction.
//! - The decoder checks the order of the files, and does not compare them with those of the store.
//!
//! No locks and no I/O.

use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::{FileId, SeqNo, Uuid};

use super::annotation::read_sequence;

/// Origin of a backup's tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BackupRecord {
    /// The store that was copied.
    pub(crate) source: Uuid,
    /// Sequence of the newest write in the copy.
    pub(crate) sequence: SeqNo,
    /// One for each table, by file.
    pub(crate) tables: Vec<Origin>,
}

/// Origin of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The copy.
    pub(crate) file: FileId,
    /// The file of the source.
    pub(crate) source: FileId,
    /// Hash of the end of the table.
    pub(crate) end: u64,
}

impl BackupRecord {
    pub(super) fn encode(&self, to: &mut Vec<u8>) {
        to.put(&self.source.0);
        to.put_u64(self.sequence.0);
        to.put_u32(u32::try_from(self.tables.len()).expect("tables of one store"));
        for origin in &self.tables {
            to.put_u64(origin.file.0);
            to.put_u64(origin.source.0);
            to.put_u64(origin.end);
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (source, sequence) = (reader.uuid("source")?, read_sequence(reader)?);
        let count = reader.u32("tables of the backup")?;
        let mut tables: Vec<Origin> = Vec::new();
        for _ in 0..count {
            let file = FileId(reader.u64("table of the backup")?);
            if tables.last().is_some_and(|last| last.file >= file) {
                return Err(reader.wrong("table of the backup", 8, "growing files", file.0));
            }
            let source = FileId(reader.u64("table of the source")?);
            tables.push(Origin { file, source, end: reader.u64("end of the table")? });
        }
        Ok(Self { source, sequence, tables })
    }
}
