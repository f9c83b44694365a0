//! Power cuts at each request that changes a drive ([`crash`](crate::crash)): in the life of a new
//! store, and in the life of a recovered one, with its recovery.

use terrace_env::random::{Random, Rng};
use terrace_zone::PowerCut;

use crate::crash::{Activity, Life, Setup, live, recover};

/// Number of trials, and the work during them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Cuts, each with an opening and a comparison.
    pub trials: u64,
    /// Work of the lives that were cut.
    pub activity: Activity,
}

impl Tally {
    /// The sums of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { trials: self.trials + other.trials, activity: self.activity.and(other.activity) }
    }
}

/// The cuts of one life: at every point one way of losing volatile changes, by turns. Three seeds
/// in a row have all ways at a point of the same number.
fn cut_everywhere(
    setup: &Setup,
    life: &Life,
    seed: u64,
    random: &mut Random,
) -> Result<u64, String> {
    const WAYS: [PowerCut; 3] = [PowerCut::DropUnflushed, PowerCut::Prefixes, PowerCut::Blocks];
    let first = (seed % WAYS.len() as u64) as usize;
    let ways = WAYS.into_iter().cycle().skip(first);
    for (point, cut) in life.cuts.iter().zip(ways) {
        recover(setup, &life.history, point, cut, 0, random)
            .map_err(|failure| format!("cut {cut:?} at request {}: {failure}", point.number))?;
    }
    Ok(life.cuts.len() as u64)
}

/// Cuts a life of `batches` batches at every request. Must run inside a simulation.
pub fn every_write(setup: &Setup, batches: usize, seed: u64) -> Result<Tally, String> {
    let random = &mut Random::seeded(seed);
    let life = live(setup, batches, random);
    let trials = cut_everywhere(setup, &life, seed, random)?;
    Ok(Tally { trials, activity: life.activity })
}

/// Cuts a life of `batches` batches at every `step`-th request, lets it live on, and cuts that life
/// at every request. Must run inside a simulation.
pub fn second_lives(
    setup: &Setup,
    batches: usize,
    step: usize,
    seed: u64,
) -> Result<Tally, String> {
    let random = &mut Random::seeded(seed);
    let first = live(setup, batches, random);
    let mut tally = Tally { trials: 0, activity: first.activity };
    for point in first.cuts.iter().step_by(step) {
        let cut = PowerCut::any(random);
        let at = |wrong: String| format!("first cut {cut:?} at {}: {wrong}", point.number);
        let more = random.random_range(1..40);
        let survivor = recover(setup, &first.history, point, cut, more, random)
            .map_err(|failure| at(failure.to_string()))?;
        let second = survivor.life.expect("a life of its own");
        let trials = cut_everywhere(setup, &second, seed, random).map_err(at)?;
        tally = tally.and(Tally { trials, activity: second.activity });
    }
    Ok(tally)
}
