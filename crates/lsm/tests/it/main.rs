//! The engine's tests, over the in-memory store and on the simulated runner.

mod crash;
mod determinism;
mod faults;
mod full;
mod model;
mod operations;
mod scenarios;
