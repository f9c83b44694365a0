//! A store with some history, for the tests of damage and of the kept directory.

use std::sync::Arc;

use terrace_env::store::{Annotation, FileKind, Transaction};
use terrace_env::{FileId, Store, runner};
use terrace_fs::Access;
use terrace_fs::dir::MemoryFiles;

use super::world::{create, open, open_for};

/// A store's list of its files, without their bytes.
pub(super) type Listing = Vec<String>;

pub(super) fn listing(store: &Arc<dyn Store>) -> Listing {
    let own = store.info(FileId::STORE).map(|info| format!("{:?}", info.annotation));
    store.list().iter().map(|info| format!("{info:?}")).chain(own).collect()
}

/// A store with some history: its files, and its listing after each commit.
pub(super) struct Specimen {
    /// After the store was closed.
    pub(super) files: MemoryFiles,
    /// As a process leaves them that is killed before it closes the store.
    pub(super) killed: MemoryFiles,
    pub(super) listings: Vec<Listing>,
    pub(super) journal: &'static str,
    pub(super) log: FileId,
    pub(super) log_bytes: Vec<Vec<u8>>,
    pub(super) table_bytes: Vec<u8>,
}

fn note(text: &str) -> Annotation {
    Annotation { opaque: text.into(), ..Annotation::default() }
}

/// Makes the store, the same one at each call.
pub(super) fn specimen() -> Specimen {
    runner::simulate(1, write)
}

fn write() -> Specimen {
    let files = MemoryFiles::new();
    let mut store = open(&files).expect("an empty store");
    let mut log = create(&store, FileKind::Log);
    let mut transaction = Transaction::new();
    transaction.create(log.id(), note("the log")).annotate(FileId::STORE, note("first"));
    store.commit(transaction).expect("a commit");
    // The first bytes belong to an earlier run of the log than the others.
    let log_bytes: Vec<Vec<u8>> = (1..6u8).map(|n| vec![n; 1500 * usize::from(n)]).collect();
    log.append(&log_bytes[0]).expect("an append");
    log.sync().expect("a sync");
    let log_id = log.id();
    drop((log, store));
    files.restart();

    store = open(&files).expect("the store opens again");
    let mut log = store.reopen(log_id).expect("the log reopens");
    let mut listings = vec![listing(&store)];
    for bytes in &log_bytes[1..] {
        log.append(bytes).expect("an append");
        log.sync().expect("a sync");
    }
    let table_bytes = vec![7; 10_000];
    let mut table = create(&store, FileKind::Table);
    table.append(&table_bytes).expect("an append");
    table.finish().expect("a finish");
    let table_id = table.id();
    let mut commit = |change: &dyn Fn(&mut Transaction) -> &mut Transaction| {
        let mut transaction = Transaction::new();
        change(&mut transaction);
        store.commit(transaction).expect("a commit");
        listings.push(listing(&store));
    };
    commit(&|t| t.seal(table_id, note("the table")).link("a", table_id));
    commit(&|t| t.rename("a", "b").trim(table_id, 0, 4096));
    commit(&|t| t.annotate(FileId::STORE, note(&"x".repeat(9000))));
    commit(&|t| t.annotate(table_id, note("changed")));
    let killed = files.copy();
    drop((log, table));
    drop(store);
    // The log's length after the opening.
    let size = log_bytes.iter().map(Vec::len).sum::<usize>();
    let found = listing(&open_for(&files, Access::ReadOnly).expect("it opens"));
    assert!(found[0].contains(&format!("size: {size}")), "{}", found[0]);
    for listed in &mut listings {
        listed[0].clone_from(&found[0]);
    }
    let journal = "JOURNAL-000002";
    Specimen { files, killed, listings, journal, log: log_id, log_bytes, table_bytes }
}
