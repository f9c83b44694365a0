//! Bits flip and files are cut short: reads return correct bytes, or an error names the damaged
//! place.

use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_env::{Cause, Store};
use terrace_fs::dir::{Files, MemoryFiles};
use terrace_fs::{Access, BLOCK};

use super::specimen::{Specimen, listing, specimen};
use super::world::{open, open_for};

/// Opens a copy in which one file has other bytes.
fn open_damaged(
    files: &MemoryFiles,
    name: &str,
    bytes: Vec<u8>,
    access: Access,
) -> Result<Arc<dyn Store>, StoreError> {
    let copy = files.copy();
    copy.overwrite(name, bytes);
    open_for(&copy, access)
}

fn assert_corruption(error: &StoreError, region: &str, what: &str) {
    match error {
        StoreError::Corruption { region: found, .. } => {
            assert_eq!(*found, format!("a directory in memory/{region}"), "{what}");
        }
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
    let good = specimen.killed.bytes(specimen.journal).expect("the journal");
    let mut seen = vec![0; specimen.listings.len()];
    for len in 0..good.len() {
        // An opening for writing takes further steps after those of a read-only one: a few lengths
        // are enough for it. It also finds missing files that the journal names, and files that it
        // does not name.
        let access = if len % 61 == 0 { Access::ReadWrite } else { Access::ReadOnly };
        let cut = good[..len].to_vec();
        match open_damaged(&specimen.killed, specimen.journal, cut, access) {
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
fn a_journal_of_a_closed_store_that_is_cut_at_any_byte_is_corrupt() {
    let specimen = specimen();
    let good = specimen.files.bytes(specimen.journal).expect("the journal");
    for len in 0..good.len() {
        let cut = good[..len].to_vec();
        let opened = open_damaged(&specimen.files, specimen.journal, cut, Access::ReadOnly);
        let what = format!("cut at {len}");
        assert_corruption(&opened.err().expect(&what), specimen.journal, &what);
    }
}

#[test]
fn a_flipped_bit_in_the_journal_is_reported_or_changes_nothing() {
    let specimen = specimen();
    let last = specimen.listings.last().expect("a listing");
    for files in [&specimen.killed, &specimen.files] {
        let good = files.bytes(specimen.journal).expect("the journal");
        for at in 0..good.len() {
            match open_damaged(files, specimen.journal, flip(&good, at), Access::ReadOnly) {
                // The last commit fits a sector: not even it passes for a torn tail.
                Ok(store) => assert_eq!(listing(&store), *last, "byte {at}"),
                Err(error) => assert_corruption(&error, specimen.journal, &format!("byte {at}")),
            }
        }
    }
}

#[test]
fn a_flipped_bit_in_the_superblock_is_always_reported() {
    let specimen = specimen();
    let good = specimen.files.bytes("CURRENT").expect("the superblock");
    for at in 0..good.len() {
        let opened = open_damaged(&specimen.files, "CURRENT", flip(&good, at), Access::ReadWrite);
        assert_corruption(&opened.err().expect("an error"), "CURRENT", &format!("byte {at}"));
    }
    for len in 0..good.len() {
        let opened =
            open_damaged(&specimen.files, "CURRENT", good[..len].to_vec(), Access::ReadWrite);
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
fn a_flipped_bit_in_a_log_is_reported_or_changes_nothing() {
    let specimen = specimen();
    let name = format!("{:06}.log", specimen.log);
    let good = specimen.files.bytes(&name).expect("the log");
    let all = specimen.log_bytes.concat();
    for files in [&specimen.killed, &specimen.files] {
        let mut reported = 0;
        for at in 0..good.len() {
            let store = open_damaged(files, &name, flip(&good, at), Access::ReadOnly);
            let store = store.expect("one damaged log does not keep readers from the rest");
            match read_log(&specimen, &store) {
                // Not even the last append passes for a torn tail, though it is longer than a
                // sector: none of its sectors reads as zeros.
                Ok(bytes) => assert!(bytes == all, "byte {at}: lost or wrong data"),
                Err(error) => {
                    assert_corruption(&error, &name, &format!("byte {at}"));
                    reported += 1;
                }
            }
            if at % 97 == 0 {
                let written = open_damaged(files, &name, flip(&good, at), Access::ReadWrite);
                let agrees = written.is_ok() == read_log(&specimen, &store).is_ok();
                assert!(agrees, "byte {at}: a writer must not go on after damage");
            }
        }
        assert!(reported >= all.len(), "{reported} of {} bytes", all.len());
    }
}

#[test]
fn a_log_cut_at_any_byte_ends_at_an_append_unless_more_is_known_to_be_durable() {
    let specimen = specimen();
    let name = format!("{:06}.log", specimen.log);
    let good = specimen.files.bytes(&name).expect("the log");
    let mut ends = vec![0];
    for bytes in &specimen.log_bytes {
        ends.push(ends.last().expect("an end") + bytes.len());
    }
    let all = specimen.log_bytes.concat();
    for len in (0..good.len()).step_by(7) {
        let what = format!("cut at {len}");
        for files in [&specimen.killed, &specimen.files] {
            // The log was synced before the last commit, which records its end. So does closing.
            let error = open_damaged(files, &name, good[..len].to_vec(), Access::ReadWrite).err();
            assert_corruption(&error.expect(&what), &name, &what);
        }
        // In the store as it was before that commit, only the first run has a known end.
        let files = specimen.killed.copy();
        let journal = files.bytes(specimen.journal).expect("the journal");
        files.overwrite(specimen.journal, journal[..3 * BLOCK].to_vec());
        let opened = open_damaged(&files, &name, good[..len].to_vec(), Access::ReadWrite);
        if len < BLOCK {
            assert_corruption(&opened.err().expect(&what), &name, &what);
            continue;
        }
        let store = opened.unwrap_or_else(|error| panic!("{what}: {error}"));
        let bytes = read_log(&specimen, &store).expect("the rest can be read");
        assert!(ends.contains(&bytes.len()) && all.starts_with(&bytes), "{what}");
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
fn a_file_that_is_missing_short_or_a_directory_is_reported() {
    let specimen = specimen();
    let store = open_for(&specimen.files, Access::ReadOnly).expect("the store opens");
    let table = store.lookup("b").expect("the table");
    drop(store);
    let name = format!("{table:06}.table");
    let fails = |files: &MemoryFiles, access, what: &str| {
        let opened = open_for(files, access).unwrap_or_else(|error| panic!("{what}: {error}"));
        let error = opened.open(table).err().expect(what);
        assert_corruption(&error, &name, what);
    };
    let files = specimen.files.copy();
    files.overwrite(&name, specimen.table_bytes[1..].to_vec());
    fails(&files, Access::ReadWrite, "a short table");
    files.make_directory(&name);
    fails(&files, Access::ReadWrite, "a directory in a table's place");
    let files = specimen.files.copy();
    files.remove(&name).expect("the table was there");
    fails(&files, Access::ReadOnly, "a missing table");
}

/// No record names a file that was renamed: an opening must not remove it for that.
#[test]
fn a_store_that_lacks_a_file_is_not_opened_for_writing() {
    let specimen = specimen();
    for killed in [true, false] {
        let of_end = if killed { &specimen.killed } else { &specimen.files };
        for (from, to) in [("000257.table", "000300.table"), ("000001.log", "000001.table")] {
            let files = of_end.copy();
            files.rename(from, to).expect("a file");
            let error = open(&files).err().expect("a file is missing");
            assert_corruption(&error, from, to);
            assert!(error.to_string().contains(to), "{error}");
            assert!(files.bytes(to).is_some(), "{to} was removed");
            files.remove(to).expect("a file");
            assert_corruption(&open(&files).err().expect("a file is missing"), from, "removed");
        }
    }
}
