//! Space and time: leftovers of an earlier process are removed, old uploads are forgotten, a reader
//! goes on with the old bytes, and a full store refuses without a loss.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use terrace::{ByteCount, Db, MemoryStore, Options};
use terrace_env::random::Random;
use terrace_env::runner;
use terrace_env::store::{CrashMode, Failure};
use terrace_fs::Access;
use terrace_fs::dir::{DirOptions, DirStore, MemoryFiles};
use terrace_server::objects::{
    Attributes, Body, CHUNK, Chosen, ChosenPart, Condition, Fault, Objects, ObjectsOptions,
    PartRecord, UploadId,
};

use crate::client::read_answer;
use crate::rig::{MEDIA, Medium, Rig, Store, all, bytes};

const OPTIONS: ObjectsOptions =
    ObjectsOptions { entry_max: 64 << 10, upload_age_max: u64::MAX, forget_missing: false };

#[test]
fn files_without_an_entry_are_removed_by_the_next_opening() {
    for medium in MEDIA {
        let store = Store::new(medium, 64);
        let db = store.open();
        let (objects, _) = Objects::open(&db, OPTIONS).unwrap();
        objects.create_bucket("bucket").unwrap();
        let body = || {
            let mut body = objects.begin_body("bucket", Some(100_000)).unwrap();
            body.append(&bytes(1, 100_000)).unwrap();
            body
        };
        let id = objects.begin_upload("bucket", "a", Attributes::default()).unwrap();
        objects.put_part(("bucket", "a"), (id, 1), body(), None).unwrap();
        // As after a kill between the file and its entry: the entry is removed by hand.
        let entries = db.key_space("objects").unwrap();
        let key = [&b"p"[..], &id.0, &[0, 1]].concat();
        assert!(entries.contains(&key).unwrap(), "the key of the format");
        entries.delete(&key).unwrap();
        assert_eq!(objects.body_files(), 1);
        // A body that was not sealed is gone at once.
        drop(body());
        assert_eq!(objects.body_files(), 1);
        // Files of others stay.
        let other = terrace::fs::NewFile {
            kind: terrace_env::store::FileKind::Client,
            hint: Default::default(),
            size: None,
            rank: terrace_env::store::Rank::Log,
            modified: 0,
        };
        let files = db.files();
        let mut writer = files.begin(&other).unwrap();
        files.publish(&mut *writer, &["other"], &other).unwrap();
        drop((objects, entries, writer, files));
        db.close().unwrap();
        assert_eq!(store.check().files, 1);
        assert_eq!(store.check().files, 0);
        let db = store.open();
        assert!(db.files().find("other").is_ok());
        db.close().unwrap();
    }
}

#[test]
fn an_old_upload_is_forgotten_at_the_start_and_while_the_server_runs() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    rig.client().put("/bucket", b"").expect(200);
    let begun = rig.client().ask("POST", "/bucket/a", &[("uploads", "")]).expect(200);
    let id = begun.all("UploadId").remove(0);
    let query = [("partNumber", "1"), ("uploadId", id.as_str())];
    rig.client().send("PUT", "/bucket/a", &query, &[], b"part").unwrap().expect(200);
    assert_eq!((rig.objects.body_files(), rig.stop()), (1, 0));
    runner::sleep(Duration::from_millis(20));
    let soon = |options: &mut terrace_server::ServerOptions| {
        options.upload_age_max = Duration::from_millis(10);
    };
    let rig = Rig::start_with(&store, soon);
    assert_eq!((rig.swept.uploads, rig.objects.body_files()), (1, 0));
    rig.client().ask("POST", "/bucket/b", &[("uploads", "")]).expect(200);
    let uploads = || rig.objects.list_uploads("bucket", &all(), None).unwrap().uploads.len();
    for _ in 0..500 {
        if uploads() == 0 {
            break;
        }
        runner::sleep(Duration::from_millis(20));
    }
    assert_eq!(uploads(), 0);
    assert_eq!(rig.stop(), 0);
    store.check();
}

