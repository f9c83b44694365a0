//! A checkpoint has the entries of all objects and no files of bodies. A server of it never touches
//! a file that only happens to have the id of a missing one.

use std::process::{Command, Stdio};

use terrace::fs::NamedFiles;
use terrace_server::objects::{Fault, Objects, ObjectsOptions, Swept};

use crate::client::Client;
use crate::rig::{MEDIA, Medium, Rig, Store, bytes};

const SIZE: usize = 200_000;
const OPTIONS: ObjectsOptions =
    ObjectsOptions { entry_max: 64 << 10, upload_age_max: u64::MAX, forget_missing: false };

/// A store with six objects in files, a small one, and an upload with a part.
fn served(medium: Medium) -> Store {
    let store = Store::new(medium, 64);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    for number in 1..=6 {
        client.put(&format!("/bucket/old{number}"), &bytes(number, SIZE)).expect(200);
    }
    client.put("/bucket/small", b"small").expect(200);
    let begun = client.ask("POST", "/bucket/parts", &[("uploads", "")]).expect(200);
    let id = begun.all("UploadId").remove(0);
    let query = [("partNumber", "1"), ("uploadId", id.as_str())];
    client.send("PUT", "/bucket/parts", &query, &[], b"part").unwrap().expect(200);
    assert_eq!(rig.stop(), 0);
    store
}

fn keys(client: &Client) -> Vec<String> {
    client.get("/bucket").expect(200).all("Key")
}

#[test]
fn a_checkpoint_is_served_when_its_objects_without_files_are_forgotten_and_new_ones_stay() {
    for medium in MEDIA {
        let store = served(medium);
        let copy = store.checkpoint(64);
        let db = copy.open();
        let refused = Objects::open(&db, OPTIONS).err().expect("a refusal");
        assert!(matches!(&refused, Fault::NoFiles { missing: 7, .. }), "{refused}");
        assert!(refused.to_string().contains("bucket/old1"), "{refused}");
        db.close().unwrap();
        // A refusal changes nothing: it comes again.
        let db = copy.open();
        Objects::open(&db, OPTIONS).err().expect("a refusal");
        db.close().unwrap();
        let rig = Rig::start_with(&copy, |options| options.forget_missing = true);
        assert_eq!(rig.swept, Swept { forgotten: 7, ..Swept::default() });
        let client = rig.client();
        assert_eq!(keys(&client), ["small"]);
        assert_eq!(client.get("/bucket/small").expect(200).body, b"small");
        client.ask("HEAD", "/bucket/old1", &[]).expect(404);
        for number in [2, 3, 4, 5, 6, 1] {
            client.put(&format!("/bucket/old{number}"), &bytes(10 + number, SIZE)).expect(200);
            client.put("/bucket/again", &bytes(number, SIZE)).expect(200);
        }
        client.delete("/bucket/again").expect(204);
        assert_eq!(rig.stop(), 0);
        // The copy is a store of its own now.
        let rig = Rig::start(&copy);
        assert_eq!(rig.swept, Swept::default());
        for number in 1..=6 {
            let got = rig.client().get(&format!("/bucket/old{number}")).expect(200).body;
            assert!(got == bytes(10 + number, SIZE), "{medium:?}: object {number}");
        }
        assert_eq!(rig.stop(), 0);
        copy.check();
        // So is the first one.
        let rig = Rig::start(&store);
        assert_eq!((rig.swept, keys(&rig.client()).len()), (Swept::default(), 7));
        assert!(rig.client().get("/bucket/old6").expect(200).body == bytes(6, SIZE));
        assert_eq!(rig.stop(), 0);
    }
}

#[test]
fn a_copy_without_files_of_bodies_needs_no_permission() {
    for medium in MEDIA {
        let store = Store::new(medium, 64);
        let rig = Rig::start(&store);
        rig.client().put("/bucket", b"").expect(200);
        rig.client().put("/bucket/small", b"small").expect(200);
        assert_eq!(rig.stop(), 0);
        let copy = store.checkpoint(64);
        let rig = Rig::start(&copy);
        assert_eq!(rig.client().get("/bucket/small").expect(200).body, b"small");
        assert_eq!(rig.stop(), 0);
    }
}

#[test]
fn a_file_that_is_no_body_is_neither_read_nor_removed_whatever_an_entry_says() {
    for medium in MEDIA {
        let store = served(medium);
        let db = store.open();
        // The name of a body is that of no body any more.
        let files: NamedFiles = db.files();
        let named: Vec<String> = files.list("objects/").into_iter().map(|(name, _)| name).collect();
        for name in &named {
            files.rename(name, &name.replace("objects/", "mine/")).unwrap();
        }
        db.close().unwrap();
        let rig = Rig::start(&store);
        assert_eq!(rig.swept, Swept { missing: 7, ..Swept::default() });
        let client = rig.client();
        assert_eq!(client.get("/bucket/old1").expect(500).all("Code"), ["InternalError"]);
        client.delete("/bucket/old1").expect(204);
        client.put("/bucket/old2", &bytes(12, SIZE)).expect(200);
        assert!(client.get("/bucket/old2").expect(200).body == bytes(12, SIZE));
        assert_eq!(rig.stop(), 0);
        let db = store.open();
        assert_eq!(db.files().list("mine/").len(), named.len(), "files of others were removed");
        db.close().unwrap();
        // Damaged objects can be forgotten, too.
        let rig = Rig::start_with(&store, |options| options.forget_missing = true);
        assert_eq!(rig.swept, Swept { forgotten: 5, ..Swept::default() });
        assert_eq!(keys(&rig.client()), ["old2", "small"]);
        assert_eq!(rig.stop(), 0);
    }
}

#[test]
fn the_program_says_how_a_copy_is_served() {
    let copy = served(Medium::Directory).checkpoint(0);
    let mut command = Command::new(env!("CARGO_BIN_EXE_terrace-serve"));
    command.arg(copy.path()).args(["--listen", "127.0.0.1:0"]).stdin(Stdio::null());
    let output = command.output().expect("the program");
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    for part in ["found 7 missing", "bucket/old1", "--forget-missing"] {
        assert!(message.contains(part), "{message}");
    }
}
