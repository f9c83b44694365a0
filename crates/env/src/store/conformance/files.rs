//! Conformance checks of files in an open store: appending, reading, sealing and reopening, the
//! handles for reading and writing, and ids.

use std::sync::Arc;

use super::actions::{
    assert_contents, commit, create, create_committed, finished, note, pattern, read, refused,
    sealed, try_commit,
};
use super::suite::Check;
use crate::store::{FileKind, ReadBuf, StoreError};
use crate::{Cause, FileId, Store};

pub(super) const CHECKS: &[Check] = &[
    ("a sealed file reads back from any offset", reads_back),
    ("an unsealed file can be read as far as it has been appended", reads_unsealed),
    ("a file is hidden until it is committed", hidden_until_committed),
    ("reads beyond the end are refused", reads_beyond_the_end),
    ("submitted reads end in any order, and outlive reader and file", submitted_reads),
    ("a finished file takes no more bytes", finish_ends_writing),
    ("an uncommitted file goes with its writer", uncommitted_goes_with_its_writer),
    ("a committed file outlives its writer and can be reopened", reopens),
    ("a file has one writer at a time, and none once it is sealed", one_writer),
    ("an open file stays readable after it is deleted", readable_after_delete),
    ("an open file stays readable where it is trimmed later", readable_after_trim),
    ("ids grow and are not used again", ids_grow),
    ("a file may be empty", empty_file),
    ("files that are written side by side do not mix", side_by_side),
];

fn reads_back(store: &Arc<dyn Store>) {
    for len in [1, 511, 4095, 4096, 4097, 300_001] {
        let bytes = pattern(len as u64, len);
        let id = sealed(store, &bytes);
        assert_contents(store, id, &bytes);
        let reader = store.open(id).expect("the file opens");
        assert_eq!((reader.id(), reader.len()), (id, len as u64));
        for start in (0..len).step_by(len / 7 + 1) {
            let end = (start + 5000).min(len);
            let found = read(&*reader, start as u64, end as u64).expect("a read");
            assert!(found == bytes[start..end], "bytes {start}..{end} of {len}");
        }
    }
}

fn reads_unsealed(store: &Arc<dyn Store>) {
    for kind in [FileKind::Table, FileKind::Log, FileKind::Client] {
        let mut writer = create_committed(store, kind);
        let reader = store.open(writer.id()).expect("an unsealed file opens");
        let mut all = Vec::new();
        for (step, len) in [10usize, 4096, 1, 9000].into_iter().enumerate() {
            let bytes = pattern(step as u64, len);
            writer.append(&bytes).expect("an append");
            all.extend_from_slice(&bytes);
            assert_eq!(writer.len(), all.len() as u64);
            assert_eq!(reader.len(), all.len() as u64, "an older handle of a {kind:?} sees all");
            assert!(read(&*reader, 0, all.len() as u64).expect("a read") == all);
            assert_contents(store, writer.id(), &all);
            let info = store.info(writer.id()).expect("a committed file");
            assert_eq!((info.size, info.sealed, info.kind), (all.len() as u64, false, kind));
        }
    }
}

fn hidden_until_committed(store: &Arc<dyn Store>) {
    let mut writer = create(store, FileKind::Table);
    writer.append(b"hidden").expect("an append");
    assert!(store.info(writer.id()).is_none());
    assert!(store.list().is_empty());
    refused!(
        try_commit(store, |t| t.annotate(writer.id(), note("early"))),
        StoreError::NotFound(_)
    );
    refused!(try_commit(store, |t| t.link("early", writer.id())), StoreError::NotFound(_));
    writer.finish().expect("a finish");
    commit(store, |t| t.seal(writer.id(), note("sealed")));
    assert_eq!(store.list().len(), 1);
}

fn reads_beyond_the_end(store: &Arc<dyn Store>) {
    let reader = store.open(sealed(store, &pattern(1, 5000))).expect("the file opens");
    refused!(read(&*reader, 4999, 5001), StoreError::OutOfRange { .. });
    refused!(read(&*reader, 9000, 9001), StoreError::OutOfRange { .. });
    refused!(read(&*reader, u64::MAX - 1, u64::MAX), StoreError::OutOfRange { .. });
    read(&*reader, 4999, 5000).expect("the last byte");
    refused!(store.open(FileId(1 << 40)), StoreError::NotFound(FileId(0x100_0000_0000)));
}

fn submitted_reads(store: &Arc<dyn Store>) {
    let bytes = pattern(3, 300_001);
    let id = sealed(store, &bytes);
    let reader = store.open(id).expect("the file opens");
    let starts = (0..bytes.len() - 9000).step_by(7001);
    let submit = |at: usize| {
        let into = vec![0xee; 1 + at % 9000].into();
        (at, reader.submit(at as u64, into, Cause::Read))
    };
    let mut reads: Vec<_> = starts.map(submit).collect();
    let all = reader.submit(0, ReadBuf::zeroed(bytes.len()), Cause::Read);
    commit(store, |t| t.delete(id));
    drop(reader);
    // These writes must not land where reads are in flight.
    let other = pattern(4, 300_001);
    let new = sealed(store, &other);
    assert_contents(store, new, &other);
    assert!(all.wait().expect("a large read")[..] == bytes[..], "all bytes at once");
    // Some are not waited for.
    reads.retain(|(at, _)| at % 3 != 0);
    for (at, read) in reads.into_iter().rev() {
        let found = read.wait().expect("a submitted read");
        assert!(found[..] == bytes[at..=at + at % 9000], "{} bytes from {at} on", found.len());
    }
}

