//! Waits: their causes, numbers and times.
//!
//! Code that waits measures it with a [`WaitClock`], whose waits go to two places:
//!
//! - [`WaitCounts`] sums up the waits of all actors of a part of the program, by [`WaitCause`].
//! - A [`WaitLedger`] collects the waits of one actor while it is open, for example during one put.
//!
//! # Rules for code that measures
//! - A wait is counted once, by the innermost code that waits. Code that calls it stops its own
//!   clock before. Then the waits of one actor do not overlap.
//! - Waits for locks and for a processor are not counted.
//! - An idle actor does not count as waiting. Example: a background job that has no work.
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
