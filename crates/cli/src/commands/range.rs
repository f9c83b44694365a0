//! Ranges of keys on the command line.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use terrace::Bounds;

/// A range of keys, as one types it; without any of these, all keys.
#[derive(clap::Args)]
pub(crate) struct Range {
    /// Begin at this key
    #[arg(long)]
    pub(crate) from: Option<OsString>,
    /// End before this key
    #[arg(long)]
    pub(crate) to: Option<OsString>,
    /// Only keys that begin like this
    #[arg(long, conflicts_with_all = ["from", "to"])]
    pub(crate) prefix: Option<OsString>,
}

impl Range {
    /// Whether anything was typed.
    pub(crate) fn is_given(&self) -> bool {
        self.from.is_some() || self.to.is_some() || self.prefix.is_some()
    }

    pub(crate) fn bounds(&self) -> Bounds {
        if let Some(prefix) = &self.prefix {
            return Bounds::prefix(prefix.as_bytes());
        }
        let bounds = match &self.from {
            Some(from) => Bounds::starting_at(from.as_bytes()),
            None => Bounds::all(),
        };
        match &self.to {
            Some(to) => bounds.until(to.as_bytes()),
            None => bounds,
        }
    }
}
