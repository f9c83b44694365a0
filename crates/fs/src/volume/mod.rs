//! A mounted store's shared parts, and the two halves of a commit.
//!
//! 1. Changes become records: what a file's writer has done is read from the open file.
//! 2. The journal stages them and makes them durable, in a group with others.
//! 3. The effects are carried out in the order in which the journal staged the transactions,
//!    whoever wakes first: the counts of zones depend on it.

mod close;
mod commit;
mod effects;
mod shared;

pub(crate) use shared::{Volume, as_device};
