//! Objects as a client sees them: puts, gets, conditions, lists, copies, uploads in parts.

use s3s::crypto::{Checksum as _, Crc32, Md5};
use terrace_env::runner;
use terrace_server::objects::CHUNK;

use crate::client::{Answer, Client};
use crate::rig::{MEDIA, Medium, Rig, Store, bytes};

fn etag(body: &[u8]) -> String {
    let md5 = Md5::checksum(body);
    format!("\"{}\"", md5.map(|byte| format!("{byte:02x}")).concat())
}

fn with(client: &Client, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    client.send(method, path, &[], headers, b"").expect("an answer")
}

fn upload(client: &Client, path: &str) -> String {
    let begun = client.ask("POST", path, &[("uploads", "")]).expect(200);
    begun.all("UploadId").remove(0)
}

fn part(client: &Client, path: &str, id: &str, number: &str, body: &[u8]) -> Answer {
    let query = [("partNumber", number), ("uploadId", id)];
    client.send("PUT", path, &query, &[], body).expect("an answer")
}

fn complete(client: &Client, path: &str, id: &str, parts: &[(&str, &str)]) -> Answer {
    let parts: String = parts
        .iter()
        .map(|(number, etag)| {
            format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>")
        })
        .collect();
    let body = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
    client.send("POST", path, &[("uploadId", id)], &[], body.as_bytes()).expect("an answer")
}

#[test]
fn bodies_of_all_sizes_and_their_ranges_come_back() {
    for medium in MEDIA {
        let store = Store::new(medium, 256);
        let rig = Rig::start(&store);
        let client = rig.client();
        client.put("/bucket", b"").expect(200);
        let kib = 1 << 10;
        for (seed, size) in [0, 1, 64 * kib, 64 * kib + 1, CHUNK - 1, CHUNK, CHUNK + 1, 3_000_001]
            .iter()
            .enumerate()
        {
            let body = bytes(seed as u64, *size);
            let put = client.put("/bucket/a/ü +&", &body).expect(200);
            assert_eq!(put.headers["etag"], etag(&body));
            let got = client.get("/bucket/a/ü +&").expect(200);
            assert!(got.body == body && got.headers["etag"] == etag(&body), "{size} bytes");
            let head = with(&client, "HEAD", "/bucket/a/ü +&", &[]).expect(200);
            assert_eq!(head.headers["content-length"], size.to_string());
            assert_eq!(head.headers["content-type"], "binary/octet-stream");
            for (from, to) in
                [(0, 0), (size / 2, size - size / 3), (size.saturating_sub(9), size + 9)]
            {
                let range = format!("bytes={from}-{to}");
                let got = with(&client, "GET", "/bucket/a/ü +&", &[("range", &range)]);
                if from < *size {
                    let end = (to + 1).min(*size);
                    let expected = format!("bytes {from}-{}/{size}", end - 1);
                    let got = got.expect(206);
                    assert_eq!(got.headers["content-range"], expected);
                    assert!(got.body == body[from..end], "{size} bytes, {range}");
                } else {
                    got.expect(416);
                }
            }
        }
        client.delete("/bucket/a/ü +&").expect(204);
        client.get("/bucket/a/ü +&").expect(404);
        client.delete("/bucket/a/ü +&").expect(204);
        assert_eq!(rig.objects.body_files(), 0, "files of replaced bodies are removed");
        client.get("/nothing/a").expect(404);
        assert_eq!(rig.stop(), 0);
        store.check();
    }
}

