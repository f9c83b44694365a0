//! [`Walk`]: the reader on whose behalf a table is read in order, a client's scan or a job. It
//! decides the cause that reads are counted under.

use terrace_env::Cause;

/// On whose behalf a table is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// A client's scan.
    Scan,
    /// A job in the background, which reads all of it.
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
