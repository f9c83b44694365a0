//! [`MetadataWrites`]: how the metadata of a run are written. [`Together`] is our own way: nothing
//! is added. [`ByFile`] imitates an engine over a file system of the operating system.
//!
//! LevelDB and RocksDB over such a file system make each table durable by itself, and then their
//! manifest. [`ByFile`] adds the writes of metadata that this takes. The engine's own transaction
//! stands for the manifest's new record. After it, `ByFile` commits once more for each table that
//! was sealed, as `fsync` of the table writes the file system's journal. If the transaction seals
//! or annotates any table, it commits once more for the manifest, which has grown.
//!
//! `ByFile` adds nothing for the creation of a log and for the deletion of files: those engines do
//! not sync them.
//!
//! The further commits repeat the annotation of the transaction's first table. They come before the
//! engine learns that its own transaction has succeeded, and an error of theirs is returned for it.
//! If that table is gone, they stop.
//!
//! For runs only. Threads: as for the store that it wraps.
//!
//! [`Together`]: MetadataWrites::Together
//! [`ByFile`]: MetadataWrites::ByFile

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use terrace_env::FileId;
use terrace_env::store::{Change, FileKind, Layer, Store, StoreError, Transaction};

/// How metadata are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetadataWrites {
    /// One write to a transaction, for any number of changes. Ours.
    #[default]
    Together,
    /// One to each table that a transaction seals, and two for the list of tables, if that changes.
    ByFile,
}

impl MetadataWrites {
    /// Whether they are written as always.
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::Together
    }

    /// The store, as it is to be used.
    pub(super) fn store(self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        match self {
            Self::Together => store,
            Self::ByFile => Arc::new(ByFileStore(store)),
        }
    }
}

/// A store that commits once more for each file.
struct ByFileStore(Arc<dyn Store>);

impl ByFileStore {
    /// How often a transaction that changed these files, and sealed them or not, is to be followed
    /// by a commit, and of which file.
    fn further(&self, changed: &[(FileId, bool)]) -> Option<(usize, FileId)> {
        let is_table = |id: FileId| self.0.info(id).is_some_and(|it| it.kind == FileKind::Table);
        let tables: Vec<_> = changed.iter().filter(|(id, _)| is_table(*id)).collect();
        let sealed = tables.iter().filter(|(_, sealed)| *sealed).count();
        tables.first().map(|(id, _)| (sealed + 1, *id))
    }
}

impl Layer for ByFileStore {
    fn below(&self) -> &dyn Store {
        &*self.0
    }

    fn commit(&self, transaction: Transaction) -> Result<(), StoreError> {
        let changed = |change: &Change| match change {
            Change::Seal { id, .. } => Some((*id, true)),
            Change::Annotate { id, .. } => Some((*id, false)),
            _ => None,
        };
        let changed: Vec<_> = transaction.changes().iter().filter_map(changed).collect();
        self.0.commit(transaction)?;
        let Some((commits, id)) = self.further(&changed) else { return Ok(()) };
        for _ in 0..commits {
            let Some(info) = self.0.info(id) else { return Ok(()) };
            let mut again = Transaction::new();
            again.annotate(id, (*info.annotation).clone());
            self.0.commit(again)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use terrace_env::Cause;
    use terrace_env::store::{Annotation, CreateOptions, MemoryStore, PlacementHint, Rank};
    use terrace_env::sync::Mutex;

    use super::*;

    /// Counts commits.
    struct Counted(MemoryStore, Arc<Mutex<usize>>);

    impl Layer for Counted {
        fn below(&self) -> &dyn Store {
            &self.0
        }

        fn commit(&self, transaction: Transaction) -> Result<(), StoreError> {
            *self.1.lock() += 1;
            self.0.commit(transaction)
        }
    }

    fn options(kind: FileKind) -> CreateOptions<'static> {
        let (rank, cause) = (Rank::Flush, Cause::Flush);
        let (hint, size) = (PlacementHint::default(), None);
        CreateOptions {
            kind,
            hint,
            size,
            rank,
            reservation: None,
            group: None,
            offload: false,
            cause,
        }
    }

    #[test]
    fn tables_are_committed_one_by_one_and_logs_are_not() {
        let count = Arc::new(Mutex::new(0));
        let store = Arc::new(Counted(MemoryStore::new(), Arc::clone(&count)));
        let store = MetadataWrites::ByFile.store(store);
        let sealed = |kind: FileKind, files: usize| {
            // A file lives as long as its writer until it is committed.
            let (mut transaction, mut writers) = (Transaction::new(), Vec::new());
            for _ in 0..files {
                let mut writer = store.create(&options(kind)).unwrap();
                writer.append(b"bytes").unwrap();
                writer.finish().unwrap();
                transaction.seal(writer.id(), Annotation::default());
                writers.push(writer);
            }
            let before = *count.lock();
            store.commit(transaction).unwrap();
            *count.lock() - before
        };
        assert_eq!(sealed(FileKind::Table, 3), 1 + 3 + 1);
        assert_eq!(sealed(FileKind::Log, 1), 1);
        let table = store.list().iter().find(|it| it.kind == FileKind::Table).unwrap().id;
        let mut moved = Transaction::new();
        moved.annotate(table, Annotation::default());
        let before = *count.lock();
        store.commit(moved).unwrap();
        assert_eq!(*count.lock() - before, 2, "the list of tables changes");
    }
}
