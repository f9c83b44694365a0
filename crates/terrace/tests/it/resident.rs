//! The memory of a process, compared with its store's budget and with the store's own count. Each
//! scenario runs in a separate process ([`resident_child`](crate::resident_child)), in a directory
//! and on an image: puts, a long log, a large batch, large values, many scans. Earlier versions
//! took up to a hundred times as much in them.
//!
//! `cargo xtask soak memory` runs the scenarios at eight times the size.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use terrace::{ByteCount, Db, FormatOptions, Options};
use terrace_env::{Uuid, test_seeds};
use terrace_zone::{Emulator, Geometry};

use crate::resident_child::{ORDER, Order, Scenario};

const MIB: u64 = 1 << 20;
/// Memory allowed to a process in addition to its budget and an eighth of it (the eighth is for the
/// allocator): stacks of a dozen threads, the used pages of the program, and the catalog and zones
/// of a file system.
const BESIDE: u64 = 9 * MIB;

/// Report of a child at the end of a phase, in bytes.
#[derive(Clone, Debug)]
struct Measured {
    /// Peak of the process, beyond its memory before the store was opened.
    peak: u64,
    /// Memory at the phase's end.
    now: u64,
    /// The same by the store's own count.
    counted_peak: u64,
    counted: u64,
    line: String,
}

impl Measured {
    fn read(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("measured ")?.split(' ');
        let _phase = words.next()?;
        let mut number = || words.next()?.parse().ok();
        let (peak, now, counted_peak, counted) = (number()?, number()?, number()?, number()?);
        Some(Self { peak, now, counted_peak, counted, line: line.to_owned() })
    }

    fn check_budget(&self, order: &Order, more: u64) {
        let most = order.budget.0 + order.budget.0 / 8 + BESIDE + more;
        assert!(self.peak <= most, "at most {most} bytes expected of {order:?}: {}", self.line);
    }
}

/// Carries an order out in a separate process.
fn measure(order: &Order) -> Vec<Measured> {
    let out = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "resident_child::child", "--nocapture", "--test-threads=1"])
        .env(ORDER, order.encode())
        .output()
        .expect("a process");
    let (text, errors) =
        (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{order:?}: {text}\n{errors}");
    let measured: Vec<Measured> = text.lines().filter_map(Measured::read).collect();
    for Measured { line, .. } in &measured {
        println!("{:?}, {}: {line}", order.scenario, order.budget);
    }
    measured
}

/// Factor for the suite's work.
fn scale() -> u64 {
    test_seeds(1).count() as u64
}

/// Runs a test on a directory and on an image.
fn on_both(test: impl Fn(&Path)) {
    let directory = tempfile::tempdir().expect("a directory");
    test(&directory.path().join("store"));
    test(&image(directory.path()));
}

fn image(within: &Path) -> PathBuf {
    let place = within.join("image");
    let geometry = Geometry::uniform(ByteCount::mib(8), 600);
    let drive = Emulator::create_image(&place, geometry, Uuid([9; 16])).expect("an image");
    let db = Db::create_device(Arc::new(drive), &FormatOptions::default(), Options::default());
    db.expect("a store").close().expect("a close");
    place
}

fn order(scenario: Scenario, (count, size): (u64, usize), mib: u64, place: &Path) -> Order {
    Order { scenario, count, size, budget: ByteCount::mib(mib), place: place.to_owned() }
}

#[test]
fn what_a_process_holds_is_near_what_its_store_counts() {
    on_both(|place| {
        let order = order(Scenario::Puts, (187_500 * scale(), 1 << 10), 320, place);
        for one in measure(&order) {
            let beside = one.counted_peak / 10 + 2 * BESIDE;
            assert!(one.peak <= one.counted_peak + beside, "{}", one.line);
            // Freed memory has been returned to the system.
            assert!(one.now <= one.counted + 3 * BESIDE, "{}", one.line);
        }
    });
}

#[test]
fn a_small_budget_holds_while_a_store_is_filled_and_compacted() {
    on_both(|place| {
        let order = order(Scenario::Puts, (60_000 * scale(), 1 << 10), 32, place);
        measure(&order).iter().for_each(|one| one.check_budget(&order, 0));
    });
}

#[test]
fn the_largest_io_size_keeps_to_the_budget() {
    on_both(|place| {
        let order = order(Scenario::LargeIo, (60_000 * scale(), 1 << 10), 32, place);
        measure(&order).iter().for_each(|one| one.check_budget(&order, 0));
    });
}

#[test]
fn a_log_larger_than_the_budget_is_replayed_within_it() {
    on_both(|place| {
        let log = order(Scenario::Log, (28_000 * scale(), 1 << 10), 8, place);
        assert!(measure(&log).is_empty(), "it ends as if killed");
        let open = Order { scenario: Scenario::Open, ..log };
        let measured = measure(&open);
        measured.iter().for_each(|one| one.check_budget(&open, 0));
        assert!(open.count << 10 > 3 * open.budget.0, "a log larger than memory");
    });
}

/// It becomes visible as a whole, so it is in memory as a whole: in the client's form, which does
/// not count as the store's, and in a memtable, with at least 40 additional bytes for each entry.
#[test]
fn a_large_batch_is_held_once_beside_the_budget() {
    on_both(|place| {
        let order = order(Scenario::Batch, (1_000_000, 8), 32, place);
        let entries = order.count * (40 + 8 + 8);
        measure(&order).iter().for_each(|one| one.check_budget(&order, entries - 24 * MIB));
    });
}

#[test]
fn large_values_keep_to_the_budget() {
    on_both(|place| {
        for (count, size, mib) in [(60, 1 << 20, 32), (30, 4 << 20, 50), (12, 16 << 20, 128)] {
            let order = order(Scenario::Puts, (count * scale(), size), mib, place);
            // The client's value, and the batch that it goes to the store in.
            let beside = 2 * size as u64;
            measure(&order).iter().for_each(|one| one.check_budget(&order, beside));
        }
    });
}

#[test]
fn hundreds_of_scans_over_large_values_keep_to_the_budget() {
    on_both(|place| {
        let order = order(Scenario::Scans, (200 * scale(), 500_000), 32, place);
        measure(&order).iter().for_each(|one| one.check_budget(&order, 0));
    });
}
