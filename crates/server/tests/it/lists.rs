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
        // A delimiter of two characters.
        let query = [("list-type", version), ("delimiter", "/d"), (position, "a/d/1")];
        let query = if version == "1" { &query[1..] } else { &query[..] };
        assert_eq!(items(&client.ask("GET", "/bucket", query).expect(200)), ["b"]);
        let query = [("list-type", version), (position, "a/b/1")];
        let query = if version == "1" { &query[1..] } else { &query[..] };
        let listed = client.ask("GET", "/bucket", query).expect(200);
        assert_eq!(items(&listed), ["a/b/2", "a/c", "a/d/1", "b"]);
    }
    assert_eq!(rig.stop(), 0);
}

#[test]
fn uploads_are_listed_after_a_key_or_one_of_its_uploads() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    let begin = |key| client.ask("POST", &format!("/bucket/{key}"), &[("uploads", "")]).expect(200);
    let mut begun: Vec<(String, String)> = ["a", "a", "a", "b", "c", "c"]
        .map(|key| (key.into(), begin(key).all("UploadId").remove(0)))
        .into();
    begun.sort();
    let list = |more: &[(&str, &str)]| {
        let query = [&[("uploads", "")][..], more].concat();
        let listed = client.ask("GET", "/bucket", &query).expect(200);
        let found: Vec<_> = listed.all("Key").into_iter().zip(listed.all("UploadId")).collect();
        (found, listed)
    };
    assert_eq!(list(&[]).0, begun);
    assert_eq!(list(&[("key-marker", "a")]).0, begun[3..]);
    for (number, (key, id)) in begun.iter().enumerate() {
        let after = [("key-marker", key.as_str()), ("upload-id-marker", id.as_str())];
        assert_eq!(list(&after).0, begun[number + 1..], "{number}");
        // Each page ends with a position that the next one goes on from.
        let (page, listed) = list(&[&after[..], &[("max-uploads", "1")]].concat());
        let next: Vec<_> =
            listed.all("NextKeyMarker").into_iter().zip(listed.all("NextUploadIdMarker")).collect();
        let is_last = number + 2 >= begun.len();
        assert_eq!(next, if is_last { vec![] } else { page }, "{number}");
    }
    assert_eq!(rig.stop(), 0);
}

#[test]
fn uploads_are_grouped_by_a_delimiter_and_each_page_goes_on_after_the_one_before() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    for key in ["a/b/1", "a/b/1", "a/b/2", "a/c", "a/c", "a/d/1", "b", "b/x"] {
        client.ask("POST", &format!("/bucket/{key}"), &[("uploads", "")]).expect(200);
    }
    let prefix = |text: &str| format!("<Prefix>{text}</Prefix>");
    for (of, expected) in [
        ("", vec!["b".into(), prefix("a/"), prefix("b/")]),
        ("a", vec![prefix("a/")]),
        ("a/", vec!["a/c".into(), "a/c".into(), prefix("a/b/"), prefix("a/d/")]),
        ("a/b/", vec!["a/b/1".into(), "a/b/1".into(), "a/b/2".into()]),
        ("c", vec![]),
    ] {
        let query = [("uploads", ""), ("delimiter", "/"), ("prefix", of)];
        let whole = client.ask("GET", "/bucket", &query).expect(200);
        assert_eq!((items(&whole), whole.all("IsTruncated")), (expected, vec!["false".into()]));
        for size in ["1", "2"] {
            let (mut found, mut marker, mut id) = (Vec::new(), String::new(), String::new());
            loop {
                let page = [
                    ("max-uploads", size),
                    ("key-marker", marker.as_str()),
                    ("upload-id-marker", id.as_str()),
                ];
                let page = client.ask("GET", "/bucket", &[&query[..], &page].concat()).expect(200);
                found.extend(items(&page));
                if page.all("IsTruncated") == ["false"] {
                    break;
                }
                id = page.all("NextUploadIdMarker").pop().unwrap_or_default();
                marker = page.all("NextKeyMarker").remove(0);
            }
            let (mut found, mut expected) = (found, items(&whole));
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "pages of {size} of {of}");
        }
    }
    assert_eq!(rig.stop(), 0);
}

#[test]
fn control_characters_of_keys_are_references_in_documents_and_come_back() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    let keys = ["a\u{1}b", "a\tb", "a\nb", "a\rb", "a\u{1f}b"];
    for key in keys {
        client.put(&format!("/bucket/{key}"), b"").expect(200);
    }
    let written = ["a&#x1;b", "a\tb", "a\nb", "a&#xD;b", "a&#x1F;b"];
    for query in [&[("list-type", "2")][..], &[]] {
        assert_eq!(client.ask("GET", "/bucket", query).expect(200).all("Key"), written);
    }
    let url = client.ask("GET", "/bucket", &[("encoding-type", "url")]).expect(200);
    assert_eq!(url.all("Key"), ["a%01b", "a%09b", "a%0Ab", "a%0Db", "a%1Fb"]);
    for version in
        [&[("list-type", "2"), ("encoding-type", "base64")][..], &[("encoding-type", "x")]]
    {
        let refused = client.ask("GET", "/bucket", version).expect(400);
        assert_eq!(refused.all("Code"), ["InvalidArgument"]);
    }
    // The library takes the references of XML 1.0 alone.
    let list: String =
        written[1..4].iter().map(|key| format!("<Object><Key>{key}</Key></Object>")).collect();
    let list = format!("<Delete>{list}</Delete>");
    let deleted = client.send("POST", "/bucket", &[("delete", "")], &[], list.as_bytes()).unwrap();
    assert_eq!(deleted.expect(200).all("Key"), written[1..4]);
    for key in [keys[0], keys[4]] {
        client.delete(&format!("/bucket/{key}")).expect(204);
    }
    assert!(client.get("/bucket").expect(200).all("Key").is_empty());
    // An object is no document of the server, whatever its type.
    let body = b"<Key>\x01\r</Key>";
    let xml = [("content-type", "application/xml")];
    client.send("PUT", "/bucket/a.xml", &[], &xml, body).unwrap().expect(200);
    assert_eq!(client.get("/bucket/a.xml").expect(200).body, body);
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

#[test]
fn a_list_of_long_keys_takes_little_memory_and_goes_on() {
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    for number in 0..400 {
        client.put(&format!("/bucket/{number:03}{}", "\u{1}".repeat(1000)), b"").expect(200);
    }
    let query = [("encoding-type", "url")];
    let first = client.ask("GET", "/bucket", &query).expect(200);
    assert!(first.body.len() < 3 << 19, "{}", first.body.len());
    let mut keys = first.all("Key");
    assert!((200..400).contains(&keys.len()), "{}", keys.len());
    let marker = first.all("NextMarker").remove(0).replace("%01", "\u{1}");
    let rest = client.ask("GET", "/bucket", &[query[0], ("marker", &marker)]).expect(200);
    assert_eq!(rest.all("IsTruncated"), ["false"]);
    keys.extend(rest.all("Key"));
    keys.dedup();
    assert_eq!(keys.len(), 400);
    assert_eq!(rig.stop(), 0);
}
