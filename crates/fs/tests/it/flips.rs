//! Specimens with one bit flipped, or cut short: the bytes read must be the same, or fewer before a
//! torn tail, or an error. A panic or another value fails the test.

use std::sync::Arc;

use terrace_env::codec::Reader;
use terrace_env::store::StoreError;
use terrace_env::{Lba, ZoneId};
use terrace_fs::catalog::{Catalog, FileRecord};
use terrace_fs::frame::{AppendScan, MemorySource};
use terrace_fs::journal::replay;
use terrace_fs::superblock::Superblock;
use terrace_fs::{BLOCK, ZonePlace, pointer};
use terrace_zone::{Device, Emulator};

use crate::changes::Changes;
use crate::journal_world::{make, open, shape};
use crate::specimens;

/// Result of scanning a log's bytes: the appends, and whether it ended in corruption.
fn scan(bytes: Vec<u8>, atomic: usize) -> (Vec<Vec<u8>>, bool) {
    let source = MemorySource { region: "specimen".into(), bytes, atomic };
    let start = specimens::BINDING.start(1);
    let mut scan = AppendScan::new(&source, specimens::BINDING, 0, start, 0);
    let mut appends = Vec::new();
    loop {
        match scan.next_append() {
            Ok(Some(append)) => appends.push(append.payload),
            Ok(None) => return (appends, false),
            Err(StoreError::Corruption { region, .. }) => {
                assert_eq!(region, "specimen");
                assert!(scan.next_append().is_err(), "nothing comes after an error");
                return (appends, true);
            }
            Err(other) => panic!("a scan of bytes in memory: {other}"),
        }
    }
}

#[test]
fn a_flipped_bit_in_a_log_is_corruption_or_changes_nothing() {
    let good = specimens::log();
    let all = specimens::appends();
    let mut torn = 0;
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let (appends, corrupt) = scan(bytes, BLOCK);
        assert!(all.starts_with(&appends), "bit {bit}: another value");
        if !corrupt && appends != all {
            torn += 1;
        }
    }
    // The last frame fits one block, so not even there damage passes for a torn tail.
    assert_eq!(torn, 0);
}

#[test]
fn a_flipped_bit_where_nothing_is_written_whole_is_never_another_value() {
    let good = specimens::log();
    let all = specimens::appends();
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let (appends, corrupt) = scan(bytes, 0);
        assert!(all.starts_with(&appends), "bit {bit}: another value");
        let only_last = bit / 8 >= 5 * BLOCK;
        assert!(corrupt || appends == all || only_last, "bit {bit}: acknowledged data was cut");
    }
}

#[test]
fn a_log_cut_at_any_length_ends_before_the_append_that_is_not_whole() {
    let good = specimens::log();
    let all = specimens::appends();
    for len in 0..good.len() {
        let (appends, corrupt) = scan(good[..len].to_vec(), BLOCK);
        assert!(!corrupt, "cut at {len}");
        // Appends end at blocks 1, 2, 5 and 6.
        let whole = [1, 2, 5, 6].iter().filter(|end| len / BLOCK >= **end).count();
        assert_eq!(appends, all[..whole], "cut at {len}");
    }
}

#[test]
fn a_block_of_a_log_that_is_lost_is_corruption_unless_it_is_the_last() {
    let good = specimens::log();
    for block in 0..good.len() / BLOCK {
        let mut bytes = good.clone();
        bytes[block * BLOCK..(block + 1) * BLOCK].fill(0);
        let (appends, corrupt) = scan(bytes, BLOCK);
        assert!(specimens::appends().starts_with(&appends));
        assert_eq!(corrupt, block < 5, "block {block}");
    }
}

#[test]
fn no_damaged_superblock_is_read() {
    let good = specimens::superblock().encode();
    for bit in 0..good.len() * 8 {
        let mut bytes = good.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        Superblock::decode(&bytes).expect_err("a damaged superblock");
    }
    for len in 0..good.len() {
        Superblock::decode(&good[..len]).expect_err("a part of a superblock");
    }
}

/// Payloads carry no checksum of their own, their frames do: here only panics are wrong.
#[test]
fn no_damaged_payload_makes_the_catalog_panic() {
    let good = specimens::encode_records(&specimens::records());
    let mut accepted = 0;
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let Ok(mut records) = specimens::decode_records(&bytes) else { continue };
        accepted += u32::from(Catalog::new(specimens::space()).stage(&mut records).is_ok());
    }
    assert!(accepted > 0, "flips in names and sizes go unnoticed without a frame");
    for len in 0..good.len() {
        if let Ok(records) = specimens::decode_records(&good[..len]) {
            assert!(specimens::records().starts_with(&records), "cut at {len}");
        }
    }
    let (entries, space) = (specimens::entries(), specimens::space());
    for bit in 0..entries.len() * 8 {
        let mut bytes = entries.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let mut from = Reader::new(&bytes);
        while !from.is_empty() && FileRecord::decode(&mut from, &space).is_ok() {}
    }
}

/// One bit anywhere in the zones of a whole store, end to end.
#[test]
fn a_flipped_bit_in_a_store_is_corruption_or_an_acknowledged_state() {
    let emulator = Arc::new(Emulator::in_memory(shape(0), 3).expect("a possible shape"));
    let device = Arc::clone(&emulator) as Arc<dyn Device>;
    make(&device, 3);
    let journal = open(&device).expect("a mount");
    let mut changes = Changes::new(3, 300);
    let mut states = vec![journal.read(Clone::clone)];
    for _ in 0..25 {
        let records = journal.read(|catalog| changes.transaction(catalog));
        journal.commit(records, false).expect("a commit");
        states.push(journal.read(Clone::clone));
    }
    drop(journal);
    let found = replay(&device, false).expect("a store");
    let mut zones: Vec<ZoneId> = found.journal_zones().collect();
    zones.extend(found.superblock_zones());
    let (last, mut corrupt, mut older) = (states.len() - 1, 0, 0);
    for zone in zones {
        let report = device.report(zone, 1).expect("a report")[0];
        for block in 0..pointer(device.geometry(), &report).unwrap_or(7) {
            let lba = ZonePlace { zone, block }.lba(device.geometry());
            // All of the header and the small payloads, some of the rest.
            for bit in (0..64 * 8).chain((64 * 8..BLOCK * 8).step_by(389)) {
                flip(&emulator, lba, bit);
                match replay(&device, false) {
                    Ok(found) => {
                        let state = states.iter().position(|state| *state == found.catalog);
                        let state = state.unwrap_or_else(|| panic!("{zone}/{block}/{bit}"));
                        // Only a damaged last frame may pass for a torn tail.
                        assert!(state + 1 >= last, "{zone}/{block}/{bit}: state {state}");
                        older += u32::from(state < last);
                    }
                    Err(StoreError::Corruption { .. }) => corrupt += 1,
                    Err(other) => panic!("{zone}/{block}/{bit}: {other}"),
                }
                flip(&emulator, lba, bit);
            }
        }
    }
    assert!(corrupt > 100 && older == 0, "{corrupt} corrupt, {older} older");
}

fn flip(emulator: &Emulator, lba: Lba, bit: usize) {
    emulator.corrupt(lba, |bytes| bytes[bit / 8] ^= 1 << (bit % 8)).expect("a block");
}
