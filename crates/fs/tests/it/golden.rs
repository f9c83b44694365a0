//! Specimens of every element, kept in the repository: they must decode for ever, to the same
//! value, and today's encoding must give the same bytes.
//!
//! `TERRACE_REGENERATE=1 cargo test -p terrace-fs golden` writes them anew. A difference in an
//! existing specimen is a change of format. Those with a version in their name are of that version,
//! and must be refused by it.

use std::path::PathBuf;
use std::sync::Arc;

use terrace_env::codec::Reader;
use terrace_env::random::Random;
use terrace_env::{Cause, IoBuf, ZoneId};
use terrace_fs::catalog::{Catalog, FileRecord};
use terrace_fs::frame::{AppendScan, MemorySource};
use terrace_fs::inspect::Inspector;
use terrace_fs::journal::replay;
use terrace_fs::superblock::Superblock;
use terrace_fs::{BLOCK, ZonePlace, logical_per_block, pointer};
use terrace_zone::{Device, Emulator, Geometry};

use crate::changes::Changes;
use crate::journal_world::{make, open, shape};
use crate::specimens;

/// The bytes of a specimen; `fresh` is the output of today's code.
pub(crate) fn golden(name: &str, fresh: &[u8]) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if terrace_env::regenerates_goldens() {
        let dir = path.parent().expect("the specimens' directory");
        std::fs::create_dir_all(dir).expect("the specimens' directory");
        std::fs::write(&path, fresh).expect("a specimen");
    }
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_superblock_specimen_decodes_to_the_same_value() {
    let value = specimens::superblock();
    let bytes = golden("superblock.bin", &value.encode());
    assert_eq!(Superblock::decode(&bytes), Ok(value.clone()));
    assert_eq!(*value.encode(), bytes[..]);
}

/// The bytes of a specimen of an earlier version, which nothing writes any more.
pub(crate) fn earlier(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_superblock_of_an_earlier_version_says_which() {
    let error = Superblock::decode(&earlier("superblock-2.bin")).expect_err("version 2");
    assert_eq!(error.to_string(), "version: expected 4 at offset 8, found 2");
}

#[test]
fn a_store_of_an_earlier_version_is_refused_by_name_and_version_until_a_format() {
    let device = store_on_drive(&earlier("store-2.bin"));
    for write in [false, true] {
        let error = replay(&device, write).err().expect("a store of version 2").to_string();
        let uuid = Random::seeded(1).uuid();
        let text = format!("store {uuid}: expected format version 4, found version 2");
        assert!(error.contains(&text), "{error}");
    }
    let seen = Inspector::device(Arc::clone(&device)).expect("a device that can be read");
    assert!(seen.damage()[0].to_string().contains("found version 2"), "{:?}", seen.damage());
    make(&device, 2);
    let found = replay(&device, false).expect("a store of today");
    assert!(found.catalog.is_empty());
    // It had written two superblocks at least; older ones must never count again.
    assert!(found.superblock.generation > 2);
}

#[test]
fn the_log_specimen_scans_to_the_same_appends() {
    let bytes = golden("log.bin", &specimens::log());
    assert_eq!(specimens::log(), bytes);
    let source = MemorySource { region: "specimen".into(), bytes, atomic: BLOCK };
    let start = specimens::BINDING.start(1);
    let mut scan = AppendScan::new(&source, specimens::BINDING, 0, start, 0);
    for payload in specimens::appends() {
        assert_eq!(scan.next_append().expect("a scan").expect("an append").payload, payload);
    }
    assert_eq!(scan.next_append().expect("the end"), None);
    assert_eq!(scan.end().0, 6);
}

#[test]
fn the_specimen_of_records_decodes_to_the_same_values() {
    let values = specimens::records();
    let bytes = golden("records.bin", &specimens::encode_records(&values));
    assert_eq!(specimens::decode_records(&bytes).as_ref(), Ok(&values));
    assert_eq!(specimens::encode_records(&values), bytes);
}

#[test]
fn the_specimen_of_snapshot_entries_decodes_to_the_same_files() {
    let bytes = golden("entries.bin", &specimens::entries());
    let mut from = Reader::new(&bytes);
    let catalog = specimens::catalog();
    for (id, record) in catalog.files() {
        assert_eq!(FileRecord::decode(&mut from, catalog.space()), Ok((id, record.clone())));
    }
    assert!(from.is_empty());
    assert_eq!(specimens::entries(), bytes);
}

fn store_shape() -> Geometry {
    Geometry { zones: 60, ..shape(0) }
}

/// A store whose journal has rolled and gone from zone to zone.
fn store() -> Vec<u8> {
    let emulator = Emulator::in_memory(store_shape(), 1).expect("a possible shape");
    let device: Arc<dyn Device> = Arc::new(emulator);
    make(&device, 1);
    let journal = open(&device).expect("a mount");
    let mut changes = Changes::new(1, 40);
    for round in 0..12 {
        if round == 4 {
            journal.request_roll();
        }
        let records = journal.read(|catalog| changes.transaction(catalog));
        journal.commit(records, false).expect("a commit");
    }
    let geometry = device.geometry();
    let mut zones = Vec::new();
    for report in device.report(ZoneId(0), geometry.zones).expect("a report") {
        let blocks = pointer(geometry, &report).unwrap_or(7);
        if blocks > 0 {
            let count = blocks * logical_per_block(geometry) as u32;
            let data = device.read(report.start, count, Cause::Client).expect("a read");
            zones.push((report.zone, data.to_vec()));
        }
    }
    specimens::pack(&zones)
}

/// A drive with the contents of a store's specimen.
fn store_on_drive(bytes: &[u8]) -> Arc<dyn Device> {
    let emulator = Emulator::in_memory(store_shape(), 2).expect("a possible shape");
    let device: Arc<dyn Device> = Arc::new(emulator);
    for (zone, content) in specimens::unpack(bytes) {
        let lba = ZonePlace { zone, block: 0 }.lba(device.geometry());
        device.write(lba, IoBuf::copy_of(&content), true, Cause::Client).expect("a write");
    }
    device
}

/// All that a catalog says, as text.
fn describe(catalog: &Catalog) -> String {
    let mut text = format!("{:?}\n", catalog.store_annotation());
    for (id, record) in catalog.files() {
        text += &format!("{id}: {record:?}\n");
    }
    text + &format!("next {} {}\n", catalog.next_file(), catalog.next_epoch())
}

#[test]
fn the_specimen_of_a_store_mounts_and_goes_on() {
    let bytes = golden("store.bin", &store());
    assert!(store() == bytes, "a store is written in another way");
    let device = store_on_drive(&bytes);
    let found = replay(&device, false).expect("a store");
    let text = describe(&found.catalog);
    assert_eq!(golden("store.txt", text.as_bytes()), text.as_bytes());
    assert!(found.journal_zones().count() > 1, "the specimen has a link");
    let journal = open(&device).expect("a mount");
    let mut changes = Changes::new(2, 40);
    let records = journal.read(|catalog| changes.transaction(catalog));
    journal.commit(records, false).expect("a commit");
}
