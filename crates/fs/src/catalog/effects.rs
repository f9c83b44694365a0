//! [`Effects`]: the things that a transaction gives back: the files that it deletes, the blocks
//! that it frees, and the parts of logs' leases that it ends.
//!
//! This is a list to be carried out later, once the transaction is durable: until then, a power cut
//! brings back the state that needs these blocks. Each entry has the file's extent map of before,
//! because readers may still hold that map and read its blocks.

use std::sync::Arc;

use terrace_env::FileId;
use terrace_env::store::FileKind;

use super::{Extent, ExtentMap};

/// Blocks that a file no longer names.
#[derive(Clone, Debug)]
pub struct Freed {
    /// The file.
    pub file: FileId,
    /// The file's map before the change. Readers that hold it still read these blocks.
    pub map: Arc<ExtentMap>,
    /// The blocks.
    pub extents: Vec<Extent>,
}

/// A file that is gone.
#[derive(Clone, Debug)]
pub struct Deleted {
    /// The file.
    pub file: FileId,
    /// How it was written: a directory finds it by that.
    pub kind: FileKind,
    /// The level that it had at last, if it had one.
    pub level: Option<u8>,
    /// The blocks that it had.
    pub map: Arc<ExtentMap>,
}

/// Space and files that a transaction gives back. To be carried out only once the transaction is
/// durable: until then a power cut brings back the state that still needs these blocks.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Blocks that held bytes of a file and now hold garbage.
    pub freed: Vec<Freed>,
    /// Blocks that were leased to a log and never held anything the catalog knows of: those after
    /// the cut when a log is sealed, extended or cut at recovery.
    pub unleased: Vec<Freed>,
    /// Files that are gone.
    pub deleted: Vec<Deleted>,
}

impl Effects {
    /// Whether nothing became free.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.freed.is_empty() && self.unleased.is_empty() && self.deleted.is_empty()
    }
}
