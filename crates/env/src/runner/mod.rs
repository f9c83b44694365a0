//! The two runners of concurrent code: one on real threads, and one that simulates, on a virtual
//! clock. An *actor* is a thread of the first, or a coroutine of the second.
//!
//! Code asks for time, sleep and actors through the free functions of this module. For code inside
//! [`simulate`] they mean the simulation, elsewhere the machine. So the same code runs in both.
//!
//! | | threads | simulation |
//! |---|---|---|
//! | [`spawn`] | a thread | a coroutine on the simulation's OS thread |
//! | [`now`] | since the process first asked | since the simulation started |
//! | [`date`] | the machine's | from 2000 on, with the virtual clock; [`set_date`] changes it |
//! | [`sleep`], [`sleep_until`], [`yield_now`] | the machine's | on the virtual clock |
//! | [`sleep_until_precisely`] | sleeps until shortly before, then spins | as above |
//! | [`charge`] | does nothing | a sleep |
//! | [`processors`] | the machine's | a fixed number |
//! | [`fork_random`] | from the machine's entropy | from the simulation's seed |
//! | [`is_simulated`], [`history`] | false, none | true, a hash of the schedule so far |
//!
//! | part | content |
//! |---|---|
//! | `ambient` | these functions |
//! | `threads`, `simulation` | their implementations |
//! | `join` | the handle of an actor |
//! | `schedule`, `coroutine` | a simulation's actors and clock; an actor's stack |
//!
//! # Threads
//! A simulation lives on one OS thread; code on other threads is outside of it. A simulation must
//! not be started inside another one. Functions that wait must not be called while a lock of
//! [`sync`](crate::sync) is held; debug builds check that.

mod ambient;
mod coroutine;
mod join;
mod schedule;
mod simulation;
mod threads;

pub(crate) use ambient::{ActorKey, actor};
pub use ambient::{
    charge, date, fork_random, history, is_simulated, now, processors, set_date, sleep,
    sleep_until, sleep_until_precisely, spawn, try_spawn, yield_now,
};
pub use join::{JoinHandle, Outcome};
pub use simulation::{SimulationOptions, simulate};

pub(crate) use simulation::Simulation;