#[test]
fn a_put_holds_its_conditions_and_one_of_many_is_first() {
    for medium in MEDIA {
        let store = Store::new(medium, 128);
        let rig = Rig::start(&store);
        let client = rig.client();
        client.put("/bucket", b"").expect(200);
        let calls: Vec<_> = (0..12)
            .map(|number| {
                let client = client.clone();
                runner::spawn("put", move || {
                    let body = bytes(number, if number % 2 == 0 { 10 } else { 100_000 });
                    let once = [("if-none-match", "*")];
                    let put = client.send("PUT", "/bucket/once", &[], &once, &body).unwrap();
                    (put.status, body)
                })
            })
            .collect();
        let answers: Vec<_> = calls.into_iter().map(runner::JoinHandle::join).collect();
        let mut first = answers.iter().filter(|(status, _)| *status == 200);
        let (_, body) = first.next().expect("one is first");
        assert!(first.next().is_none(), "one of them");
        assert!(answers.iter().all(|(status, _)| [200, 412].contains(status)));
        assert!(client.get("/bucket/once").expect(200).body == *body);
        assert!(rig.objects.body_files() <= 1, "files of refused puts are removed");
        let replaced = |etag: &str, body: &[u8]| {
            client.send("PUT", "/bucket/once", &[], &[("if-match", etag)], body).unwrap().status
        };
        assert_eq!(replaced("\"other\"", b"x"), 412);
        assert_eq!(replaced(&etag(body), b"next"), 200);
        let absent =
            client.send("PUT", "/bucket/none", &[], &[("if-match", "\"x\"")], b"").unwrap();
        absent.expect(404);
        let known = etag(b"next");
        with(&client, "GET", "/bucket/once", &[("if-none-match", &known)]).expect(304);
        with(&client, "GET", "/bucket/once", &[("if-match", "\"other\"")]).expect(412);
        let (past, future) = ("Mon, 01 Jan 2001 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT");
        with(&client, "GET", "/bucket/once", &[("if-modified-since", future)]).expect(304);
        with(&client, "GET", "/bucket/once", &[("if-modified-since", past)]).expect(200);
        with(&client, "GET", "/bucket/once", &[("if-unmodified-since", past)]).expect(412);
        assert_eq!(rig.stop(), 0);
    }
}

