//! Damaged entries of buckets, objects, uploads and parts. The first byte of an input tells which.

use terrace_env::FileId;
use terrace_fuzz::{Target, fuzz};

use super::{
    Attributes, BucketRecord, CHUNK, Checksum, Header, ObjectRecord, PartRecord, Place, Segment,
    UploadRecord,
};

fn attributes() -> Attributes {
    let pairs = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    };
    let mut attributes = Attributes {
        headers: Vec::new(),
        metadata: pairs(&[("author", "me"), ("", "empty")]),
        tags: pairs(&[("kind", "\u{e4}")]),
    };
    attributes.set(Header::ContentType, Some("text/plain".into()));
    attributes
}

fn specimens() -> Vec<Vec<u8>> {
    let segment = |size: u64| Segment {
        file: FileId(7),
        size,
        checksums: vec![9; size.div_ceil(CHUNK as u64) as usize],
    };
    let checksum = Some(Checksum { algorithm: "CRC32".into(), value: "AAAAAA==".into() });
    let segments = vec![segment(2 * CHUNK as u64 + 1), segment(5)];
    let sum = segments.iter().map(|segment| segment.size).sum();
    let object = |place, size| ObjectRecord {
        size,
        modified: 1,
        md5: [3; 16],
        parts: 2,
        place,
        checksum: checksum.clone(),
        attributes: attributes(),
    };
    let upload = UploadRecord { begun: 5, attributes: attributes() };
    let part = PartRecord { modified: 6, md5: [4; 16], segment: segment(100), checksum: None };
    let entries = [
        (0, BucketRecord { created: 77 }.encode()),
        (1, object(Place::Entry, 10).encode()),
        (1, object(Place::Files(segments), sum).encode()),
        (2, upload.encode()),
        (3, part.encode()),
    ];
    entries.map(|(number, entry)| [&[number], &entry[..]].concat()).to_vec()
}

#[test]
fn entries() {
    fuzz!(Target::recoding("entries of objects", specimens(), |input| {
        let (number, entry) = input.split_first()?;
        let encoded = match *number {
            0 => BucketRecord::decode(entry).ok()?.encode(),
            1 => {
                let object = ObjectRecord::decode(entry).ok()?;
                let segments = object.segments().iter();
                let bytes: u64 = segments.map(|segment| segment.size).sum();
                assert!(matches!(object.place, Place::Entry) || bytes == object.size);
                let _ = (object.etag(), object.attributes.header(Header::Expires));
                object.encode()
            }
            2 => UploadRecord::decode(entry).ok()?.encode(),
            3 => PartRecord::decode(entry).ok()?.encode(),
            _ => return None,
        };
        Some([&[*number], &encoded[..]].concat())
    }));
}
