//! Simulation of the whole store: engine, file system and system, in worlds where operations fail,
//! drives are full and the power is cut. A seed decides all of a world, also the order of its
//! actors, so that a failure can be repeated by its seed.
//!
//! | world | content |
//! |---|---|
//! | `scripts` | all operations one after the other, compared with ordered maps; cuts in between |
//! | `cuts` | one writer, and a cut at each request of its life |
//! | `recoveries` | the same for the life of a recovered store, with its recovery |
//! | `crowds` | several writers whose writes join groups, on a medium that fails, and two cuts |
//!
//! | file | content |
//! |---|---|
//! | `world` | the worlds, and one seed of one of them |
//! | `scripts`, `cuts`, `crowds` | how each is played, and how a failing one is made small |
//! | `counts` | events of worlds, and those that must happen in a long run |
//!
//! Each world runs in a simulation of its own, on the caller's thread. Several threads can play
//! different seeds at the same time.

mod counts;
pub mod crowds;
pub mod cuts;
pub mod scripts;
mod world;

pub use counts::Counts;
pub use world::{Failed, World, play};
