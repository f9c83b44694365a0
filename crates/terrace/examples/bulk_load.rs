//! Bulk load: sorted input goes into tables directly, and becomes visible as a whole.
//!
//! An ingest writes each byte of the input about once, without log and memtable. The program
//! compares its writes with those of the same load by batches.
//!
//! `cargo run --release -p terrace --example bulk_load`

use std::path::Path;

use terrace::{Batch, ByteCount, Db, Options, System};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const ENTRIES: u64 = 100_000;

fn options() -> Options {
    Options::default().memtable_size(ByteCount::mib(2)).system(System {
        table_size: Some(ByteCount::mib(1)),
        level1_size: Some(ByteCount::mib(4)),
        factor: 4,
        ..System::default()
    })
}

/// The input, in the order of its keys: here made up, elsewhere read from a sorted file.
fn input() -> impl Iterator<Item = ([u8; 8], [u8; 100])> {
    (0..ENTRIES).map(|number| (number.to_be_bytes(), [(number * 31) as u8; 100]))
}

fn by_ingest(place: &Path) -> Outcome<Db> {
    let db = Db::open_directory(place, options())?;
    let mut ingest = db.ingest()?;
    for (key, value) in input() {
        ingest.put(&key, &value)?;
    }
    // Until here nothing is visible, and an error or a power cut would leave no trace.
    assert!(db.get(&0u64.to_be_bytes())?.is_none());
    let done = ingest.finish()?;
    println!("ingest: {} entries in {} tables of {}", done.entries, done.tables, done.table_bytes);
    db.wait_idle()?;
    Ok(db)
}

fn by_batches(place: &Path) -> Outcome<Db> {
    let db = Db::open_directory(place, options())?;
    let mut batch = Batch::new();
    for (key, value) in input() {
        batch.put(&key, &value);
        if batch.len() == 1000 {
            db.write(std::mem::take(&mut batch))?;
        }
    }
    db.write(batch)?;
    db.flush()?;
    db.wait_idle()?;
    Ok(db)
}

fn main() -> Outcome<()> {
    let place = tempfile::tempdir()?;
    let (ingested, written) =
        (by_ingest(&place.path().join("ingest"))?, by_batches(&place.path().join("batches"))?);
    for (name, db) in [("ingest", &ingested), ("batches", &written)] {
        let amplification = db.stats().write_amplification;
        println!("{name:8} wrote {:.2} bytes for each byte of input", amplification.total);
    }
    let total = |db: &Db| db.stats().write_amplification.total;
    assert!(total(&ingested) < 1.3 && total(&ingested) < total(&written));

    // Both hold the same entries.
    for (one, other) in ingested.scan(..)?.zip(written.scan(..)?) {
        assert_eq!(one?, other?);
    }
    // Entries that are ingested later are newer, and may overwrite.
    let mut again = ingested.ingest()?;
    again.put(&7u64.to_be_bytes(), b"seven")?;
    again.finish()?;
    assert_eq!(ingested.get(&7u64.to_be_bytes())?.as_deref(), Some(&b"seven"[..]));
    ingested.close()?;
    written.close()?;
    Ok(())
}
