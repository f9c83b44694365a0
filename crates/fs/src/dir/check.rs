//! Check of a store in a directory. It changes nothing.
//!
//! | part | check |
//! |---|---|
//! | `CURRENT` and journal | read and replayed, as an opening does |
//! | directory | each file that the journal names is there, is a file and is long enough |
//! | leftovers | files that have a name like the store's own, and that it does not use |
//! | names | each name's file lists it, and each file's names lead to it |
//! | tables, clients' files | read, and compared with the checksum of an extent that has one |
//! | logs | frames are read and verified; a sealed log has its recorded length; zeros follow |
//!
//! Damage is listed, with the path and the byte in the file. The check leaves a file at its first
//! read error, and a log at its first error, and goes on with the next file. A damaged superblock
//! or journal is listed and ends the check. Traces that a crash may leave are listed apart, unless
//! the store was closed: the leftovers, and bytes after the end of an unsealed log. `CURRENT.new`
//! and further journals are leftovers in a store that was closed, too: an opening that was killed
//! before its first commit leaves them.
//!
//! The call itself fails if there is no store, or one that this version does not know; or if the
//! list of files, `CURRENT` or the journal cannot be read for a reason other than damage.
//! [`DirStore::check`] locks the directory as a reader, if it has a file `LOCK`, and fails if a
//! writer has it open. With other [`Files`], the caller has to keep writers away.

use std::path::Path;
use std::sync::Arc;

use terrace_env::checksum::crc32c_append;
use terrace_env::store::{FileKind, StoreError};
use terrace_env::{ByteCount, FileId, Uuid};

use super::journal::{self, Replayed};
use super::names::{self, Named};
use super::opening::is_leftover;
use super::pooled_files::PooledFiles;
use super::volume::{open_file, open_log};
use super::{DirStore, FileHandle, Files, OsFiles};
use crate::catalog::FileRecord;
use crate::checked::{CheckProgress, Checked, Problem};
use crate::{Access, BLOCK};

/// Bytes read at once.
const READ_BYTES: u64 = 1 << 20;

impl DirStore {
    /// Checks the store in a directory that no process has open for writing. All damage in the
    /// store is in the result. An error if the directory is in use by a writer, holds no store that
    /// this version knows, or cannot be read.
    pub fn check(
        path: impl AsRef<Path>,
        progress: CheckProgress<'_>,
    ) -> Result<Checked, StoreError> {
        Self::check_on(Arc::new(OsFiles::open(path.as_ref(), Access::ReadOnly)?), progress)
    }

    /// The same of files that need not be a directory's.
    pub fn check_on(
        files: Arc<dyn Files>,
        progress: CheckProgress<'_>,
    ) -> Result<Checked, StoreError> {
        let files = PooledFiles::new(files);
        let listed = files.list().map_err(|error| {
            StoreError::io(format!("reading the directory {}", files.describe()), error)
        })?;
        let mut check = Check { files: &files, checked: Checked::default() };
        match check.replay(&listed) {
            Ok(replayed) => check.store(&replayed, &listed, progress),
            Err(error @ StoreError::Corruption { .. }) => check.checked.note_error("", error),
            Err(other) => return Err(other),
        }
        Ok(check.checked)
    }
}

struct Check<'a> {
    files: &'a PooledFiles,
    checked: Checked,
}

