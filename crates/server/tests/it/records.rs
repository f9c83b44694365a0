//! The codec of entries, against random records: each comes back as it was; each prefix of its
//! bytes is an error; changed bytes are an error or another record, and never a panic.

use terrace_env::FileId;
use terrace_env::random::{Random, RngCore};
use terrace_env::test_seeds;
use terrace_server::objects::{
    Attributes, BucketRecord, CHUNK, Checksum, Header, ObjectRecord, PartRecord, Place, Segment,
    UploadRecord,
};

fn below(random: &mut Random, end: u64) -> u64 {
    random.next_u64() % end
}

fn text(random: &mut Random) -> String {
    let length = below(random, 12);
    (0..length).map(|_| char::from_u32(0x20 + below(random, 0x500) as u32).unwrap_or('x')).collect()
}

fn pairs(random: &mut Random) -> Vec<(String, String)> {
    (0..below(random, 4)).map(|_| (text(random), text(random))).collect()
}

fn segment(random: &mut Random) -> Segment {
    let size = below(random, 5 * CHUNK as u64);
    let chunks = size.div_ceil(CHUNK as u64);
    let checksums = (0..chunks).map(|_| random.next_u32()).collect();
    Segment { file: FileId(random.next_u64()), size, checksums }
}

fn object(random: &mut Random) -> ObjectRecord {
    let place = match below(random, 2) {
        0 => Place::Entry,
        _ => Place::Files((0..below(random, 4)).map(|_| segment(random)).collect()),
    };
    let size = match &place {
        Place::Entry => below(random, 65_536),
        Place::Files(segments) => segments.iter().map(|one| one.size).sum(),
    };
    let mut attributes =
        Attributes { headers: Vec::new(), metadata: pairs(random), tags: pairs(random) };
    attributes.set(Header::ContentType, Some(text(random)));
    attributes.set(Header::Expires, (below(random, 2) == 0).then(|| text(random)));
    let checksum =
        (below(random, 2) == 0).then(|| Checksum { algorithm: text(random), value: text(random) });
    let mut md5 = [0; 16];
    random.fill_bytes(&mut md5);
    let parts = random.next_u32() as u16;
    ObjectRecord { size, modified: random.next_u64(), md5, parts, place, checksum, attributes }
}

#[test]
fn a_record_comes_back_and_damaged_bytes_never_panic() {
    for seed in test_seeds(200) {
        let mut random = Random::seeded(seed);
        let record = object(&mut random);
        let bytes = record.encode();
        assert_eq!(ObjectRecord::decode(&bytes).as_ref(), Ok(&record), "seed {seed}");
        for end in 0..bytes.len() {
            assert!(ObjectRecord::decode(&bytes[..end]).is_err(), "seed {seed}: {end} bytes");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(ObjectRecord::decode(&longer).is_err(), "seed {seed}: a byte too many");
        for _ in 0..200 {
            let mut damaged = bytes.clone();
            for _ in 0..=below(&mut random, 3) {
                let at = below(&mut random, damaged.len() as u64) as usize;
                damaged[at] ^= 1 << below(&mut random, 8);
            }
            let _ = ObjectRecord::decode(&damaged);
            let _ = UploadRecord::decode(&damaged);
            let _ = PartRecord::decode(&damaged);
            let _ = BucketRecord::decode(&damaged);
        }
    }
}

#[test]
fn a_size_that_is_not_that_of_the_files_or_a_huge_one_is_an_error() {
    let mut random = Random::seeded(1);
    let one = segment(&mut random);
    let mut record = ObjectRecord {
        size: one.size,
        modified: 0,
        md5: [0; 16],
        parts: 0,
        place: Place::Files(vec![one.clone()]),
        checksum: None,
        attributes: Attributes::default(),
    };
    assert!(ObjectRecord::decode(&record.encode()).is_ok());
    record.size += 1;
    assert!(ObjectRecord::decode(&record.encode()).is_err());
    record.size = u64::MAX;
    let huge = Segment { size: u64::MAX, ..one };
    record.place = Place::Files(vec![huge]);
    let message = ObjectRecord::decode(&record.encode()).unwrap_err().to_string();
    assert!(message.starts_with("size of a file: expected"), "{message}");
}

/// The bytes of the format's page, for ever.
#[test]
fn the_bytes_are_those_of_the_format() {
    let attributes = Attributes {
        headers: vec![(Header::ContentType, "a".into())],
        metadata: vec![("n".into(), "v".into())],
        tags: Vec::new(),
    };
    let record = ObjectRecord {
        size: 3,
        modified: 0x0102,
        md5: [9; 16],
        parts: 2,
        place: Place::Files(vec![Segment { file: FileId(5), size: 3, checksums: vec![0x0a0b] }]),
        checksum: Some(Checksum { algorithm: "SHA1".into(), value: "x".into() }),
        attributes,
    };
    let mut expected = vec![1];
    expected.extend([3, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([2, 1, 0, 0, 0, 0, 0, 0]);
    expected.extend([9; 16]);
    expected.extend([2, 0]);
    expected.extend(b"\x01\x04\0\0\0SHA1\x01\0\0\0x");
    expected.extend(b"\x01\0\x01\x01\0\0\0a");
    expected.extend(b"\x01\0\x01\0\0\0n\x01\0\0\0v");
    expected.extend(b"\0\0");
    expected.extend(b"\x01\x01\0");
    expected.extend([5, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([3, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([0x0b, 0x0a, 0, 0]);
    assert_eq!(record.encode(), expected);
}
