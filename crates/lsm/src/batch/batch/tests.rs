//! Tests of batches: their contents, their versions on the medium, and damage.

use super::*;
use crate::golden::{damaged, specimen};

fn sample() -> FrozenBatch {
    let mut batch = Batch::new();
    batch.put(KeySpaceId(0), b"apple", b"red").delete(KeySpaceId(300), b"").put(
        KeySpaceId(u32::MAX),
        b"pear",
        b"",
    );
    batch.freeze(SeqNo(1000))
}

#[test]
fn a_batch_reads_back_what_was_put_in() {
    let frozen = FrozenBatch::decode(Bytes::copy_from_slice(sample().bytes())).unwrap();
    assert_eq!((frozen.first(), frozen.end(), frozen.count()), (SeqNo(1000), SeqNo(1003), 3));
    let bytes = frozen.bytes();
    let read: Vec<_> = frozen
        .entries()
        .map(|(s, e)| (s.0, e.kind, e.space.0, &bytes[e.key], &bytes[e.value]))
        .collect();
    let expected = [
        (1000, Kind::Put, 0, &b"apple"[..], &b"red"[..]),
        (1001, Kind::Delete, 300, b"", b""),
        (1002, Kind::Put, u32::MAX, b"pear", b""),
    ];
    assert_eq!(read, expected);
}