#[test]
fn a_put_holds_a_list_of_etags() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    client.put("/bucket/a", b"old").expect(200);
    let put = |name: &str, value: &str| {
        client.send("PUT", "/bucket/a", &[], &[(name, value)], b"new").unwrap().status
    };
    let list = format!("\"other\", {}", etag(b"old"));
    assert_eq!(put("if-none-match", &list), 412);
    assert_eq!(client.get("/bucket/a").expect(200).body, b"old");
    assert_eq!(put("if-match", &list), 200);
    assert_eq!(put("if-match", &list), 412);
    assert_eq!(put("if-none-match", &list), 200);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_wrong_checksum_is_refused_and_leaves_nothing() {
    let store = Store::new(MEDIA[1], 128);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    for size in [10, 300_000] {
        let body = bytes(1, size);
        for header in [
            ("content-md5", "AAAAAAAAAAAAAAAAAAAAAA=="),
            ("x-amz-checksum-crc32", "AAAAAA=="),
            ("x-amz-checksum-sha256", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
        ] {
            let put = client.send("PUT", "/bucket/a", &[], &[header], &body).unwrap();
            assert_eq!(put.expect(400).all("Code"), ["BadDigest"], "{header:?}");
        }
    }
    client.get("/bucket/a").expect(404);
    // The file of a refused body is discarded when its writer is.
    assert_eq!(rig.objects.body_files(), 0);
    let crc = base64_simd::STANDARD.encode_to_string(s3s::crypto::Crc32::checksum(b"123456789"));
    let headers = [("x-amz-checksum-crc32", crc.as_str())];
    client.send("PUT", "/bucket/a", &[], &headers, b"123456789").unwrap().expect(200);
    let got = with(&client, "GET", "/bucket/a", &[("x-amz-checksum-mode", "ENABLED")]);
    assert_eq!(got.expect(200).headers["x-amz-checksum-crc32"], crc);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn an_upload_becomes_the_object_of_its_parts() {
    for medium in MEDIA {
        let store = Store::new(medium, 128);
        let rig = Rig::start(&store);
        let client = rig.client();
        client.put("/bucket", b"").expect(200);
        client.put("/bucket/big", b"old").expect(200);
        let (one, two) = (bytes(1, 5 << 20), bytes(2, 70_000));
        let id = upload(&client, "/bucket/big");
        part(&client, "/bucket/big", &id, "1", b"replaced").expect(200);
        let first = part(&client, "/bucket/big", &id, "1", &one).expect(200);
        let last = part(&client, "/bucket/big", &id, "7", &two).expect(200);
        part(&client, "/bucket/big", &id, "9", b"not chosen").expect(200);
        part(&client, "/bucket/big", &id, "10001", b"").expect(400);
        let query = [("uploadId", id.as_str())];
        let listed = client.ask("GET", "/bucket/big", &query).expect(200);
        assert_eq!(listed.all("PartNumber"), ["1", "7", "9"]);
        let listed = client.ask("GET", "/bucket", &[("uploads", "")]).expect(200);
        assert_eq!(
            (listed.all("Key"), listed.all("UploadId")),
            (vec!["big".into()], vec![id.clone()])
        );
        let (first, last) = (&first.headers["etag"], &last.headers["etag"]);
        let refused = |parts: &[(&str, &str)]| {
            complete(&client, "/bucket/big", &id, parts).expect(400).all("Code").remove(0)
        };
        assert_eq!(refused(&[("7", last), ("1", first)]), "InvalidPartOrder");
        assert_eq!(refused(&[("1", last)]), "InvalidPart");
        assert_eq!(refused(&[("7", last), ("9", &etag(b"not chosen"))]), "EntityTooSmall");
        assert_eq!(client.get("/bucket/big").expect(200).body, b"old");
        client.delete("/bucket").expect(409);
        let done = complete(&client, "/bucket/big", &id, &[("1", first), ("7", last)]).expect(200);
        let md5s = [Md5::checksum(&one), Md5::checksum(&two)].concat();
        let whole = etag(&md5s).replacen('"', "", 1).replace('"', "-2");
        assert!(done.text().contains(&whole), "{}", done.text());
        let got = client.get("/bucket/big").expect(200);
        assert!(got.body == [&one[..], &two].concat(), "the parts in order");
        let range = [("range", "bytes=5242870-5242889")];
        let got = with(&client, "GET", "/bucket/big", &range).expect(206);
        assert_eq!(got.body, [&one[one.len() - 10..], &two[..10]].concat());
        assert_eq!(rig.objects.body_files(), 2);
        complete(&client, "/bucket/big", &id, &[("1", first)]).expect(404);
        // A client that has not got the answer.
        let again = complete(&client, "/bucket/big", &id, &[("1", first), ("7", last)]);
        assert!(again.expect(200).text().contains(&whole));
        assert_eq!(rig.objects.body_files(), 2);
        let id = upload(&client, "/bucket/other");
        part(&client, "/bucket/other", &id, "1", &two).expect(200);
        let aborted = client.ask("DELETE", "/bucket/other", &[("uploadId", &id)]);
        aborted.expect(204);
        assert_eq!(rig.objects.body_files(), 2);
        part(&client, "/bucket/other", &id, "2", b"x").expect(404);
        assert_eq!(rig.stop(), 0);
        store.check();
    }
}

#[test]
fn lists_go_on_where_they_ended_and_group_by_delimiter() {
    let store = Store::new(MEDIA[0], 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    let mut keys: Vec<String> = (0..30).map(|at| format!("d{}/x{at:02}", at / 10)).collect();
    keys.extend(["a&b".into(), "d1".into(), "zü".into()]);
    keys.sort();
    for key in &keys {
        client.put(&format!("/bucket/{key}"), b"").expect(200);
    }
    let all = |more: &[(&str, &str)], element: &str| {
        let (mut found, mut token) = (Vec::new(), None::<String>);
        loop {
            let mut query = vec![("list-type", "2"), ("max-keys", "4"), ("encoding-type", "url")];
            query.extend(more);
            if let Some(token) = &token {
                query.push(("continuation-token", token));
            }
            let listed = client.ask("GET", "/bucket", &query).expect(200);
            found.extend(listed.all(element));
            assert!(listed.all("Key").len() <= 4);
            match listed.all("NextContinuationToken").pop() {
                Some(next) => token = Some(next),
                None => return found,
            }
        }
    };
    let encoded: Vec<String> = keys.iter().map(|key| crate::client::encoded(key, true)).collect();
    assert_eq!(all(&[], "Key"), encoded);
    assert_eq!(all(&[("prefix", "d2/")], "Key"), encoded[22..32]);
    let grouped = [("delimiter", "/")];
    assert_eq!(all(&grouped, "Key"), ["a%26b", "d1", "z%C3%BC"]);
    let prefixes: Vec<String> = all(&grouped, "CommonPrefixes");
    let expected = ["d0/", "d1/", "d2/"].map(|prefix| format!("<Prefix>{prefix}</Prefix>"));
    assert_eq!(prefixes, expected);
    let after = client.ask("GET", "/bucket", &[("list-type", "2"), ("start-after", "d2/x28")]);
    assert_eq!(after.expect(200).all("Key"), ["d2/x29", "zü"]);
    let first = [("delimiter", "/"), ("max-keys", "2")];
    let first = client.ask("GET", "/bucket", &first).expect(200);
    assert_eq!(first.all("NextMarker"), ["d0/"]);
    let next = [("delimiter", "/"), ("max-keys", "2"), ("marker", "d0/")];
    let next = client.ask("GET", "/bucket", &next).expect(200);
    assert_eq!((next.all("Key"), next.all("NextMarker")), (vec!["d1".into()], vec!["d1/".into()]));
    let none = client.ask("GET", "/bucket", &[("list-type", "2"), ("max-keys", "0")]).expect(200);
    assert_eq!(none.all("IsTruncated"), ["false"]);
    client.ask("GET", "/bucket", &[("list-type", "2"), ("max-keys", "-1")]).expect(400);
    let empty = [("list-type", "2"), ("continuation-token", ""), ("delimiter", "")];
    let all = client.ask("GET", "/bucket", &empty).expect(200);
    assert!(all.all("Delimiter").is_empty() && all.all("ID").is_empty(), "{}", all.text());
    assert!(!all.all("Key").is_empty());
    let owners = client.ask("GET", "/bucket", &[("list-type", "2"), ("fetch-owner", "true")]);
    let owners = owners.expect(200);
    assert_eq!(owners.all("ID").len(), owners.all("Key").len());
    assert_eq!(rig.stop(), 0);
}

#[test]
fn copies_tags_and_metadata_are_kept() {
    for medium in MEDIA {
        let store = Store::new(medium, 128);
        let rig = Rig::start(&store);
        let client = rig.client();
        client.put("/bucket", b"").expect(200);
        let given = [
            ("content-type", "text/x"),
            ("cache-control", "no-cache"),
            ("x-amz-meta-who", "me"),
            ("x-amz-tagging", "a=b&c=d%20e"),
        ];
        for size in [100, 900_000] {
            let body = bytes(3, size);
            client.send("PUT", "/bucket/from", &[], &given, &body).unwrap().expect(200);
            let source = ("x-amz-copy-source", "/bucket/from");
            with(&client, "PUT", "/bucket/to", &[source]).expect(200);
            let got = client.get("/bucket/to").expect(200);
            assert!(got.body == body);
            assert_eq!(got.headers["content-type"], "text/x");
            assert_eq!(got.headers["x-amz-meta-who"], "me");
            assert_eq!(got.headers["x-amz-tagging-count"], "2");
            let known = ("x-amz-copy-source-if-none-match", got.headers["etag"].as_str());
            let refused = with(&client, "PUT", "/bucket/to", &[source, known]).expect(412);
            assert_eq!(refused.all("Code"), ["PreconditionFailed"], "never `NotModified`");
            let source = ("x-amz-copy-source", "/bucket/to");
            with(&client, "PUT", "/bucket/to", &[source]).expect(400);
            let files = rig.objects.body_files();
            let new = [source, ("x-amz-metadata-directive", "REPLACE"), ("x-amz-meta-who", "you")];
            with(&client, "PUT", "/bucket/to", &new).expect(200);
            let got = client.get("/bucket/to").expect(200);
            assert!(got.body == body && got.headers["x-amz-meta-who"] == "you");
            assert!(!got.headers.contains_key("cache-control"));
            assert_eq!(rig.objects.body_files(), files, "the body stays");
        }
        let tags = client.ask("GET", "/bucket/from", &[("tagging", "")]).expect(200);
        assert_eq!(
            (tags.all("Key"), tags.all("Value")),
            (vec!["a".into(), "c".into()], vec!["b".into(), "d e".into()])
        );
        client.ask("DELETE", "/bucket/from", &[("tagging", "")]).expect(204);
        let tags = client.ask("GET", "/bucket/from", &[("tagging", "")]).expect(200);
        assert!(tags.all("Key").is_empty());
        let body = "<Delete><Object><Key>from</Key></Object><Object><Key>to</Key></Object>\
                    <Object><Key>none</Key></Object></Delete>";
        let query = [("delete", "")];
        let many = client.send("POST", "/bucket", &query, &[], body.as_bytes()).unwrap();
        assert_eq!(many.expect(200).all("Key"), ["from", "to", "none"]);
        client.delete("/bucket").expect(204);
        client.ask("GET", "/bucket", &[("acl", "")]).expect(404);
        assert_eq!(rig.objects.body_files(), 0);
        assert_eq!(rig.stop(), 0);
        store.check();
    }
}

#[test]
fn a_key_in_a_section_of_characters_is_refused_and_not_cut() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    client.put("/bucket/a", b"<![CDATA[a]]>").expect(200);
    for (method, path, query, body) in [
        (
            "POST",
            "/bucket",
            "delete",
            "<Delete><Object><Key>a<![CDATA[b]]></Key></Object></Delete>",
        ),
        (
            "PUT",
            "/bucket/a",
            "tagging",
            "<Tagging><TagSet><Tag><Key>a</Key><Value><<![CDATA[c]]></Value></Tag></TagSet>",
        ),
    ] {
        let answer = client.send(method, path, &[(query, "")], &[], body.as_bytes()).unwrap();
        assert_eq!(answer.expect(400).all("Code"), ["MalformedXML"], "{query}");
    }
    assert_eq!(client.get("/bucket/a").expect(200).body, b"<![CDATA[a]]>");
    assert_eq!(rig.stop(), 0);
}

#[test]
fn what_the_server_does_not_do_is_refused_and_not_ignored() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    client.put("/bucket/a", b"a").expect(200);
    for (method, path, query, body) in [
        ("PUT", "/bucket", "versioning", "<VersioningConfiguration/>"),
        ("GET", "/bucket", "versions", ""),
        ("GET", "/bucket", "lifecycle", ""),
        ("GET", "/bucket", "cors", ""),
        ("GET", "/bucket", "policy", ""),
        ("GET", "/bucket", "object-lock", ""),
        ("GET", "/bucket/a", "retention", ""),
        ("PUT", "/bucket/a", "acl", "<AccessControlPolicy/>"),
    ] {
        let answer = client.send(method, path, &[(query, "")], &[], body.as_bytes()).unwrap();
        assert_eq!(answer.expect(501).all("Code"), ["NotImplemented"], "{query}");
    }
    let locked = [("x-amz-object-lock-mode", "COMPLIANCE")];
    client.send("PUT", "/bucket/b", &[], &locked, b"b").unwrap().expect(501);
    let public = [("x-amz-acl", "public-read")];
    client.send("PUT", "/bucket/b", &[], &public, b"b").unwrap().expect(400);
    client.get("/bucket/b").expect(404);
    client.ask("DELETE", "/bucket/a", &[("versionId", "1")]).expect(404);
    client.ask("GET", "/bucket/a", &[("versionId", "null")]).expect(200);
    // Parts of a bucket and of an object that are no operations of the server.
    for (method, path, query) in [
        ("DELETE", "/bucket", "metadataConfiguration"),
        ("DELETE", "/bucket/a", "acl"),
        ("PUT", "/bucket/a", "renameObject"),
    ] {
        client.ask(method, path, &[(query, "")]).expect(501);
    }
    let many = |inner: &str| {
        let body = format!("<Delete><Object><Key>a</Key>{inner}</Object></Delete>");
        let answer = client.send("POST", "/bucket", &[("delete", "")], &[], body.as_bytes());
        answer.unwrap().expect(200).all("Code")
    };
    assert_eq!(many("<VersionId>1</VersionId>"), ["NoSuchVersion"]);
    assert_eq!(many("<Size>9</Size>"), ["NotImplemented"]);
    let source = [("x-amz-copy-source", "/bucket/a?versionId=1")];
    with(&client, "PUT", "/bucket/b", &source).expect(404);
    let source = [("x-amz-copy-source", "/bucket/a?versionId=null")];
    with(&client, "PUT", "/bucket/b", &source).expect(200);
    assert_eq!(client.get("/bucket/a").expect(200).body, b"a");
    assert_eq!(many("<VersionId>null</VersionId>"), [""; 0]);
    client.get("/bucket/a").expect(404);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_copy_holds_conditions_on_the_object_that_it_replaces() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    client.put("/bucket/from", b"from").expect(200);
    client.put("/bucket/to", b"to").expect(200);
    let copy = |to: &str, condition: (&str, &str)| {
        let own = ("x-amz-metadata-directive", "REPLACE");
        let headers = [("x-amz-copy-source", "/bucket/from"), own, condition];
        with(&client, "PUT", &format!("/bucket/{to}"), &headers).status
    };
    assert_eq!(copy("to", ("if-none-match", "*")), 412);
    assert_eq!(copy("to", ("if-match", "\"other\"")), 412);
    assert_eq!(copy("from", ("if-none-match", "*")), 412);
    assert_eq!(copy("from", ("if-match", "\"other\"")), 412);
    assert_eq!(client.get("/bucket/to").expect(200).body, b"to");
    assert_eq!(copy("new", ("if-none-match", "*")), 200);
    assert_eq!(copy("to", ("if-match", etag(b"to").as_str())), 200);
    assert_eq!(copy("from", ("if-match", etag(b"from").as_str())), 200);
    assert_eq!(client.get("/bucket/to").expect(200).body, b"from");
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_copy_refuses_a_directive_that_it_does_not_know() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    client.put("/bucket/a", b"a").expect(200);
    for name in ["x-amz-metadata-directive", "x-amz-tagging-directive"] {
        let headers = [("x-amz-copy-source", "/bucket/a"), (name, "replace")];
        let refused = with(&client, "PUT", "/bucket/b", &headers).expect(400);
        assert_eq!(refused.all("Code"), ["InvalidArgument"], "{name}");
    }
    client.get("/bucket/b").expect(404);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn an_unchanged_object_is_named_by_its_etag_and_an_empty_one_has_no_ranges() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    let cached = [("cache-control", "max-age=9")];
    client.send("PUT", "/bucket/a", &[], &cached, b"a").unwrap().expect(200);
    let known = etag(b"a");
    let known = [("if-none-match", known.as_str())];
    for method in ["GET", "HEAD"] {
        let same = with(&client, method, "/bucket/a", &known).expect(304);
        assert_eq!(same.headers["etag"], etag(b"a"));
        assert_eq!(same.headers["cache-control"], "max-age=9");
        assert!(same.headers["last-modified"].ends_with(" GMT"), "{same:?}");
    }
    let list = format!("\"other\", W/{}, \"third\"", etag(b"a"));
    with(&client, "GET", "/bucket/a", &[("if-none-match", &list)]).expect(304);
    with(&client, "GET", "/bucket/a", &[("if-match", &list)]).expect(200);
    // A date has no fraction of a second.
    let date = with(&client, "HEAD", "/bucket/a", &[]).headers["last-modified"].clone();
    with(&client, "GET", "/bucket/a", &[("if-modified-since", &date)]).expect(304);
    with(&client, "GET", "/bucket/a", &[("if-unmodified-since", &date)]).expect(200);
    let others = "\"other\", \"third\"";
    with(&client, "GET", "/bucket/a", &[("if-none-match", others)]).expect(200);
    with(&client, "GET", "/bucket/a", &[("if-match", others)]).expect(412);
    client.put("/bucket/empty", b"").expect(200);
    for range in ["bytes=-5", "bytes=0-", "bytes=0-0"] {
        with(&client, "GET", "/bucket/empty", &[("range", range)]).expect(416);
    }
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_range_that_is_none_or_of_another_object_is_answered_by_the_whole_object() {
    let store = Store::new(Medium::Directory, 0);
    let key = |name: &str, rights: &str| {
        let secret = "secret = '0123456789abcdef'";
        format!("[[key]]\naccess = '{name}'\n{secret}\nbuckets = {{'*' = '{rights}'}}\n")
    };
    let secrets = key("a", "write") + &key("b", "none");
    let rig = Rig::start_with(&store, |options| options.keys = crate::rig::keys(&secrets));
    let client = rig.client_as("a", "0123456789abcdef");
    client.put("/bucket", b"").expect(200);
    client.put("/bucket/a", b"0123456789").expect(200);
    for method in ["GET", "HEAD"] {
        for range in ["bytes=0-1,3-4", "bytes=5-2", "bytes=abc", "items=0-1"] {
            let got = with(&client, method, "/bucket/a", &[("range", range)]).expect(200);
            assert_eq!(got.headers["content-length"], "10", "{range}");
            // The range is signed, and a right and a signature are needed all the same.
            let headers = [("range", range), ("x-amz-checksum-mode", "ENABLED")];
            with(&rig.client(), method, "/bucket/a", &headers).expect(403);
            let wrong = rig.client_as("a", "0123456789abcdeF");
            with(&wrong, method, "/bucket/a", &headers).expect(403);
            let blind = rig.client_as("b", "0123456789abcdef");
            with(&blind, method, "/bucket/a", &headers).expect(403);
            with(&client, method, "/bucket/b", &headers).expect(404);
        }
        let outside = with(&client, method, "/bucket/a", &[("range", "bytes=10-")]).expect(416);
        assert_eq!(outside.headers["content-range"], "bytes */10");
    }
    // A checksum is that of the whole object.
    let crc = base64_simd::STANDARD.encode_to_string(Crc32::checksum(b"0123456789"));
    let summed = [("x-amz-checksum-crc32", crc.as_str())];
    client.send("PUT", "/bucket/a", &[], &summed, b"0123456789").unwrap().expect(200);
    for method in ["GET", "HEAD"] {
        for (range, expected) in [("bytes=2-4", None), ("bytes=abc", Some(&crc))] {
            let headers = [("range", range), ("x-amz-checksum-mode", "ENABLED")];
            let got = with(&client, method, "/bucket/a", &headers);
            assert_eq!(got.headers.get("x-amz-checksum-crc32"), expected, "{method} {range}");
        }
    }
    let now = with(&client, "HEAD", "/bucket/a", &[]).expect(200);
    let past = "Mon, 01 Jan 2001 00:00:00 GMT";
    for (named, status) in [
        (now.headers["etag"].as_str(), 206),
        (now.headers["etag"].trim_matches('"'), 206),
        (now.headers["last-modified"].as_str(), 206),
        ("\"other\"", 200),
        (past, 200),
        ("W/\"other\"", 200),
    ] {
        let headers = [("range", "bytes=8-"), ("if-range", named)];
        with(&client, "HEAD", "/bucket/a", &headers).expect(status);
        let got = with(&client, "GET", "/bucket/a", &headers).expect(status);
        assert_eq!(got.body, if status == 206 { &b"89"[..] } else { b"0123456789" }, "{named}");
    }
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_part_is_copied_from_a_range_within_its_source_only() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    client.put("/bucket/from", b"12345").expect(200);
    let begun = client.ask("POST", "/bucket/to", &[("uploads", "")]).expect(200);
    let id = begun.all("UploadId").remove(0);
    let query = [("partNumber", "1"), ("uploadId", id.as_str())];
    for (range, status) in [
        ("bytes=0-4", 200),
        ("bytes=1-2", 200),
        ("bytes=0-5", 416),
        ("bytes=0-21", 416),
        ("bytes=5-5", 416),
        ("bytes=2-1", 400),
        ("bytes=1-", 400),
        ("bytes=-1", 400),
        ("bytes=0-1,3-4", 400),
        ("0-1", 400),
    ] {
        let source = [("x-amz-copy-source", "/bucket/from"), ("x-amz-copy-source-range", range)];
        let copied = client.send("PUT", "/bucket/to", &query, &source, b"").unwrap();
        assert_eq!(copied.status, status, "{range}: {}", copied.text());
    }
    let other = [("partNumber", "1"), ("uploadId", "0123456789abcdef0123456789abcdef")];
    let source = [("x-amz-copy-source", "/bucket/none")];
    let copied = client.send("PUT", "/bucket/to", &other, &source, b"").unwrap();
    assert_eq!(copied.expect(404).all("Code"), ["NoSuchUpload"]);
    client.ask("DELETE", "/bucket/to", &[("uploadId", id.as_str())]).expect(204);
    assert_eq!((rig.objects.body_files(), rig.stop()), (0, 0));
}
