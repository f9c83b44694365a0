//! Stores that break one rule each, to show that the conformance suite notices.

use std::sync::Arc;

use terrace_env::random::Random;
use terrace_env::store::conformance::{self, Subject};
use terrace_env::store::{
    Change, CrashMode, CreateOptions, FileWriter, Layer, MemoryStore, StoreError, Transaction,
};
use terrace_env::{FileId, Store};

use crate::panic_of;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    /// None is broken.
    None,
    /// A transaction is applied change by change, up to the one that fails.
    AllOrNothing,
    /// A sync does nothing.
    SyncIsDurable,
    /// Bytes handed over stay in the memory of the process.
    WrittenOutlivesProcess,
    /// Bytes that were trimmed can still be read.
    TrimmedIsUnreadable,
    /// Names are lost when the store is closed.
    NamesArePersistent,
    /// The last sealed file of a transaction is cut short.
    SealKeepsAllBytes,
}

#[derive(Clone)]
struct Broken {
    inner: MemoryStore,
    rule: Rule,
}

impl Layer for Broken {
    fn below(&self) -> &dyn Store {
        &self.inner
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        let inner = self.inner.create(options)?;
        Ok(Box::new(BrokenWriter { inner, rule: self.rule }))
    }

    fn reopen(&self, id: FileId) -> Result<Box<dyn FileWriter>, StoreError> {
        let inner = self.inner.reopen(id)?;
        Ok(Box::new(BrokenWriter { inner, rule: self.rule }))
    }

    fn commit(&self, transaction: Transaction) -> Result<(), StoreError> {
        let ignored = |change: &Change| {
            self.rule == Rule::TrimmedIsUnreadable && matches!(change, Change::Trim { .. })
        };
        let mut parts = vec![Transaction::new()];
        for change in transaction.changes().iter().filter(|change| !ignored(change)) {
            if self.rule == Rule::AllOrNothing {
                parts.push(Transaction::new());
            }
            parts.last_mut().expect("a part").add(change.clone());
        }
        parts.into_iter().try_for_each(|part| self.inner.commit(part))
    }
}

struct BrokenWriter {
    inner: Box<dyn FileWriter>,
    rule: Rule,
}

impl FileWriter for BrokenWriter {
    fn id(&self) -> FileId {
        self.inner.id()
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let kept = bytes.len() - usize::from(self.rule == Rule::SealKeepsAllBytes);
        self.inner.append(&bytes[..kept])
    }

    fn write_out(&mut self) -> Result<(), StoreError> {
        if self.rule == Rule::WrittenOutlivesProcess { Ok(()) } else { self.inner.write_out() }
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        if self.rule == Rule::SyncIsDurable { Ok(()) } else { self.inner.sync() }
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.inner.finish()
    }
}

impl Subject for Broken {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    fn reopen(&mut self) {
        self.power_cut(0);
    }

    fn end_process(&mut self, seed: u64) {
        self.inner = self.inner.crash(CrashMode::EndProcess, &mut Random::seeded(seed));
    }

    fn power_cut(&mut self, seed: u64) {
        self.inner = self.inner.crash(CrashMode::DropUnsynced, &mut Random::seeded(seed));
        if self.rule == Rule::NamesArePersistent {
            for name in self.inner.list().into_iter().flat_map(|file| file.names) {
                let mut transaction = Transaction::new();
                transaction.rename(name.clone(), format!("{name}~"));
                self.inner.commit(transaction).expect("a rename");
            }
        }
    }
}

fn conform(rule: Rule) {
    let fresh = || Box::new(Broken { inner: MemoryStore::new(), rule }) as Box<dyn Subject>;
    conformance::run_durable(&fresh, 0..3);
}

#[test]
fn a_store_that_breaks_no_rule_conforms() {
    conform(Rule::None);
}

#[test]
fn each_broken_rule_is_noticed() {
    for (rule, complaint) in [
        (Rule::AllOrNothing, "the file opens: NotFound"),
        (Rule::SyncIsDurable, "expected at least the 1 synced records"),
        (Rule::WrittenOutlivesProcess, "written records and a prefix of the others"),
        (Rule::TrimmedIsUnreadable, "a trim gives live bytes back"),
        (Rule::NamesArePersistent, "after None"),
        (Rule::SealKeepsAllBytes, "the length of file"),
    ] {
        let message = panic_of(|| conform(rule));
        assert!(message.contains(complaint), "{rule:?}: {message}");
    }
}
