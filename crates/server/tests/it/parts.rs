//! Uploads and lists in parts, seen by strict clients: checksums and sizes of a completion, reads
//! by part, and lists of a few items.

use s3s::crypto::{Checksum as _, Crc32};

use crate::client::{Answer, Client};
use crate::rig::{Medium, Rig, Store, bytes};

const KEY: &str = "/bucket/key";

fn crc(body: &[u8]) -> String {
    base64_simd::STANDARD.encode_to_string(Crc32::checksum(body))
}

fn upload(client: &Client, parts: &[&[u8]]) -> (String, Vec<String>) {
    let id = client.ask("POST", KEY, &[("uploads", "")]).expect(200).all("UploadId").remove(0);
    let mut etags = Vec::new();
    for (at, body) in parts.iter().enumerate() {
        let (number, crc) = ((at + 1).to_string(), crc(body));
        let query = [("partNumber", number.as_str()), ("uploadId", id.as_str())];
        let headers = [("x-amz-checksum-crc32", crc.as_str())];
        let put = client.send("PUT", KEY, &query, &headers, body).unwrap().expect(200);
        etags.push(put.headers["etag"].clone());
    }
    (id, etags)
}

/// Completes an upload; each part has its ETag and its checksum.
fn complete(client: &Client, id: &str, parts: &[(&str, &str)], headers: &[(&str, &str)]) -> Answer {
    let mut body = "<CompleteMultipartUpload>".to_owned();
    for (at, (etag, crc)) in parts.iter().enumerate() {
        body += &format!(
            "<Part><PartNumber>{}</PartNumber><ETag>{etag}</ETag>\
             <ChecksumCRC32>{crc}</ChecksumCRC32></Part>",
            at + 1
        );
    }
    body += "</CompleteMultipartUpload>";
    client.send("POST", KEY, &[("uploadId", id)], headers, body.as_bytes()).expect("an answer")
}

