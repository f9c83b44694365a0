//! A sequence in chunks, which shares those that a change does not touch with the sequence it was
//! made from.
//!
//! The last run of a large tree has tens of thousands of tables, and every commit changes a few
//! that lie side by side. A new version of it costs as much as the chunks that they are in; all
//! else is shared, with readers and deciders of older versions too.
//!
//! Chunks hold between `LEN_MIN` and `LEN_MAX` items, but for a sequence of fewer. Immutable; any
//! number of readers.

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
