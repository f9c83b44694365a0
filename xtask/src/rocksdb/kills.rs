//! Kills of a process that writes by RocksDB, at moments that follow from a seed.
//!
//! Each life carries a history of operations on from where the last one ended; SIGKILL ends it
//! after at most [`LIFE_MAX`], be it while the database is opened. Then the database must hold what
//! a prefix of the history leaves, with each operation that was acknowledged as durable. In every
//! third life the log is written out at each write, and all writes that have returned must be
//! there. In two of three, flushes stay in the host's memory, which a kill leaves alone: so a life
//! gets further. `ldb checkconsistency` must find nothing wrong after each life. Every few lives, a
//! checkpoint and a backup are made and compared, and `sst_dump --command=verify` runs.
//!
//! The seed decides the history and when the kills come; where they hit depends on the machine.

use anyhow::Context;

use super::plugin::Tests;
use crate::random::mixed;
use crate::step;

/// The longest time until a kill.
const LIFE_MAX: u64 = 450;
/// The shortest one: processes take longer to begin.
const LIFE_MIN: u64 = 15;
/// Lives with one drive. The history that is computed anew grows with them.
const LIVES: usize = 20;

/// Kills of processes, as the command line asks for them.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct Arguments {
    /// How many times the process that writes is killed
    #[arg(long, default_value_t = Self::default().kills)]
    pub(crate) kills: usize,
    /// Seed of the writes and of the moment of the kill
    #[arg(long, default_value_t = Self::default().seed)]
    pub(crate) seed: u64,
    /// Number of kills after which copies are made and tables verified
    #[arg(long, default_value_t = 7, value_parser = at_least_one)]
    pub(crate) check_every: usize,
}

fn at_least_one(word: &str) -> Result<usize, String> {
    let number = word.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("expected a number from 1 on, found {word}"))
}

impl Default for Arguments {
    fn default() -> Self {
        Self { kills: 20, seed: 1, check_every: 7 }
    }
}

impl Arguments {
    /// Carries the kills out; the error says the seed.
    pub(super) fn run(self, tests: &Tests<'_>) -> anyhow::Result<()> {
        eprintln!("{} kills, seed {}", self.kills, self.seed);
        let mut drive = String::new();
        let (mut seed, mut next) = (self.seed, 0);
        for round in 0..self.kills {
            if round % LIVES == 0 {
                drive = tests.0.drive("kills.img", "256MiB", "1MiB")?;
                (seed, next) = (self.seed.wrapping_add((round / LIVES) as u64), 0);
            }
            let checked = round % self.check_every == self.check_every - 1;
            let life = Life { tests, drive: &drive, seed, round, checked };
            next = life.live(next).with_context(|| {
                let Self { kills, seed: first, check_every } = self;
                format!(
                    "life {round} with seed {seed}, operations from {next} on; \
                     cargo xtask rocksdb --kills {kills} --seed {first} --check-every {check_every}"
                )
            })?;
        }
        tests.check(&drive, "/db")
    }
}

/// One life of the process, and the check after it.
struct Life<'a> {
    tests: &'a Tests<'a>,
    drive: &'a str,
    seed: u64,
    round: usize,
    /// Copies are made after it, and tables verified.
    checked: bool,
}

impl Life<'_> {
    /// Carries the history on from operation `next`; returns how many operations there are then.
    fn live(&self, next: u64) -> anyhow::Result<u64> {
        let told = self.write_until_killed(next)?;
        // What the last life left was read, and so is durable.
        let told = told.or(next.checked_sub(1));
        let told = told.map_or_else(|| "-1".to_owned(), |number| number.to_string());
        let what = if self.checked { "copied" } else { "verify" };
        let mut program = self.tests.0.program("contract");
        let said = step::output(program.args([what, self.drive, &self.seed.to_string(), &told]))?;
        let left: u64 =
            said.trim().parse().with_context(|| format!("expected a number, found {said}"))?;
        self.tests.check_consistency(self.drive, "/db")?;
        // The open before wrote tables of whatever was left.
        if self.checked && left > 0 {
            self.tests.check(self.drive, "/db")?;
        }
        Ok(left)
    }

    /// The last operation that the process has told of.
    fn write_until_killed(&self, next: u64) -> anyhow::Result<Option<u64>> {
        let options = ["?unsynced", "?unsynced&written", ""][self.round % 3];
        let uri = format!("{}{options}", self.drive);
        let millis = LIFE_MIN + mixed(self.seed, self.round as u64) % (LIFE_MAX - LIFE_MIN);
        eprintln!("life {}: operations from {next} on, for {millis} ms", self.round);
        let (seed, next) = (self.seed.to_string(), next.to_string());
        self.tests.0.killed(&["write", &uri, &seed, &next], millis)
    }
}