#[test]
fn every_truncation_is_an_error_and_no_flipped_bit_goes_past_the_end() {
    let whole = specimen("batch.bin", sample().bytes());
    let mut refused = 0;
    for (what, bytes) in damaged(&whole) {
        match FrozenBatch::decode(bytes.into()) {
            Ok(batch) => {
                assert!(what.starts_with("bit"), "{what}");
                assert_eq!(batch.entries().count(), batch.count() as usize);
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > whole.len() + 64, "flips in the header must be refused: {refused}");
    assert!(FrozenBatch::decode([&whole[..], &[0]].concat().into()).is_err());
}

fn ranges() -> FrozenBatch {
    let mut batch = Batch::new();
    batch
        .put(KeySpaceId(0), b"apple", b"red")
        .delete_range(KeySpaceId(0), &Bounds::from(b"a"..b"c"))
        .delete_range(KeySpaceId(7), &Bounds::all())
        .delete_range(KeySpaceId(7), &Bounds::from(b"x"..b"x"))
        .delete_range(KeySpaceId(300), &Bounds::from(b"k".to_vec()..=b"k".to_vec()))
        .put(KeySpaceId(0), b"b", b"");
    batch.freeze(SeqNo(1000))
}

#[test]
fn a_range_is_one_entry_and_an_empty_range_is_none() {
    let frozen = FrozenBatch::decode(Bytes::copy_from_slice(ranges().bytes())).unwrap();
    let bytes = frozen.bytes();
    let read: Vec<_> = frozen
        .entries()
        .map(|(s, e)| (s.0, e.kind, e.space.0, &bytes[e.key], &bytes[e.value]))
        .collect();
    let expected = [
        (1000, Kind::Put, 0, &b"apple"[..], &b"red"[..]),
        (1001, Kind::RangeDelete, 0, b"a", b"c"),
        (1002, Kind::RangeDelete, 7, b"", b""),
        (1003, Kind::RangeDelete, 300, b"k", b"k\0"),
        (1004, Kind::Put, 0, b"b", b""),
    ];
    assert_eq!(read, expected);
    let mut deletes = Batch::new();
    deletes.delete_range(KeySpaceId(0), &Bounds::all());
    assert!(deletes.only_deletes() && deletes.has_ranges());
    deletes.clear();
    assert!(!deletes.has_ranges());
}

#[test]
fn a_batch_with_ranges_is_of_a_version_of_its_own_and_no_damage_makes_it_panic() {
    let whole = specimen("batch-ranges.bin", ranges().bytes());
    for (what, bytes) in damaged(&whole) {
        if let Ok(batch) = FrozenBatch::decode(bytes.into()) {
            assert!(what.starts_with("bit"), "{what}");
            assert_eq!(batch.entries().count(), batch.count() as usize);
        }
    }
    let mut older = whole;
    older[16] = 1;
    assert!(FrozenBatch::decode(older.into()).is_err());
}

fn expiring() -> FrozenBatch {
    let mut batch = Batch::new();
    batch
        .put_with_expiry(KeySpaceId(0), b"apple", b"red", Date(0x0102_0304))
        .put(KeySpaceId(0), b"b", b"")
        .put_with_expiry(KeySpaceId(7), b"", b"", Date::MAX)
        .delete_range(KeySpaceId(0), &Bounds::from(b"c"..b"d"));
    batch.freeze(SeqNo(1000))
}

#[test]
fn a_batch_with_expiries_is_of_a_version_of_its_own_and_no_damage_makes_it_panic() {
    let whole = specimen("batch-expiry.bin", expiring().bytes());
    let frozen = FrozenBatch::decode(whole.clone().into()).unwrap();
    let read: Vec<_> = frozen.entries().collect();
    let kinds: Vec<Kind> = read.iter().map(|(_, entry)| entry.kind).collect();
    assert_eq!(kinds, [Kind::PutWithExpiry, Kind::Put, Kind::PutWithExpiry, Kind::RangeDelete]);
    let stored = |at: usize| expiry::split(&frozen.bytes()[read[at].1.value.clone()]);
    assert_eq!(stored(0), Some((Date(0x0102_0304), &b"red"[..])));
    assert_eq!(stored(2), Some((Date::MAX, &b""[..])));
    for (what, bytes) in damaged(&whole) {
        if let Ok(batch) = FrozenBatch::decode(bytes.into()) {
            assert!(what.starts_with("bit"), "{what}");
            for (_, entry) in batch.entries().filter(|(_, e)| e.kind == Kind::PutWithExpiry) {
                assert!(expiry::split(&batch.bytes()[entry.value]).is_some());
            }
        }
    }
    for older in [1, 2] {
        let mut bytes = whole.clone();
        bytes[16] = older;
        assert!(FrozenBatch::decode(bytes.into()).is_err());
    }
    let mut batch = Batch::new();
    batch.put_with_expiry(KeySpaceId(0), b"k", b"v", Date(1));
    assert!(batch.has_expiries() && !batch.only_deletes());
    assert_eq!(batch.payload(), ByteCount(2));
    batch.clear();
    assert!(!batch.has_expiries());
}

fn merging() -> FrozenBatch {
    let mut batch = Batch::new();
    batch
        .merge(KeySpaceId(0), b"apple", b"+1")
        .put(KeySpaceId(0), b"b", b"")
        .merge(KeySpaceId(7), b"", b"")
        .put_with_expiry(KeySpaceId(0), b"c", b"red", Date(1))
        .delete_range(KeySpaceId(0), &Bounds::from(b"c"..b"d"));
    batch.freeze(SeqNo(1000))
}

#[test]
fn a_batch_with_operands_is_of_a_version_of_its_own_and_no_damage_makes_it_panic() {
    let whole = specimen("batch-operands.bin", merging().bytes());
    let frozen = FrozenBatch::decode(whole.clone().into()).unwrap();
    let read: Vec<_> = frozen.entries().map(|(_, entry)| entry).collect();
    let kinds: Vec<Kind> = read.iter().map(|entry| entry.kind).collect();
    let put = Kind::PutWithExpiry;
    assert_eq!(kinds, [Kind::Operand, Kind::Put, Kind::Operand, put, Kind::RangeDelete]);
    assert_eq!(&frozen.bytes()[read[0].value.clone()], b"+1");
    for (what, bytes) in damaged(&whole) {
        if FrozenBatch::decode(bytes.into()).is_ok() {
            assert!(what.starts_with("bit"), "{what}");
        }
    }
    for older in [1, 2, 4] {
        let mut bytes = whole.clone();
        bytes[16] = older;
        assert!(FrozenBatch::decode(bytes.into()).is_err());
    }
    let mut batch = Batch::new();
    batch.merge(KeySpaceId(0), b"k", b"v");
    assert!(batch.has_operands() && !batch.only_deletes());
    assert_eq!(batch.payload(), ByteCount(2));
    batch.clear();
    assert!(!batch.has_operands());
}

#[test]
fn sizes_beyond_the_limits_are_told_when_the_batch_is_written() {
    let mut batch = Batch::new();
    batch.put(KeySpaceId(0), &vec![0; KEY_BYTES_MAX + 1], b"");
    assert!(matches!(batch.defect(), Err(Error::KeyTooLong { got: 65_536, .. })));
    batch.clear();
    batch.put(KeySpaceId(0), b"k", &vec![0; VALUE_BYTES_MAX + 1]);
    assert!(matches!(batch.defect(), Err(Error::ValueTooLong { .. })));
    batch.clear();
    let longest = vec![0; KEY_BYTES_MAX];
    batch.delete_range(KeySpaceId(0), &Bounds::from(longest.clone()..=longest));
    assert!(batch.defect().is_ok());
    batch.delete_range(KeySpaceId(0), &Bounds::starting_at(&vec![0; KEY_BYTES_MAX + 2]));
    assert!(matches!(batch.defect(), Err(Error::KeyTooLong { got: 65_537, .. })));
    batch.clear();
    batch.put(KeySpaceId(0), b"k", b"v");
    assert!(batch.defect().is_ok());
}
