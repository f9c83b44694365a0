//! Reading: how a key is found, and how keys are walked in order.
//!
//! | question | answered in |
//! |---|---|
//! | which entries does a reader see, and how is one key read | `reader` |
//! | how is one moment kept for reads | `snapshot` |
//! | which tables did a point read search | `search` |
//! | how are several keys read at once | `multi_get` |
//! | how is a key with operands read | `operands`, `cursor/chains` |
//! | how is a range read, from either end | `scan` |
//! | how does a reader walk in both directions | `cursor` |
//! | which entries do range tombstones hide from a cursor | `coverage` |
//! | is a range empty, and how large is it | `range_facts` |
//! | which entries does a cursor pass without showing one | `stretch` |
//! | which entries can still be read when tables are damaged | `salvage` |
//! | are the tables of the tree undamaged | `verify` |
//!
//! # Point reads
//! A point read goes through the places from the newest to the oldest: the active memtable, the
//! immutable memtables, then the runs level by level. It ends at the first place with an answer
//! that the reader sees: a value, a delete, or a range tombstone over the key. If the answer is an
//! operand, older places are searched, too, down to the next answer of another kind. If the key
//! range or the filter of a table excludes the key, none of its data blocks is read.
//!
//! # Range reads
//! A cursor merges its sources by a heap: one per memtable that is not empty, and one per run. The
//! newest visible version of a key decides; deletes and range tombstones hide older ones.
//!
//! After some entries in a row that are not shown, a cursor looks up the empty ranges that earlier
//! readers found, and skips to the end of one. If a key has many versions, it searches for the
//! newest visible one.
//!
//! # Invariants
//! - A read of the newest writes takes the view first and the newest visible sequence second. So it
//!   misses no write that had returned before the read began. A read by a snapshot has the
//!   snapshot's sequence: jobs keep the entries that it sees.
//! - A scan, a cursor or a salvage keeps its memtables, runs and files until it ends. Later writes
//!   and compactions do not affect it.
//! - If a key space was dropped, a read that begins later is an error, also by an older snapshot.
//!   Scans and cursors that were opened before go on.
//! - Once the engine is closed, a read that begins returns [`Error::Closed`](crate::Error::Closed).
//!   So does a read that fails while the engine closes.
//! - A read does not return an older version in the place of a damaged one. It fails. A salvage
//!   leaves out the keys whose newest version may be damaged, and lists their range. Tables that
//!   were lost with their device are no part of the tree ([`LostRange`](crate::LostRange)).
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
