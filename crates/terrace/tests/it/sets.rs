//! Sets on a device of shingled tracks, under the row `sealdb`: of the whole sets, at least 95 in a
//! hundred lie in one run of blocks, without gaps between tables, and compactions read them by one
//! request. Simulated, from a fixed seed.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace::{ByteCount, Db, FormatOptions, Row, System};
use terrace_env::random::Random;
use terrace_env::store::FileKind;
use terrace_env::{Cause, FileId, runner};
use terrace_lsm::inspect::Role;
use terrace_zone::{Emulator, Geometry, Tracks};

use crate::devices::{Contents, churn, contents, options_under};

/// The tables of each whole set, with the bytes of each, in the order of their keys. A table of
/// which a merge has taken a part has lost its front.
fn whole_sets(db: &Db) -> Vec<Vec<(FileId, u64)>> {
    let mut sets: BTreeMap<FileId, (u32, Vec<(FileId, u64)>)> = BTreeMap::new();
    for file in db.store().list().into_iter().filter(|file| file.kind == FileKind::Table) {
        let role = Role::of(file.id, file.kind, &file.annotation).unwrap();
        let Some(Role::Table { set: Some(set), .. }) = role else { continue };
        let len = db.store().open(file.id).unwrap().len();
        let (_, tables) = sets.entry(set.id).or_insert((set.tables, Vec::new()));
        tables.push((file.id, len));
    }
    let fs = db.fs().expect("a device");
    let is_there = |(file, _): &(FileId, u64)| fs.place_of(*file, 0).is_some();
    let whole = sets
        .into_values()
        .filter(|(count, tables)| *count as usize == tables.len() && tables.iter().all(is_there));
    whole.map(|(_, tables)| tables).filter(|tables| tables.len() > 1).collect()
}

/// Whether tables are adjacent, without a gap.
fn lie_together(db: &Db, tables: &[(FileId, u64)]) -> bool {
    let fs = db.fs().expect("a device");
    let block = |file: FileId, offset: u64| {
        let (at, _) = fs.place_of(file, offset).expect("a byte of a table");
        at.block()
    };
    let mut next = block(tables[0].0, 0);
    tables.iter().all(|(file, len)| {
        let (first, last) = (block(*file, 0), block(*file, len - 1));
        let is_next = first == next && last - first == (len - 1) / 4096;
        next = last + 1;
        is_next
    })
}

#[test]
fn tables_of_a_set_lie_one_behind_the_other_on_shingled_tracks() {
    runner::simulate(1, || {
        let geometry = Geometry::tracks(ByteCount::mib(160), Tracks { blocks: 24, overlap: 2 });
        let device = Arc::new(Emulator::in_memory(geometry, 1).unwrap());
        let options = options_under(System::of(Row::Sealdb));
        let db = Db::create_device(device.clone(), &FormatOptions::default(), options.clone());
        let (db, mut random, mut held) = (db.unwrap(), Random::seeded(1), Contents::new());
        let (mut seen, mut together) = (0, 0);
        for _ in 0..6 {
            churn(&db, &mut held, 20_000, 6_000, &mut random);
            db.wait_idle().unwrap();
            let sets = whole_sets(&db);
            seen += sets.len();
            together += sets.iter().filter(|tables| lie_together(&db, tables)).count();
        }
        assert!(seen > 60, "{seen} sets of several tables");
        assert!(together * 100 >= seen * 95, "{together} of {seen} sets lie in one stretch");
        db.close().unwrap();
        let db = Db::open_device(device, options).unwrap();
        assert_eq!(contents(&db), held);
        db.verify().unwrap();
        db.close().unwrap();
    });
}

/// Read requests of a store's compactions, and their bytes, after random writes.
fn reads(set_reads: bool) -> (u64, u64) {
    runner::simulate(1, move || {
        let geometry = Geometry::tracks(ByteCount::mib(160), Tracks { blocks: 24, overlap: 2 });
        let device = Arc::new(Emulator::in_memory(geometry, 1).unwrap());
        let options = options_under(System { set_reads, ..System::of(Row::Sealdb) });
        let options = options.memory(ByteCount::mib(24));
        let db = Db::create_device(device, &FormatOptions::default(), options).unwrap();
        let (mut random, mut held) = (Random::seeded(1), Contents::new());
        churn(&db, &mut held, 20_000, 30_000, &mut random);
        db.wait_idle().unwrap();
        let (io, at) = (db.store().io(), Cause::Compaction as usize);
        assert_eq!(contents(&db), held);
        db.close().unwrap();
        (io.reads[at], io.read_bytes[at])
    })
}

#[test]
fn a_set_is_read_by_one_request() {
    let ((with, bytes), (without, same)) = (reads(true), reads(false));
    assert!(with * 3 < without * 2, "{with} requests, and {without} table by table");
    assert!(bytes * 10 < same * 12, "{bytes} bytes, and {same}");
}
