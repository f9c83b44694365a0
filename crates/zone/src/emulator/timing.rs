//! [`Timing`]: the trait by which an emulated drive asks a model when its requests complete. A
//! model changes the time of requests, not their effect. [`RandomLatency`] is a simple model.
//!
//! The drive tells the model of each request that is submitted, refused ones included, as a
//! [`Command`]. The model answers when the command completes ([`Progress::Decided`]), or that it
//! decides later ([`Progress::Undecided`]). Example: a disk chooses among queued commands when its
//! head is free, and better ones may come until then. An undecided answer names a time in the
//! future at which to ask again.
//!
//! A model is called with the drive's lock held: it must not wait, and must not use the drive.
//!
//! # Same seed, same history
//! A model gets the commands in the order of submission, at times that do not go back. It must
//! answer from these alone, and from a seed of its own. A decision that is due at some time takes
//! into account the commands submitted before that time, and no later ones. It is not taken back.

use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::{Cause, Lba, Time, ZoneId};

use super::faults::RequestKind;
use crate::ZoneStatus;
use crate::timing::Work;

/// A request as a timing model sees it: a task for the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Kind of the request.
    pub kind: RequestKind,
    /// The cause on whose behalf the request is made.
    pub cause: Cause,
    /// First block; for an append, the place where the bytes go.
    pub lba: Lba,
    /// Logical blocks that are moved; none for a flush and for operations on zones.
    pub blocks: u64,
    /// The zone, and its status before; `None` for a flush, and for a refused request.
    pub zone: Option<(ZoneId, ZoneStatus)>,
    /// A write without an address.
    pub append: bool,
    /// Durable on completion.
    pub forced: bool,
    /// The command breaks the rules, or fails: nothing is moved.
    pub refused: bool,
}

/// Progress of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The drive begins to serve it at `start`, and completes it at `end`.
    Decided {
        /// Begin of the service; before that the command waited for others.
        start: Time,
        /// Time of completion.
        end: Time,
    },
    /// The completion is not known yet.
    Undecided {
        /// Time to ask again, later than now.
        ask: Time,
    },
}

/// Decides when requests complete. A drive without one completes everything at once.
pub trait Timing: Send {
    /// Takes a command in. `ticket` names it from now on.
    fn submit(&mut self, now: Time, ticket: u64, command: &Command) -> Progress;

    /// Progress by `now` of a command that was undecided when last asked about. A command that has
    /// been decided is forgotten: its ticket is not asked about again.
    ///
    /// # Panics
    /// Where the model decides everything on submission; and for a ticket that is not undecided.
    fn poll(&mut self, now: Time, ticket: u64) -> Progress {
        let _ = now;
        panic!("ticket {ticket} was decided when it was submitted")
    }

    /// The power fails: commands that are undecided are forgotten, as is all that the drive keeps
    /// in memory.
    fn power_cut(&mut self, _now: Time) {}

    /// Work of the drive's mechanism by `now`, by cause. Asking changes no decision of the model.
    /// Models without a mechanism have done nothing.
    fn work(&mut self, now: Time) -> Work {
        let _ = now;
        Work::default()
    }
}

/// Each request takes a random time of its own, whatever else is in flight: for simulations that
/// want actors to interleave in many ways, not for metrics.
#[derive(Clone, Debug)]
pub struct RandomLatency {
    min: Duration,
    max: Duration,
    random: Random,
}

impl RandomLatency {
    /// Latencies uniform between `min` and `max`.
    ///
    /// # Panics
    /// When `min` is more than `max`.
    #[must_use]
    pub fn new(min: Duration, max: Duration, seed: u64) -> Self {
        assert!(min <= max, "a latency of at least {min:?} and at most {max:?}");
        Self { min, max, random: Random::seeded(seed) }
    }
}

impl Timing for RandomLatency {
    fn submit(&mut self, now: Time, _: u64, _: &Command) -> Progress {
        let latency = self.random.random_range(self.min..=self.max);
        Progress::Decided { start: now, end: now + latency }
    }
}
