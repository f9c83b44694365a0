//! `terrace compact IMAGE`: flushes the memtable, merges tables until no key is in several runs,
//! and then verifies the tables of the whole store. The keys are those of all key spaces, of one,
//! or of a range in one.
//!
//! If a table does not verify, the command fails, but the compaction is done.

use std::io::{self, Write};
use std::sync::Arc;

use indicatif::HumanCount;
use serde::Serialize;
use terrace::{Db, Event, Job, KeySpace, Listener, Stats};
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
    /// Merges, trivial moves and delete-only compactions, those included that were due elsewhere.
    compactions: u64,
    /// Whether the range has any key. Deleted entries are compacted all the same.
    has_keys: bool,
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
        let stats = db.stats();
        let (before, done) = (Metrics::of(&stats), compactions(&stats));
        let has_keys = self.has_keys(&db)?;
        db.listen(Arc::new(Watch(Progress::written("compacting"))));
        self.compact(&db)?;
        let stats = db.stats();
        let written = stats.process.levels.iter().map(|level| level.bytes_written).sum();
        let (after, compactions) = (Metrics::of(&stats), compactions(&stats) - done);
        // The compaction has not read tables that were in one run already, or only moved.
        let verified = db.verify().map_err(|error| {
            Failure::from(error).while_doing("compacted; then, as the tables were verified")
        })?;
        let verified = verified.bytes;
        db.close()?;
        let seconds = runner::now().since(start).as_secs_f64();
        Ok(Answer { before, after, compactions, has_keys, written, verified, seconds })
    }

    fn compact(&self, db: &Db) -> Result<(), Failure> {
        match self.space(db)? {
            None => Ok(db.compact_all()?),
            Some(space) => Ok(space.compact(self.range.bounds(false)?)?),
        }
    }

    /// Whether any key is there that was asked for.
    fn has_keys(&self, db: &Db) -> Result<bool, Failure> {
        let Some(space) = self.space(db)? else { return Ok(true) };
        // A damaged table is found by the compaction, or as all are verified.
        Ok(space.scan(self.range.bounds(false)?)?.next().is_some())
    }

    /// The key space; `None` if all are meant.
    fn space(&self, db: &Db) -> Result<Option<KeySpace>, Failure> {
        if self.space.is_none() && !self.range.is_given() {
            return Ok(None);
        }
        let name = self.space.as_deref().unwrap_or("default");
        db.key_space(name).map(Some).map_err(|_| no_space(db, name))
    }
}

/// Compactions that this process has done.
fn compactions(stats: &Stats) -> u64 {
    let of = &stats.process;
    of.compactions + of.trivial_moves + of.delete_only_compactions
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
        let Self { before, after, compactions, has_keys, written, verified, seconds } = self;
        let (written, verified) = (ByteCount(*written), ByteCount(*verified));
        if *compactions == 0 {
            writeln!(out, "nothing to compact: no key of the range is in several runs")?;
            return writeln!(out, "{verified} verified in {seconds:.1} s");
        }
        if !has_keys {
            writeln!(
                out,
                "no key of the range is there; compactions of deleted entries, or that were \
                 due elsewhere:"
            )?;
        }
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
        writeln!(out, "{written} written in {seconds:.1} s, {verified} verified")
    }
}
