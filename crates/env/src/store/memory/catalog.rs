//! [`Catalog`]: the files, names and annotations of a [`MemoryStore`](super::MemoryStore), and
//! their changes by transactions.
//!
//! The changes of a transaction are applied in order to copies of the records that they touch; the
//! copies share the bytes of the files. When all changes have succeeded, the copies replace the
//! originals. So a transaction takes effect as a whole or not at all. The caller holds the store's
//! lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use crate::FileId;
use crate::store::{Annotation, Change, FileInfo, FileKind, StoreError, Transaction};
use crate::sync::Mutex;

/// A trim frees whole blocks of this many bytes.
const TRIM_BLOCK: u64 = 4096;

/// The bytes of a file, shared by the store and by handles that may outlive the file.
pub(super) struct Body {
    pub(super) id: FileId,
    pub(super) content: Mutex<Content>,
}

/// Bytes appended to a file so far, and how many of them would survive a power cut.
#[derive(Clone, Default)]
pub(in crate::store) struct Content {
    pub(in crate::store) bytes: Arc<Vec<u8>>,
    pub(in crate::store) durable: usize,
    /// Bytes that survive the end of the process; at least the durable ones.
    pub(in crate::store) written: usize,
    /// Where the appends after `durable` end.
    pub(in crate::store) ends: Vec<usize>,
}

impl Content {
    pub(super) fn append(&mut self, bytes: &[u8]) {
        Arc::make_mut(&mut self.bytes).extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }

    pub(super) fn sync(&mut self) {
        self.durable = self.bytes.len();
        self.written = self.durable;
        self.ends.clear();
    }

    pub(super) fn truncate(&mut self, len: usize) {
        if len < self.bytes.len() {
            Arc::make_mut(&mut self.bytes).truncate(len);
        }
        self.sync();
    }
}

/// Parts of a file that were given back: disjoint, in order, none empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Trims(BTreeMap<u64, u64>);

impl Trims {
    /// Adds `start..end` and joins it with the ranges that it touches.
    fn add(&mut self, mut start: u64, mut end: u64) {
        if start == end {
            return;
        }
        let touched: Vec<(u64, u64)> =
            self.0.range(..=end).filter(|(_, e)| **e >= start).map(|(s, e)| (*s, *e)).collect();
        for (s, e) in touched {
            self.0.remove(&s);
            start = start.min(s);
            end = end.max(e);
        }
        self.0.insert(start, end);
    }

    /// The first trimmed part that `start..end` reaches into.
    pub(super) fn overlap(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        self.0.range(..end).find(|(_, e)| **e > start).map(|(s, e)| (*s, *e))
    }

    /// The bytes that came free in a file of `size`.
    pub(super) fn freed(&self, size: u64) -> u64 {
        let whole = |(start, end): (&u64, &u64)| {
            let first = start.next_multiple_of(TRIM_BLOCK);
            let last = if *end == size { size } else { end - end % TRIM_BLOCK };
            last.saturating_sub(first)
        };
        self.0.iter().map(whole).sum()
    }
}

/// A file, committed or not.
#[derive(Clone)]
pub(super) struct Record {
    pub(super) kind: FileKind,
    pub(super) committed: bool,
    pub(super) sealed: bool,
    pub(super) has_writer: bool,
    pub(super) finished: bool,
    pub(super) annotation: Arc<Annotation>,
    pub(super) names: BTreeSet<String>,
    pub(super) trims: Arc<Trims>,
    pub(super) body: Arc<Body>,
}

