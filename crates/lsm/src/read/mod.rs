//! Reading: how a key is found, and how keys are walked in order.
//!
//! | question | answered in |
//! |---|---|
//! | what does a reader see, and how is one key read | `reader` |
//! | how is one moment kept for reads | `snapshot` |
//! | which tables did a point read search | `search` |
//! | how are several keys read at once | `multi_get` |
//! | how is a key with operands read | `operands`, `cursor/chains` |
//! | how is a range read, from either end | `scan` |
//! | how does a reader walk in both directions | `cursor` |
//! | which entries do range tombstones hide from a cursor | `coverage` |
//! | is a range empty, and how large is it | `range_facts` |
//! | what does a cursor pass without showing it | `stretch` |
//! | what can still be read when tables are damaged | `salvage` |
//! | is everything in the tree as it should be | `verify` |
//!
//! # Point reads
//! A point read goes through the places from the newest to the oldest: the active memtable, the
//! immutable memtables, then the runs level by level. It ends at the first place that knows
//! anything of the key which the reader sees: a value, a delete, or a range tombstone over it. An
//! operand is the only answer after which older places are asked, down to the next other one. If
//! the key range or the filter of a table excludes the key, none of its data blocks is read.
//!
//! # Range reads
//! A cursor merges its sources by a heap: one per memtable that is not empty, and one per run. Of
//! each key, the newest visible version decides; deletes and range tombstones hide what is older.
//!
//! After some entries in a row that show nothing, a cursor asks for the empty ranges that earlier
//! readers found, and skips to the end of one. Where a key has many versions, it searches for the
//! one that counts.
//!
//! # Invariants
//! - A read of the newest writes takes the view first and the newest visible sequence afterwards.
//!   So it misses no write that had returned before the read began. A read by a snapshot has the
//!   snapshot's sequence: jobs keep the entries that it sees.
//! - A scan, a cursor or a salvage keeps its memtables, runs and files until it ends. Later writes
//!   and compactions change nothing for it.
//! - If a key space was dropped, a read that begins afterwards is an error, also by a snapshot from
//!   before. Scans and cursors that were opened before go on.
//! - Once the engine is closed, a read that begins returns [`Error::Closed`](crate::Error::Closed).
//!   So does a read that fails while the engine closes.
//! - A read does not return an older version in the place of a damaged one. It fails. A salvage
//!   leaves out the keys whose newest version may be damaged, and lists their range. (Tables that
//!   were lost with their device are no part of the tree: [`LostRange`](crate::LostRange).)
//!
//! # Threads
//! Any number of readers on any threads; one scan, cursor or salvage is used by one thread at a
//! time. A read may wait for the device, so the caller holds no lock.

mod coverage;
mod cursor;
mod multi_get;
mod operands;
mod range_facts;
mod reader;
mod salvage;
mod scan;
mod search;
mod snapshot;
mod stretch;
pub(crate) mod verify;

pub use cursor::Cursor;
pub use salvage::{LeftOut, Salvage};
pub use scan::Scan;
pub use snapshot::Snapshot;
pub use verify::Verified;

pub(crate) use reader::Reader;
