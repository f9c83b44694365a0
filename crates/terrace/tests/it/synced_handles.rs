//! A handle writes with its durability, whatever the call: each kind of write of a handle with
//! [`Durability::Synced`] is there after a power cut that drops all bytes that were not flushed.
//! The same writes of a handle that gathers them are gone, so that the check can fail.

use std::sync::Arc;
use std::time::Duration;

use terrace::{Batch, ByteCount, Db, Durability, Error, FormatOptions};
use terrace_env::random::Random;
use terrace_env::runner;
use terrace_zone::PowerCut;

use crate::devices::{drive, options};

const KEY: &[u8] = b"key";
const DAY: Duration = Duration::from_secs(24 * 3600);

type Write = fn(&Db) -> Result<(), Error>;

/// Writes [`KEY`] in the default key space.
const WRITES: [(&str, Write); 13] = [
    ("put", |db| db.put(KEY, b"")),
    ("put_with_ttl", |db| db.put_with_ttl(KEY, b"", DAY)),
    ("batch", |db| {
        let mut batch = Batch::new();
        batch.put(KEY, b"");
        db.write(batch)
    }),
    ("put_if", |db| db.put_if(KEY, None, b"").map(drop)),
    ("put_if_with_ttl", |db| db.put_if_with_ttl(KEY, None, b"", DAY).map(drop)),
    ("compare_and_swap", |db| db.compare_and_swap(KEY, None, Some(b"")).map(drop)),
    ("commit", |db| {
        let transaction = db.transaction()?;
        transaction.put(KEY, b"")?;
        transaction.commit()
    }),
    ("transact", |db| db.transact(|transaction| transaction.put(KEY, b""))),
    ("put of a key space", |db| db.key_space("default")?.put(KEY, b"")),
    ("put_with_ttl of a key space", |db| db.key_space("default")?.put_with_ttl(KEY, b"", DAY)),
    ("put_if of a key space", |db| db.key_space("default")?.put_if(KEY, None, b"").map(drop)),
    ("put_if_with_ttl of a key space", |db| {
        db.key_space("default")?.put_if_with_ttl(KEY, None, b"", DAY).map(drop)
    }),
    ("transaction with a key space", |db| {
        let space = db.key_space("default")?;
        db.transact(|transaction| transaction.key_space(&space)?.put(KEY, b""))
    }),
];

/// Whether the key is there after a power cut.
fn survives(write: Write, durability: Durability) -> bool {
    runner::simulate(1, || {
        let device = drive(ByteCount::mib(1), 48, 1);
        let db = Db::create_device(device.clone(), &FormatOptions::default(), options()).unwrap();
        write(&db.with_durability(durability)).unwrap();
        let survivor = device.snapshot().unwrap();
        let survivor = survivor.cut(PowerCut::DropUnflushed, &mut Random::seeded(1));
        drop(db);
        let db = Db::open_device(Arc::new(survivor), options()).unwrap();
        let found = db.contains(KEY).unwrap();
        db.close().unwrap();
        found
    })
}

#[test]
fn each_kind_of_write_has_the_durability_of_its_handle() {
    for (kind, write) in WRITES {
        assert!(survives(write, Durability::Synced), "{kind}");
        assert!(!survives(write, Durability::Gathered), "{kind}");
    }
}
