//! Clients that send nonsense, parts of requests, or nothing, and those that take no bytes: others
//! are served meanwhile, and the server ends in order.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use terrace_env::random::{Random, RngCore};
use terrace_env::{runner, test_seeds};

use crate::rig::{Medium, Rig, Store, bytes};

/// Longest time for a small request while others misbehave, on a slow machine.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn below(random: &mut Random, end: usize) -> usize {
    (random.next_u64() % end as u64) as usize
}

/// A request of which a part is left out, changed or doubled.
pub(crate) fn malformed(random: &mut Random) -> Vec<u8> {
    let methods = ["GET", "PUT", "POST", "DELETE", "HEAD", "OPTIONS", "", "G\0T"];
    let paths = [
        "/",
        "/bucket",
        "/bucket/a",
        "/bucket?uploads",
        "/bucket/a?uploadId=zz&partNumber=0",
        "/bucket?list-type=2&max-keys=x&continuation-token=%ff",
        "//",
        "/%ff/%00",
        "/bucket?delete",
        "/../..",
        "/-/metrics",
        "/bucket/a?X-Amz-Signature=0&X-Amz-Algorithm=x",
        "*",
        "",
    ];
    let headers = [
        "content-length: 5",
        "content-length: -1",
        "content-length: 99999999999999999999",
        "transfer-encoding: chunked",
        "range: bytes=9-1",
        "x-amz-copy-source: ///",
        "x-amz-date: 1",
        "authorization: AWS4-HMAC-SHA256 x",
        "x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        "if-none-match: \"",
        "x-amz-tagging: %",
        "content-md5: !",
        "expect: 100-continue",
        "x-amz-decoded-content-length: x",
        "host: a\u{1}b",
        ": none",
    ];
    let mut request = format!(
        "{} {} HTTP/1.1\r\nhost: localhost\r\n",
        methods[below(random, methods.len())],
        paths[below(random, paths.len())]
    );
    for _ in 0..below(random, 4) {
        request += headers[below(random, headers.len())];
        request += "\r\n";
    }
    request += "\r\n";
    let mut bytes = request.into_bytes();
    match below(random, 4) {
        0 => bytes.truncate(below(random, bytes.len())),
        1 => {
            let at = below(random, bytes.len());
            bytes[at] = random.next_u32() as u8;
        }
        2 => bytes.extend(b"<Delete><Object><Key>&#0;</Key></Object>"),
        _ => {}
    }
    bytes
}

/// Checks that an answer to a malformed request is one of HTTP. A request that one changed byte has
/// made one of HTTP/1.0 has an answer of this version.
pub(crate) fn check_answer(answer: &[u8]) {
    let is_answer = [&b"HTTP/1.1 "[..], b"HTTP/1.0 "].iter().any(|begin| answer.starts_with(begin));
    assert!(answer.is_empty() || is_answer, "{:?}", String::from_utf8_lossy(answer));
}

#[test]
fn malformed_and_half_sent_requests_leave_the_server_as_it_was() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start_with(&store, |options| options.idle_max = Duration::from_secs(2));
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    client.put("/bucket/kept", b"kept").expect(200);
    for seed in test_seeds(8) {
        let mut random = Random::seeded(seed);
        for _ in 0..500 {
            let mut stream = TcpStream::connect(rig.address).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            // The server may have refused the request meanwhile.
            let _ = stream.write_all(&malformed(&mut random));
            if below(&mut random, 2) == 0 {
                let _ = stream.shutdown(std::net::Shutdown::Write);
                let mut answer = Vec::new();
                let _ = stream.read_to_end(&mut answer);
                check_answer(&answer);
            }
        }
        assert_eq!(client.get("/bucket/kept").expect(200).body, b"kept", "seed {seed}");
        client.get("/-/health").expect(200);
    }
    assert_eq!(rig.stop(), 0);
    store.check();
}

