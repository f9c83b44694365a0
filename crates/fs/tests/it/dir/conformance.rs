//! The contract's own checks, in memory with power cuts and in a real directory.

use std::sync::Arc;

use terrace_env::random::Random;
use terrace_env::runner::simulate;
use terrace_env::store::conformance::{self, Subject};
use terrace_env::{Store, test_seeds};
use terrace_fs::dir::{DirOptions, DirStore, MemoryFiles};

use super::world::open;

/// A store on files in memory; its process can end, and its power can fail.
struct InMemory {
    files: MemoryFiles,
    /// The most handles that may be open.
    handles: usize,
    store: Option<Arc<dyn Store>>,
}

impl InMemory {
    fn new(handles: usize) -> Self {
        let files = MemoryFiles::new().with_handles(handles);
        let store = Some(open(&files).expect("an empty store"));
        Self { files, handles, store }
    }
}

impl Subject for InMemory {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(self.store.as_ref().expect("an open store"))
    }

    fn reopen(&mut self) {
        self.store = None;
        self.files.restart();
        self.store = Some(open(&self.files).expect("the store opens again"));
    }

    fn end_process(&mut self, _seed: u64) {
        // Closing does not write the appends that the process has buffered.
        self.reopen();
    }

    fn power_cut(&mut self, seed: u64) {
        self.store = None;
        self.files = self.files.power_cut(&mut Random::seeded(seed)).with_handles(self.handles);
        self.store = Some(open(&self.files).expect("the store opens after a power cut"));
    }
}

/// A store in a directory; closing it stands for a power cut.
struct OnDisk {
    directory: tempfile::TempDir,
    store: Option<Arc<dyn Store>>,
}

impl OnDisk {
    fn open(&mut self) {
        let store = DirStore::open(self.directory.path(), DirOptions::default());
        self.store = Some(store.expect("the store opens"));
    }
}

impl Subject for OnDisk {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(self.store.as_ref().expect("an open store"))
    }

    fn reopen(&mut self) {
        self.store = None;
        self.open();
    }

    fn end_process(&mut self, _seed: u64) {
        // Closing does not write the appends that the process has buffered.
        self.reopen();
    }

    fn power_cut(&mut self, _seed: u64) {
        self.reopen();
    }
}

#[test]
fn the_store_on_files_in_memory_keeps_the_contract() {
    conformance::run_durable(&|| Box::new(InMemory::new(usize::MAX)), test_seeds(60));
}

#[test]
fn the_store_keeps_the_contract_with_few_handles() {
    conformance::run_durable(&|| Box::new(InMemory::new(6)), test_seeds(60));
}

#[test]
fn the_store_in_a_directory_keeps_the_contract() {
    conformance::run_durable(
        &|| {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let mut subject = OnDisk { directory, store: None };
            subject.open();
            Box::new(subject)
        },
        test_seeds(2),
    );
}

#[test]
fn the_store_keeps_the_contract_in_a_simulation() {
    simulate(1, || {
        conformance::run(&|| open(&MemoryFiles::new()).expect("an empty store"));
    });
}
