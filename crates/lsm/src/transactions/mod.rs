//! Transactions: reads at one moment and writes that are applied together, if no key that was read
//! has changed; and conditional writes of one key.
//!
//! | question | answered in |
//! |---|---|
//! | how does a transaction read, write and commit | `transaction` |
//! | how are its uncommitted writes kept | `write_buffer` |
//! | how does it walk a range | `transaction_scan` |
//! | how is a key written if it has an expected value | `compare_and_swap` |
//! | how is a conflict found | `guard` in [`write`](crate::write) |
//!
//! # Guarantees
//! - Committed transactions and all other writes are serializable: the result is the same as if
//!   they ran one after the other, in the order of their sequence numbers.
//! - A transaction reads the entries that were visible when it began, and its own writes.
//! - A commit applies all writes of the transaction or, with an error, none of them. (If the log
//!   or its sync fails, the writes may have taken effect, as with every batch.) It is as durable as
//!   a batch that is written with the same durability.
//! - A commit of a transaction without writes succeeds: its reads were all true at one moment.
//!
//! # Not done here
//! No locks on keys: a transaction learns at its commit that another write came first, and its
//! client begins again. Two writes of one key do not conflict unless one of them has read it; so
//! operands do not. No savepoints.
//!
//! # Threads
//! Any. A transaction has one lock, held for short accesses to memory.

mod compare_and_swap;
mod transaction;
mod transaction_scan;
mod write_buffer;

pub use compare_and_swap::Swap;
pub use transaction::Transaction;
pub use transaction_scan::TransactionScan;

pub(crate) use compare_and_swap::Exchange;
