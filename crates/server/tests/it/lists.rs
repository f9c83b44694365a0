//! Lists at their borders: positions in common prefixes, and keys with characters that XML cannot
//! have.

use crate::client::Answer;
use crate::rig::{Medium, Rig, Store};

/// Prefixes and keys of a list, in the order of the document.
fn items(answer: &Answer) -> Vec<String> {
    [answer.all("Key"), answer.all("CommonPrefixes")].concat()
}

#[test]
fn a_list_from_within_a_common_prefix_goes_on_after_all_of_its_keys() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    for key in ["a/b/1", "a/b/2", "a/c", "a/d/1", "b"] {
        client.put(&format!("/bucket/{key}"), b"").expect(200);
    }
    for (version, position) in [("1", "marker"), ("2", "start-after")] {
        for (prefix, after, expected) in [
            ("a/", "a/b/1", vec!["a/c", "<Prefix>a/d/</Prefix>"]),
            ("a/", "a/b/", vec!["a/c", "<Prefix>a/d/</Prefix>"]),
            ("a/", "a/b", vec!["a/c", "<Prefix>a/b/</Prefix>", "<Prefix>a/d/</Prefix>"]),
            ("a/", "a/", vec!["a/c", "<Prefix>a/b/</Prefix>", "<Prefix>a/d/</Prefix>"]),
            // Before the prefix, and after it.
            ("a/", "A/b/1", vec!["a/c", "<Prefix>a/b/</Prefix>", "<Prefix>a/d/</Prefix>"]),
            ("a/", "", vec!["a/c", "<Prefix>a/b/</Prefix>", "<Prefix>a/d/</Prefix>"]),
            ("a/", "b/1", vec![]),
            ("", "a/b/1", vec!["b"]),
            ("", "a", vec!["b", "<Prefix>a/</Prefix>"]),
        ] {
            let query =
                [("list-type", version), ("prefix", prefix), ("delimiter", "/"), (position, after)];
            let query = if version == "1" { &query[1..] } else { &query[..] };
            let listed = client.ask("GET", "/bucket", query).expect(200);
            assert_eq!(items(&listed), expected, "{prefix} {position} {after}");
        }
        let query = [("list-type", version), (position, "a/b/1")];
        let query = if version == "1" { &query[1..] } else { &query[..] };
        let listed = client.ask("GET", "/bucket", query).expect(200);
        assert_eq!(items(&listed), ["a/b/2", "a/c", "a/d/1", "b"]);
    }
    assert_eq!(rig.stop(), 0);
}

#[test]
fn uploads_and_their_parts_have_an_owner_and_an_object_the_number_of_its_tags() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    let begun = client.ask("POST", "/bucket/a", &[("uploads", "")]).expect(200);
    let id = begun.all("UploadId").remove(0);
    for (path, query) in [("/bucket", ("uploads", "")), ("/bucket/a", ("uploadId", id.as_str()))] {
        let listed = client.ask("GET", path, &[query]).expect(200);
        for element in ["Owner", "Initiator", "StorageClass"] {
            assert_eq!(listed.all(element).len(), 1, "{element}: {}", listed.text());
        }
    }
    let tags = [("x-amz-tagging", "a=1&b=2")];
    client.send("PUT", "/bucket/b", &[], &tags, b"").unwrap().expect(200);
    for method in ["HEAD", "GET"] {
        let answer = client.ask(method, "/bucket/b", &[]).expect(200);
        assert_eq!(answer.headers["x-amz-tagging-count"], "2", "{method}");
    }
    assert_eq!(rig.stop(), 0);
}
