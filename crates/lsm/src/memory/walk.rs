//! [`Walk`]: on whose behalf a table is read in order: a client's scan, or a job or verification.
//!
//! It decides, among others, under which cause the reads are counted, whose share of memory they
//! take, how far they go ahead, and whether blocks are looked up in the block cache: those of a
//! scan are. A plain value.

use terrace_env::Cause;

/// On whose behalf a table is walked.
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