impl Record {
    pub(super) fn new(id: FileId, kind: FileKind) -> Self {
        Self {
            kind,
            committed: false,
            sealed: false,
            has_writer: true,
            finished: false,
            annotation: Arc::default(),
            names: BTreeSet::new(),
            trims: Arc::default(),
            body: Arc::new(Body { id, content: Mutex::default() }),
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.body.content.lock().bytes.len() as u64
    }

    /// The space it takes.
    pub(super) fn occupied(&self) -> u64 {
        let size = self.size();
        size - self.trims.freed(size)
    }

    pub(super) fn info(&self) -> FileInfo {
        FileInfo {
            id: self.body.id,
            kind: self.kind,
            size: self.size(),
            sealed: self.sealed,
            annotation: Arc::clone(&self.annotation),
            names: self.names.iter().cloned().collect(),
        }
    }

    /// The error for a call that needs the file to be `expected`.
    pub(super) fn wrong_state(&self, expected: &'static str) -> StoreError {
        let got = if self.sealed {
            "a sealed file"
        } else if self.finished {
            "an unsealed file whose writer has finished"
        } else if self.has_writer {
            "an unsealed file that is being written"
        } else {
            "an unsealed file without a writer"
        };
        StoreError::WrongState { id: self.body.id, expected, got }
    }
}

/// All files, their names, and the store's own annotation.
#[derive(Default)]
pub(super) struct Catalog {
    pub(super) files: BTreeMap<FileId, Record>,
    pub(super) names: BTreeMap<String, FileId>,
    pub(super) annotation: Arc<Annotation>,
    /// Deleted files that a handle may still hold.
    pub(super) deleted: Vec<Weak<Body>>,
}

impl Catalog {
    /// How a file is written, committed or not.
    pub(super) fn kind(&self, id: FileId) -> Result<FileKind, StoreError> {
        self.files.get(&id).map(|record| record.kind).ok_or(StoreError::NotFound(id))
    }

    /// A file that exists for others than its writer.
    pub(super) fn committed(&self, id: FileId) -> Option<&Record> {
        self.files.get(&id).filter(|record| record.committed)
    }

    /// Applies all changes of a transaction, or none.
    pub(super) fn apply(&mut self, transaction: &Transaction) -> Result<(), StoreError> {
        let mut staged = Staged {
            catalog: self,
            files: BTreeMap::new(),
            names: BTreeMap::new(),
            annotation: None,
        };
        for change in transaction.changes() {
            staged.change(change)?;
        }
        let Staged { files, names, annotation, .. } = staged;
        for (id, record) in files {
            match record {
                Some(record) => {
                    if record.sealed {
                        record.body.content.lock().sync();
                    }
                    self.files.insert(id, record);
                }
                None => self.remove(id),
            }
        }
        for (name, id) in names {
            match id {
                Some(id) => self.names.insert(name, id),
                None => self.names.remove(&name),
            };
        }
        if let Some(annotation) = annotation {
            self.annotation = annotation;
        }
        Ok(())
    }

    /// Removes a file, and remembers its bytes as long as a reader holds them.
    pub(super) fn remove(&mut self, id: FileId) {
        if let Some(record) = self.files.remove(&id) {
            self.deleted.push(Arc::downgrade(&record.body));
        }
    }
}

/// Changes of a transaction that is being checked, on top of the catalog.
struct Staged<'a> {
    catalog: &'a Catalog,
    files: BTreeMap<FileId, Option<Record>>,
    names: BTreeMap<String, Option<FileId>>,
    annotation: Option<Arc<Annotation>>,
}

