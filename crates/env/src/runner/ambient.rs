//! Free functions for time, dates, sleep, actors, processors, randomness and the history of a
//! simulation, the same for both runners: for an actor of a simulation they act on the simulation,
//! for any other caller on the machine.
//!
//! The functions that sleep, yield or charge count as waits, on both runners: the caller must hold
//! no lock of [`sync`](crate::sync). Debug builds check that.

use std::io;
use std::time::Duration;

use super::{JoinHandle, Simulation, threads};
use crate::random::Random;
use crate::sync::assert_no_lock_held;
use crate::{Date, Time};

/// More than two, so that work of several actors at once can go wrong in all ways.
const SIMULATED_PROCESSORS: usize = 3;

/// Starts an actor. Its name shows up in reports, and as the thread's name.
///
/// # Panics
/// If the operating system does not grant a thread.
pub fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    try_spawn(name, body).expect("the operating system grants a thread")
}

/// Starts an actor; an error that names it if the operating system does not grant a thread.
pub fn try_spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    match Simulation::current() {
        Some(simulation) => Ok(simulation.spawn(name, body)),
        None => threads::spawn(name, body).map_err(|error| {
            let message = format!("starting the thread \"{name}\": {error}");
            io::Error::new(error.kind(), message)
        }),
    }
}

/// The time on this runner's clock.
#[must_use]
pub fn now() -> Time {
    Simulation::current().map_or_else(threads::now, |simulation| simulation.now())
}

/// The date: on threads that of the machine, which may be set forward and back; in a simulation
/// one that begins with the year 2000 and goes on with the virtual clock.
#[must_use]
pub fn date() -> Date {
    Simulation::current().map_or_else(threads::date, |simulation| simulation.date())
}

/// Sets the date of the simulation, forward or back. It goes on from there with the clock.
///
/// # Panics
/// Outside of a simulation.
pub fn set_date(date: Date) {
    let simulation = Simulation::current().expect("a date can be set in a simulation alone");
    simulation.set_date(date);
}

/// Waits for a span of time.
#[track_caller]
pub fn sleep(duration: Duration) {
    assert_no_lock_held("a sleep");
    match Simulation::current() {
        Some(simulation) => simulation.sleep_until(simulation.now() + duration),
        None => threads::sleep(duration),
    }
}

/// Waits until the clock shows `time`; not at all if it does already.
#[track_caller]
pub fn sleep_until(time: Time) {
    assert_no_lock_held("a sleep");
    match Simulation::current() {
        Some(simulation) => simulation.sleep_until(time),
        None => threads::sleep(time.since(threads::now())),
    }
}

/// Waits until the clock shows `time`, as precisely as can be: for load generators. On threads the
/// caller goes on within microseconds of the time, unless the machine is busy, and keeps a
/// processor busy for less than 100 us before; a [`sleep_until`] is late by some 60 us.
#[track_caller]
pub fn sleep_until_precisely(time: Time) {
    assert_no_lock_held("a sleep");
    match Simulation::current() {
        Some(simulation) => simulation.sleep_until(time),
        None => threads::sleep_until_precisely(time),
    }
}

/// Lets others run. In a simulation the caller goes on a nanosecond later, so that every actor
/// whose time has come runs before it, and a loop that waits makes progress.
#[track_caller]
pub fn yield_now() {
    assert_no_lock_held("a yield");
    match Simulation::current() {
        Some(simulation) => simulation.sleep_until(simulation.now() + Duration::from_nanos(1)),
        None => threads::yield_now(),
    }
}

/// Accounts for processor time that the caller has used. In a simulation, where computing takes no
/// time, the caller sleeps that long; on threads the time has passed already, and nothing happens.
#[track_caller]
pub fn charge(processor_time: Duration) {
    assert_no_lock_held("a charge of processor time");
    if let Some(simulation) = Simulation::current() {
        simulation.sleep_until(simulation.now() + processor_time);
    }
}

/// How many processors there are to share work between: in a simulation always as many, so that
/// its history is the same on every machine.
#[must_use]
pub fn processors() -> usize {
    match Simulation::current() {
        Some(_) => SIMULATED_PROCESSORS,
        None => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
    }
}

/// Whether the caller is an actor of a simulation.
#[must_use]
pub fn is_simulated() -> bool {
    Simulation::current().is_some()
}

/// A generator of the caller's own: in a simulation from its seed, on threads from the machine's
/// entropy.
#[must_use]
pub fn fork_random() -> Random {
    Simulation::current().map_or_else(Random::from_entropy, |simulation| simulation.fork_random())
}

/// Tells the actors of a process apart; outside of a simulation, threads are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ActorKey(Option<(u64, u64)>);

/// The calling actor.
pub(crate) fn actor() -> ActorKey {
    ActorKey(Simulation::current().map(|simulation| simulation.running()))
}

/// A hash over which actor ran at which time since the simulation started: equal for equal seeds.
/// `None` on threads.
#[must_use]
pub fn history() -> Option<u64> {
    Simulation::current().map(|simulation| simulation.history())
}