#[test]
fn a_reader_goes_on_with_the_old_bytes_of_a_replaced_object() {
    for medium in MEDIA {
        let store = Store::new(medium, 128);
        let rig = Rig::start(&store);
        let client = rig.client();
        client.put("/bucket", b"").expect(200);
        let old = bytes(1, 24 << 20);
        client.put("/bucket/a", &old).expect(200);
        let mut stream = TcpStream::connect(rig.address).unwrap();
        let head = client.head("GET", "/bucket/a", &[], &[], 0, b"");
        stream.write_all(head.as_bytes()).unwrap();
        let mut first = [0; 1];
        stream.read_exact(&mut first).unwrap();
        // More bytes remain than the system's buffers hold.
        client.put("/bucket/a", b"new").expect(200);
        client.delete("/bucket/a").expect(204);
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert!(rest.ends_with(&old), "all old bytes");
        drop(stream);
        assert_eq!(rig.objects.body_files(), 0);
        assert_eq!(rig.stop(), 0);
        store.check();
    }
}

#[test]
fn a_full_store_refuses_and_keeps_what_it_has_acknowledged() {
    let store = Store::new(Medium::Image, 48);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    let size = 1_500_000;
    let mut kept = Vec::new();
    let mut refusals = 0;
    for number in 0..100 {
        let put = client.put(&format!("/bucket/{number:03}"), &bytes(number, size));
        match put.status {
            200 => kept.push(number),
            507 => {
                assert_eq!(put.all("Code"), ["InsufficientStorage"]);
                refusals += 1;
                if refusals == 3 {
                    break;
                }
            }
            other => panic!("{other}: {}", put.text()),
        }
    }
    assert!(refusals == 3 && kept.len() > 10, "{} kept, {refusals} refusals", kept.len());
    for &number in &kept {
        let got = client.get(&format!("/bucket/{number:03}")).expect(200);
        assert!(got.body == bytes(number, size), "object {number}");
    }
    // Deletes work, and give the space back.
    for &number in &kept {
        client.delete(&format!("/bucket/{number:03}")).expect(204);
    }
    assert_eq!(rig.objects.body_files(), 0);
    client.put("/bucket/again", &bytes(1, size)).expect(200);
    assert_eq!(rig.stop(), 0);
    store.check();
}

#[test]
fn a_store_that_has_stopped_takes_no_body_until_it_goes_on() {
    runner::simulate(1, || {
        let files = MemoryFiles::new();
        let access = DirOptions { access: Access::ReadWrite };
        let store = DirStore::open_on(Arc::new(files.clone()), access).unwrap();
        let db = Db::open(store, Options::default()).unwrap();
        let (objects, _) = Objects::open(&db, OPTIONS).unwrap();
        objects.create_bucket("bucket").unwrap();
        let put = |name: &str| {
            let mut body = objects.begin_body("bucket", Some(100_000))?;
            body.append(&[7; 100_000])?;
            let of = (Attributes::default(), None);
            objects.put(("bucket", name), Body::File(body), of, &Condition::Always)
        };
        put("before").unwrap();
        let stops = |_| {
            files.fail_at(files.operations(), std::io::ErrorKind::StorageFull);
            let _ = objects.delete("bucket", "none", &Condition::Always);
            let _ = db.put(b"key", b"value").and_then(|()| db.sync());
            db.check_writable().is_err()
        };
        assert!((0..100).any(stops), "the store goes on");
        let count = objects.body_files();
        for _ in 0..3 {
            let refused = objects.begin_body("bucket", None).err().expect("a refusal");
            assert!(matches!(refused, Fault::Store(_)), "{refused}");
            assert!(put("refused").is_err());
        }
        assert_eq!(objects.body_files(), count, "refused puts leave no file");
        db.resume().unwrap();
        put("after").unwrap();
        assert_eq!(objects.body_files(), count + 1);
        drop(objects);
        db.close().unwrap();
    });
}

