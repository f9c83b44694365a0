//! [`World`]: the kinds of worlds, and [`play`]: one seed of one of them.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use terrace_env::runner;

use super::crowds::{On, crowd};
use super::cuts::{Tally, every_write, second_lives};
use super::{Counts, scripts};
use crate::crash::Setup;
use crate::model::{Kind, Setting, script};

/// Operations of a script.
const LENGTH: usize = 300;
/// Batches of a life that is cut.
const BATCHES: usize = 250;
/// Batches of the life before a recovery, and which of its requests are cut.
const BATCHES_BEFORE: usize = 100;
const CUT_EVERY: usize = 67;

/// Kind of world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// All operations one after the other.
    Scripts,
    /// A cut at each request of a life.
    Cuts,
    /// A cut at each request of a recovery, and of the life after it.
    Recoveries,
    /// Several writers on a medium that fails.
    Crowds,
}

impl World {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Scripts, Self::Cuts, Self::Recoveries, Self::Crowds];

    /// Name of the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scripts => "scripts",
            Self::Cuts => "cuts",
            Self::Recoveries => "recoveries",
            Self::Crowds => "crowds",
        }
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A world in which a promise of the store was broken.
#[derive(Clone, Debug)]
pub struct Failed {
    /// Kind of the world.
    pub world: World,
    /// Its seed.
    pub seed: u64,
    /// Value expected and value found; for a script, also the shortest one found that fails.
    pub what: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { world, seed, what } = self;
        write!(
            f,
            "{world}, seed {seed} (`terrace lab simulate --world {world} --seed {seed}` repeats \
             it): {what}"
        )
    }
}

/// Plays one seed of a world, in simulations of its own. A panic is a failure, too.
pub fn play(world: World, seed: u64) -> Result<Counts, Failed> {
    let one = Counts { worlds: 1, ..Counts::default() };
    let counts = match world {
        World::Scripts => {
            let script = script(seed, LENGTH, Kind::Everything);
            scripts::check(script, &Setting::any(seed), seed)
                .map(|scripts| Counts { scripts, ..one })
        }
        World::Cuts => {
            smallest(seed, BATCHES, |batches| every_write(&Setup::small(seed), batches, seed))
                .map(|cuts| Counts { cuts, ..one })
        }
        World::Recoveries => smallest(seed, BATCHES_BEFORE, |batches| {
            second_lives(&Setup::small(seed), batches, CUT_EVERY, seed)
        })
        .map(|cuts| Counts { cuts, ..one }),
        World::Crowds => On::ALL.into_iter().try_fold(one, |counts, on| {
            let met = simulated(seed, || crowd(on, seed))?;
            Ok(Counts { crowds: counts.crowds.and(met), ..counts })
        }),
    };
    counts.map_err(|what| Failed { world, seed, what })
}

/// The cuts of a life of `batches` batches. If they fail, the error is that of the shortest life
/// found that fails, too.
fn smallest(
    seed: u64,
    batches: usize,
    cut: impl Fn(usize) -> Result<Tally, String>,
) -> Result<Tally, String> {
    let of = |batches: usize| simulated(seed, || cut(batches));
    of(batches).map_err(|failure| {
        let (mut short, mut what) = (batches, failure);
        while short > 1
            && let Err(failure) = of(short / 2)
        {
            (short, what) = (short / 2, failure);
        }
        format!("{short} batches: {what}")
    })
}

/// Runs a part of a world in a simulation.
fn simulated<T>(seed: u64, body: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(|| runner::simulate(seed, body)))
        .unwrap_or_else(|panic| Err(text(&*panic)))
}

/// The text of a panic.
pub(super) fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a panic: {}", text.unwrap_or("without a text"))
}
