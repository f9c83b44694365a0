//! Loads that read a filled and settled store, and reads next to a writer. Every answer is compared
//! with the value that was written last.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::line::Round;
use super::load::Load;
use crate::generator::{key, number_of};

/// Keys of one `multi_get`.
const KEYS: u64 = 32;
/// Entries of a short scan.
const SHORT: u64 = 50;
/// Passes over all entries.
const PASSES: u64 = 3;
/// Writes a second next to a reader.
const RATE: u64 = 10_000;

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

/// Gets random numbers while another thread overwrites others at a fixed rate; an operation is a
/// read or a write.
pub(super) fn next_to_writer(load: &Load, round: &mut Round) -> anyhow::Result<()> {
    let (reads, writes, is_over) = (load.entries, AtomicU64::new(0), AtomicBool::new(false));
    load.measure(
        round,
        "reads with a writer, a read or write",
        2,
        reads,
        false,
        |thread, worker| {
            let mut random = load.random(1400 + thread as u64);
            if thread == 0 {
                let numbers = (0..reads).map(|_| random.below(load.entries));
                let wrong = numbers.map(|number| load.get(worker, number)).sum();
                is_over.store(true, Ordering::Release);
                return wrong;
            }
            let (began, mut done, mut value) = (Instant::now(), 0, Vec::new());
            // The latencies of the line are those of the reads.
            let mut own = crate::measure::Worker::begin();
            while !is_over.load(Ordering::Acquire) {
                let due = began.elapsed().as_micros() as u64 * RATE / 1_000_000;
                while done < due && !is_over.load(Ordering::Acquire) {
                    load.put(&mut own, random.below(load.entries), &mut value)?;
                    done += 1;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            writes.store(done, Ordering::Release);
            Ok(0)
        },
    )?;
    let writes = writes.into_inner();
    if let Some(line) = round.lines.last_mut() {
        line.cost.operations += writes;
    }
    round.figure("writes next to 1,000 reads", writes as f64 * 1e3 / reads as f64);
    Ok(())
}
