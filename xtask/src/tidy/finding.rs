//! [`Finding`]: one violation of a rule. It has the file and line, the expectation of the rule, and
//! the text found. Findings are ordered by file, then by line.

use std::fmt;
use std::path::{Path, PathBuf};

/// The place of a fault, with the expected and the found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// The file, relative to the root.
    pub(crate) file: PathBuf,
    /// The line, counted from 1.
    pub(crate) line: usize,
    /// Text that the rule asks for.
    pub(crate) expected: String,
    /// Text found.
    pub(crate) found: String,
}

impl Finding {
    /// A finding in `file` at `line`.
    pub(crate) fn new(
        file: &Path,
        line: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self { file: file.to_path_buf(), line, expected: expected.into(), found: found.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, expected, found } = self;
        write!(f, "{}:{line}: expected {expected}, found {found}", file.display())
    }
}
