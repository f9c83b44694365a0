//! Merge operators: a client writes *operands*, and an operator of the client combines them with
//! the value of their key when the key is read, or in a job.
//!
//! | question | answered in |
//! |---|---|
//! | which methods does a client implement | `operator` |
//! | which operators are shipped | `counter`, `append` |
//! | which entries of a key make its value | `chain` |
//! | how do reads fail if the operator is missing or refuses | `combiner` |
//!
//! # Meaning
//! - An operand is an entry of its own kind ([`Kind::Operand`](crate::Kind::Operand)). After it,
//!   its key has a value: the combination of the older value, if there is one, with the operand.
//! - Operands of a key count from the newest down to the first entry that hides older ones: a put,
//!   a delete, a range tombstone, or a put that has expired. That entry is the *base*.
//! - A base with an expiry counts until it has expired. Then the operands above it count alone. So
//!   jobs combine no operand with a value that expires.
//! - The operator is associative: jobs combine operands with each other in any grouping, and never
//!   change their order.
//!
//! Values and pure functions. No locks and no I/O.

mod append;
mod chain;
mod combiner;
mod counter;
mod operator;

pub use append::Append;
pub use counter::Counter;
pub use operator::{MergeKey, MergeOperator, MergeRefused, Operator};

pub(crate) use chain::Chain;
pub(crate) use combiner::{Combiner, Operands};
