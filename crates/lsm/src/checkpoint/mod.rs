//! Checkpoint: copies a store into another one, as it is at one moment, while writes go on. The
//! target is an empty store. A *backup* is a checkpoint that remembers of which store it is
//! (`BackupRecord`): the next backup of that store brings it up to date, and copies only the tables
//! that it lacks.
//!
//! | question | answered in |
//! |---|---|
//! | in which steps is a store copied | `checkpointer` |
//! | may this store be the target, and which of its files are of use | `target` |
//! | how are tables and logs copied, and kept | `copy` |
//! | how are the bytes of a table verified on the way | `verified` |
//! | which table of the target equals one of the source | `same` |
//!
//! # Steps
//! 1. An empty target is marked as an unfinished copy, unless it is marked already: by its creator
//!    for this checkpoint ([`mark_of_unfinished_copy`](crate::mark_of_unfinished_copy)), or by a
//!    checkpoint that was interrupted. A marked store cannot be opened. An earlier backup is not
//!    marked, and stays whole until step 4.
//! 2. The engine flushes its memtables twice. Writes go on during the first flush. They wait during
//!    the second, which has the writes made during the first. Then the version holds the writes
//!    before this moment and no others. (A read-only engine copies its logs instead of flushing.)
//! 3. Tables are copied byte by byte, and their checksums are verified on the way. If the front of
//!    a table belongs to no segment, the copy has zeros there, and trims them. A log whose entries
//!    the opening has read into memory is compared with these bytes by checksum. A log's note of
//!    the log before it is left out. A table that an earlier backup has is not copied.
//! 4. One transaction seals the copied files, annotates the kept tables with their places of now,
//!    deletes the target's other tables and its logs, and writes the target's annotation, without
//!    the mark. It is a copy of the source's, for example with the same key spaces, all in one
//!    list, and the decider's state. Only the counts of a store's life begin at zero.
//!
//! A target is empty if it has no key space of its own and no file except empty logs. It is claimed
//! until the copy is done. If step 2 or 3 fails, a target that this checkpoint has marked gets its
//! own annotation back, and is the same empty store as before; an earlier backup is as it was. If
//! the process ends before step 4 or the power is cut, the mark stays, and an earlier backup is as
//! it was or the new one. The mark also stays if step 4 fails without effect. The copied tables
//! stay pinned meanwhile, so their space is not freed.
//!
//! A checkpoint runs in the thread of its client, except for the flushes, and holds no lock over
//! I/O.

mod checkpointer;
mod copy;
mod same;
mod target;
mod verified;

pub use checkpointer::{CheckpointProgress, Checkpointed};
pub use same::TableComparison;

pub(crate) use checkpointer::Checkpointer;
