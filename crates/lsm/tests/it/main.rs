//! The engine's tests, over the in-memory store; on the simulated runner but for `threads`.

#[cfg(feature = "canary")]
mod canary;
mod crash;
mod determinism;
mod durability;
mod events;
mod faults;
mod full;
mod grandparents;
mod leads;
mod memory;
mod merges;
mod model;
mod operations;
mod plans;
mod ranges;
mod rest;
mod salvage;
mod scenarios;
#[cfg(debug_assertions)]
mod schedules;
mod spaces;
mod threads;
mod unlogged;
mod versions;
mod walks;
