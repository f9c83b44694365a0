//! [`Chunked`]: an immutable sequence that is stored in chunks. A changed copy shares with the
//! original the chunks that the change does not touch, but may copy a chunk next to a changed
//! place.
//!
//! It is meant for long lists of which each version differs from the one before in a few places,
//! such as the tables of a large run: readers can keep the old version, and most items are held
//! once.
//!
//! A sequence of 16 items or more has chunks of 16 to 64 items; one of 1 to 15 items is one chunk.
//! Any number of threads may read a sequence whose items are `Send` and `Sync`.

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
