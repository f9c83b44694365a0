//! Watching a store: the store calls a [`Listener`] with events in the background, and
//! [`Stats`](terrace::Stats) has the metrics.
//!
//! `cargo run -p terrace --example watch`

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace::{ByteCount, Db, Event, Job, Listener, Options, System};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Prints compactions as they end, and counts events that are too frequent to print.
#[derive(Default)]
struct Log {
    flushes: AtomicU64,
    compactions: AtomicU64,
    stalls: AtomicU64,
}

impl Listener for Log {
    // The job of the event calls this between its steps: it should return soon.
    fn notice(&self, event: &Event) {
        match event {
            Event::Ended { job: Job::Flush { .. }, .. } => {
                self.flushes.fetch_add(1, Ordering::Relaxed);
            }
            Event::Ended {
                job: Job::Compaction { from, to, inputs, .. }, written, time, ..
            } => {
                self.compactions.fetch_add(1, Ordering::Relaxed);
                let written = written.unwrap_or_default();
                println!(
                    "compacted {inputs} tables of level {from} into {to}: {written}, {time:?}"
                );
            }
            Event::Stalled { time, .. } => {
                println!("a write waited {time:?}");
                self.stalls.fetch_add(1, Ordering::Relaxed);
            }
            Event::Stopped { error } => eprintln!("nothing is written any more: {error}"),
            _ => {}
        }
    }
}

fn main() -> Outcome<()> {
    let place = tempfile::tempdir()?;
    let options = Options::default().memtable_size(ByteCount::kib(512)).system(System {
        table_size: Some(ByteCount::kib(256)),
        level1_size: Some(ByteCount::mib(1)),
        factor: 4,
        ..System::default()
    });
    let db = Db::open_directory(place.path().join("store"), options)?;
    let log = Arc::new(Log::default());
    db.listen(Arc::clone(&log) as Arc<dyn Listener>);
    for number in 0..60_000u64 {
        // Keys in no order, so that there is something to merge.
        let key = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        db.put(&key, &[7; 100])?;
    }
    db.flush()?;
    db.wait_idle()?;

    let stats = db.stats();
    let amplification = stats.write_amplification;
    println!("\n{:>5} {:>4} {:>8} {:>12}", "level", "runs", "entries", "size");
    for level in stats.levels.iter().filter(|level| level.bytes > 0) {
        let size = ByteCount(level.bytes).to_string();
        println!("{:>5} {:>4} {:>8} {size:>12}", level.level, level.runs, level.entries);
    }
    println!(
        "\nbytes written for each byte put: {:.2} by log, {:.2} by flushes, {:.2} by compactions",
        amplification.log, amplification.flush, amplification.compaction
    );
    println!(
        "{} flushes, {} compactions, {} stalls; {} of memory at most",
        log.flushes.load(Ordering::Relaxed),
        log.compactions.load(Ordering::Relaxed),
        log.stalls.load(Ordering::Relaxed),
        ByteCount(stats.memory.peak)
    );
    assert!(log.compactions.load(Ordering::Relaxed) > 0 && log.flushes.load(Ordering::Relaxed) > 0);
    assert_eq!(stats.flushes, log.flushes.load(Ordering::Relaxed), "counted in one place");
    db.close()?;
    Ok(())
}