#[test]
fn a_completion_holds_the_checksums_and_the_size_that_it_names() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    let (one, two) = (bytes(1, 5 << 20), bytes(2, 1000));
    let (id, etags) = upload(&client, &[&one, &two]);
    let (first, last) = (crc(&one), crc(&two));
    let parts = [(etags[0].as_str(), first.as_str()), (etags[1].as_str(), last.as_str())];
    let wrong = [parts[0], (parts[1].0, first.as_str())];
    assert_eq!(complete(&client, &id, &wrong, &[]).expect(400).all("Code"), ["InvalidPart"]);
    let size = [("x-amz-mp-object-size", "5")];
    assert_eq!(complete(&client, &id, &parts, &size).expect(400).all("Code"), ["InvalidRequest"]);
    let whole = [("x-amz-checksum-crc32", first.as_str())];
    assert_eq!(complete(&client, &id, &parts, &whole).expect(400).all("Code"), ["BadDigest"]);
    let other = [("x-amz-checksum-sha256", first.as_str())];
    assert_eq!(complete(&client, &id, &parts, &other).expect(400).all("Code"), ["InvalidRequest"]);
    client.get(KEY).expect(404);
    let body = [one.clone(), two.clone()].concat();
    let composite = crc(&[Crc32::checksum(&one), Crc32::checksum(&two)].concat());
    let full = crc(&body);
    let kind = |kind| ("x-amz-checksum-type", kind);
    let wrong = [("x-amz-checksum-crc32", full.as_str()), kind("COMPOSITE")];
    assert_eq!(complete(&client, &id, &parts, &wrong).expect(400).all("Code"), ["BadDigest"]);
    let right = [("x-amz-mp-object-size", "5243880"), ("x-amz-checksum-crc32", &full)];
    let completed = complete(&client, &id, &parts, &right).expect(200);
    assert_eq!(completed.all("ChecksumCRC32"), [full.as_str()]);
    assert!(client.get(KEY).expect(200).body == body);
    // As minio-go has it, which gives no kind.
    let (id, _) = upload(&client, &[&one, &two]);
    let right = [("x-amz-checksum-crc32", composite.as_str())];
    complete(&client, &id, &parts, &right).expect(200);
    let (id, _) = upload(&client, &[&one, &two]);
    let composite = composite + "-2";
    let right = [("x-amz-checksum-crc32", composite.as_str()), kind("COMPOSITE")];
    complete(&client, &id, &parts, &right).expect(200);
    assert!(client.get(KEY).expect(200).body == body);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn an_object_is_read_by_its_parts() {
    let store = Store::new(Medium::Image, 128);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    let bodies = [bytes(1, 5 << 20), bytes(2, 1000)];
    let (id, etags) = upload(&client, &[&bodies[0], &bodies[1]]);
    let crcs = [crc(&bodies[0]), crc(&bodies[1])];
    let parts = [(etags[0].as_str(), crcs[0].as_str()), (etags[1].as_str(), crcs[1].as_str())];
    complete(&client, &id, &parts, &[]).expect(200);
    let part = |path: &str, number: &str| client.ask("GET", path, &[("partNumber", number)]);
    for (number, body, range) in [
        ("1", &bodies[0], "bytes 0-5242879/5243880"),
        ("2", &bodies[1], "bytes 5242880-5243879/5243880"),
    ] {
        let got = part(KEY, number).expect(206);
        assert!(got.body == *body, "part {number}");
        assert_eq!(got.headers["content-range"], range);
        assert_eq!(got.headers["x-amz-mp-parts-count"], "2");
    }
    let head = client.ask("HEAD", KEY, &[("partNumber", "2")]).expect(206);
    assert_eq!(head.headers["content-length"], "1000");
    assert_eq!(part(KEY, "3").expect(416).all("Code"), ["InvalidPartNumber"]);
    assert_eq!(part(KEY, "0").expect(400).all("Code"), ["InvalidArgument"]);
    let both = client.send("GET", KEY, &[("partNumber", "1")], &[("range", "bytes=0-1")], b"");
    both.unwrap().expect(400);
    client.put("/bucket/small", b"small").expect(200);
    assert_eq!(part("/bucket/small", "1").expect(206).body, b"small");
    part("/bucket/small", "2").expect(416);
    client.put("/bucket/empty", b"").expect(200);
    assert_eq!(part("/bucket/empty", "1").expect(200).body, b"");
    client.ask("HEAD", "/bucket/empty", &[("partNumber", "1")]).expect(200);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn an_object_is_described_by_the_fields_that_are_asked_for() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    let (one, two) = (bytes(1, 5 << 20), bytes(2, 1000));
    let (id, etags) = upload(&client, &[&one, &two]);
    let crcs = [crc(&one), crc(&two)];
    let parts = [(etags[0].as_str(), crcs[0].as_str()), (etags[1].as_str(), crcs[1].as_str())];
    complete(&client, &id, &parts, &[]).expect(200);
    let ask = |path: &str, fields: &str, more: &[(&str, &str)]| {
        let headers = [&[("x-amz-object-attributes", fields)], more].concat();
        client.send("GET", path, &[("attributes", "")], &headers, b"").unwrap()
    };
    let all = "ETag,Checksum,ObjectParts,StorageClass,ObjectSize";
    let whole = ask(KEY, all, &[]).expect(200);
    let etag = client.ask("HEAD", KEY, &[]).expect(200).headers["etag"].clone();
    assert_eq!(whole.all("ETag"), [etag]);
    assert!(whole.headers.contains_key("last-modified"));
    assert_eq!(whole.all("ObjectSize"), ["5243880"]);
    assert_eq!(whole.all("StorageClass"), ["STANDARD"]);
    assert_eq!(whole.all("PartsCount"), ["2"]);
    assert_eq!(whole.all("PartNumber"), ["1", "2"]);
    assert_eq!(whole.all("Size"), ["5242880", "1000"]);
    assert!(whole.all("Checksum").is_empty());
    let first = ask(KEY, "ObjectParts", &[("x-amz-max-parts", "1")]).expect(200);
    assert_eq!(first.all("PartNumber"), ["1"]);
    assert_eq!(first.all("NextPartNumberMarker"), ["1"]);
    assert_eq!(first.all("IsTruncated"), ["true"]);
    assert!(first.all("ObjectSize").is_empty());
    let rest = ask(KEY, "ObjectParts", &[("x-amz-part-number-marker", "1")]).expect(200);
    assert_eq!(rest.all("PartNumber"), ["2"]);
    assert_eq!(rest.all("IsTruncated"), ["false"]);
    let sum = crc(b"small");
    let headers = [("x-amz-checksum-crc32", sum.as_str())];
    client.send("PUT", "/bucket/small", &[], &headers, b"small").unwrap().expect(200);
    let small = ask("/bucket/small", all, &[]).expect(200);
    assert_eq!(small.all("ChecksumCRC32"), [sum]);
    assert_eq!(small.all("ObjectSize"), ["5"]);
    assert!(small.all("ObjectParts").is_empty());
    ask("/bucket/none", all, &[]).expect(404);
    assert_eq!(ask(KEY, "Colour", &[]).expect(400).all("Code"), ["InvalidArgument"]);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_list_of_no_items_is_whole() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    let (id, _) = upload(&client, &[b"part"]);
    let parts = client.ask("GET", KEY, &[("uploadId", &id), ("max-parts", "0")]).expect(200);
    assert_eq!(parts.all("IsTruncated"), ["false"]);
    let uploads = client.ask("GET", "/bucket", &[("uploads", ""), ("max-uploads", "0")]);
    assert_eq!(uploads.expect(200).all("IsTruncated"), ["false"]);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn buckets_are_listed_a_few_at_a_time() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    for bucket in ["/aaa", "/bbb", "/ccc"] {
        client.put(bucket, b"").expect(200);
    }
    let first = client.ask("GET", "/", &[("max-buckets", "2")]).expect(200);
    assert_eq!(first.all("Name"), ["aaa", "bbb"]);
    let token = first.all("ContinuationToken").remove(0);
    let next = client.ask("GET", "/", &[("max-buckets", "2"), ("continuation-token", &token)]);
    let next = next.expect(200);
    assert_eq!((next.all("Name"), next.all("ContinuationToken")), (vec!["ccc".into()], vec![]));
    let all = client.ask("GET", "/", &[("max-buckets", "3")]).expect(200);
    assert_eq!((all.all("Name").len(), all.all("ContinuationToken")), (3, vec![]));
    client.ask("GET", "/", &[("max-buckets", "0")]).expect(400);
    assert_eq!(rig.stop(), 0);
}
