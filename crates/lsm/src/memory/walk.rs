//! [`Walk`]: the purpose of a read of a table in order: a client's scan, or a job or verification.
//!
//! Among others, it decides the cause under which the reads are counted, the share of memory that
//! they use, the length of their read-ahead, and whether blocks are looked up in the block cache
//! (only a scan does that). A plain value.

use terrace_env::Cause;

/// Purpose of a walk of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// A client's scan.
    Scan,
    /// A job, or a verification: it reads its range once, to the end.
    Job(Cause),
}

impl Walk {
    /// Cause that its reads are counted under.
    pub(crate) fn cause(self) -> Cause {
        match self {
            Self::Scan => Cause::Read,
            Self::Job(cause) => cause,
        }
    }
}