impl Staged<'_> {
    fn change(&mut self, change: &Change) -> Result<(), StoreError> {
        match change {
            Change::Create { id, annotation } => {
                let record = self.any(*id)?;
                if record.committed {
                    return Err(record.wrong_state("a file that is not committed"));
                }
                record.committed = true;
                record.annotation = Arc::new(annotation.clone());
            }
            Change::Seal { id, annotation } => {
                let record = self.any(*id)?;
                if record.sealed || !record.finished {
                    return Err(record.wrong_state("an unsealed file whose writer has finished"));
                }
                record.committed = true;
                record.sealed = true;
                record.annotation = Arc::new(annotation.clone());
            }
            Change::Trim { id, start, end } => self.trim(*id, *start, *end)?,
            Change::Delete { id } => self.delete(*id)?,
            Change::Annotate { id: FileId::STORE, annotation } => {
                self.annotation = Some(Arc::new(annotation.clone()));
            }
            Change::Annotate { id, annotation } => {
                self.file(*id)?.annotation = Arc::new(annotation.clone());
            }
            Change::Link { name, id } => {
                if self.lookup(name).is_some() {
                    return Err(StoreError::NameTaken(name.clone()));
                }
                self.link(name, *id)?;
            }
            Change::Unlink { name } => {
                self.unlink(name)?;
            }
            Change::Rename { from, to } => {
                if from == to {
                    return self.named(from).map(|_| ());
                }
                let id = self.named(from)?;
                if self.lookup(to).is_some() {
                    // The new name may be the moved file's own other name: give it up last.
                    self.link_over(to, id)?;
                } else {
                    self.link(to, id)?;
                }
                self.unlink(from)?;
            }
        }
        Ok(())
    }

    fn trim(&mut self, id: FileId, start: u64, end: u64) -> Result<(), StoreError> {
        let record = self.file(id)?;
        if !record.sealed {
            return Err(record.wrong_state("a sealed file"));
        }
        let size = record.size();
        if start > end || end > size {
            return Err(StoreError::OutOfRange { id, start, end, valid: format!("{size} bytes") });
        }
        Arc::make_mut(&mut record.trims).add(start, end);
        Ok(())
    }

    fn delete(&mut self, id: FileId) -> Result<(), StoreError> {
        let names = std::mem::take(&mut self.file(id)?.names);
        self.names.extend(names.into_iter().map(|name| (name, None)));
        self.files.insert(id, None);
        Ok(())
    }

    fn link(&mut self, name: &str, id: FileId) -> Result<(), StoreError> {
        if name.is_empty() {
            return Err(StoreError::Invalid(
                "a name: expected at least one byte, found none".into(),
            ));
        }
        self.file(id)?.names.insert(name.to_owned());
        self.names.insert(name.to_owned(), Some(id));
        Ok(())
    }

    fn link_over(&mut self, name: &str, id: FileId) -> Result<(), StoreError> {
        if self.named(name)? != id {
            self.unlink(name)?;
            self.link(name, id)?;
        }
        Ok(())
    }

    fn unlink(&mut self, name: &str) -> Result<(), StoreError> {
        let id = self.named(name)?;
        self.names.insert(name.to_owned(), None);
        let record = self.file(id)?;
        record.names.remove(name);
        if record.names.is_empty() {
            self.delete(id)?;
        }
        Ok(())
    }

    fn lookup(&self, name: &str) -> Option<FileId> {
        match self.names.get(name) {
            Some(staged) => *staged,
            None => self.catalog.names.get(name).copied(),
        }
    }

    fn named(&self, name: &str) -> Result<FileId, StoreError> {
        self.lookup(name).ok_or_else(|| StoreError::NameNotFound(name.to_owned()))
    }

    /// The staged copy of a file that is committed.
    fn file(&mut self, id: FileId) -> Result<&mut Record, StoreError> {
        let record = self.any(id)?;
        if record.committed { Ok(record) } else { Err(StoreError::NotFound(id)) }
    }

    /// The staged copy of a file, committed or not.
    fn any(&mut self, id: FileId) -> Result<&mut Record, StoreError> {
        let original = || self.catalog.files.get(&id).cloned();
        let staged = self.files.entry(id).or_insert_with(original);
        staged.as_mut().ok_or(StoreError::NotFound(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimmed_parts_that_touch_become_one() {
        let mut trims = Trims::default();
        for (start, end) in [(10, 20), (30, 40), (20, 30), (5, 5), (50, 60)] {
            trims.add(start, end);
        }
        assert_eq!(trims.0, BTreeMap::from([(10, 40), (50, 60)]));
        assert_eq!(trims.overlap(0, 10), None);
        assert_eq!(trims.overlap(40, 50), None);
        assert_eq!(trims.overlap(39, 55), Some((10, 40)));
    }

    #[test]
    fn only_whole_blocks_come_free_and_a_tail_counts_as_one() {
        let mut trims = Trims::default();
        trims.add(100, 4096 * 3 + 5);
        assert_eq!(trims.freed(4096 * 4), 4096 * 2);
        trims.add(4096 * 3, 4096 * 3 + 10);
        assert_eq!(trims.freed(4096 * 3 + 10), 4096 * 2 + 10);
    }
}
