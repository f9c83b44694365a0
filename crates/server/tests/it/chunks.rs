//! Bodies in signed chunks, as most clients send them: their length and their checksums hold.

use std::io::Write as _;
use std::net::TcpStream;

use s3s::crypto::{Checksum as _, Crc32};

use crate::client::{Answer, Client, read_answer};
use crate::rig::{Medium, Rig, Store, bytes, keys};

const KEYS: &str = "
[[key]]
access = 'admin'
secret = 'admin-admin-admin'
buckets = { '*' = 'write' }
";

/// Puts a body that comes in chunks, with the announced length of its content.
fn put(client: &Client, path: &str, announced: usize, body: &[u8]) -> Answer {
    let announced = announced.to_string();
    let headers = [
        ("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"),
        ("x-amz-decoded-content-length", announced.as_str()),
        ("x-amz-trailer", "x-amz-checksum-crc32"),
        ("content-encoding", "aws-chunked"),
    ];
    client.send("PUT", path, &[], &headers, body).expect("an answer")
}

fn chunk(content: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", content.len()).as_bytes(), content, b"\r\n"].concat()
}

fn end(content: &[u8]) -> Vec<u8> {
    let crc = base64_simd::STANDARD.encode_to_string(Crc32::checksum(content));
    format!("0\r\nx-amz-checksum-crc32:{crc}\r\n\r\n").into_bytes()
}

#[test]
fn a_body_in_chunks_has_the_announced_length_and_checksum() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start_with(&store, |options| options.keys = keys(KEYS));
    let client = rig.client_as("admin", "admin-admin-admin");
    client.put("/bucket", b"").expect(200);
    // As an entry, as a file, and in chunks that the server divides.
    for size in [100, 300_000, 3_000_000] {
        let content = bytes(size as u64, size);
        let (first, last) = content.split_at(size / 2);
        let whole = [chunk(first), chunk(last), end(&content)].concat();
        let refused = |announced: usize, body: &[u8]| {
            let answer = put(&client, "/bucket/refused", announced, body).expect(400);
            answer.all("Code").remove(0)
        };
        put(&client, "/bucket/whole", size, &whole).expect(200);
        let got = client.get("/bucket/whole").expect(200);
        assert!(got.body == content && !got.headers.contains_key("content-encoding"));
        let short = [chunk(first), end(first)].concat();
        assert_eq!(refused(size, &short), "IncompleteBody", "{size}");
        assert_eq!(refused(size, &chunk(first)), "IncompleteBody", "no end, {size}");
        assert_eq!(refused(size - 1, &whole), "IncompleteBody", "too long, {size}");
        let bare = [chunk(&content), b"0\r\n\r\n".to_vec()].concat();
        assert_eq!(refused(size, &bare), "MalformedTrailerError", "{size}");
        let other = [chunk(&content), end(first)].concat();
        assert_eq!(refused(size, &other), "BadDigest", "{size}");
    }
    // A file of 300,000 bytes is announced as an entry.
    let content = bytes(1, 300_000);
    let body = [chunk(&content), end(&content)].concat();
    put(&client, "/bucket/refused", 2, &body).expect(400);
    client.get("/bucket/refused").expect(404);
    assert_eq!(rig.objects.body_files(), 1, "of the whole one");
    assert_eq!(rig.stop(), 0);
    store.check();
}

#[test]
fn chunks_without_a_signature_are_no_object() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    let body = [chunk(b"content"), end(b"content")].concat();
    put(&client, "/bucket/a", 7, &body).expect(501);
    client.get("/bucket/a").expect(404);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_list_of_keys_that_is_damaged_on_its_way_deletes_none() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    client.put("/bucket/a", b"a").expect(200);
    let sent = b"<Delete><Object><Key>a</Key></Object></Delete>";
    let mut meant = sent.to_vec();
    meant[21] = b'b';
    let of = |body: &[u8]| base64_simd::STANDARD.encode_to_string(Crc32::checksum(body));
    let delete = |crc: &str| {
        let headers = [("x-amz-checksum-crc32", crc)];
        let mut stream = TcpStream::connect(rig.address).unwrap();
        let query = [("delete", "")];
        let head = client.head("POST", "/bucket", &query, &headers, sent.len(), sent);
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(sent).unwrap();
        read_answer(&mut stream, "POST").unwrap()
    };
    assert_eq!(delete(&of(&meant)).expect(400).all("Code"), ["BadDigest"]);
    client.get("/bucket/a").expect(200);
    assert_eq!(delete(&of(sent)).expect(200).all("Key"), ["a"]);
    client.get("/bucket/a").expect(404);
    assert_eq!(rig.stop(), 0);
}