#[test]
fn a_directory_on_a_full_disk_takes_deletes_and_then_puts() {
    const SIZE: usize = 1_000_000;
    runner::simulate(1, || {
        let files = MemoryFiles::new().with_capacity(ByteCount::mib(70));
        let open = || {
            let access = DirOptions { access: Access::ReadWrite };
            let store = DirStore::open_on(Arc::new(files.clone()), access).unwrap();
            let db = Db::open(store, Options::default()).unwrap();
            let (objects, _) = Objects::open(&db, OPTIONS).unwrap();
            (db, objects)
        };
        let put = |objects: &Objects, name: &str| {
            let mut body = objects.begin_body("bucket", Some(SIZE as u64))?;
            body.append(&[7; SIZE])?;
            let of = (Attributes::default(), None);
            objects.put(("bucket", name), Body::File(body), of, &Condition::Always)
        };
        let fill = |objects: &Objects| {
            let mut names = (0..1000).map(|number| number.to_string());
            let refused = names.find_map(|name| Some((put(objects, &name).err()?, name)));
            let (refusal, name) = refused.expect("a full disk");
            assert!(refusal.is_space(), "{refusal}");
            name.parse::<usize>().unwrap()
        };
        let (db, objects) = open();
        objects.create_bucket("bucket").unwrap();
        let count = fill(&objects);
        assert!(count > 30, "{count} objects");
        let delete = |objects: &Objects, number: usize| {
            objects.delete("bucket", &number.to_string(), &Condition::Always).unwrap()
        };
        assert!(delete(&objects, 0));
        drop(objects);
        db.close().unwrap();
        let (db, objects) = open();
        (1..count).for_each(|number| assert!(delete(&objects, number)));
        assert_eq!((objects.body_files(), fill(&objects)), (0, count));
        drop(objects);
        db.close().unwrap();
    });
}

#[test]
fn a_damaged_body_is_never_taken_for_a_whole_one() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    let body = bytes(1, 3 * CHUNK);
    client.put("/bucket/a", &body).expect(200);
    let is_body = |path: &std::path::Path| {
        let size = path.metadata().map_or(0, |found| found.len());
        size == body.len() as u64
    };
    let files = std::fs::read_dir(store.path()).unwrap().map(|entry| entry.unwrap().path());
    let file = files.filter(|path| is_body(path)).collect::<Vec<_>>().pop().expect("its file");
    let damage = |at: usize, byte: u8| {
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::options().write(true).open(&file).unwrap();
        file.write_all_at(&[byte], at as u64).unwrap();
    };
    damage(2 * CHUNK + 7, !body[2 * CHUNK + 7]);
    let got = client.send("GET", "/bucket/a", &[], &[], b"");
    assert!(got.is_err(), "the answer ends early");
    let of_second = [("range", "bytes=524288-524300")];
    let got = client.send("GET", "/bucket/a", &[], &of_second, b"").unwrap().expect(206);
    assert_eq!(got.body, body[CHUNK..CHUNK + 13], "other chunks are sound");
    let of_third = [("range", "bytes=1048576-1048576")];
    client.send("GET", "/bucket/a", &[], &of_third, b"").unwrap().expect(500);
    damage(2 * CHUNK + 7, body[2 * CHUNK + 7]);
    assert!(client.get("/bucket/a").expect(200).body == body);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_small_body_that_is_not_there_is_damage_and_no_panic() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    client.put("/bucket/a", b"whole").expect(200);
    let entries = rig.objects.db().key_space("objects").unwrap();
    for body in [None, Some(&b"who"[..])] {
        match body {
            Some(bytes) => entries.put(b"dbucket\0a", bytes).unwrap(),
            None => entries.delete(b"dbucket\0a").unwrap(),
        }
        let found = rig.objects.get("bucket", "a").map(drop);
        let expected = body.map_or(0, <[u8]>::len) as u64;
        assert!(
            matches!(found, Err(Fault::BodySize { expected: 5, found }) if found == expected),
            "{found:?}"
        );
        assert_eq!(client.get("/bucket/a").expect(500).all("Code"), ["InternalError"]);
    }
    drop(entries);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_body_that_ends_early_leaves_nothing() {
    let store = Store::new(Medium::Image, 64);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    for sent in [0, 10, 100_000, 2_999_999] {
        let mut stream = TcpStream::connect(rig.address).unwrap();
        let body = bytes(1, sent);
        let head = client.head("PUT", "/bucket/a", &[], &[], 3_000_000, b"");
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&body).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        // An error, or no answer at all.
        if let Ok(answer) = read_answer(&mut stream, "PUT") {
            assert!(answer.status >= 400, "{}", answer.text());
        }
    }
    client.get("/bucket/a").expect(404);
    assert_eq!(rig.objects.body_files(), 0);
    assert_eq!(rig.stop(), 0);
    store.check();
}

