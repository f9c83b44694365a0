//! [`Chunked`]: an immutable sequence in chunks. A changed copy shares most chunks with the
//! original: it copies those that the change touches, and sometimes a neighbour.
//!
//! Example: the last run of a large tree has tens of thousands of tables, and a commit replaces a
//! few neighbours. The new run copies the chunks of these tables, and shares the others with the
//! old run, which readers and deciders may still hold.
//!
//! A chunk has 16 to 64 items. A sequence of fewer items is one smaller chunk. Any number of
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
