//! Waits: what an actor waited for, how often and how long.
//!
//! Code that waits says so where it happens, with a [`WaitClock`] on the counts of its part of the
//! program:
//!
//! - [`WaitCounts`] sums up the waits of all actors, by [`WaitCause`], since it was made.
//! - A [`WaitLedger`] collects those of one actor for as long as the ledger is open, whatever
//!   counts they went to: so a put knows what its own latency is made of.
//!
//! # Rules
//! - A wait is counted once, by the innermost code that waits: code that calls it stops its own
//!   clock before. So the waits of one actor do not overlap. Their sum and the time of its
//!   computing are its latency, but for what nobody counts: locks, and on threads the turns of
//!   others on the processor.
//! - An idle actor does not wait in this sense. Example: the flush's actor while no memtable is
//!   full.
//! - Waits of no length are not counted.
//!
//! # Threads
//! Any number of actors count on the same [`WaitCounts`]. A clock and a ledger belong to one actor.

mod cause;
mod clock;
mod counts;
mod ledger;
mod waits;

pub use cause::WaitCause;
pub use clock::WaitClock;
pub use counts::WaitCounts;
pub use ledger::WaitLedger;
pub use waits::{WaitStats, Waits};
