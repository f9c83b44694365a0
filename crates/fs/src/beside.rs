//! [`Beside`]: a store that was opened with [`Access::Beside`](crate::Access), next to a process
//! that may be writing it, as the reader sees it.
//!
//! Such a reader takes no lock and no claim and pins nothing. So the writer may free, at any time,
//! blocks that the reader knows as parts of a file, and write others there. Two questions tell:
//!
//! - *Were these bytes still those of the file?* After a read the reader asks for a
//!   [voucher](Beside::vouch). If it gets one, the file had these blocks when the read had ended,
//!   because blocks come free only after the transaction that frees them is durable, and a journal
//!   without such a transaction proves that they were not free.
//! - *Has anything changed since the opening?* [`Beside::has_changed`] reads the places where the
//!   journal and the unsealed logs go on.
//!
//! Both read the medium and write nothing. In a store that was opened otherwise, every byte is
//! vouched for and nothing changes.

use std::ops::Range;

use terrace_env::FileId;
use terrace_env::store::{Store, StoreError};

/// See the [module](self). Any thread may call; a call waits for the medium.
pub trait Beside: Store {
    /// Succeeds if these bytes of the file were still its own when the call began; of a log, if all
    /// of it was that the opening has read.
    ///
    /// # Errors
    /// [`StoreError::Moved`] if they may have come free, and errors of the medium.
    fn vouch(&self, file: FileId, bytes: Range<u64>) -> Result<(), StoreError>;

    /// Whether the journal or an unsealed log has gone on since the opening.
    ///
    /// # Errors
    /// Those of the medium.
    fn has_changed(&self) -> Result<bool, StoreError>;
}

/// The error for bytes of a file that may have come free.
pub(crate) fn freed(file: FileId, bytes: &Range<u64>, found: &str) -> StoreError {
    let Range { start, end } = bytes;
    let expected = format!("bytes {start}..{end} of file {file} where they were");
    StoreError::Moved { expected, found: found.into() }
}
