//! Conformance checks of transactions: the effects of changes to files and annotations, changes
//! that must be refused, that a change sees those before it in its transaction, and that a
//! transaction takes effect as a whole or not at all.

use std::sync::Arc;

use super::actions::{
    assert_contents, commit, create, create_committed, dump, finished, note, pattern, read,
    refused, sealed, try_commit,
};
use super::suite::Check;
use crate::store::{Annotation, Change, FileKind, StoreError, Transaction};
use crate::{FileId, Store};

pub(super) const CHECKS: &[Check] = &[
    ("a created file shows with its annotation", create_shows),
    ("a seal needs a finished writer, once", seal_needs_finish),
    ("a trimmed part cannot be read any more, and the rest can", trim_gives_back),
    ("a trim stays inside a sealed file", trim_is_checked),
    ("a deleted file is gone", delete_removes),
    ("an annotation is replaced", annotate_replaces),
    ("the store has an annotation of its own", store_annotation),
    ("an empty transaction is a transaction", empty_transaction),
    ("changes see those before them", changes_in_order),
    ("a failing transaction changes nothing", all_or_nothing),
];

fn annotation_of(store: &Arc<dyn Store>, id: FileId) -> Annotation {
    (*store.info(id).expect("a file").annotation).clone()
}

fn create_shows(store: &Arc<dyn Store>) {
    let writer = create(store, FileKind::Log);
    commit(store, |t| t.create(writer.id(), note("a log")));
    assert_eq!(annotation_of(store, writer.id()), note("a log"));
    refused!(
        try_commit(store, |t| t.create(writer.id(), note("twice"))),
        StoreError::WrongState { .. }
    );
    refused!(
        try_commit(store, |t| t.create(FileId(1 << 40), note("none"))),
        StoreError::NotFound(_)
    );
    assert_eq!(annotation_of(store, writer.id()), note("a log"));
}

fn seal_needs_finish(store: &Arc<dyn Store>) {
    let mut writer = create(store, FileKind::Table);
    writer.append(b"bytes").expect("an append");
    let id = writer.id();
    refused!(try_commit(store, |t| t.seal(id, note("early"))), StoreError::WrongState { .. });
    writer.finish().expect("a finish");
    commit(store, |t| t.seal(id, note("in time")));
    refused!(try_commit(store, |t| t.seal(id, note("twice"))), StoreError::WrongState { .. });
    refused!(try_commit(store, |t| t.seal(FileId(1 << 40), note(""))), StoreError::NotFound(_));
    assert!(store.info(id).expect("a file").sealed);
    assert_eq!(annotation_of(store, id), note("in time"));
}

fn trim_gives_back(store: &Arc<dyn Store>) {
    const BLOCK: u64 = 4096;
    let bytes = pattern(1, 20 * BLOCK as usize + 77);
    let id = sealed(store, &bytes);
    let live = store.space().live;
    for (start, end) in [(0, 2), (9, 11), (4, 6), (5, 10)] {
        commit(store, |t| t.trim(id, start * BLOCK, end * BLOCK));
    }
    assert!(store.space().live < live, "a trim gives live bytes back");
    let reader = store.open(id).expect("a trimmed file opens");
    assert_eq!(store.info(id).expect("a file").size, bytes.len() as u64);
    for (start, end) in [(0, 1), (1, 3), (3, 5), (4, 11), (10, 12), (0, 20)] {
        refused!(read(&*reader, start * BLOCK, end * BLOCK), StoreError::OutOfRange { .. });
    }
    for (start, end) in [(2 * BLOCK, 4 * BLOCK), (11 * BLOCK, bytes.len() as u64)] {
        let found = read(&*reader, start, end).expect("a read during the trims");
        assert!(found == bytes[start as usize..end as usize], "bytes {start}..{end}");
    }
    commit(store, |t| t.trim(id, 0, bytes.len() as u64));
    assert!(store.info(id).is_some(), "a file that is trimmed whole still exists");
}

fn trim_is_checked(store: &Arc<dyn Store>) {
    let id = sealed(store, &pattern(1, 10_000));
    refused!(try_commit(store, |t| t.trim(id, 0, 10_001)), StoreError::OutOfRange { .. });
    refused!(try_commit(store, |t| t.trim(id, 8192, 4096)), StoreError::OutOfRange { .. });
    refused!(try_commit(store, |t| t.trim(FileId(1 << 40), 0, 0)), StoreError::NotFound(_));
    let mut writer = create_committed(store, FileKind::Log);
    writer.append(&pattern(2, 10_000)).expect("an append");
    refused!(try_commit(store, |t| t.trim(writer.id(), 0, 4096)), StoreError::WrongState { .. });
    assert_contents(store, id, &pattern(1, 10_000));
}

fn delete_removes(store: &Arc<dyn Store>) {
    let (first, second) = (sealed(store, b"first"), sealed(store, b"second"));
    commit(store, |t| t.delete(first));
    assert!(store.info(first).is_none());
    let left: Vec<FileId> = store.list().iter().map(|file| file.id).collect();
    assert_eq!(left, [second]);
    refused!(try_commit(store, |t| t.delete(first)), StoreError::NotFound(_));
    refused!(try_commit(store, |t| t.delete(second).delete(second)), StoreError::NotFound(_));
    refused!(try_commit(store, |t| t.delete(FileId::STORE)), _);
    assert_contents(store, second, b"second");
}