impl Check<'_> {
    fn replay(&self, listed: &[String]) -> Result<Replayed, StoreError> {
        if let Some(superblock) = journal::read_superblock(self.files, false)? {
            return journal::replay(self.files, superblock, false);
        }
        let is_own =
            |name: &&String| matches!(names::parse(name), Named::File(..) | Named::Journal(_));
        let (path, expected) =
            (names::path(self.files, names::CURRENT), "the superblock".to_owned());
        match listed.iter().find(is_own) {
            Some(other) => {
                let got = format!("no such file next to {other}");
                Err(StoreError::Corruption { region: path, offset: 0, expected, got })
            }
            None => Err(StoreError::Invalid(format!(
                "{}: expected a store, found no file {}",
                self.files.describe(),
                names::CURRENT
            ))),
        }
    }

    fn store(&mut self, replayed: &Replayed, listed: &[String], progress: CheckProgress<'_>) {
        let Replayed { catalog, superblock, .. } = replayed;
        self.checked.closed = catalog.is_closed();
        self.checked.names(catalog);
        for name in listed.iter().filter(|name| is_leftover(name, catalog, superblock.generation)) {
            // An opening makes no other files before its first commit.
            let is_damage = self.checked.closed && matches!(names::parse(name), Named::File(..));
            self.note_trace(
                is_damage,
                Problem {
                    region: names::path(self.files, name),
                    offset: 0,
                    expected: "no file that the journal does not name".into(),
                    got: "one".into(),
                },
            );
        }
        let all = catalog.files().map(|(_, record)| record.size).sum();
        let mut done = 0;
        for (id, record) in catalog.files() {
            self.checked.files += 1;
            self.checked.extents += record.extents.pieces().len() as u64;
            let checked = match record.kind {
                FileKind::Log => self.log(id, record, superblock.uuid),
                FileKind::Table | FileKind::Client => self.bytes(id, record),
            };
            if let Err(error) = checked {
                let path = names::path(self.files, &names::file(id, record.kind));
                self.checked.note_error(&path, error);
            }
            done += record.size;
            progress(ByteCount(done), ByteCount(all));
        }
    }

    /// Adds a trace to the damage, or else to the traces that a crash may leave.
    fn note_trace(&mut self, is_damage: bool, trace: Problem) {
        let Checked { problems, leftovers, .. } = &mut self.checked;
        let list = if is_damage { problems } else { leftovers };
        list.push(trace);
    }

    /// Reads a file that is no log, and compares its checksum if that is known.
    fn bytes(&mut self, id: FileId, record: &FileRecord) -> Result<(), StoreError> {
        let file = open_file(self.files, id, record, Access::ReadOnly)?;
        let path = names::path(self.files, &names::file(id, record.kind));
        for extent in record.extents.extents() {
            let start = extent.start() * BLOCK as u64;
            let (mut at, end) = (start, extent.end() * BLOCK as u64);
            let mut crc = 0;
            while at < end {
                let mut bytes = vec![0; READ_BYTES.min(end - at) as usize];
                // The part of its last block that the file does not fill counts as zeros.
                let there = record.size.saturating_sub(at).min(bytes.len() as u64) as usize;
                let read = file.read_at(at, &mut bytes[..there]);
                read.map_err(|error| StoreError::io(format!("reading {path}"), error))?;
                crc = crc32c_append(crc, &bytes);
                at += bytes.len() as u64;
            }
            match extent.crc {
                Some(expected) if expected != crc => {
                    let expected = format!("checksum {expected:#010x} over {} bytes", end - start);
                    self.checked.note(path.clone(), start, expected, format!("{crc:#010x}"));
                }
                Some(_) => self.checked.verified.0 += end - start,
                None => self.checked.unverified.0 += end - start,
            }
        }
        Ok(())
    }

    /// Reads a log through.
    fn log(&mut self, id: FileId, record: &FileRecord, uuid: Uuid) -> Result<(), StoreError> {
        let (file, index, tail) = open_log(self.files, uuid, id, record, Access::ReadOnly)?;
        let path = names::path(self.files, &names::file(id, record.kind));
        self.checked.frames += index.frames();
        if record.sealed && index.size() != record.size {
            let (expected, got) = (format!("{} bytes", record.size), index.size().to_string());
            self.checked.note(path.clone(), 0, expected, got);
        }
        let end =
            if record.sealed || self.checked.closed { record.known_end() } else { tail.block };
        let end = u64::from(end) * BLOCK as u64;
        let behind = first_byte(&*file, end)
            .map_err(|error| StoreError::io(format!("reading {path}"), error))?;
        if let Some(offset) = behind {
            let expected = format!("nothing but zeros after the log's end at {end}");
            let got = "other bytes".to_owned();
            let is_damage = record.sealed || self.checked.closed;
            self.note_trace(is_damage, Problem { region: path, offset, expected, got });
        }
        Ok(())
    }
}

/// The first byte of a file from `from` on that is not zero.
fn first_byte(file: &dyn FileHandle, from: u64) -> std::io::Result<Option<u64>> {
    let (mut at, end) = (from, file.size()?);
    while at < end {
        let mut bytes = vec![0; READ_BYTES.min(end - at) as usize];
        file.read_at(at, &mut bytes)?;
        if let Some(place) = bytes.iter().position(|byte| *byte != 0) {
            return Ok(Some(at + place as u64));
        }
        at += bytes.len() as u64;
    }
    Ok(None)
}
