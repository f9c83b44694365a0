//! Buckets in the name of the host.

use std::io::Write;
use std::net::TcpStream;

use crate::client::{Answer, read_answer};
use crate::rig::{Medium, Rig, Store};

/// Sends a request to a host of this name.
fn ask(rig: &Rig, method: &str, host: &str, target: &str, body: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(rig.address).expect("a connection");
    let (port, length) = (rig.address.port(), body.len());
    let head = format!(
        "{method} {target} HTTP/1.1\r\nhost: {host}:{port}\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat()).expect("a request");
    read_answer(&mut stream, method).expect("an answer")
}

#[test]
fn a_bucket_below_a_domain_of_the_server_is_the_one_of_the_path() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start_with(&store, |options| options.domains = vec!["localhost".into()]);
    let client = rig.client();
    let host = "bucket.localhost";
    ask(&rig, "PUT", host, "/", b"").expect(200);
    let large = vec![7; 200_000];
    for (target, body) in [("/a", &b"small"[..]), ("/x/large", &large), ("/-/health", b"a key")] {
        ask(&rig, "PUT", host, target, body).expect(200);
        assert_eq!(ask(&rig, "GET", host, target, b"").expect(200).body, body);
        assert_eq!(client.get(&format!("/bucket{target}")).expect(200).body, body);
    }
    let listed = ask(&rig, "GET", host, "/?list-type=2", b"").expect(200);
    assert_eq!(listed.all("Key"), ["-/health", "a", "x/large"]);
    ask(&rig, "DELETE", host, "/a?x-id=DeleteObject", b"").expect(204);
    client.get("/bucket/a").expect(404);
    // The pages of the server are at its own name.
    assert!(ask(&rig, "GET", "localhost", "/-/health", b"").expect(200).text().contains("ok"));
    assert_eq!(rig.stop(), 0);
}

#[test]
fn without_the_domain_a_request_about_an_object_makes_and_deletes_no_bucket() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    client.put("/marker", b"").expect(200);
    let host = "bucket.localhost";
    for (method, target) in [
        ("PUT", "/new?x-id=PutObject"),
        ("DELETE", "/marker?x-id=DeleteObject"),
        ("GET", "/?list-type=2&prefix="),
    ] {
        let refused = ask(&rig, method, host, target, b"").expect(400);
        assert!(refused.text().contains("--domain"), "{}", refused.text());
    }
    assert_eq!(client.get("/").expect(200).all("Name"), ["bucket", "marker"]);
    assert_eq!(rig.stop(), 0);
}
