//! [`Chunked`]: an immutable sequence in chunks. A changed copy has a list of chunks of its own. It
//! shares the chunks that the change does not touch, but for a neighbour that is copied where a
//! chunk would have fewer than 16 items.
//!
//! Example: the last run of a large tree has tens of thousands of tables, and a commit replaces a
//! few neighbours. The new run copies the chunks in which these lie, and perhaps one beside them.
//! All other chunks are shared with the old run, which readers and deciders may still hold.
//!
//! A chunk has 16 to 64 items; a sequence of fewer than 16 is one smaller chunk. Any number of
//! threads may read.

mod builder;
mod chunk;
mod iter;
mod sequence;
mod slice;
#[cfg(test)]
mod tests;

pub use iter::Iter;
pub use sequence::Chunked;
pub use slice::ChunkedSlice;
