//! Parses ranges of keys from the command line: `--from`, `--to` and `--prefix`. `--from` is
//! included in the range, `--to` is not; `--prefix` cannot be combined with them. Without any of
//! them the range is all keys.

use std::ffi::OsString;

use terrace::Bounds;

use super::entry;
use crate::failure::Failure;

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

    /// The range; its keys may be given as hexadecimal digits.
    pub(crate) fn bounds(&self, hex: bool) -> Result<Bounds, Failure> {
        let key =
            |key: &Option<OsString>| key.as_ref().map(|key| entry::parse_key(key, hex)).transpose();
        if let Some(prefix) = key(&self.prefix)? {
            return Ok(Bounds::prefix(&prefix));
        }
        let bounds = match key(&self.from)? {
            Some(from) => Bounds::starting_at(&from),
            None => Bounds::all(),
        };
        Ok(match key(&self.to)? {
            Some(to) => bounds.until(&to),
            None => bounds,
        })
    }
}
