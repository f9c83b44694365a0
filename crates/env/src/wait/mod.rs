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
//! - A wait is counted once, by the innermost code that waits. The waits of one actor therefore do
//!   not overlap, and they add up to its latency, but for what it computed.
//! - An actor that has nothing to do does not wait in this sense: a flush that no memtable is there
//!   for, for example.
//! - Waits of no length are not counted.

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
