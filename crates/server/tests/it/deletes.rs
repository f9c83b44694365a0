//! Deletes of many objects by one request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use terrace_env::runner;

use crate::client::{Answer, Client};
use crate::rig::{MEDIA, Medium, Rig, Store, bytes};

/// Deletes keys, each with an ETag or without.
fn delete(client: &Client, keys: &[(&str, Option<&str>)]) -> Answer {
    let mut list = "<Delete>".to_owned();
    for (key, etag) in keys {
        let etag = etag.map(|etag| format!("<ETag>{etag}</ETag>")).unwrap_or_default();
        list += &format!("<Object><Key>{key}</Key>{etag}</Object>");
    }
    list += "</Delete>";
    client.send("POST", "/bucket", &[("delete", "")], &[], list.as_bytes()).expect("an answer")
}

#[test]
fn a_thousand_keys_are_deleted_by_a_few_commits_each_with_its_own_result() {
    for medium in MEDIA {
        let store = Store::new(medium, 128);
        let rig = Rig::start(&store);
        let client = rig.client();
        client.put("/bucket", b"").expect(200);
        let names: Vec<String> = (0..1000).map(|number| format!("key-{number:03}")).collect();
        for (number, name) in names.iter().enumerate().step_by(10) {
            // Every other one is a file.
            let size = if number % 20 == 0 { 70_000 } else { 10 };
            client.put(&format!("/bucket/{name}"), &bytes(1, size)).expect(200);
        }
        assert_eq!(rig.objects.body_files(), 50);
        let mut keys: Vec<(&str, Option<&str>)> =
            names.iter().map(|name| (&**name, None)).collect();
        // Another object, none, and the same key again.
        keys[10].1 = Some("\"0123\"");
        keys[11].1 = Some("\"0123\"");
        keys[999] = ("key-020", None);
        let before = rig.objects.db().stats().groups;
        let answer = delete(&client, &keys).expect(200);
        let commits = rig.objects.db().stats().groups - before;
        assert!(commits < 10, "{commits} commits");
        let (deleted, errors) = (answer.all("Deleted"), answer.all("Error"));
        assert_eq!((deleted.len(), errors.len()), (999, 1), "{}", answer.text());
        assert!(errors[0].contains("<Code>PreconditionFailed</Code>"), "{}", errors[0]);
        assert!(errors[0].contains("<Key>key-010</Key>"), "{}", errors[0]);
        assert_eq!(client.get("/bucket").expect(200).all("Key"), ["key-010"]);
        assert_eq!(rig.objects.body_files(), 0);
        assert_eq!(rig.stop(), 0);
        store.check();
    }
}

#[test]
fn a_list_of_no_keys_or_too_many_is_malformed_and_a_long_key_an_error_of_its_own() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    client.put("/bucket/a", b"").expect(200);
    assert_eq!(delete(&client, &[]).expect(400).all("Code"), ["MalformedXML"]);
    assert_eq!(delete(&client, &[("a", None); 1001]).expect(400).all("Code"), ["MalformedXML"]);
    let long = "x".repeat(100_000);
    let answer = delete(&client, &[(&long, None), ("a", None)]).expect(200);
    assert_eq!(answer.all("Code"), ["KeyTooLongError"]);
    assert_eq!(answer.all("Deleted"), ["<Key>a</Key>"]);
    // A quiet request is told of errors alone.
    let list = format!(
        "<Delete><Quiet>true</Quiet><Object><Key>{long}</Key></Object>\
         <Object><Key>a</Key></Object></Delete>"
    );
    let answer = client.send("POST", "/bucket", &[("delete", "")], &[], list.as_bytes());
    let answer = answer.unwrap().expect(200);
    assert_eq!(
        (answer.all("Code"), answer.all("Deleted")),
        (vec!["KeyTooLongError".into()], vec![])
    );
    assert_eq!(rig.stop(), 0);
}

#[test]
fn deletes_of_many_keys_and_puts_of_the_same_ones_leave_whole_objects() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    let names: Vec<String> = (0..40).map(|number| format!("key-{number}")).collect();
    let ends = Arc::new(AtomicBool::new(false));
    let putting: Vec<_> = (0..3)
        .map(|of| {
            let (client, names, ends) = (client.clone(), names.clone(), Arc::clone(&ends));
            runner::spawn("put", move || {
                let mut puts: usize = 0;
                while !ends.load(Ordering::Relaxed) {
                    let name = &names[(puts * 7 + of) % names.len()];
                    let size = if puts.is_multiple_of(4) { 70_000 } else { 100 };
                    client.put(&format!("/bucket/{name}"), &bytes(of as u64, size)).expect(200);
                    puts += 1;
                }
            })
        })
        .collect();
    let keys: Vec<(&str, Option<&str>)> = names.iter().map(|name| (&**name, None)).collect();
    for _ in 0..30 {
        assert_eq!(delete(&client, &keys).expect(200).all("Deleted").len(), names.len());
    }
    ends.store(true, Ordering::Relaxed);
    putting.into_iter().for_each(runner::JoinHandle::join);
    for name in client.get("/bucket").expect(200).all("Key") {
        client.get(&format!("/bucket/{name}")).expect(200);
    }
    delete(&client, &keys).expect(200);
    assert_eq!((rig.objects.body_files(), rig.stop()), (0, 0));
    store.check();
}
