//! Tests of [`NamedFiles`]: on a store in memory, and with calls that overlap.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::store::{FileKind, Latency, MemoryStore, PlacementHint, Rank, StoreError};
use terrace_env::{ByteCount, Cause, runner, test_seeds};
use terrace_fs::Access;

use crate::named_annotation::modified;
use crate::named_files::{NamedFiles, NewFile};
use crate::named_writer::NamedWriter;
use crate::{Db, ErrorKind, Options};

const NEW: NewFile = NewFile {
    kind: FileKind::Client,
    hint: PlacementHint { level: None, stream: 0 },
    size: None,
    rank: Rank::Log,
    modified: 7,
};

fn files() -> NamedFiles {
    NamedFiles::new(Arc::new(MemoryStore::new()))
}

/// Files of a store that takes time, so that calls overlap.
fn slow_files(seed: u64) -> Arc<NamedFiles> {
    let latency = Latency::uniform(Duration::from_millis(3));
    let store = MemoryStore::new().with_latency(seed, latency);
    Arc::new(NamedFiles::new(Arc::new(store)))
}

fn write(files: &NamedFiles, name: &str, bytes: &[u8]) {
    let mut writer = files.create(name, &NEW).unwrap();
    writer.append(bytes).unwrap();
    files.seal(&mut *writer, NEW.hint, 9).unwrap();
}

fn read(files: &NamedFiles, name: &str) -> Vec<u8> {
    let reader = files.open(name).unwrap();
    let mut bytes = vec![0; reader.len() as usize];
    reader.read_at(0, &mut bytes, Cause::Client).unwrap();
    bytes
}

#[test]
fn a_file_created_under_a_name_that_is_taken_replaces_the_other() {
    let files = files();
    write(&files, "a", b"old");
    let reader = files.open("a").unwrap();
    write(&files, "a", b"newer");
    assert_eq!(read(&files, "a"), b"newer");
    assert_eq!(reader.len(), 3, "an open reader keeps the old one");
    assert_eq!(files.list("").len(), 1);
    assert_eq!(modified(&files.find("a").unwrap().annotation), 9);
}

#[test]
fn a_sealed_file_can_be_appended_to_and_cut() {
    let files = files();
    write(&files, "a", b"12345");
    files.link("a", "b").unwrap();
    let mut writer = files.append_to("a").unwrap();
    writer.append(b"67").unwrap();
    writer.sync().unwrap();
    drop(writer);
    let mut writer = files.append_to("a").unwrap();
    writer.append(b"8").unwrap();
    files.seal(&mut *writer, NEW.hint, 9).unwrap();
    assert_eq!(read(&files, "a"), b"12345678");
    assert_eq!(read(&files, "b"), b"12345678", "it is the same file");
    files.truncate("a", 2).unwrap();
    assert_eq!((read(&files, "a"), read(&files, "b")), (b"12".into(), b"12".into()));
    assert!(files.truncate("a", 3).is_err());
    files.truncate("a", 0).unwrap();
    assert_eq!(read(&files, "a"), b"");
}

/// Bytes of all writes to the store.
fn written(files: &NamedFiles) -> u64 {
    files.store().io().written_bytes.iter().sum()
}

#[test]
fn a_file_that_is_cut_piece_by_piece_is_not_copied_and_gives_its_blocks_back() {
    const PIECE: usize = 3 * 4096;
    for kind in [FileKind::Client, FileKind::Table, FileKind::Log] {
        let files = files();
        let bytes: Vec<u8> = (0..8 * PIECE).map(|at| (at / 7) as u8).collect();
        let mut writer = files.create("a", &NewFile { kind, ..NEW }).unwrap();
        writer.append(&bytes).unwrap();
        files.seal(&mut *writer, NEW.hint, 9).unwrap();
        let (before, whole) = (written(&files), files.open("a").unwrap());
        for pieces in (0..8).rev() {
            files.truncate("a", (pieces * PIECE) as u64).unwrap();
            assert_eq!(read(&files, "a"), bytes[..pieces * PIECE], "{kind:?}");
            assert_eq!(files.list("")[0].1.size, (pieces * PIECE) as u64);
            let live = files.store().space().live.0;
            assert!(kind == FileKind::Log || live == (pieces * PIECE) as u64, "{live} live bytes");
        }
        assert_eq!(written(&files), before, "{kind:?}");
        assert_eq!(modified(&files.find("a").unwrap().annotation), 9);
        assert_eq!(whole.len(), 8 * PIECE as u64, "an open reader keeps the old length");
    }
}

