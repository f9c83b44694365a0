//! `terrace compact IMAGE`: flushes the memtable, merges tables until no key is in several runs,
//! and then verifies the tables of the whole store. The keys are those of all key spaces, of one,
//! or of a range in one.
//!
//! If a table does not verify, the command fails, but the compaction is done.

use std::io::{self, Write};
use std::sync::Arc;

use indicatif::HumanCount;
use serde::Serialize;
use terrace::{Db, Event, Job, Listener, Stats};
use terrace_env::{ByteCount, runner};

use super::entry::no_space;
use super::range::Range;
use super::target::Target;
use super::under::Under;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::Progress;

/// Merge tables of a range until no key is in several runs: overwritten and deleted entries are
/// gone then. Afterwards every table is verified.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace compact drive.img
  terrace compact drive.img --space documents --prefix format/")]
pub(crate) struct Compact {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    under: Under,
    /// Only this key space [default: all, or `default` if a range is given]
    #[arg(long)]
    space: Option<String>,
    #[command(flatten)]
    range: Range,
}

/// Contents of the tables.
#[derive(Clone, Copy, Serialize)]
struct Metrics {
    levels: u64,
    runs: u64,
    tables: u64,
    bytes: u64,
    entries: u64,
    tombstones: u64,
    live: ByteCount,
    free: ByteCount,
}

#[derive(Serialize)]
struct Answer {
    before: Metrics,
    after: Metrics,
    /// Bytes of tables written.
    written: u64,
    /// Bytes of tables that were then verified by their checksums: all of them.
    verified: u64,
    seconds: f64,
}

/// Shows how much has been written so far.
struct Watch(Progress);

impl Listener for Watch {
    fn notice(&self, event: &Event) {
        if let Event::Ended { job: Job::Compaction { .. }, written: Some(written), .. } = event {
            self.0.add(written.0);
        }
    }
}

impl Compact {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let answer = self.answer().map_err(|failure| self.target.named(failure))?;
        output.result(&answer, |out| answer.print(out))
    }

    fn answer(&self) -> Result<Answer, Failure> {
        let db = self.target.db_under(&self.under)?;
        let start = runner::now();
        // Entries that are only in memory and log count as they will be in tables.
        db.flush()?;
        let before = Metrics::of(&db.stats());
        db.listen(Arc::new(Watch(Progress::written("compacting"))));
        self.compact(&db)?;
        let stats = db.stats();
        let written = stats.process.levels.iter().map(|level| level.bytes_written).sum();
        let after = Metrics::of(&stats);
        // The compaction has not read tables that were in one run already, or only moved.
        let verified = db.verify().map_err(|error| {
            Failure::from(error).while_doing("compacted; then, as the tables were verified")
        })?;
        let verified = verified.bytes;
        db.close()?;
        let seconds = runner::now().since(start).as_secs_f64();
        Ok(Answer { before, after, written, verified, seconds })
    }

    fn compact(&self, db: &Db) -> Result<(), Failure> {
        if self.space.is_none() && !self.range.is_given() {
            return Ok(db.compact_all()?);
        }
        let name = self.space.as_deref().unwrap_or("default");
        let space = db.key_space(name).map_err(|_| no_space(name))?;
        Ok(space.compact(self.range.bounds(false)?)?)
    }
}

impl Metrics {
    fn of(stats: &Stats) -> Self {
        let sum = |of: fn(&terrace::LevelStats) -> u64| stats.levels.iter().map(of).sum();
        Self {
            levels: stats.levels.iter().filter(|level| level.segments > 0).count() as u64,
            runs: sum(|level| level.runs),
            tables: sum(|level| level.segments),
            bytes: sum(|level| level.bytes),
            entries: sum(|level| level.entries),
            tombstones: sum(|level| level.tombstones),
            live: stats.space.live,
            free: stats.space.free,
        }
    }
}

impl Answer {
    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { before, after, written, verified, seconds } = self;
        let mut line = |what: &str, before: String, after: String| {
            writeln!(out, "{what:12} {before:>14} {after:>14}")
        };
        line("", "before".into(), "after".into())?;
        let count = |count: u64| HumanCount(count).to_string();
        let size = |bytes: u64| ByteCount(bytes).to_string();
        line("levels", count(before.levels), count(after.levels))?;
        line("runs", count(before.runs), count(after.runs))?;
        line("tables", count(before.tables), count(after.tables))?;
        line("size", size(before.bytes), size(after.bytes))?;
        line("entries", count(before.entries), count(after.entries))?;
        line("tombstones", count(before.tombstones), count(after.tombstones))?;
        line("live", before.live.to_string(), after.live.to_string())?;
        line("free", before.free.to_string(), after.free.to_string())?;
        let (written, verified) = (ByteCount(*written), ByteCount(*verified));
        writeln!(out, "{written} written in {seconds:.1} s, {verified} verified")
    }
}
