//! Merge operators: a client writes *operands*, and an operator of the client combines them with
//! the value of their key when the key is read, or when a job comes by.
//!
//! | question | answered in |
//! |---|---|
//! | what does a client implement | `operator` |
//! | which operators are there already | `counter`, `append` |
//! | which entries of a key make its value | `chain` |
//! | what if the operator is missing, or refuses | `combiner` |
//!
//! # Meaning
//! - An operand is an entry of its own kind ([`Kind::Operand`](crate::Kind::Operand)). Its key has
//!   a value from then on: the combination of the older value, if there is one, with the operand.
//! - Operands of a key count from the newest down to the first entry that hides older ones: a
//!   put, a delete, a range tombstone, or a put that has expired. That entry is the *base*.
//! - A base with an expiry counts while it has not expired. Afterwards the operands above it count
//!   alone. So jobs combine no operand with a value that expires.
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