#[test]
fn a_finished_file_is_copied_by_the_first_append_and_not_before() {
    let files = Arc::new(files());
    write(&files, "a", b"12345");
    files.link("a", "b").unwrap();
    let (before, id) = (written(&files), files.find("a").unwrap().id);
    let mut writer = NamedWriter::append_to(&files, "a").unwrap();
    writer.append(b"").unwrap();
    writer.sync().unwrap();
    writer.truncate(5).unwrap();
    writer.truncate(4).unwrap();
    assert!(writer.truncate(5).is_err(), "a file is not made longer");
    assert_eq!((written(&files), writer.size()), (before, 4));
    assert_eq!(files.find("a").unwrap().id, id);
    files.rename("a", "c").unwrap();
    writer.append(b"67").unwrap();
    writer.finish(11).unwrap();
    writer.finish(12).unwrap();
    assert_eq!((read(&files, "b"), read(&files, "c")), (b"123467".into(), b"123467".into()));
    assert_eq!((written(&files), files.store().list().len()), (before + 6, 1));
    assert_eq!(modified(&files.find("b").unwrap().annotation), 11);
    let mut writer = NamedWriter::append_to(&files, "b").unwrap();
    files.remove_all(["b", "c"]).unwrap();
    assert!(writer.append(b"8").is_err(), "the file is gone");
    writer.finish(13).unwrap();
}

#[test]
fn a_file_that_is_being_written_is_cut_by_its_writer() {
    for kind in [FileKind::Client, FileKind::Table, FileKind::Log] {
        let files = Arc::new(files());
        let mut writer = NamedWriter::create(&files, "a", &NewFile { kind, ..NEW }).unwrap();
        writer.append(&[1; 9000]).unwrap();
        writer.truncate(9000).unwrap();
        assert!(!files.find("a").unwrap().sealed, "nothing was cut");
        writer.truncate(5000).unwrap();
        assert_eq!((writer.size(), read(&files, "a")), (5000, vec![1; 5000]));
        writer.append(&[2; 10]).unwrap();
        writer.sync().unwrap();
        writer.finish(3).unwrap();
        let expected = [vec![1; 5000], vec![2; 10]].concat();
        assert_eq!(read(&files, "a"), expected, "{kind:?}: no byte comes back");
    }
}

#[test]
fn logs_of_a_lifetime_count_once_and_until_they_are_placed_elsewhere() {
    let files = Arc::new(files());
    let hint = PlacementHint { level: Some(0), stream: 0 };
    let new = NewFile { kind: FileKind::Log, hint, ..NEW };
    let log = |name: &str| NamedWriter::create(&files, name, &new).unwrap();
    let mut copy = log("copy");
    copy.place(PlacementHint::default(), Rank::Log).unwrap();
    copy.append(&[1; 100]).unwrap();
    assert_eq!(files.bytes_on(Some(0)), 0);
    let mut live = log("live");
    live.append(&[1; 10]).unwrap();
    assert!(live.place(PlacementHint::default(), Rank::Log).is_err(), "there are bytes in it");
    files.link("live", "further").unwrap();
    assert_eq!(files.bytes_on(Some(0)), 10, "before it is synced, and one file by two names");
    live.finish(1).unwrap();
    assert_eq!(files.bytes_on(Some(0)), 10);
    files.set_hint_of("further", PlacementHint::default()).unwrap();
    assert_eq!((files.bytes_on(Some(0)), files.bytes_on(None)), (0, 110));
    drop(files.create("table", &NewFile { kind: FileKind::Table, ..new }).unwrap());
    assert_eq!(files.bytes_on(Some(0)), 0);
}

#[test]
fn files_are_published_together_or_not_at_all() {
    let files = files();
    let begun = |bytes: &[u8]| {
        let mut writer = files.begin(&NEW).unwrap();
        writer.append(bytes).unwrap();
        writer
    };
    write(&files, "b", b"old");
    let (mut one, mut other) = (begun(b"one"), begun(b"other"));
    files.publish_each(&mut [(&mut *one, "a", &NEW), (&mut *other, "b", &NEW)]).unwrap();
    assert_eq!((read(&files, "a"), read(&files, "b")), (b"one".to_vec(), b"other".to_vec()));
    assert_eq!(files.all().len(), 2);
    // One of them was published before.
    let mut third = begun(b"third");
    let both = files.publish_each(&mut [(&mut *third, "c", &NEW), (&mut *one, "d", &NEW)]);
    assert!(matches!(both, Err(StoreError::WrongState { .. })), "{both:?}");
    assert!(files.find("c").is_err() && files.find("d").is_err());
    files.publish_each(&mut [(&mut *third, "c", &NEW)]).unwrap();
    assert_eq!(read(&files, "c"), b"third");
}

