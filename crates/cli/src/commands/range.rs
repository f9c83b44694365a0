//! Parses ranges of keys from the command line: `--from`, `--to` and `--prefix`. `--from` is
//! included in the range, `--to` is not; `--prefix` cannot be combined with them. Without any of
//! them the range is all keys. A range that ends before it begins is refused: its two keys have
//! likely been typed the wrong way round. One that ends where it begins is empty, and no error.

use std::ffi::OsString;

use terrace::Bounds;

use super::entry;
use crate::escape::{self, Escaped};
use crate::failure::{Failure, Kind};

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
        let (from, to) = (key(&self.from)?, key(&self.to)?);
        check_order(from.as_deref(), to.as_deref(), hex)?;
        let bounds = from.map_or_else(Bounds::all, |from| Bounds::starting_at(&from));
        Ok(match to {
            Some(to) => bounds.until(&to),
            None => bounds,
        })
    }
}

/// Refuses a range that ends before it begins.
pub(crate) fn check_order(
    from: Option<&[u8]>,
    to: Option<&[u8]>,
    hex: bool,
) -> Result<(), Failure> {
    match (from, to) {
        (Some(from), Some(to)) if from > to => {
            let shown = |key: &[u8]| match hex {
                true => escape::hex(key),
                false => Escaped(key).to_string(),
            };
            let message = format!(
                "expected a range that begins before its end, found --from `{}` and --to `{}`; \
                 keys are compared byte by byte",
                shown(from),
                shown(to)
            );
            Err(Failure::new(Kind::Usage, message))
        }
        _ => Ok(()),
    }
}
