//! The parts of a mounted store that its handles share, and the steps of a commit.
//!
//! 1. Changes become records. The progress of a file's writer is read from the open file.
//! 2. The journal stages the records and makes them durable, in a group with others that wait.
//! 3. The effects are carried out in the order in which the journal staged the transactions,
//!    because the counts of zones depend on it.
//!
//! | part | task |
//! |---|---|
//! | [`Volume`] | `shared`: devices, space, journal, and the registry of open files |
//! | `commit` | takes a transaction through the three steps |
//! | `effect_order` | order of the third steps of several commits |
//! | `effects` | the third step: blocks come free, files are sealed or deleted |
//! | `close` | records in the journal how far logs are durable, and where they end |
//!
//! # Invariants
//! - A file that is not deleted is in the registry as long as it has a writer, is committed and not
//!   sealed, or is sealed and has a handle.
//! - Blocks that the catalog knows come free after the transaction that frees them is durable.
//!
//! # Threads
//! Any thread may call. Locks are taken in the order registry, journal, file, space, and none is
//! held over a device call or a commit. The lock of the order of effects is taken under the
//! journal's.

mod close;
mod commit;
mod effect_order;
mod effects;
mod shared;

pub(crate) use shared::{Volume, as_device};