#[test]
fn a_request_of_an_old_version_has_an_answer() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let mut stream = TcpStream::connect(rig.address).unwrap();
    stream.write_all(b"GET /-/health HTTP/1.0\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.0 200 "), "{:?}", String::from_utf8_lossy(&answer));
    check_answer(&answer);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_head_that_is_too_long_is_refused() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    let long = "x".repeat(100 << 10);
    let answer = client.send("GET", "/", &[], &[("x-long", &long)], b"");
    assert!(answer.is_err() || answer.unwrap().status == 431);
    let names: Vec<String> = (0..300).map(|number| format!("x-{number}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
    let answer = client.send("GET", "/", &[], &many, b"");
    assert!(answer.is_err() || answer.unwrap().status == 431);
    client.get("/").expect(200);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_form_is_refused_by_its_head_before_its_bytes_come() {
    let store = Store::new(Medium::Directory, 0);
    let secrets = "[[key]]\naccess = 'a'\nsecret = '0123456789abcdef'\nbuckets = {}";
    let rig = Rig::start_with(&store, |options| options.keys = crate::rig::keys(secrets));
    let client = rig.client();
    for content_type in ["multipart/form-data; boundary=x", "Multipart/Form-Data;boundary=x"] {
        let mut stream = TcpStream::connect(rig.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // The client has no key, and would send 4 GiB.
        let headers = [("content-type", content_type)];
        let head = client.head("POST", "/bucket", &[], &headers, 4 << 30, b"");
        stream.write_all(head.as_bytes()).unwrap();
        let part = "--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n";
        // The server may have refused the request meanwhile.
        let _ = stream.write_all(part.as_bytes());
        let answer = crate::client::read_answer(&mut stream, "POST").unwrap();
        assert_eq!(answer.expect(501).all("Code"), ["NotImplemented"], "{content_type}");
    }
    assert_eq!(rig.stop(), 0);
}

/// Older versions of `botocore` send such requests for empty files.
#[test]
fn a_connection_ends_after_a_request_that_expects_a_word_for_an_empty_body() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    rig.client().put("/bucket", b"").expect(200);
    let sent = |expect: &str, length: usize| {
        let mut stream = TcpStream::connect(rig.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "PUT /bucket/object HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\
             {expect}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&vec![7; length]).unwrap();
        stream
    };
    let answer_to = |expect: &str| {
        let answer = crate::client::read_answer(&mut sent(expect, 0), "PUT").unwrap();
        (answer.status, answer.headers.get("connection").cloned())
    };
    assert_eq!(answer_to("expect: 100-continue\r\n"), (200, Some("close".to_owned())));
    assert_eq!(answer_to(""), (200, None));
    let mut word = [0; 12];
    sent("expect: 100-continue\r\n", 5).read_exact(&mut word).unwrap();
    assert_eq!(word, *b"HTTP/1.1 100", "it comes before the answer");
    assert_eq!(rig.stop(), 0);
}

/// As most clients do.
#[test]
fn a_client_that_sends_its_whole_body_before_it_reads_gets_the_error() {
    let store = Store::new(Medium::Image, 128);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    let body = bytes(1, 20 << 20);
    let put = |path: &str| {
        let mut stream = TcpStream::connect(rig.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = client.head("PUT", path, &[], &[], body.len(), &body);
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&body).expect("all bytes are taken");
        crate::client::read_answer(&mut stream, "PUT").unwrap()
    };
    let absent = put("/absent/object").expect(404);
    assert_eq!(absent.all("Code"), ["NoSuchBucket"]);
    assert_eq!(absent.headers["connection"], "close");
    let full = (0..1000).map(|number| put(&format!("/bucket/{number}")));
    let full = full.into_iter().find(|answer| answer.status != 200).expect("a full drive");
    assert_eq!(full.expect(507).all("Code"), ["InsufficientStorage"]);
    assert_eq!(rig.stop(), 0);
    store.check();
}

#[test]
fn idle_connections_and_slow_clients_hold_up_no_others_and_are_cut_off() {
    let store = Store::new(Medium::Image, 128);
    let rig = Rig::start_with(&store, |options| {
        options.idle_max = Duration::from_secs(3);
        options.piece_time_max = Duration::from_secs(3);
        options.end_max = Duration::from_secs(20);
    });
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    client.put("/bucket/big", &bytes(1, 24 << 20)).expect(200);
    let connect = || TcpStream::connect(rig.address).unwrap();
    let idle: Vec<TcpStream> = (0..200).map(|_| connect()).collect();
    // They ask for an object, and take none of its bytes.
    let readers: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = connect();
            let head = client.head("GET", "/bucket/big", &[], &[], 0, b"");
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    // They announce a body, and send a part of it.
    let writers: Vec<TcpStream> = (0..20)
        .map(|number| {
            let mut stream = connect();
            let path = format!("/bucket/slow{number}");
            let head = client.head("PUT", &path, &[], &[], 3_000_000, b"");
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(&bytes(2, 700_000)).unwrap();
            stream
        })
        .collect();
    // They announce a list of keys, and send a part of it.
    let lists: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = connect();
            let head = client.head("POST", "/bucket", &[("delete", "")], &[], 500, b"");
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(b"<Delete>").unwrap();
            stream
        })
        .collect();
    for number in 0..30 {
        let begun = runner::now();
        let body = bytes(number, 200_000);
        client.put("/bucket/quick", &body).expect(200);
        assert!(client.get("/bucket/quick").expect(200).body == body);
        let taken = runner::now().since(begun);
        assert!(taken < PATIENCE, "{taken:?} for a put and a get");
    }
    // Each is ended by the server.
    for mut stream in idle.into_iter().chain(writers).chain(lists) {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut answer = Vec::new();
        let ended = stream.read_to_end(&mut answer);
        let is_reset = |error: &std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
        assert!(ended.as_ref().is_ok() || ended.as_ref().is_err_and(is_reset), "{ended:?}");
    }
    runner::sleep(Duration::from_secs(4));
    for mut stream in readers {
        let mut taken = Vec::new();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let _ = stream.read_to_end(&mut taken);
        assert!(taken.len() < 24 << 20, "cut off, after {} bytes", taken.len());
    }
    assert_eq!(rig.objects.body_files(), 2, "of `big` and `quick`");
    assert_eq!(rig.stop(), 0);
    store.check();
}

#[test]
fn a_request_in_flight_is_finished_at_the_end() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    let body = bytes(1, 2_000_000);
    let mut stream = TcpStream::connect(rig.address).unwrap();
    let head = client.head("PUT", "/bucket/late", &[], &[], body.len(), &body);
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&body[..1_000_000]).unwrap();
    let rest = body[1_000_000..].to_vec();
    let putting = runner::spawn("put", move || {
        runner::sleep(Duration::from_millis(500));
        stream.write_all(&rest).unwrap();
        crate::client::read_answer(&mut stream, "PUT").unwrap().status
    });
    runner::sleep(Duration::from_millis(100));
    assert_eq!(rig.stop(), 0);
    assert_eq!(putting.join(), 200);
    let rig = Rig::start(&store);
    assert!(rig.client().get("/bucket/late").expect(200).body == body);
    assert_eq!(rig.stop(), 0);
}
