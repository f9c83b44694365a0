//! The two runners: real threads, and simulated actors on a virtual clock.
//!
//! Code asks for time, sleep and actors through the free functions of this module, and need not
//! know on which runner it is (`is_simulated` tells): inside [`simulate`] they mean the simulation,
//! anywhere else the machine. Devices, stores and the engine are therefore written once, for both.
//!
//! | | threads | simulation |
//! |---|---|---|
//! | [`spawn`] | a thread | a coroutine on the simulation's OS thread |
//! | [`now`] | since the process first asked | since the simulation started |
//! | [`sleep`], [`yield_now`] | the operating system's | others run, and the clock moves on |
//! | [`charge`] | nothing | a sleep |
//! | [`processors`] | the machine's | 3 |
//! | [`fork_random`] | from the machine's entropy | from the simulation's seed |
//!
//! `ambient` holds these functions, `threads` and `simulation` the runners behind them, `join` the
//! handle of an actor. `schedule` is the simulation's list of actors and its clock, `coroutine` an
//! actor's stack.
//!
//! # Threads
//! All functions but [`simulate`] may be called from anywhere; a simulation within another one
//! panics. Those that wait must not be called while a lock of [`sync`](crate::sync) is held, which
//! debug builds check. A simulation lives on one OS thread; a thread that was made otherwise than
//! by [`spawn`] is outside of it.

mod ambient;
mod coroutine;
mod join;
mod schedule;
mod simulation;
mod threads;

pub(crate) use ambient::{ActorKey, actor};
pub use ambient::{
    charge, fork_random, history, is_simulated, now, processors, sleep, sleep_until, spawn,
    yield_now,
};
pub use join::{JoinHandle, Outcome};
pub use simulation::{SimulationOptions, simulate};

pub(crate) use simulation::Simulation;