fn annotate_replaces(store: &Arc<dyn Store>) {
    let id = sealed(store, b"bytes");
    let writer = create_committed(store, FileKind::Log);
    for text in ["one", "another", ""] {
        commit(store, |t| t.annotate(id, note(text)).annotate(writer.id(), note(text)));
        assert_eq!(annotation_of(store, id), note(text));
        assert_eq!(annotation_of(store, writer.id()), note(text));
    }
    let large = Annotation { opaque: pattern(1, 100_000), ..Annotation::default() };
    commit(store, |t| t.annotate(id, large.clone()));
    assert_eq!(annotation_of(store, id), large);
    refused!(
        try_commit(store, |t| t.annotate(FileId(1 << 40), note("none"))),
        StoreError::NotFound(_)
    );
}

fn store_annotation(store: &Arc<dyn Store>) {
    assert_eq!(annotation_of(store, FileId::STORE), Annotation::default());
    commit(store, |t| t.annotate(FileId::STORE, note("global")));
    assert_eq!(annotation_of(store, FileId::STORE), note("global"));
    assert!(store.list().is_empty(), "the store's annotation is not a file");
}

fn empty_transaction(store: &Arc<dyn Store>) {
    let before = dump(store);
    store.commit(Transaction::new()).expect("a commit of nothing");
    assert_eq!(dump(store), before);
}

fn changes_in_order(store: &Arc<dyn Store>) {
    let old: Vec<FileId> = (0..4).map(|n| sealed(store, &pattern(n, 9000))).collect();
    commit(store, |t| t.link("current", old[0]));
    let new = [finished(store, b"first"), finished(store, b"second")];
    let log = create(store, FileKind::Log);
    commit(store, |t| {
        t.delete(old[0]).delete(old[1]).trim(old[2], 0, 4096).annotate(old[3], note("kept"));
        t.seal(new[0].id(), note("first")).seal(new[1].id(), note("second"));
        t.create(log.id(), note("log")).annotate(log.id(), note("twice"));
        t.link("current", new[0].id()).rename("current", "previous");
        t.link("current", new[1].id()).annotate(FileId::STORE, note("state"))
    });
    let ids: Vec<FileId> = store.list().iter().map(|file| file.id).collect();
    assert_eq!(ids, [old[2], old[3], new[0].id(), new[1].id(), log.id()]);
    assert_eq!(store.lookup("previous"), Some(new[0].id()));
    assert_eq!(store.lookup("current"), Some(new[1].id()));
    assert_eq!(annotation_of(store, log.id()), note("twice"));
    assert_eq!(annotation_of(store, old[3]), note("kept"));
    assert_eq!(annotation_of(store, FileId::STORE), note("state"));
}

/// One valid change of every kind, followed by one that fails, for every way to fail.
fn all_or_nothing(store: &Arc<dyn Store>) {
    let files: Vec<FileId> = (0..3).map(|n| sealed(store, &pattern(n, 9000))).collect();
    commit(store, |t| t.link("a", files[0]).link("b", files[1]).link("c", files[1]));
    let (table, log) = (finished(store, b"table"), create(store, FileKind::Log));
    let mut valid = Transaction::new();
    valid.seal(table.id(), note("sealed")).create(log.id(), note("created"));
    valid.link("d", table.id()).rename("a", "e").unlink("b").link("a", files[2]);
    valid.trim(files[1], 0, 8192).annotate(files[1], note("other")).delete(files[0]);
    valid.annotate(FileId::STORE, note("state"));
    let none = FileId(1 << 40);
    let text = |text: &str| text.to_owned();
    let failing = [
        Change::Create { id: none, annotation: note("") },
        Change::Create { id: log.id(), annotation: note("created twice") },
        Change::Seal { id: files[2], annotation: note("sealed twice") },
        Change::Seal { id: log.id(), annotation: note("unfinished") },
        Change::Trim { id: files[2], start: 0, end: 9001 },
        Change::Delete { id: files[0] },
        Change::Annotate { id: files[0], annotation: note("deleted above") },
        Change::Link { name: text("c"), id: files[2] },
        Change::Unlink { name: text("b") },
        Change::Rename { from: text("b"), to: text("f") },
    ];
    let before = dump(store);
    for change in failing {
        let mut transaction = valid.clone();
        transaction.add(change.clone());
        if store.commit(transaction).is_ok() {
            panic!("expected an error of {change:?}, found a commit");
        }
        assert_eq!(dump(store), before, "after the failure of {change:?}");
        for (n, id) in files.iter().enumerate() {
            assert_contents(store, *id, &pattern(n as u64, 9000));
        }
    }
    store.commit(valid).expect("the valid changes alone");
    assert_ne!(dump(store), before);
    assert_contents(store, table.id(), b"table");
}
