//! Loads that read a filled and settled store, and reads next to a writer. Every answer is compared
//! with the value that was written last.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::line::Round;
use super::load::Load;
use crate::generator::{key, number_of};
use crate::measure::Worker;

/// Keys of one `multi_get`.
const KEYS: u64 = 32;
/// Entries of a short scan.
const SHORT: u64 = 50;
/// Passes over all entries.
const PASSES: u64 = 3;
/// Reads for each write of the writer next to a reader.
const READS_FOR_WRITE: u64 = 2;

/// Gets random numbers, in threads.
pub(super) fn random(
    load: &Load,
    round: &mut Round,
    name: &str,
    threads: usize,
) -> anyhow::Result<()> {
    let operations = load.entries / threads as u64;
    load.measure(round, name, threads, operations * threads as u64, false, |thread, worker| {
        let mut random = load.random(1000 + 10 * threads as u64 + thread as u64);
        let numbers = (0..operations).map(|_| random.below(load.entries));
        numbers.map(|number| load.get(worker, number)).sum()
    })
}

/// Gets keys that are not there.
pub(super) fn absent(load: &Load, round: &mut Round) -> anyhow::Result<()> {
    load.measure(round, "absent", 1, load.entries, false, |_, worker| {
        let mut random = load.random(1100);
        let numbers = (0..load.entries).map(|_| random.below(load.entries));
        numbers.map(|number| load.get_absent(worker, number)).sum()
    })
}

/// Gets random numbers, several in a call; an operation is a key.
pub(super) fn several(load: &Load, round: &mut Round) -> anyhow::Result<()> {
    let calls = (load.entries / KEYS).max(1);
    load.measure(round, "multi_get of 32, a key", 1, calls * KEYS, false, |_, worker| {
        let mut random = load.random(1200);
        let mut wrong = 0;
        for _ in 0..calls {
            let numbers: Vec<u64> = (0..KEYS).map(|_| random.below(load.entries)).collect();
            let keys: Vec<_> = numbers.iter().map(|number| key(*number)).collect();
            let mut expected = numbers.iter();
            worker.run(|| {
                load.engine.multi_get(&keys, &mut |found| {
                    let number = expected.next().zip(found);
                    let right = number.is_some_and(|(number, found)| load.is_right(*number, found));
                    wrong += u64::from(!right);
                })
            })?;
            wrong += expected.count() as u64;
        }
        Ok(wrong)
    })
}

/// Reads everything in order; an operation is an entry.
pub(super) fn scan(load: &Load, round: &mut Round) -> anyhow::Result<()> {
    load.measure(round, "scan, an entry", 1, PASSES * load.entries, false, |_, worker| {
        let mut wrong = 0;
        for _ in 0..PASSES {
            wrong += worker.run(|| scan_from(load, 0, load.entries + 1))?;
        }
        Ok(wrong)
    })
}

/// Reads some entries from a random number on; an operation is a scan.
pub(super) fn seek(load: &Load, round: &mut Round) -> anyhow::Result<()> {
    let operations = (load.entries / 20).max(1);
    load.measure(round, "seek + 50", 1, operations, false, |_, worker| {
        let mut random = load.random(1300);
        let numbers = (0..operations).map(|_| random.below(load.entries));
        numbers.map(|number| worker.run(|| scan_from(load, number, SHORT))).sum()
    })
}

/// Reads from a number on, and returns how many of the expected entries were wrong or missing.
fn scan_from(load: &Load, from: u64, limit: u64) -> anyhow::Result<u64> {
    let (mut next, mut wrong) = (from, 0);
    let count = load.engine.scan(&key(from), limit, &mut |key, value| {
        let right = number_of(key) == Some(next) && load.is_right(next, value);
        wrong += u64::from(!right);
        next = (next + 1).min(load.entries - 1);
    })?;
    Ok(wrong + count.abs_diff(limit.min(load.entries - from)))
}

/// Gets random numbers while another thread overwrites others: one for every two reads, so that all
/// engines do the same work, however fast they and the machine are. An operation is a read or a
/// write; the latencies are those of the reads.
pub(super) fn next_to_writer(load: &Load, round: &mut Round) -> anyhow::Result<()> {
    let name = "reads with a writer, a read or write";
    let (reads, writes) = (load.entries, load.entries / READS_FOR_WRITE);
    // A reader that fails must not leave the writer waiting.
    let (done, has_failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let read = |worker: &mut Worker| {
        let mut random = load.random(1400);
        let mut wrong = 0;
        for number in 1..=reads {
            wrong += load.get(worker, random.below(load.entries))?;
            done.store(number, Ordering::Relaxed);
        }
        Ok(wrong)
    };
    load.measure(round, name, 2, reads + writes, false, |thread, worker| {
        if thread == 0 {
            let wrong = read(worker);
            has_failed.store(wrong.is_err(), Ordering::Relaxed);
            return wrong;
        }
        let (mut random, mut value) = (load.random(1401), Vec::new());
        let mut own = Worker::begin();
        for number in 1..=writes {
            while done.load(Ordering::Relaxed) < number * READS_FOR_WRITE {
                if has_failed.load(Ordering::Relaxed) {
                    return Ok(0);
                }
                std::thread::sleep(Duration::from_micros(500));
            }
            load.put(&mut own, random.below(load.entries), &mut value)?;
        }
        Ok(0)
    })
}
