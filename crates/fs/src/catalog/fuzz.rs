//! Damaged records of transactions, and entries of files in a snapshot.

use std::path::Path;

use terrace_env::codec::Reader;
use terrace_env::{ByteCount, DeviceId};
use terrace_fuzz::{Target, fuzz, specimens_in};
use terrace_zone::Geometry;

use super::{Catalog, FileRecord, Record};
use crate::{AddressSpace, ZoneGrid};

/// The addresses that the specimens may name.
fn space() -> AddressSpace {
    let uniform = Geometry::uniform(ByteCount::mib(256), 52156);
    let geometry = Geometry { zone_capacity: 60000, ..uniform };
    AddressSpace::zoned(ZoneGrid::new(DeviceId::FIRST, &geometry))
}

fn kept(name: &str) -> Vec<Vec<u8>> {
    specimens_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden"), name)
}

/// Decoded records are also applied to a catalog, which takes all of them or none.
#[test]
fn records() {
    let space = space();
    fuzz!(Target::recoding("records of the journal", kept("records.bin"), move |input| {
        let mut from = Reader::new(input);
        let (mut records, mut encoded) = (Vec::new(), Vec::new());
        while !from.is_empty() {
            records.push(Record::decode(&mut from, &space).ok()?);
        }
        records.iter().for_each(|record| record.encode(&mut encoded));
        let mut catalog = Catalog::new(space.clone());
        if catalog.stage(&mut records).is_err() {
            assert_eq!(catalog.files().count(), 0);
        }
        Some(encoded)
    }));
}

#[test]
fn entries_of_files() {
    let space = space();
    fuzz!(Target::recoding("files of a snapshot", kept("entries.bin"), move |input| {
        let mut from = Reader::new(input);
        let mut encoded = Vec::new();
        while !from.is_empty() {
            let (id, record) = FileRecord::decode(&mut from, &space).ok()?;
            record.encode(id, &mut encoded);
        }
        Some(encoded)
    }));
}
