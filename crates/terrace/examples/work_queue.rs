//! A work queue that survives a power cut: synced writes, and recovery on an emulated drive.
//!
//! Synced writes survive. Of the others, only the newest may be lost: never one without all newer
//! ones. Adding a job is synced. One batch takes a job off the queue and keeps its result. So a job
//! is either in the queue or has a result, never both and never neither.
//!
//! `cargo run -p terrace --example work_queue`. With a number n, n jobs go through a queue on a
//! larger drive, and a job costs the same at the end as at the beginning: `cargo run --release -p
//! terrace --example work_queue 1000000`

use std::sync::Arc;

use terrace::device::{Device, Emulator, Geometry, PowerCut, Random};
use terrace::{Batch, ByteCount, Db, Durability, FormatOptions, KeySpace, Options};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Jobs that wait, by number, and results of finished ones.
struct Queue {
    db: Db,
    waiting: KeySpace,
    results: KeySpace,
}

impl Queue {
    fn open(db: Db) -> Outcome<Self> {
        let (waiting, results) = (db.create_key_space("waiting")?, db.create_key_space("results")?);
        Ok(Self { db, waiting, results })
    }

    /// Adds a job, which is safe when this returns. Concurrent threads share the wait for the
    /// medium.
    fn add(&self, number: u64, job: &[u8]) -> Outcome<()> {
        let mut batch = Batch::new();
        batch.key_space(&self.waiting).put(&number.to_be_bytes(), job);
        Ok(self.db.write_with(batch, Durability::Synced)?)
    }

    /// Does the oldest job; `None` if there is none. One write takes it off the queue and keeps its
    /// result. It need not be synced: if it is lost, the job is done again.
    fn work(&self) -> Outcome<Option<u64>> {
        let Some(oldest) = self.waiting.scan(..)?.next() else { return Ok(None) };
        let (key, job) = oldest?;
        let result: u64 = job.iter().map(|byte| u64::from(*byte)).sum();
        let mut batch = Batch::new();
        batch.key_space(&self.waiting).delete(&key);
        batch.key_space(&self.results).put(&key, &result.to_be_bytes());
        self.db.write(batch)?;
        Ok(Some(u64::from_be_bytes(key[..].try_into()?)))
    }
}

/// Sends many jobs through a queue, and prints the number of deleted entries passed to find each.
fn many(count: u64) -> Outcome<()> {
    let drive = Arc::new(Emulator::in_memory(Geometry::uniform(ByteCount::mib(16), 128), 1)?);
    let options = Options::fitting(drive.geometry().capacity());
    let queue = Queue::open(Db::create_device(drive, &FormatOptions::default(), options)?)?;
    for number in 0..count {
        let mut batch = Batch::new();
        batch.key_space(&queue.waiting).put(&number.to_be_bytes(), b"a job");
        queue.db.write(batch)?;
    }
    for done in 1..=count {
        assert_eq!(queue.work()?, Some(done - 1), "in the order in which they came");
        if done % count.div_ceil(4) == 0 || done == count {
            let passed = queue.db.stats().scan_entries_passed;
            let each = passed as f64 / done as f64;
            println!("{done} jobs done, {each:.1} entries passed for each");
        }
    }
    assert_eq!(queue.work()?, None);
    Ok(queue.db.close()?)
}

fn main() -> Outcome<()> {
    if let Some(count) = std::env::args().nth(1) {
        return many(count.parse()?);
    }
    // 64 zones of 1 MiB, in memory; `Emulator::create_image` makes one in a sparse file.
    let drive = Arc::new(Emulator::in_memory(Geometry::uniform(ByteCount::mib(1), 64), 1)?);
    let options = Options::fitting(drive.geometry().capacity());
    let db = Db::create_device(drive.clone(), &FormatOptions::default(), options.clone())?;
    let queue = Queue::open(db)?;
    for number in 0..200u64 {
        queue.add(number, format!("job {number}").as_bytes())?;
    }
    for done in 1..=120 {
        queue.work()?;
        if done == 100 {
            queue.db.sync()?;
        }
    }

    // The power goes: the drive's cache is lost in part.
    drive.power_cut(PowerCut::Blocks, &mut Random::seeded(7))?;
    assert!(queue.add(999, b"too late").is_err());
    drop(queue);
    drive.power_on();

    // Opening recovers: the log is read up to its torn end.
    let queue = Queue::open(Db::open_device(drive, options)?)?;
    let (waiting, done) = (queue.waiting.scan(..)?.count(), queue.results.scan(..)?.count());
    println!("after the power cut: {waiting} jobs wait, {done} are done");
    assert_eq!(waiting + done, 200, "no synced job is lost, and none is there twice");
    assert!((100..=120).contains(&done), "nor is what was done when the queue was synced");

    while queue.work()?.is_some() {}
    assert_eq!(queue.results.scan(..)?.count(), 200);
    println!("all 200 jobs are done");
    queue.db.close()?;
    Ok(())
}
