//! The two runners: real threads, and simulated actors on a virtual clock.
//!
//! Code asks for time, sleep and actors through the free functions of this module. Inside
//! [`simulate`] they mean the simulation, elsewhere the machine. So devices, stores and the engine
//! are written once, for both.
//!
//! | | threads | simulation |
//! |---|---|---|
//! | [`spawn`] | a thread | a coroutine on the simulation's OS thread |
//! | [`now`] | since the process first asked | since the simulation started |
//! | [`sleep`], [`yield_now`] | the operating system's | others run, and the clock moves on |
//! | [`sleep_until_precisely`] | sleeps until shortly before, and spins | as above |
//! | [`charge`] | nothing | a sleep |
//! | [`processors`] | the machine's | a fixed number |
//! | [`fork_random`] | from the machine's entropy | from the simulation's seed |
//!
//! | part | content |
//! |---|---|
//! | `ambient` | these functions |
//! | `threads`, `simulation` | the runners behind them |
//! | `join` | the handle of an actor |
//! | `schedule`, `coroutine` | a simulation's actors and clock; an actor's stack |
//!
//! # Threads
//! The functions may be called from anywhere, but a simulation must not be started inside another
//! one. Functions that wait must not be called while a lock of [`sync`](crate::sync) is held, which
//! debug builds check. A simulation lives on one OS thread. What runs on any other thread is
//! outside of it.

mod ambient;
mod coroutine;
mod join;
mod schedule;
mod simulation;
mod threads;

pub(crate) use ambient::{ActorKey, actor};
pub use ambient::{
    charge, fork_random, history, is_simulated, now, processors, sleep, sleep_until,
    sleep_until_precisely, spawn, yield_now,
};
pub use join::{JoinHandle, Outcome};
pub use simulation::{SimulationOptions, simulate};

pub(crate) use simulation::Simulation;