#[test]
fn a_file_that_is_begun_is_found_when_it_is_published() {
    let files = files();
    write(&files, "a", b"old");
    for open in [false, true] {
        let mut writer = files.begin(&NEW).unwrap();
        writer.append(b"new").unwrap();
        let before = read(&files, "a");
        assert!(files.open("b").is_err() || open);
        if open {
            files.publish_open(&mut *writer, &["a", "b"], &NEW).unwrap();
            drop(writer);
            let mut writer = files.append_to("a").unwrap();
            writer.append(b"er").unwrap();
            writer.sync().unwrap();
            assert_eq!(read(&files, "b"), b"newer");
        } else {
            files.publish(&mut *writer, &["a", "b"], &NEW).unwrap();
            assert_eq!(before, b"old");
            assert_eq!((read(&files, "a"), read(&files, "b")), (b"new".into(), b"new".into()));
        }
        assert_eq!(modified(&files.find("a").unwrap().annotation), 7);
    }
    files.begin(&NEW).unwrap().append(b"lost").unwrap();
    assert_eq!(files.store().list().len(), 1);
    assert!(files.remove_all(["a", "no such file"]).is_err());
    assert_eq!(files.list("").len(), 2, "all or nothing");
    files.remove_all(["a", "b"]).unwrap();
    assert!(files.store().list().is_empty());
}

#[test]
fn a_file_that_is_being_written_is_not_cut() {
    let files = files();
    let mut writer = files.create("a", &NEW).unwrap();
    writer.append(b"123").unwrap();
    assert!(files.truncate("a", 1).is_err());
    writer.append(b"4").unwrap();
    drop(writer);
}

#[test]
fn names_are_moved_shared_and_taken_away() {
    let files = files();
    write(&files, "a", b"1");
    write(&files, "b", b"2");
    files.rename("a", "b").unwrap();
    assert_eq!(read(&files, "b"), b"1");
    assert!(files.open("a").is_err());
    files.link("b", "c").unwrap();
    assert!(files.link("b", "c").is_err());
    files.remove("b").unwrap();
    assert_eq!(read(&files, "c"), b"1");
    assert!(files.remove("b").is_err());
    assert!(files.rename("b", "d").is_err());
}

#[test]
fn all_names_of_one_beginning_are_moved_at_once() {
    let files = files();
    for name in ["x/1", "x/2", "xy"] {
        write(&files, name, name.as_bytes());
    }
    files.rename_all("x/", "y/z/").unwrap();
    let names: Vec<String> = files.list("").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["xy", "y/z/1", "y/z/2"]);
    assert_eq!(read(&files, "y/z/2"), b"x/2");
    files.rename_all("none", "some").unwrap();
    for (from, to) in [("y/", "y/z/"), ("y/z/", "y/")] {
        assert!(files.rename_all(from, to).is_err(), "{from} to {to}");
    }
}

/// Appends bytes to a file, with retries if another writer is first, and seals it.
fn append(files: &NamedFiles, bytes: &[u8]) {
    loop {
        match files.append_to("a") {
            Ok(mut writer) => {
                writer.append(bytes).unwrap();
                return files.seal(&mut *writer, NEW.hint, 9).unwrap();
            }
            Err(error) => assert!(matches!(error, StoreError::WrongState { .. }), "{error}"),
        }
        runner::sleep(Duration::from_millis(1));
    }
}

#[test]
fn calls_that_copy_one_sealed_file_at_once_lose_nothing() {
    for seed in test_seeds(20) {
        runner::simulate(seed, || {
            let files = slow_files(seed);
            write(&files, "a", b"0");
            let clients: Vec<_> = [b"1", b"2", b"3"]
                .map(|bytes| {
                    let files = Arc::clone(&files);
                    runner::spawn("client", move || append(&files, bytes))
                })
                .into();
            clients.into_iter().for_each(|client| client.join());
            let mut found = read(&files, "a");
            found.sort_unstable();
            assert_eq!(found, b"0123", "seed {seed}");
            assert_eq!(files.store().list().len(), 1);
        });
    }
}

