//! Sizes and checksums of copies.

use s3s::crypto::{Checksum as _, Crc64Nvme, Sha256};
use terrace_server::objects::{CHUNK, Place};

use crate::rig::{Medium, Rig, Store, bytes};

/// The most bytes of a put, and of a copy by one request.
const MOST: u64 = 5 << 30;

/// Gives an object another size, as of a large upload in parts, without its bytes.
fn pretend(rig: &Rig, key: &str, size: u64) {
    let mut record = rig.objects.head("bucket", key).expect("an object");
    let Place::Files(segments) = &mut record.place else { panic!("expected a file") };
    (record.size, segments[0].size) = (size, size);
    segments[0].checksums.resize(size.div_ceil(CHUNK as u64) as usize, 0);
    let entries = rig.objects.db().key_space("objects").expect("the entries");
    let place = [b"obucket\0", key.as_bytes()].concat();
    entries.put(&place, &record.encode()).expect("a put");
}

#[test]
fn a_source_that_is_too_large_for_one_copy_is_refused_and_copied_in_parts() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    let body = bytes(1, 100_000);
    client.put("/bucket/from", &body).expect(200);
    let begun = client.ask("POST", "/bucket/to", &[("uploads", "")]).expect(200);
    let id = begun.all("UploadId").remove(0);
    let query = [("partNumber", "1"), ("uploadId", id.as_str())];
    pretend(&rig, "from", MOST + 1);
    let source = ("x-amz-copy-source", "/bucket/from");
    let whole = client.send("PUT", "/bucket/to", &[], &[source], b"").unwrap();
    assert_eq!(whole.expect(400).all("Code"), ["InvalidRequest"]);
    let part = client.send("PUT", "/bucket/to", &query, &[source], b"").unwrap();
    assert_eq!(part.expect(400).all("Code"), ["InvalidRequest"]);
    let range = ("x-amz-copy-source-range", "bytes=0-5368709120");
    let part = client.send("PUT", "/bucket/to", &query, &[source, range], b"").unwrap();
    assert_eq!(part.expect(400).all("Code"), ["InvalidRequest"]);
    // New metadata of the same object copies no bytes.
    let replaced = [source, ("x-amz-metadata-directive", "REPLACE"), ("x-amz-meta-k", "v")];
    client.send("PUT", "/bucket/from", &[], &replaced, b"").unwrap().expect(200);
    pretend(&rig, "from", body.len() as u64);
    client.send("PUT", "/bucket/to", &[], &[source], b"").unwrap().expect(200);
    client.ask("DELETE", "/bucket/to", &[("uploadId", id.as_str())]).expect(204);
    assert!(client.get("/bucket/to").expect(200).body == body);
    assert_eq!(rig.stop(), 0);
}

#[test]
fn a_copy_has_the_checksum_of_its_source_or_of_the_algorithm_that_is_named() {
    let store = Store::new(Medium::Image, 64);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    for (size, key) in [(10, "/bucket/small"), (700_000, "/bucket/large")] {
        let body = bytes(1, size);
        let sum = |of: &[u8]| base64_simd::STANDARD.encode_to_string(of);
        let sha = sum(&Sha256::checksum(&body));
        let crc = sum(&Crc64Nvme::checksum(&body));
        let given = [("x-amz-checksum-crc64nvme", crc.as_str())];
        client.send("PUT", key, &[], &given, &body).unwrap().expect(200);
        let source = ("x-amz-copy-source", key);
        let copied = client.send("PUT", "/bucket/to", &[], &[source], b"").unwrap().expect(200);
        assert_eq!(copied.all("ChecksumCRC64NVME"), [crc.as_str()]);
        let named = ("x-amz-checksum-algorithm", "SHA256");
        // A copy onto itself is one of the bytes then.
        for to in ["/bucket/to", key] {
            let copied = client.send("PUT", to, &[], &[source, named], b"").unwrap().expect(200);
            assert_eq!(copied.all("ChecksumSHA256"), [sha.as_str()]);
            let mode = [("x-amz-checksum-mode", "ENABLED")];
            let got = client.send("GET", to, &[], &mode, b"").unwrap().expect(200);
            assert!(got.body == body && got.headers["x-amz-checksum-sha256"] == sha);
            assert!(!got.headers.contains_key("x-amz-checksum-crc64nvme"));
        }
        let unknown = ("x-amz-checksum-algorithm", "MD4");
        let refused = client.send("PUT", "/bucket/to", &[], &[source, unknown], b"").unwrap();
        assert_eq!(refused.expect(400).all("Code"), ["InvalidRequest"]);
    }
    assert_eq!(rig.stop(), 0);
    store.check();
}
