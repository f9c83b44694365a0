//! Processor time that the engine charges in a simulation for writes, point reads, scans and
//! cursors, and for the tables that jobs, ingests and checkpoints write. Without a charge,
//! computing takes no virtual time in a simulation.
//!
//! The caller of a charge sleeps for that time on the virtual clock, so other actors can run
//! meanwhile. On threads nothing is charged. The caller must hold no lock; debug builds panic if it
//! does.

use std::time::Duration;

use terrace_env::runner;

/// A write, per group and per entry: log record, memtable insertion.
const GROUP: Duration = Duration::from_micros(2);
const WRITE_ENTRY: Duration = Duration::from_nanos(1_500);
/// A point read, and a step of a scan.
const GET: Duration = Duration::from_micros(2);
const SCAN_ENTRY: Duration = Duration::from_nanos(300);
/// Merging: per entry, and per KiB for checksums and copies.
const MERGE_ENTRY: Duration = Duration::from_nanos(300);
const MERGE_KIB: Duration = Duration::from_nanos(400);

pub(crate) fn charge_group(entries: u32) {
    runner::charge(GROUP + WRITE_ENTRY * entries);
}

pub(crate) fn charge_get() {
    runner::charge(GET);
}

pub(crate) fn charge_scan(entries: u32) {
    runner::charge(SCAN_ENTRY * entries);
}

pub(crate) fn charge_merge(entries: u32, bytes: usize) {
    runner::charge(MERGE_ENTRY * entries + MERGE_KIB * (bytes >> 10) as u32);
}
