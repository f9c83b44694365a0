//! Transactions: reads at one moment and writes that are applied together, if nothing that was read
//! has changed; and conditional writes of one key.
//!
//! | question | answered in |
//! |---|---|
//! | how does a transaction read, write and commit | `transaction` |
//! | what has it written so far | `write_buffer` |
//! | how does it walk a range | `transaction_scan` |
//! | how is a key written if it has an expected value | `compare_and_swap` |
//! | how is a conflict found | `guard` in [`write`](crate::write) |
//!
//! # Guarantees
//! - Committed transactions and all other writes are serializable: they leave what they would leave
//!   one after the other, in the order of their sequence numbers.
//! - A transaction reads what was visible when it began, and its own writes.
//! - A commit applies all writes of the transaction or, with an error, none of them. (The exception
//!   is that of every batch: if the log fails, or its sync, the writes may still be there.) It is
//!   as durable as a batch that is written with the same durability.
//! - A commit of a transaction that has written nothing succeeds: what it has read was there at one
//!   moment.
//!
//! # Not done here
//! No locks on keys: a transaction finds out at its commit that it has come too late, and its
//! client begins anew. Two writes of one key do not conflict unless one of them has read it; so
//! operands do not. No
//! savepoints.
//!
//! # Threads
//! Any. A transaction has one lock, held for a look or a change in memory.

mod compare_and_swap;
mod transaction;
mod transaction_scan;
mod write_buffer;

pub use compare_and_swap::Swap;
pub use transaction::Transaction;
pub use transaction_scan::TransactionScan;

pub(crate) use compare_and_swap::Exchange;