fn finish_ends_writing(store: &Arc<dyn Store>) {
    let mut writer = finished(store, b"all there is");
    writer.finish().expect("a second finish");
    refused!(writer.append(b"more"), StoreError::WrongState { .. });
    commit(store, |t| t.seal(writer.id(), note("sealed")));
    refused!(writer.append(b"more"), StoreError::WrongState { .. });
    assert_contents(store, writer.id(), b"all there is");
}

fn uncommitted_goes_with_its_writer(store: &Arc<dyn Store>) {
    let live = store.space().live;
    let writer = finished(store, &pattern(1, 20_000));
    let id = writer.id();
    drop(writer);
    refused!(try_commit(store, |t| t.seal(id, note("late"))), StoreError::NotFound(_));
    refused!(store.reopen(id), StoreError::NotFound(_));
    assert_eq!(store.space().live, live, "the live bytes after the file is gone");
}

fn reopens(store: &Arc<dyn Store>) {
    for kind in [FileKind::Log, FileKind::Client] {
        let mut all = Vec::new();
        let writer = create_committed(store, kind);
        let id = writer.id();
        drop(writer);
        for round in 0..3 {
            let mut writer = store.reopen(id).expect("a file without a writer reopens");
            assert_eq!((writer.id(), writer.len()), (id, all.len() as u64));
            let bytes = pattern(round, 3000 + round as usize);
            writer.append(&bytes).expect("an append");
            writer.sync().expect("a sync");
            all.extend_from_slice(&bytes);
            assert_contents(store, id, &all);
        }
        let mut writer = store.reopen(id).expect("a file without a writer reopens");
        writer.finish().expect("a finish");
        commit(store, |t| t.seal(id, note("sealed")));
        drop(writer);
        assert_contents(store, id, &all);
    }
}

fn one_writer(store: &Arc<dyn Store>) {
    let mut writer = create_committed(store, FileKind::Log);
    let id = writer.id();
    refused!(store.reopen(id), StoreError::WrongState { .. });
    writer.finish().expect("a finish");
    commit(store, |t| t.seal(id, note("sealed")));
    drop(writer);
    refused!(store.reopen(id), StoreError::WrongState { .. });
    refused!(store.reopen(FileId(1 << 40)), StoreError::NotFound(_));
    refused!(store.reopen(FileId::STORE), _);
    refused!(store.open(FileId::STORE), _);
}

fn readable_after_delete(store: &Arc<dyn Store>) {
    let bytes = pattern(1, 50_000);
    let id = sealed(store, &bytes);
    let reader = store.open(id).expect("the file opens");
    commit(store, |t| t.delete(id));
    assert!(store.info(id).is_none());
    refused!(store.open(id), StoreError::NotFound(_));
    // Later writes must not land where the reader still reads.
    sealed(store, &pattern(2, 50_000));
    assert!(read(&*reader, 0, 50_000).expect("a read of a deleted file") == bytes);
}

fn readable_after_trim(store: &Arc<dyn Store>) {
    let bytes = pattern(1, 10 * 4096);
    let id = sealed(store, &bytes);
    let older = store.open(id).expect("the file opens");
    commit(store, |t| t.trim(id, 4096, 8 * 4096));
    sealed(store, &pattern(2, 10 * 4096));
    assert!(read(&*older, 0, 10 * 4096).expect("a read by an older handle") == bytes);
}

fn ids_grow(store: &Arc<dyn Store>) {
    let mut last = FileId::STORE;
    for round in 0..10 {
        let id = sealed(store, b"x");
        assert!(id > last, "id {id} comes after id {last}");
        last = id;
        if round % 2 == 0 {
            commit(store, |t| t.delete(id));
        }
    }
}

fn empty_file(store: &Arc<dyn Store>) {
    let id = sealed(store, b"");
    assert_contents(store, id, b"");
    let reader = store.open(id).expect("the file opens");
    assert!(reader.is_empty());
    refused!(read(&*reader, 0, 1), StoreError::OutOfRange { .. });
}

fn side_by_side(store: &Arc<dyn Store>) {
    let kinds = [FileKind::Table, FileKind::Log, FileKind::Client];
    let mut files: Vec<_> =
        kinds.into_iter().map(|kind| (create_committed(store, kind), Vec::new())).collect();
    for step in 0..60u64 {
        let (writer, all) = &mut files[step as usize % 3];
        let bytes = pattern(step, 100 + 61 * step as usize);
        writer.append(&bytes).expect("an append");
        all.extend_from_slice(&bytes);
        if step % 3 != 0 && step % 4 == 0 {
            writer.sync().expect("a sync");
        }
    }
    for (writer, all) in &mut files {
        writer.finish().expect("a finish");
        commit(store, |t| t.seal(writer.id(), note("sealed")));
        assert_contents(store, writer.id(), all);
    }
}
