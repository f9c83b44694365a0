//! Presigned URLs with headers in the query, as SDKs for JavaScript, PHP and Ruby make them.

use crate::client::{Answer, Client};
use crate::rig::{Medium, Rig, Store, bytes, keys};

const KEYS: &str = "[[key]]\naccess = \"writer\"\nsecret = \"quite a long secret\"\n\
                    buckets = { \"*\" = \"write\" }\n";

/// A server with a key, and an object `source`.
fn served() -> (Store, Rig, Client) {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start_with(&store, |options| options.keys = keys(KEYS));
    let client = rig.client_as("writer", "quite a long secret");
    client.put("/bucket", b"").expect(200);
    client.put("/bucket/source", b"source").expect(200);
    (store, rig, client)
}

/// Uses a presigned URL, as a program without keys.
fn use_url(
    client: &Client,
    (method, path): (&str, &str),
    query: &[(&str, &str)],
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let presigned = client.presigned(method, path, query);
    let query: Vec<(&str, &str)> =
        presigned.iter().map(|(name, value)| (&**name, &**value)).collect();
    let without_key = Client { key: None, ..client.clone() };
    without_key.send(method, path, &query, headers, body).expect("an answer")
}

#[test]
fn headers_in_the_query_hold_as_those_of_the_request_do() {
    let (_store, rig, client) = served();
    client.put("/bucket/target", b"old").expect(200);
    let put = |query: &[(&str, &str)], body: &[u8]| {
        use_url(&client, ("PUT", "/bucket/target"), query, &[], body)
    };
    // A copy, and not an empty object.
    let query = [("x-amz-copy-source", "/bucket/source"), ("x-id", "CopyObject")];
    assert_eq!(put(&query, b"").expect(200).all("ETag").len(), 1);
    assert_eq!(client.get("/bucket/target").expect(200).body, b"source");
    // Tags and metadata.
    put(&[("x-amz-tagging", "a=b"), ("x-amz-meta-k", "v w")], b"hello").expect(200);
    let tags = client.ask("GET", "/bucket/target", &[("tagging", "")]).expect(200);
    assert_eq!((tags.all("Key"), tags.all("Value")), (vec!["a".to_owned()], vec!["b".to_owned()]));
    let got = client.get("/bucket/target").expect(200);
    assert_eq!((&got.body[..], &*got.headers["x-amz-meta-k"]), (&b"hello"[..], "v w"));
    // The checksum of an empty body, as SDKs for JavaScript have it, and parameters of others.
    let query = [
        ("x-amz-checksum-crc32", "AAAAAA=="),
        ("x-amz-sdk-checksum-algorithm", "CRC32"),
        ("x-id", "PutObject"),
    ];
    put(&query, b"other").expect(200);
    let large = bytes(1, 5_000_000);
    put(&[("Content-Type", "video/mp4"), ("x", "1")], &large).expect(200);
    assert!(client.get("/bucket/target").expect(200).body == large);
    put(&[], b"hello").expect(200);
    for (name, value, status) in [
        ("x-amz-server-side-encryption", "AES256", 501),
        ("X-Amz-Acl", "public-read", 400),
        ("x-amz-storage-class", "GLACIER", 501),
        ("x-amz-meta-k", "two\nlines", 400),
    ] {
        put(&[(name, value)], b"other").expect(status);
    }
    assert_eq!(client.get("/bucket/target").expect(200).body, b"hello");
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_header_that_is_neither_signed_nor_in_the_query_is_refused() {
    let (_store, rig, client) = served();
    let with = |query: &[(&str, &str)], value: &str| {
        let headers = [("x-amz-copy-source", value)];
        use_url(&client, ("PUT", "/bucket/target"), query, &headers, b"").status
    };
    assert_eq!(with(&[], "/bucket/source"), 403);
    assert_eq!(with(&[("x-amz-copy-source", "/bucket/other")], "/bucket/source"), 403);
    assert_eq!(with(&[("x-amz-copy-source", "/bucket/source")], "/bucket/source"), 200);
    // Without a signature in the query such a parameter would be ignored.
    let query = [("x-amz-tagging", "a=b")];
    let ignored = client.send("PUT", "/bucket/target", &query, &[], b"a").expect("an answer");
    assert_eq!(ignored.status, 501);
    assert_eq!(rig.stop(), 0);
}
