//! Tests and measurements of the whole store: layer 4 of the workspace, above the library
//! `terrace`.
//!
//! - Correctness: [`crash`] cuts the power, damages blocks and files, and makes operations fail.
//!   [`model`] plays scripts of operations and compares the store with ordered maps.
//!   [`linearizability`] judges the answers that threads got. [`simulate`] plays seeds of all that.
//! - Load: [`workload`] generates the operations of clients and verifies the answers. [`arrivals`]
//!   says when requests arrive, and describes it by statistics.
//! - Cost: [mod@bench] measures time, processor time, memory and bytes written. [`drives`] compares
//!   the timing models of drives with published measurements.
//! - Reproduction: [`experiment`] describes the figures of papers as data. [`run`] carries out one
//!   run in virtual time, [`series`] many runs. [`plot`] draws the outcomes, and a [`report`]
//!   compares them with the papers.
//! - Advice: [`advice`] compares systems for the drive and the load of a user.
//!
//! # Order
//! A module imports from modules of its own line and of later lines alone; `cargo xtask tidy`
//! checks it.
//!
//! 1. `advice`, `report`
//! 2. `plot`, `series`
//! 3. `bench`, `experiment`, `run`
//! 4. `simulate`, `workload`
//! 5. `arrivals`, `crash`, `drives`, `linearizability`, `model`

pub mod advice;
pub mod arrivals;
pub mod bench;
#[cfg(test)]
mod code_lines;
pub mod crash;
pub mod drives;
pub mod experiment;
pub mod linearizability;
pub mod model;
pub mod plot;
pub mod report;
pub mod run;
pub mod series;
pub mod simulate;
pub mod workload;
