//! A table with entries that expire: its bytes, the result of reads, and entries that are too short
//! for an expiry.

use terrace_env::{ByteCount, Date, SeqNo};

use super::specimens::{Entry, build, entry, open};
use super::{GlobalSequenceCursor, Lookup, PointReads, TableLayout, hash};
use crate::Error;
use crate::compression::Compression;
use crate::expiry;
use crate::golden::{damaged, specimen};
use crate::key::{self, Kind, Trailer, internal_key};
use crate::memory::Walk;
use crate::memtable::Found;

fn layout() -> TableLayout {
    TableLayout::new(ByteCount(256), Compression::None, 10)
}

fn expiring(key: &str, sequence: u64, expiry: u64, value: &str) -> Entry {
    let stored = [&expiry::encode(Date(expiry))[..], value.as_bytes()].concat();
    entry(0, key.as_bytes(), sequence, Kind::PutWithExpiry, &stored)
}

fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    for number in 0..20_u64 {
        let key = format!("key {number:02}");
        if number % 3 == 0 {
            entries.push(expiring(&key, 100 + number, 1_000_000 + number, "newer"));
        }
        entries.push(entry(0, key.as_bytes(), 10 + number, Kind::Put, b"older"));
    }
    entries.push(expiring("last", 7, u64::MAX, ""));
    entries
}

fn walk(bytes: &[u8]) -> Result<Vec<Entry>, Error> {
    let mut cursor = GlobalSequenceCursor::new(open(bytes)?, Walk::Scan, None);
    cursor.seek_to_first()?;
    let mut walked = Vec::new();
    while let Some(key) = cursor.key() {
        walked.push((key.to_vec(), cursor.value().to_vec()));
        cursor.next()?;
    }
    Ok(walked)
}

fn get(bytes: &[u8], user_key: &[u8]) -> Result<Lookup, Error> {
    let full = key::full_key(key::KeySpaceId(0), user_key);
    let seek_key = internal_key(&full, Trailer::seek(SeqNo::MAX));
    open(bytes)?.get(&seek_key, hash(&full), None, &mut PointReads::default())
}

#[test]
fn a_table_with_expiries_reads_back_and_no_damage_goes_unnoticed() {
    let kept = specimen("table-expiry.bin", &build(&entries(), layout()));
    assert_eq!(walk(&kept).unwrap(), entries());
    let newer = Found::Expiring(Date(1_000_003), b"newer"[..].into());
    assert_eq!(get(&kept, b"key 03").unwrap(), Lookup::Searched(Some(newer)));
    let older = Found::Value(b"older"[..].into());
    assert_eq!(get(&kept, b"key 04").unwrap(), Lookup::Searched(Some(older)));
    let last = Found::Expiring(Date::MAX, b""[..].into());
    assert_eq!(get(&kept, b"last").unwrap(), Lookup::Searched(Some(last)));
    for (what, bytes) in damaged(&kept) {
        if let Ok(walked) = walk(&bytes) {
            assert_eq!(walked, entries(), "{what}");
        }
    }
}

#[test]
fn an_entry_that_is_too_short_for_its_expiry_is_corruption() {
    let short = [entry(0, b"k", 5, Kind::PutWithExpiry, &[0; 7])];
    let bytes = build(&short, layout());
    for error in [walk(&bytes).unwrap_err(), get(&bytes, b"k").unwrap_err()] {
        assert!(matches!(error, Error::Corruption { .. }), "{error}");
        assert!(error.to_string().contains("an expiry of 8 bytes"), "{error}");
    }
}
