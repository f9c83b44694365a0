//! `terrace lab simulate`: plays seeds of simulated worlds in which operations fail, drives are
//! full and the power is cut. It prints each broken promise with the command that repeats it, and
//! at the end the events that were met.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;
use terrace_env::sync::Mutex;
use terrace_env::{Time, runner};
use terrace_lab::simulate::{Counts, Failed, World, play};

use crate::failure::{Failure, Kind};
use crate::output::{Output, counted};
use crate::progress::Progress;

/// Seeds from which on each kind of event must have been met.
const SEEDS_FOR_ALL: u64 = 50;

/// Simulate stores in worlds where operations fail and the power is cut.
///
/// A seed decides all of a world: drives, options, operations, failures, cuts and the order of
/// threads. A broken promise is printed with the command that repeats it, and the exit code is 1.
#[derive(clap::Args)]
pub(crate) struct Simulate {
    /// First seed; without `--seeds` and `--minutes` the only one
    #[arg(long)]
    seed: Option<u64>,
    /// Number of seeds [default: 20]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "minutes")]
    seeds: Option<u64>,
    /// Go on with further seeds until these minutes are over
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    minutes: Option<u64>,
    /// Kind of world, any number of times [default: all]
    #[arg(long = "world", value_enum)]
    worlds: Vec<Kinds>,
    /// Worlds at the same time [default: one for each processor]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kinds {
    /// All operations one after the other, compared with ordered maps
    Scripts,
    /// One writer, and a cut at each request of its life
    Cuts,
    /// A cut at each request of a recovery, and of the life after it
    Recoveries,
    /// Several writers on a medium that fails, and two cuts
    Crowds,
}

impl Kinds {
    fn world(self) -> World {
        match self {
            Self::Scripts => World::Scripts,
            Self::Cuts => World::Cuts,
            Self::Recoveries => World::Recoveries,
            Self::Crowds => World::Crowds,
        }
    }
}

/// The seeds that are still to be played, and the findings.
struct Play {
    worlds: Vec<World>,
    next: AtomicU64,
    end: u64,
    until: Option<Time>,
    progress: Progress,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    seeds: u64,
    counts: Counts,
    failed: Vec<Failed>,
}

#[derive(Serialize)]
struct Simulated {
    first_seed: u64,
    seeds: u64,
    worlds: u64,
    events: serde_json::Map<String, serde_json::Value>,
    failures: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    world: &'static str,
    seed: u64,
    what: String,
}

impl Simulate {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        let first = self.seed.unwrap_or(0);
        let one = if self.seed.is_some() { 1 } else { 20 };
        let until = self.minutes.map(|minutes| runner::now() + Duration::from_secs(60 * minutes));
        let count = self.minutes.map_or(self.seeds.unwrap_or(one), |_| u64::MAX);
        let worlds: Vec<World> = match self.worlds.as_slice() {
            [] => World::ALL.to_vec(),
            kinds => kinds.iter().map(|kind| kind.world()).collect(),
        };
        let play = Arc::new(Play {
            next: AtomicU64::new(first),
            end: first.saturating_add(count),
            until,
            progress: Progress::pieces("seeds", if until.is_some() { 0 } else { count }),
            found: Mutex::default(),
            worlds,
        });
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        let jobs = self.jobs.map_or(processors, u64::from).min(count);
        let actors: Vec<_> = (0..jobs)
            .map(|_| {
                let play = Arc::clone(&play);
                runner::spawn("world", move || play.seeds())
            })
            .collect();
        actors.into_iter().for_each(runner::JoinHandle::join);
        let play = Arc::into_inner(play).expect("all actors have ended");
        let whole = World::ALL.iter().all(|world| play.worlds.contains(world));
        drop(play.progress);
        let mut found = play.found.into_inner();
        found.failed.sort_by_key(|failed| failed.seed);
        told(output, first, &found)?;
        verdict(&found, whole)
    }
}

impl Play {
    /// Plays seeds as long as there are some.
    fn seeds(&self) {
        while self.until.is_none_or(|until| runner::now() < until) {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if seed >= self.end {
                return;
            }
            for world in &self.worlds {
                let played = play(*world, seed);
                let mut found = self.found.lock();
                match played {
                    Ok(counts) => found.counts = found.counts.and(counts),
                    Err(failed) => found.failed.push(failed),
                }
            }
            self.found.lock().seeds += 1;
            self.progress.add(1);
        }
    }
}

/// Prints the findings.
fn told(output: &Output, first_seed: u64, found: &Found) -> Result<(), Failure> {
    let Found { seeds, counts, failed } = found;
    let line = |failed: &Failed| Line {
        world: failed.world.name(),
        seed: failed.seed,
        what: failed.what.clone(),
    };
    let events = counts.events().map(|(name, count)| (name.replace(' ', "_"), count.into()));
    let simulated = Simulated {
        first_seed,
        seeds: *seeds,
        worlds: counts.worlds,
        events: events.into_iter().collect(),
        failures: failed.iter().map(line).collect(),
    };
    output.result(&simulated, |out| {
        for failed in failed {
            writeln!(out, "{failed}\n")?;
        }
        let seeds = counted(*seeds, "seed", "seeds");
        writeln!(out, "{seeds} from {first_seed} on:\n{counts}")
    })
}

/// An error if a promise was broken, or if a long run of all worlds has not met each event.
fn verdict(found: &Found, whole: bool) -> Result<(), Failure> {
    let Found { seeds, counts, failed } = found;
    if !failed.is_empty() {
        let broken = counted(failed.len() as u64, "world", "worlds");
        let message = format!("expected every promise to be kept, found it broken in {broken}");
        return Err(Failure::new(Kind::Failed, message));
    }
    let missing = counts.missing();
    if whole && *seeds >= SEEDS_FOR_ALL && !missing.is_empty() {
        let message = format!(
            "expected each kind of event in {seeds} seeds, found none of: {}",
            missing.join(", ")
        );
        return Err(Failure::new(Kind::Failed, message));
    }
    Ok(())
}