/// Whatever operation of the medium fails: after a power cut, acknowledged changes are there, and
/// each object has its files. A change that failed may have happened or not, and is tried again.
#[test]
fn changes_that_fail_at_any_operation_are_acknowledged_only_if_they_last() {
    for failure in [Failure::Once, Failure::Sticky] {
        let mut failures = 0;
        while runner::simulate(1, move || fail_at(failures, failure)) {
            failures += 1;
        }
        assert!(failures > 10, "{failures} operations");
    }
}

fn put_file(objects: &Objects, key: &str) -> Result<(), Fault> {
    let mut body = objects.begin_body("bucket", Some(100_000))?;
    body.append(&bytes(1, 100_000))?;
    let nothing = (Attributes::default(), None);
    objects.put(("bucket", key), Body::File(body), nothing, &Condition::Always).map(drop)
}

fn put_part(objects: &Objects, id: UploadId) -> Result<PartRecord, Fault> {
    let mut body = objects.begin_body("bucket", Some(1000))?;
    body.append(&bytes(2, 1000))?;
    objects.put_part(("bucket", "d"), (id, 1), body, None)
}

/// Makes changes; the operation of this number fails. Returns whether there was one.
fn fail_at(number: u64, failure: Failure) -> bool {
    let store = Arc::new(MemoryStore::new());
    let db = Db::open(store.clone(), Options::default()).unwrap();
    let (objects, _) = Objects::open(&db, OPTIONS).unwrap();
    objects.create_bucket("bucket").unwrap();
    ["a", "b", "c"].iter().for_each(|key| put_file(&objects, key).unwrap());
    let id = objects.begin_upload("bucket", "d", Attributes::default()).unwrap();
    let part = put_part(&objects, id).unwrap();
    let begun = store.operations();
    store.fail_at(begun + number, failure);
    let put = put_file(&objects, "a");
    let of_both = ["a", "b"].map(|key| (key.to_owned(), Condition::Always));
    let mut deleted = objects.delete_all("bucket", &of_both);
    let parts = vec![ChosenPart { number: 1, etag: part.etag(), checksum: None }];
    let chosen = Chosen { parts, size: None, whole: None };
    let delete = |key| objects.delete("bucket", key, &Condition::Always);
    let complete = || objects.complete(("bucket", "d"), id, &chosen, &Condition::Always);
    let mut completed = complete();
    deleted.push(delete("c"));
    // As clients do.
    for (key, deleted) in ["a", "b", "c"].into_iter().zip(&mut deleted) {
        if deleted.is_err() {
            *deleted = delete(key);
        }
    }
    if completed.is_err() {
        completed = complete();
    }
    let has_failed = store.operations() > begun + number;
    let survivor = store.crash(CrashMode::DropUnsynced, &mut Random::seeded(1));
    drop(objects);
    // It may have failed before.
    let _ = db.close();
    let db = Db::open(Arc::new(survivor), Options::default()).unwrap();
    let (objects, swept) = Objects::open(&db, OPTIONS).unwrap();
    let of = format!("operation {number}, {failure:?}: {put:?}, {deleted:?}, {completed:?}");
    assert_eq!(swept.missing, 0, "{of}");
    for (key, deleted) in ["a", "b", "c"].into_iter().zip(deleted) {
        assert!(deleted.is_err() || objects.head("bucket", key).is_err(), "{key}, {of}");
    }
    assert!(completed.is_err() || objects.head("bucket", "d").is_ok(), "{of}");
    drop(objects);
    db.close().unwrap();
    has_failed
}
