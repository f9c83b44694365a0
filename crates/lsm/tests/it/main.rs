//! The engine's tests, over the in-memory store [`terrace_env::store::MemoryStore`].
//!
//! | question | answered in |
//! |---|---|
//! | which contents must an engine have, and which options do these tests use | `model` |
//! | does it agree with an ordered map under random operations | `operations`, `walks`, `plans` |
//! | does it do so under real threads | `threads` |
//! | and in every order of threads | `schedules`, `moments` |
//! | which guarantees do conditional writes and transactions give | `transactions`, `histories` |
//! | which writes survive a power cut, or a killed process | `crash`, `unlogged`, `durability` |
//! | how do failures, a full store and damage affect the engine | `faults`, `full`, `salvage` |
//! | which values may a compaction filter take, also under power cuts | `filtered` |
//! | do puts leave the space alone that is kept for deletes | `kept_space` |
//! | how do writers end when a leader panics, or its log fails | `leads`, `group_faults` |
//! | is a range empty, and how large is it | `range_facts` |
//! | which entries do readers of a queue pass and see | `queues` |
//! | do reads of a store that does not queue them find the same | `unqueued` |
//! | is each part right | `ranges`, `spaces`, `versions`, `merges`, `rest`, `events`, `memory` |
//! | does a client's compaction end while a writer goes on | `requests` |
//! | where do tables go and end | `routed`, `destinations`, `barriers`, `grandparents`, `sets` |
//! | which histograms of a table's bytes does a decider see | `histograms` |
//! | which state does a decider get back | `decider_states` |
//! | which decider chooses legal plans at random | `arbitrary` |
//! | is a later flush newer than any earlier one | `run_ids` |
//! | are counts those of a recount, and is no file left over | `recounts` |
//! | other behaviours, one to a test | `scenarios` |
//! | is a copy whole, and is damage noticed by it | `checkpoints` |
//! | is a run repeatable, and do the tests notice broken rules | `determinism`, `canary` |
//!
//! Nearly all of them run in simulations: one actor at a time on a virtual clock, with everything
//! random drawn from a seed. `threads`, and single tests of `leads`, `ranges`, `scenarios` and
//! `unlogged`, run on real threads. Tests that try many seeds take them from
//! [`terrace_env::test_seeds`]: `TERRACE_TEST_SEED=N` repeats seed N alone.
//!
//! Ingests (except those of `moments`), and checkpoints next to writers, are tested in the crates
//! `lab` and `terrace`. `canary`, `moments` and `schedules` are built with debug assertions only.

mod arbitrary;
mod barriers;
#[cfg(debug_assertions)]
mod canary;
mod checkpoints;
mod crash;
mod decider_states;
mod destinations;
mod determinism;
mod durability;
mod early_flush;
mod events;
mod expiry;
mod faults;
mod filtered;
mod full;
mod grandparents;
mod group_faults;
mod histograms;
mod histories;
mod kept_space;
mod leads;
mod memory;
mod merges;
mod model;
#[cfg(debug_assertions)]
mod moments;
mod operands;
mod operations;
mod plans;
mod queues;
mod range_facts;
mod ranges;
mod recounts;
mod requests;
mod rest;
mod routed;
mod run_ids;
mod salvage;
mod scenarios;
#[cfg(debug_assertions)]
mod schedules;
mod seeks;
mod set_reads;
mod sets;
mod spaces;
mod threads;
mod transactions;
mod unlogged;
mod unqueued;
mod versions;
mod walks;
