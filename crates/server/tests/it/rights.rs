//! Keys, rights, signatures, and addresses.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use terrace_env::runner;
use terrace_server::{Server, ServerOptions, StartError};

use crate::client::read_answer;
use crate::rig::{Medium, Rig, Store, keys};

const KEYS: &str = "
[[key]]
access = 'admin'
secret = 'admin-admin-admin'
buckets = { '*' = 'write' }
[[key]]
access = 'reader'
secret = 'reader-reader-reader'
buckets = { pub = 'read' }
";

#[test]
fn a_key_reads_and_writes_the_buckets_that_it_may() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start_with(&store, |options| options.keys = keys(KEYS));
    let admin = rig.client_as("admin", "admin-admin-admin");
    let reader = rig.client_as("reader", "reader-reader-reader");
    for bucket in ["/pub", "/own"] {
        admin.put(bucket, b"").expect(200);
        admin.put(&format!("{bucket}/a ü"), b"bytes").expect(200);
    }
    assert_eq!(reader.get("/pub/a ü").expect(200).body, b"bytes");
    assert_eq!(reader.get("/").expect(200).all("Name"), ["pub"]);
    assert_eq!(admin.get("/").expect(200).all("Name"), ["own", "pub"]);
    for answer in [
        reader.put("/pub/b", b""),
        reader.delete("/pub/a ü"),
        reader.get("/own/a ü"),
        reader.put("/new-one", b""),
        rig.client().get("/pub/a ü"),
        rig.client().get("/"),
    ] {
        assert_eq!(answer.expect(403).all("Code"), ["AccessDenied"]);
    }
    let copy = [("x-amz-copy-source", "/own/a%20%C3%BC")];
    let copied = reader.send("PUT", "/pub/c", &[], &copy, b"").unwrap();
    assert_eq!(copied.expect(403).all("Code"), ["AccessDenied"]);
    let wrong = rig.client_as("admin", "reader-reader-reader").get("/");
    assert_eq!(wrong.expect(403).all("Code"), ["SignatureDoesNotMatch"]);
    let unknown = rig.client_as("unknown", "reader-reader-reader").get("/");
    assert_eq!(unknown.expect(403).all("Code"), ["InvalidAccessKeyId"]);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_header_that_the_client_has_not_signed_is_refused() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start_with(&store, |options| options.keys = keys(KEYS));
    let admin = rig.client_as("admin", "admin-admin-admin");
    admin.put("/own", b"").expect(200);
    admin.put("/own/secret", b"secret").expect(200);
    admin.put("/pub", b"").expect(200);
    // The signed request is a put of no bytes; the header makes it a copy.
    let head = admin.head("PUT", "/pub/a", &[], &[], 0, b"");
    let forged = head.replacen("\r\n", "\r\nx-amz-copy-source: /own/secret\r\n", 1);
    let mut stream = TcpStream::connect(rig.address).unwrap();
    stream.write_all(forged.as_bytes()).unwrap();
    let answer = read_answer(&mut stream, "PUT").unwrap();
    assert_eq!(answer.expect(403).all("Code"), ["AccessDenied"]);
    admin.get("/pub/a").expect(404);
    let copy = [("x-amz-copy-source", "/own/secret")];
    admin.send("PUT", "/pub/a", &[], &copy, b"").unwrap().expect(200);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_body_that_is_not_the_signed_one_is_the_clients_error() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start_with(&store, |options| options.keys = keys(KEYS));
    let admin = rig.client_as("admin", "admin-admin-admin");
    admin.put("/pub", b"").expect(200);
    let region = b"<CreateBucketConfiguration/>";
    let keys = b"<Delete><Object><Key>a</Key></Object></Delete>";
    type Request<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a [u8]);
    let requests: [Request<'_>; 4] = [
        ("PUT", "/new", &[], region),
        ("POST", "/pub", &[("delete", "")], keys),
        ("PUT", "/pub/a", &[], b"bytes"),
        ("PUT", "/pub/a", &[("tagging", "")], b"<Tagging/>"),
    ];
    for (method, path, query, body) in requests {
        let mut other = body.to_vec();
        *other.last_mut().unwrap() ^= 1;
        let head = admin.head(method, path, query, &[], body.len(), &other);
        let mut stream = TcpStream::connect(rig.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let answer = read_answer(&mut stream, method).unwrap();
        assert_eq!(
            answer.expect(400).all("Code"),
            ["XAmzContentSHA256Mismatch"],
            "{method} {path}"
        );
    }
    assert_eq!(admin.get("/").expect(200).all("Name"), ["pub"]);
    admin.get("/pub/a").expect(404);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn without_keys_only_programs_of_this_machine_are_served() {
    let store = Store::new(Medium::Directory, 0);
    let listen = SocketAddr::from(([0, 0, 0, 0], 0));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let options = ServerOptions { listen, ..ServerOptions::default() };
    let started = runtime.block_on(Server::start(store.open(), options));
    assert!(matches!(started, Err(StartError::Unsafe(_))));

    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/pub", b"").expect(200);
    for headers in [[("origin", "http://example.org")], [("host", "example.org")]] {
        let answer = client.send("GET", "/pub", &[], &headers, b"").unwrap();
        assert!([400, 403].contains(&answer.status), "{}", answer.text());
    }
    // A form of a page: no key, and no preflight.
    let form = [("content-type", "multipart/form-data; boundary=x")];
    let field = "--x\r\ncontent-disposition: form-data; name=";
    let file = "\"file\"; filename=\"f\"\r\n\r\nb\r\n--x--\r\n";
    let body = format!("{field}\"key\"\r\n\r\nk\r\n{field}{file}");
    let answer = client.send("POST", "/pub", &[], &form, body.as_bytes()).unwrap();
    assert!(answer.status >= 400, "{}", answer.text());
    client.get("/pub/k").expect(404);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn pages_for_the_operator_answer() {
    let store = Store::new(Medium::Image, 64);
    let rig = Rig::start_with(&store, |options| options.keys = keys(KEYS));
    let client = rig.client();
    assert_eq!(client.get("/-/health").expect(200).text(), "ok\n");
    rig.client_as("admin", "admin-admin-admin").put("/pub", b"").expect(200);
    let lines = [
        "terrace_server_requests_total{operation=\"CreateBucket\",status=\"200\"} 1",
        "terrace_server_connections 1",
    ];
    // The connections of the requests before may still be closing.
    let begun = runner::now();
    let text = loop {
        let text = client.get("/-/metrics").expect(200).text();
        let missing = lines.into_iter().find(|line| !text.lines().any(|found| found == *line));
        let Some(line) = missing else { break text };
        let is_late = runner::now().since(begun) > Duration::from_secs(10);
        assert!(!is_late, "{line} in {text}");
        runner::sleep(Duration::from_millis(20));
    };
    assert!(text.contains("terrace_io_written_bytes{cause=\"log\"} "), "{text}");
    assert!(text.contains("terrace_space_for_puts "), "{text}");
    assert!(client.get("/-/stats.json").expect(200).text().starts_with('{'));
    client.get("/-/other").expect(404);
    client.put("/-/health", b"").expect(405);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn pages_for_the_operator_are_for_no_page_of_a_browser_unless_they_are_open() {
    let store = Store::new(Medium::Directory, 0);
    for (is_open, status) in [(false, 403), (true, 200)] {
        let rig = Rig::start_with(&store, |options| {
            options.keys = keys(KEYS);
            options.admin_open = is_open;
        });
        for header in ["host: rebound.example.org:9000", "host: localhost\r\norigin: http://a.b"] {
            let mut stream = TcpStream::connect(rig.address).unwrap();
            write!(stream, "GET /-/stats.json HTTP/1.1\r\n{header}\r\nconnection: close\r\n\r\n")
                .unwrap();
            read_answer(&mut stream, "GET").unwrap().expect(status);
        }
        for host in ["localhost:9000", "127.0.0.1", "[::1]:9000"] {
            let mut stream = TcpStream::connect(rig.address).unwrap();
            write!(stream, "GET /-/health HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")
                .unwrap();
            read_answer(&mut stream, "GET").unwrap().expect(200);
        }
        assert_eq!(rig.stop(), 0);
    }
}

#[test]
fn the_live_page_gets_a_whole_frame_and_then_changes() {
    let store = Store::new(Medium::Image, 64);
    let rig = Rig::start_with(&store, |options| options.title = "a <store>".to_owned());
    let client = rig.client();
    let page = client.get("/-/").expect(200).text();
    assert!(page.starts_with("<!doctype html>"), "{page:.200}");
    assert!(page.contains("Terrace: a &lt;store") && !page.contains("a <store>"), "{page:.400}");
    // A body in a file of its own: cells of zones still tell levels, not lifetimes.
    client.put("/bucket", b"").expect(200);
    client.put("/bucket/large", &[7; 200 << 10]).expect(200);
    let frame = |after: &[(&str, &str)]| -> serde_json::Value {
        let answer = client.ask("GET", "/-/live.json", after).expect(200);
        serde_json::from_str(&answer.text()).expect("JSON")
    };
    let whole = frame(&[]);
    let number = whole["number"].as_u64().expect("a number");
    assert!(whole["after"].is_null() && number > 0, "{whole}");
    assert_eq!(whole["shape"]["has_names"], false, "{whole}");
    let later = frame(&[("after", &number.to_string())]);
    assert_eq!(later["after"], number, "{later}");
    // A frame that was never sent: the page begins anew.
    assert!(frame(&[("after", "9999")])["after"].is_null());
    assert!(frame(&[("after", "x")])["after"].is_null());
    client.get("/-/live.js").expect(404);
    assert_eq!(rig.stop(), 0);
}
