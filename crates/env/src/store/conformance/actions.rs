//! Steps that the conformance checks of a store share: they make files, commit transactions, read,
//! compare bytes, and list the files of a store.
//!
//! A step panics if the store returns an error. Exceptions: [`try_commit`] and [`read`] return the
//! error, and `refused!` panics unless there is the expected error. [`read`] reads twice, by
//! `read_at` and by `submit`, and panics if only one of the two fails or if their bytes differ.

use std::sync::Arc;

use crate::random::{Random, RngCore};
use crate::store::{
    Annotation, CreateOptions, FileKind, FileReader, FileWriter, PlacementHint, Rank, StoreError,
    Transaction,
};
use crate::{Cause, FileId, Store};

/// Panics unless the result is an error of the given pattern.
macro_rules! refused {
    ($result:expr, $pattern:pat) => {
        match $result.map(drop) {
            Err($pattern) => {}
            other => panic!("expected the error {}, found {other:?}", stringify!($pattern)),
        }
    };
}
pub(super) use refused;

/// Bytes that differ from file to file and from place to place.
pub(super) fn pattern(seed: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    Random::seeded(seed).fill_bytes(&mut bytes);
    bytes
}

/// An annotation in which every field says something.
pub(super) fn note(text: &str) -> Annotation {
    let hint = PlacementHint { level: Some(text.len() as u8 % 8), stream: 3 };
    Annotation { hint, opaque: text.as_bytes().to_vec() }
}

/// Starts a file.
pub(super) fn create(store: &Arc<dyn Store>, kind: FileKind) -> Box<dyn FileWriter> {
    create_at(store, kind, false)
}

/// Starts a file; with `offload`, a table goes to the offload device if the store has one.
pub(super) fn create_at(
    store: &Arc<dyn Store>,
    kind: FileKind,
    offload: bool,
) -> Box<dyn FileWriter> {
    let (rank, cause) = match kind {
        FileKind::Table => (Rank::Flush, Cause::Flush),
        FileKind::Log => (Rank::Log, Cause::Log),
        FileKind::Client => (Rank::Log, Cause::Client),
    };
    let hint = PlacementHint::default();
    let options = CreateOptions {
        kind,
        hint,
        size: None,
        rank,
        reservation: None,
        group: None,
        offload,
        cause,
    };
    store.create(&options).expect("room for a file")
}

/// Starts a file that is committed at once.
pub(super) fn create_committed(store: &Arc<dyn Store>, kind: FileKind) -> Box<dyn FileWriter> {
    let writer = create(store, kind);
    commit(store, |t| t.create(writer.id(), note("created")));
    writer
}

/// Makes a table of these bytes that is finished, and ready to be sealed.
pub(super) fn finished(store: &Arc<dyn Store>, bytes: &[u8]) -> Box<dyn FileWriter> {
    let mut writer = create(store, FileKind::Table);
    for part in bytes.chunks(10_007) {
        writer.append(part).expect("an append");
    }
    writer.finish().expect("a finish");
    writer
}

/// Makes a sealed table of these bytes.
pub(super) fn sealed(store: &Arc<dyn Store>, bytes: &[u8]) -> FileId {
    let writer = finished(store, bytes);
    commit(store, |t| t.seal(writer.id(), note("sealed")));
    writer.id()
}

/// Makes a sealed table with a name.
pub(super) fn named(store: &Arc<dyn Store>, name: &str, bytes: &[u8]) -> FileId {
    let writer = finished(store, bytes);
    commit(store, |t| t.seal(writer.id(), note("sealed")).link(name, writer.id()));
    writer.id()
}

/// Commits a transaction that must succeed.
pub(super) fn commit(
    store: &Arc<dyn Store>,
    fill: impl FnOnce(&mut Transaction) -> &mut Transaction,
) {
    try_commit(store, fill).expect("a commit");
}

/// Commits a transaction.
pub(super) fn try_commit(
    store: &Arc<dyn Store>,
    fill: impl FnOnce(&mut Transaction) -> &mut Transaction,
) -> Result<(), StoreError> {
    let mut transaction = Transaction::new();
    fill(&mut transaction);
    store.commit(transaction)
}

/// The bytes `start..end` of an open file. Panics unless a submitted read answers the same.
pub(super) fn read(reader: &dyn FileReader, start: u64, end: u64) -> Result<Vec<u8>, StoreError> {
    let mut bytes = vec![0; (end - start) as usize];
    let submitted = reader.submit(start, bytes.clone().into(), Cause::Read);
    let found = reader.read_at(start, &mut bytes, Cause::Read).map(|()| bytes);
    match (&found, submitted.wait()) {
        (Ok(bytes), Ok(others)) => assert!(bytes[..] == others[..], "{start}..{end} by both ways"),
        (Err(_), Err(_)) => {}
        (found, other) => {
            panic!("{start}..{end}: read_at: {:?}, submit: {:?}", found.is_ok(), other.is_ok())
        }
    }
    found
}

/// All bytes of a file.
pub(super) fn contents(store: &Arc<dyn Store>, id: FileId) -> Vec<u8> {
    let reader = store.open(id).expect("the file opens");
    read(&*reader, 0, reader.len()).expect("the file reads")
}

/// Panics unless the file holds exactly these bytes.
pub(super) fn assert_contents(store: &Arc<dyn Store>, id: FileId, expected: &[u8]) {
    let found = contents(store, id);
    let differ = found.iter().zip(expected).position(|(a, b)| a != b);
    assert_eq!(differ, None, "file {id} differs from the appended bytes, at this offset");
    assert_eq!(found.len(), expected.len(), "the length of file {id}");
}

/// Everything that can be known of the store's files, as text that can be compared.
pub(super) fn dump(store: &Arc<dyn Store>) -> Vec<String> {
    let own = store.info(FileId::STORE).expect("the store's own annotation");
    let mut lines = vec![format!("{:?}", own.annotation)];
    for file in store.list() {
        for name in &file.names {
            assert_eq!(store.lookup(name), Some(file.id), "the file of a listed name");
        }
        lines.push(format!("{file:?}"));
    }
    lines
}
