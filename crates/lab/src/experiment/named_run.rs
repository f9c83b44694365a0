//! [`NamedRun`]: the run of ours that shows why a value differs from a paper's, by the names of its
//! experiment and, where these matter, of its variant and its system.

use std::fmt;

use serde::Deserialize;

/// A run, or the runs of an experiment. Missing names mean all of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedRun {
    /// The experiment: `sealdb/memory`.
    pub experiment: String,
    /// The variant.
    pub variant: Option<String>,
    /// The system, as the experiment has it.
    pub system: Option<String>,
}

impl fmt::Display for NamedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.experiment)?;
        let of: Vec<&str> =
            [&self.system, &self.variant].into_iter().flatten().map(String::as_str).collect();
        if of.is_empty() { Ok(()) } else { write!(f, " ({})", of.join(", ")) }
    }
}