#[test]
fn a_file_that_is_moved_while_it_is_copied_has_its_new_name_alone() {
    for seed in test_seeds(20) {
        runner::simulate(seed, || {
            let files = slow_files(seed);
            write(&files, "a", b"1");
            let moved = Arc::clone(&files);
            let mover = runner::spawn("mover", move || {
                moved.rename("a", "b").unwrap();
                moved.rename("b", "c").unwrap();
            });
            runner::sleep(Duration::from_millis(seed % 5));
            // The name may be gone already.
            match files.append_to("a") {
                Ok(mut writer) => {
                    writer.append(b"2").unwrap();
                    writer.sync().unwrap();
                }
                Err(error) => assert!(matches!(error, StoreError::NameNotFound(_)), "{error}"),
            }
            mover.join();
            let names: Vec<String> = files.list("").into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, ["c"], "seed {seed}");
            assert!(read(&files, "c").starts_with(b"1"));
        });
    }
}

#[test]
fn a_file_keeps_its_time_under_another_hint() {
    let files = files();
    write(&files, "a", b"1");
    let hint = PlacementHint { level: Some(2), stream: 1 };
    files.set_hint_of("a", hint).unwrap();
    let found = files.find("a").unwrap().annotation;
    assert_eq!((found.hint, modified(&found)), (hint, 9));
}

#[test]
fn a_file_that_is_removed_while_it_is_copied_is_gone() {
    for seed in test_seeds(20) {
        runner::simulate(seed, || {
            let files = slow_files(seed);
            write(&files, "a", b"12345");
            let cutter = Arc::clone(&files);
            let cut = runner::spawn("client", move || cutter.truncate("a", 1));
            runner::sleep(Duration::from_millis(seed % 5));
            files.remove("a").unwrap();
            let _ = cut.join();
            assert!(files.find("a").is_err(), "seed {seed}");
        });
    }
}

#[test]
fn an_engine_does_not_lock_out_files_with_names() {
    for kind in [FileKind::Client, FileKind::Table, FileKind::Log] {
        let files = files();
        drop(files.create("/db/CURRENT", &NewFile { kind, ..NEW }).unwrap());
        for read_only in [true, false] {
            let options = Options::default().read_only(read_only);
            let refused = Db::open(Arc::clone(files.store()), options);
            let error = refused.expect_err("files with names are there");
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(error.to_string().contains("\"/db/CURRENT\""), "{error}");
        }
        drop(files.claim(Access::ReadWrite).unwrap());
        files.rename("/db/CURRENT", "/db/OLD").unwrap();
    }
}

#[test]
fn names_of_files_of_a_restore_are_given_by_nobody_else() {
    let files = files();
    let kept = "\u{1}restore/a";
    files.create("a", &NEW).unwrap().finish().unwrap();
    let refused = |result: Result<(), StoreError>| {
        let error = result.expect_err("a name that is kept").to_string();
        assert!(error.contains("restore") && error.contains(r"\u{1}restore/a"), "{error}");
    };
    refused(files.create(kept, &NEW).map(drop));
    let mut writer = files.begin(&NEW).unwrap();
    refused(files.publish(&mut *writer, &["b", kept], &NEW));
    refused(files.publish_open(&mut *writer, &[kept], &NEW));
    refused(files.rename("a", kept));
    refused(files.rename_all("a", kept));
    refused(files.link("a", kept));
    let names: Vec<String> = files.list("").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a"]);
}

#[test]
fn files_lie_next_to_the_keys_of_an_open_store() {
    let store = Arc::new(MemoryStore::new());
    let open = || Db::open(Arc::clone(&store) as _, Options::default()).unwrap();
    let db = open();
    db.put(b"key", b"value").unwrap();
    let files = db.files();
    for kind in [FileKind::Table, FileKind::Log] {
        let refused = files.begin(&NewFile { kind, ..NEW }).map(drop);
        assert!(matches!(refused, Err(StoreError::Invalid(_))), "{kind:?}");
    }
    let new = NewFile { kind: FileKind::Client, ..NEW };
    let mut writer = files.begin(&new).unwrap();
    writer.append(b"bytes").unwrap();
    files.publish(&mut *writer, &["a"], &new).unwrap();
    drop((writer, files));
    db.flush().unwrap();
    db.close().unwrap();
    let db = open();
    assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    let file = db.files().open("a").unwrap();
    assert_eq!(file.read(0, 5, Cause::Client).unwrap(), b"bytes");
    db.compact_all().unwrap();
    let copied = db.checkpoint(Arc::new(MemoryStore::new())).unwrap();
    assert_eq!((copied.left_files, copied.left_bytes), (1, ByteCount(5)), "a copy has no files");
    db.files().remove("a").unwrap();
    assert!(db.files().find("a").is_err());
    let copied = db.checkpoint(Arc::new(MemoryStore::new())).unwrap();
    assert_eq!(copied.left_files, 0);
    db.verify().unwrap();
}
