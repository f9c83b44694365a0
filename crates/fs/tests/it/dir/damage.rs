//! Bits flip and files are cut short: what is read is right, or an error says where it is not.

use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_env::{Cause, Store};
use terrace_fs::{Access, BLOCK};

use super::specimen::{Specimen, listing, specimen};
use super::world::{open, open_for};

/// Opens a copy in which one file has other bytes.
fn open_damaged(
    specimen: &Specimen,
    name: &str,
    bytes: Vec<u8>,
    access: Access,
) -> Result<Arc<dyn Store>, StoreError> {
    let copy = specimen.files.copy();
    copy.overwrite(name, bytes);
    open_for(&copy, access)
}

fn assert_corruption(error: &StoreError, region: &str, what: &str) {
    match error {
        StoreError::Corruption { region: found, .. } => assert_eq!(found, region, "{what}"),
        other => panic!("{what}: {other}"),
    }
}

fn flip(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    // Every bit in turn, as bytes go by.
    bytes[at] ^= 1 << ((at * 5 + at / 64) % 8);
    bytes
}

#[test]
fn a_journal_cut_at_any_byte_ends_at_a_commit_or_is_corrupt() {
    let specimen = specimen();
    let good = specimen.files.bytes(specimen.journal).expect("the journal");
    let mut seen = vec![0; specimen.listings.len()];
    for len in 0..good.len() {
        // Whoever opens for writing goes on where the other only reads: now and then is enough.
        let access = if len % 61 == 0 { Access::ReadWrite } else { Access::ReadOnly };
        match open_damaged(&specimen, specimen.journal, good[..len].to_vec(), access) {
            Ok(store) => {
                let found = listing(&store);
                let place = specimen.listings.iter().position(|listed| *listed == found);
                seen[place.unwrap_or_else(|| panic!("cut at {len}: {found:?}"))] += 1;
            }
            Err(error) => assert_corruption(&error, specimen.journal, &format!("cut at {len}")),
        }
    }
    // Blocks: three of the snapshot, then commits of one, one, three and one.
    assert_eq!(good.len(), 9 * BLOCK);
    assert_eq!(seen, [1, 1, 3, 1, 0].map(|blocks| blocks * BLOCK));
}

#[test]
fn a_flipped_bit_in_the_journal_is_reported_or_changes_nothing() {
    let specimen = specimen();
    let good = specimen.files.bytes(specimen.journal).expect("the journal");
    let last = specimen.listings.last().expect("a listing");
    for at in 0..good.len() {
        match open_damaged(&specimen, specimen.journal, flip(&good, at), Access::ReadOnly) {
            // The last commit fits a sector: not even it passes for a torn tail.
            Ok(store) => assert_eq!(listing(&store), *last, "byte {at}"),
            Err(error) => assert_corruption(&error, specimen.journal, &format!("byte {at}")),
        }
    }
}

#[test]
fn a_flipped_bit_in_the_superblock_is_always_reported() {
    let specimen = specimen();
    let good = specimen.files.bytes("CURRENT").expect("the superblock");
    for at in 0..good.len() {
        let opened = open_damaged(&specimen, "CURRENT", flip(&good, at), Access::ReadWrite);
        assert_corruption(&opened.err().expect("an error"), "CURRENT", &format!("byte {at}"));
    }
    for len in 0..good.len() {
        let opened = open_damaged(&specimen, "CURRENT", good[..len].to_vec(), Access::ReadWrite);
        assert_corruption(&opened.err().expect("an error"), "CURRENT", &format!("cut at {len}"));
    }
}

/// Reads the log in small pieces, up to the first error.
fn read_log(specimen: &Specimen, store: &Arc<dyn Store>) -> Result<Vec<u8>, StoreError> {
    let log = store.open(specimen.log)?;
    let mut bytes = vec![0; log.len() as usize];
    let mut at = 0;
    for piece in bytes.chunks_mut(700) {
        log.read_at(at, piece, Cause::Recovery)?;
        at += piece.len() as u64;
    }
    Ok(bytes)
}

