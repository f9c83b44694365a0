//! Reading: how a key is found, and how keys are walked in order.
//!
//! | question | answered in |
//! |---|---|
//! | what does a reader see, and how is one key read | `snapshot` |
//! | how are several keys read at once | `multi_get` |
//! | how is a range read, from either end | `scan` |
//! | how does a reader walk in both directions | `cursor` |
//! | how do memtables and runs become one order | `merge` |
//! | how is a run walked, table by table | `run_cursor` |
//! | who reads at length, and may keep space from coming free | `readers` |
//! | what do readers find once the engine is closed | `closed` |
//! | what can still be read when tables are damaged | `salvage` |
//! | is everything in the tree as it should be | `verify` |
//! | tests of reads that are submitted ahead | `reads_under_way` |
//!
//! # Point reads
//! A point read goes through the places from the newest to the oldest: the active memtable, the
//! immutable memtables, then the runs level by level. It ends at the first place that knows
//! anything of the key: a value, a delete, or a range tombstone over it. A table whose key range
//! excludes the key is not touched. Where a filter excludes the key, no data block is read; the
//! table's end and its filter are, unless they are in memory.
//!
//! # Range reads
//! A cursor merges one source per memtable and one per run by a heap. Of each key, the newest
//! visible version decides; deletes and range tombstones hide what is older.
//!
//! # Invariants
//! - A read of the newest writes takes the view first and the newest visible sequence afterwards.
//!   All that was visible when the view was taken is then within the sequence, so the reader misses
//!   no write that had returned before the read began. A read by a snapshot has its sequence long
//!   before the view: jobs keep the entries that it sees.
//! - The view is an immutable value. A scan, a cursor or a salvage keeps its memtables, runs and
//!   files until it ends. Its active memtable may still grow, but by entries that are newer than
//!   the reader's sequence. So later writes and compactions change nothing for it.
//! - A snapshot is a sequence number that jobs know of. It keeps entries, not files.
//! - A dropped key space is an error for every read that begins afterwards, also by a snapshot from
//!   before. Scans and cursors that were opened before go on.
//! - Once the engine is closed, every read says so. A read that fails while the engine closes says
//!   so, too, and not what it found on a medium that others may write by then.
//! - A read never returns something stale in the place of something damaged. It fails, or, in a
//!   salvage, the range is left out and listed.
//!
//! # Threads
//! Any number of readers on any threads; one scan, cursor or salvage is used by one thread at a
//! time. Reads take no lock that writers hold; only beginning and ending a snapshot takes the lock
//! of the tree. A read may wait for the device, so the caller holds no lock.
//!
//! # Not done here
//! `merge` and `run_cursor` also serve the jobs, which read with their own buffers and keep what
//! their inputs hold for all readers, not for one: see `jobs`. Blocks, indexes and filters are read
//! in `table`.

mod closed;
mod cursor;
pub(crate) mod merge;
mod multi_get;
mod readers;
#[cfg(test)]
mod reads_under_way;
mod run_cursor;
mod salvage;
mod scan;
mod snapshot;
pub(crate) mod verify;

pub use cursor::Cursor;
pub use readers::{ReaderKind, ReaderStats, SpaceHolders};
pub use salvage::{LeftOut, Salvage};
pub use scan::Scan;
pub use snapshot::Snapshot;
pub use verify::Verified;

pub(crate) use closed::Closed;
pub(crate) use merge::{Merge, Source};
pub(crate) use readers::Readers;
pub(crate) use run_cursor::RunCursor;
