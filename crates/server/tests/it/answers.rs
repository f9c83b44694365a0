//! Answers as clients of S3 expect them: access lists for reading, texts and numbers of errors,
//! times, and checksums that are asked for in another case.

use std::io::Write;
use std::net::TcpStream;

use crate::client::{Client, read_answer};
use crate::rig::{Medium, Rig, Store};

/// A server with an empty bucket.
fn served() -> (Store, Rig, Client) {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    (store, rig, client)
}

#[test]
fn the_access_list_of_what_is_there_has_its_owner() {
    let (_store, rig, client) = served();
    client.put("/bucket/a", b"a").expect(200);
    let list = |path: &str| client.ask("GET", path, &[("acl", "")]);
    for path in ["/bucket", "/bucket/a"] {
        let found = list(path).expect(200);
        assert_eq!(found.all("Permission"), ["FULL_CONTROL"], "{path}");
        assert_eq!(found.all("ID"), ["terrace", "terrace"], "{path}");
    }
    assert_eq!(list("/none").expect(404).all("Code"), ["NoSuchBucket"]);
    assert_eq!(list("/bucket/none").expect(404).all("Code"), ["NoSuchKey"]);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn each_error_has_a_text_and_each_answer_the_number_of_its_request() {
    let (_store, rig, client) = served();
    let long = format!("/bucket/{}", "k".repeat(1025));
    let tagging = [("tagging", "")];
    for (path, query, body, code) in [
        ("/B", &[][..], &b""[..], "InvalidBucketName"),
        ("/bucket/a", &tagging, b"<Other/>", "MalformedXML"),
        (&long, &[], b"", "KeyTooLongError"),
    ] {
        let refused = client.send("PUT", path, query, &[], body).expect("an answer");
        assert_eq!(refused.all("Code"), [code], "{}", refused.text());
        assert_eq!(refused.all("Message").len(), 1, "{}", refused.text());
        assert_eq!(refused.all("RequestId"), [refused.headers["x-amz-request-id"].clone()]);
    }
    assert!(client.get("/bucket").expect(200).headers.contains_key("x-amz-request-id"));
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_document_that_is_too_large_is_an_error_of_its_client() {
    let (_store, rig, client) = served();
    let spaces = vec![b' '; (4 << 20) + 1];
    let refused = client.send("POST", "/bucket", &[("delete", "")], &[], &spaces);
    assert_eq!(refused.expect("an answer").expect(400).all("Code"), ["EntityTooLarge"]);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_list_and_a_head_give_one_time_for_an_object() {
    let (_store, rig, client) = served();
    client.put("/bucket/a", b"a").expect(200);
    let listed = client.get("/bucket").expect(200).all("LastModified");
    let head = client.ask("HEAD", "/bucket/a", &[]).expect(200);
    let seconds = |text: &str| text.split(':').nth(2).expect("a time")[..2].to_owned();
    assert!(listed.len() == 1 && listed[0].ends_with(".000Z"), "{listed:?}");
    assert_eq!(seconds(&listed[0]), seconds(&head.headers["last-modified"]));
    assert_eq!(rig.stop(), 0);
}

#[test]
fn the_words_of_checksums_are_known_in_any_case_and_other_algorithms_are_refused() {
    let (_store, rig, client) = served();
    let put = |headers: &[(&str, &str)]| {
        client.send("PUT", "/bucket/a", &[], headers, b"hello").expect("an answer")
    };
    put(&[("x-amz-checksum-crc32", "NhCmhg==")]).expect(200);
    for mode in ["ENABLED", "enabled"] {
        let got = client.send("GET", "/bucket/a", &[], &[("x-amz-checksum-mode", mode)], b"");
        assert_eq!(got.expect("an answer").headers["x-amz-checksum-crc32"], "NhCmhg==");
    }
    for (name, value) in
        [("x-amz-checksum-md5", "AAAA"), ("x-amz-trailer", "x-amz-checksum-sha512")]
    {
        assert_eq!(put(&[(name, value)]).expect(501).all("Code"), ["NotImplemented"], "{name}");
    }
    let begin = |algorithm: &str, kind: &str| {
        let headers = [("x-amz-checksum-algorithm", algorithm), ("x-amz-checksum-type", kind)];
        client.send("POST", "/bucket/b", &[("uploads", "")], &headers, b"").expect("an answer")
    };
    let begun = begin("crc32", "full_object").expect(200);
    assert_eq!(begun.headers["x-amz-checksum-algorithm"], "CRC32");
    assert_eq!(begun.headers["x-amz-checksum-type"], "FULL_OBJECT");
    begin("XXHASH64", "FULL_OBJECT").expect(400);
    begin("CRC32", "other").expect(400);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_source_is_decoded_like_a_form() {
    let (_store, rig, client) = served();
    client.put("/bucket/a b", b"space").expect(200);
    client.put("/bucket/a+b", b"plus").expect(200);
    for (source, body) in
        [("bucket/a+b", &b"space"[..]), ("bucket%2Fa%20b", b"space"), ("/bucket/a%2Bb", b"plus")]
    {
        let headers = [("x-amz-copy-source", source)];
        client.send("PUT", "/bucket/to", &[], &headers, b"").expect("an answer").expect(200);
        assert_eq!(client.get("/bucket/to").expect(200).body, body, "{source}");
    }
    assert_eq!(rig.stop(), 0);
}

#[test]
fn the_end_of_a_connection_is_announced_after_a_body_that_was_not_asked_for() {
    let (_store, rig, _) = served();
    let mut stream = TcpStream::connect(rig.address).expect("a connection");
    let head = "PUT /none/a HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 200000\r\n\
                expect: 100-continue\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("a head");
    let refused = read_answer(&mut stream, "PUT").expect("an answer").expect(404);
    assert_eq!(refused.headers["connection"], "close");
    assert_eq!(rig.stop(), 0);
}