#[test]
fn a_flipped_bit_in_a_log_is_reported_or_cuts_its_last_append() {
    let specimen = specimen();
    let name = format!("{:06}.log", specimen.log);
    let good = specimen.files.bytes(&name).expect("the log");
    let (all, last) = (specimen.log_bytes.concat(), specimen.log_bytes.len() - 1);
    let before_last = specimen.log_bytes[..last].concat();
    let (mut reported, mut cut) = (0, 0);
    for at in 0..good.len() {
        let store = open_damaged(&specimen, &name, flip(&good, at), Access::ReadOnly);
        let store = store.expect("one damaged log keeps nobody from reading the rest");
        match read_log(&specimen, &store) {
            Ok(bytes) if bytes == all => {}
            Ok(bytes) => {
                assert!(bytes == before_last, "byte {at}: wrong data");
                cut += 1;
            }
            Err(error) => {
                assert_corruption(&error, &name, &format!("byte {at}"));
                reported += 1;
            }
        }
        if at % 97 == 0 {
            let written = open_damaged(&specimen, &name, flip(&good, at), Access::ReadWrite);
            let agrees = written.is_ok() == read_log(&specimen, &store).is_ok();
            assert!(agrees, "byte {at}: who writes must not go on behind damage");
        }
    }
    // The last append is longer than a sector, so damage to it cannot be told from a torn tail.
    let payload = specimen.log_bytes[last].len();
    assert!((payload..=payload + 40).contains(&cut), "{cut} of the last {payload} bytes");
    assert!(reported >= before_last.len(), "{reported} of {} bytes", before_last.len());
}

#[test]
fn a_log_cut_at_any_byte_of_its_last_run_ends_at_an_append() {
    let specimen = specimen();
    let name = format!("{:06}.log", specimen.log);
    let good = specimen.files.bytes(&name).expect("the log");
    let mut ends = vec![0];
    for bytes in &specimen.log_bytes {
        ends.push(ends.last().expect("an end") + bytes.len());
    }
    let all = specimen.log_bytes.concat();
    for len in (0..good.len()).step_by(7) {
        let copy = specimen.files.copy();
        copy.overwrite(&name, good[..len].to_vec());
        let opened = open(&copy);
        if len < BLOCK {
            let error = opened.err().expect("the first run has a known end");
            assert_corruption(&error, &name, &format!("cut at {len}"));
            continue;
        }
        let store = opened.unwrap_or_else(|error| panic!("cut at {len}: {error}"));
        let bytes = read_log(&specimen, &store).expect("what is left can be read");
        assert!(ends.contains(&bytes.len()) && all.starts_with(&bytes), "cut at {len}");
    }
}

#[test]
fn damage_that_comes_while_a_log_is_open_is_reported() {
    let specimen = specimen();
    let name = format!("{:06}.log", specimen.log);
    let good = specimen.files.bytes(&name).expect("the log");
    let files = specimen.files.copy();
    let store = open_for(&files, Access::ReadOnly).expect("the store opens");
    files.overwrite(&name, flip(&good, BLOCK + 100));
    let error = read_log(&specimen, &store).expect_err("a payload that does not verify");
    assert_corruption(&error, &name, "a flip under a reader");
}

#[test]
fn a_file_that_is_missing_or_short_is_reported_when_it_is_opened() {
    let specimen = specimen();
    let store = open_for(&specimen.files, Access::ReadOnly).expect("the store opens");
    let table = store.lookup("b").expect("the table");
    drop(store);
    let name = format!("{table:06}.table");
    let short = specimen.table_bytes[1..].to_vec();
    let store = open_damaged(&specimen, &name, short, Access::ReadWrite).expect("it opens");
    let error = store.open(table).err().expect("a table that is too short");
    assert_corruption(&error, &name, "a short table");
    let files = specimen.files.copy();
    terrace_fs::dir::Files::remove(&files, &name).expect("the table was there");
    let store = open(&files).expect("it opens");
    let error = store.open(table).err().expect("a table that is gone");
    assert_corruption(&error, &name, "a missing table");
}
