//! The outcome of `terrace demo`. [`Steps`] runs the steps: it measures the time of each, and
//! without `--json` it prints a line when a step has succeeded. [`Outcome`] is the result, for
//! JSON, or for text with the levels and the metrics.
//!
//! Levels, write amplification, space efficiency, and the numbers of zone resets and journal rolls
//! are those of the moment before the burst of puts. The recovered and the lost puts, the files
//! that survived, and the check are those of the time after the power cut.

use std::collections::BTreeMap;
use std::io::{self, Write};

use indicatif::HumanCount;
use serde::Serialize;
use terrace::{LevelStats, WriteAmplification};
use terrace_env::{ByteCount, runner};

use super::burst::Burst;
use super::life::Life;
use crate::commands::stats;
use crate::failure::Failure;
use crate::output::Output;
use crate::tree::{Skipped, Tree};

/// The steps taken so far, and how long each took.
pub(super) struct Steps<'a> {
    output: &'a Output,
    seconds: BTreeMap<&'static str, f64>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(output: &'a Output) -> Self {
        Self { output, seconds: BTreeMap::new() }
    }

    /// Takes a step, and tells its result.
    pub(super) fn take<T>(
        &mut self,
        name: &'static str,
        step: impl FnOnce() -> Result<T, Failure>,
        tell: impl FnOnce(&T) -> String,
    ) -> Result<T, Failure> {
        let start = runner::now();
        let result = step().map_err(|failure| failure.while_doing(name))?;
        let seconds = runner::now().since(start).as_secs_f64();
        self.seconds.insert(name, seconds);
        self.output.line(format_args!("{name:>9}  {:<64} {seconds:>6.2} s", tell(&result)))?;
        Ok(result)
    }

    /// Seconds by step.
    pub(super) fn seconds(&self) -> BTreeMap<&'static str, f64> {
        self.seconds.clone()
    }
}

/// The result. Metrics are those of the store's life up to the burst.
#[derive(Serialize)]
pub(super) struct Outcome {
    /// Regular files loaded.
    pub(super) files: u64,
    /// Symbolic links loaded.
    pub(super) links: u64,
    /// Bytes in the files.
    pub(super) bytes: ByteCount,
    /// Entries of the tree that were not loaded.
    pub(super) skipped: Skipped,
    /// Files that came back bit for bit.
    pub(super) verified: u64,
    /// Files overwritten.
    pub(super) overwritten: u64,
    /// Files deleted.
    pub(super) deleted: u64,
    /// Entries that were acknowledged in the burst before the power cut.
    pub(super) acknowledged: u64,
    /// Puts among them that were acknowledged as durable.
    pub(super) synced: u64,
    /// Entries of the burst that were there after the power cut.
    pub(super) recovered: u64,
    /// Entries that had been acknowledged as durable and were not there.
    pub(super) synced_lost: u64,
    /// Files, overwritten ones included, that were right after the power cut.
    pub(super) survived: u64,
    pub(super) write_amplification: WriteAmplification,
    /// The valid share of the space in use, before the power cut.
    pub(super) space_efficiency: f64,
    pub(super) zones_reset: u64,
    pub(super) journal_rolls: u64,
    pub(super) levels: Vec<LevelStats>,
    /// The most memory that the process ever held, where the system says.
    pub(super) peak_memory: Option<ByteCount>,
    pub(super) seconds: BTreeMap<&'static str, f64>,
    pub(super) check: &'static str,
}

impl Outcome {
    pub(super) fn new(
        tree: &Tree,
        life: &Life,
        burst: Burst,
        (recovered, survived): (u64, u64),
        check: &'static str,
        seconds: BTreeMap<&'static str, f64>,
    ) -> Self {
        let stats = &life.stats;
        Self {
            files: life.loaded.files,
            links: life.loaded.links,
            bytes: ByteCount(life.loaded.bytes),
            skipped: tree.skipped,
            verified: life.verified,
            overwritten: life.overwritten,
            deleted: life.deleted,
            acknowledged: burst.acknowledged,
            synced: burst.synced,
            recovered,
            synced_lost: burst.lost(recovered),
            survived,
            write_amplification: stats.write_amplification,
            space_efficiency: life.space_efficiency,
            zones_reset: stats.io.zones_reset,
            journal_rolls: stats.io.journal_rolls,
            levels: stats.levels.clone(),
            peak_memory: peak_memory(),
            seconds,
            check,
        }
    }

    /// Prints levels and metrics.
    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\nthe tree before the burst:")?;
        stats::levels(out, &self.levels)?;
        let wa = &self.write_amplification;
        writeln!(
            out,
            "\nwrite amplification {:.2}: log {:.2}, flush {:.2}, compaction {:.2}, reclaim {:.2}, \
             metadata {:.2}",
            wa.total, wa.log, wa.flush, wa.compaction, wa.reclaim, wa.metadata
        )?;
        writeln!(
            out,
            "    the drive wrote {:.2} bytes for each byte of data: first into the log and a \
             table, then in merges",
            wa.total
        )?;
        let percent = 100.0 * self.space_efficiency;
        let (resets, rolls) = (self.zones_reset, self.journal_rolls);
        writeln!(
            out,
            "space efficiency {percent:.0} %, {resets} zones reset, {rolls} journal rolls\n    \
             {percent:.0} of 100 bytes in the zones in use are data that counts; a reset erases a \
             zone"
        )?;
        if let Some(peak) = self.peak_memory {
            writeln!(out, "peak memory {peak}")?;
        }
        let (lost, verified) = (self.synced_lost, HumanCount(self.verified));
        writeln!(
            out,
            "\n{verified} files verified, {lost} synced writes lost, check {}",
            self.check
        )?;
        if lost > 0 {
            return Ok(());
        }
        writeln!(
            out,
            "    every file was read back as it was written, and the power cut took no write that \
             the store\n    had reported as durable"
        )
    }
}

/// The most memory that this process ever held.
fn peak_memory() -> Option<ByteCount> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(ByteCount::kib(kib))
}
