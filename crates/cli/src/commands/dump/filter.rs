//! The filter of a dump: parses `--key`, `--from`, `--to`, `--prefix`, `--hex` and `--space` into
//! the range of keys to print, [`Wanted`].
//!
//! - Without any of them all keys are printed. `--from` is included, `--to` is not.
//! - The range is in the key space `default` unless `--space` is given. `--space` alone means all
//!   keys of that space.
//! - `--space` is looked up among the names in the annotations of the store and of its pages of
//!   key spaces. If it is not found there, or they cannot be read, it is taken for an id. A text
//!   that is neither is an error (exit code 5).

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use terrace_lsm::inspect::{FullKey, prefix_end};
use terrace_lsm::{KeySpaceEntry, KeySpaceId};

use crate::commands::entry::parse_hex;
use crate::commands::range::{Range, check_order};
use crate::failure::{Failure, Kind};

/// Keys, as one types them.
#[derive(clap::Args)]
pub(crate) struct KeyFilter {
    /// Only entries of this key
    #[arg(long, conflicts_with_all = ["from", "to", "prefix"])]
    key: Option<OsString>,
    #[command(flatten)]
    range: Range,
    /// The keys above are given as hexadecimal digits
    #[arg(long)]
    hex: bool,
    /// Only this key space, by name or id; for keys, `default` unless another is given
    #[arg(long)]
    space: Option<String>,
}

/// The range of keys that is asked for.
#[derive(Debug)]
pub(crate) enum Wanted {
    All,
    /// From the first key up to, and without, the second (`None`: to the key space's end).
    Range(KeySpaceId, Vec<u8>, Option<Vec<u8>>),
}

impl KeyFilter {
    /// Whether anything was typed.
    pub(crate) fn is_given(&self) -> bool {
        self.key.is_some() || self.range.is_given() || self.space.is_some() || self.hex
    }

    /// The range; names of key spaces are looked up in `spaces`.
    pub(crate) fn range(&self, spaces: &[KeySpaceEntry]) -> Result<Wanted, Failure> {
        let bytes = |text: &Option<OsString>| {
            let text = text.as_ref().map(|text| text.as_bytes());
            text.map(|text| if self.hex { parse_hex(text) } else { Ok(text.to_vec()) }).transpose()
        };
        let (key, prefix) = (bytes(&self.key)?, bytes(&self.range.prefix)?);
        let (from, to) = (bytes(&self.range.from)?, bytes(&self.range.to)?);
        check_order(from.as_deref(), to.as_deref(), self.hex)?;
        let none = key.is_none() && prefix.is_none() && from.is_none() && to.is_none();
        if none && self.space.is_none() {
            return Ok(Wanted::All);
        }
        let space = self.space(spaces)?;
        Ok(match (key, prefix) {
            (Some(key), _) => {
                let end = [&key[..], &[0]].concat();
                Wanted::Range(space, key, Some(end))
            }
            (None, Some(prefix)) => {
                let end = prefix_end(&prefix);
                Wanted::Range(space, prefix, end)
            }
            (None, None) => Wanted::Range(space, from.unwrap_or_default(), to),
        })
    }

    fn space(&self, spaces: &[KeySpaceEntry]) -> Result<KeySpaceId, Failure> {
        let Some(name) = &self.space else { return Ok(KeySpaceId::DEFAULT) };
        if let Some(space) = spaces.iter().find(|space| *space.name == **name) {
            return Ok(space.id);
        }
        let not_found = format!("expected a key space named `{name}`, or its id, found none");
        name.parse().map(KeySpaceId).map_err(|_| Failure::new(Kind::NotFound, not_found))
    }
}

impl Wanted {
    /// Whether the key is asked for.
    pub(crate) fn holds(&self, key: &FullKey) -> bool {
        match self {
            Self::All => true,
            Self::Range(space, start, end) => {
                let user_key = &key.user_key[..];
                let before_end = end.as_ref().is_none_or(|end| user_key < &end[..]);
                key.space == *space && user_key >= &start[..] && before_end
            }
        }
    }

    /// Whether a block may hold such keys, whose keys lie after `before` (`None`: it is the first)
    /// and not after `upto`.
    pub(crate) fn may_be_in(&self, before: Option<&FullKey>, upto: &FullKey) -> bool {
        let Self::Range(space, start, end) = self else { return true };
        let is_before = (upto.space, &upto.user_key[..]) < (*space, &start[..]);
        let is_behind = before.is_some_and(|before| match end {
            Some(end) => (before.space, &before.user_key[..]) >= (*space, &end[..]),
            None => before.space > *space,
        });
        !is_before && !is_behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> FullKey {
        FullKey { space: KeySpaceId(0), user_key: text.as_bytes().to_vec().into() }
    }

    #[test]
    fn blocks_are_passed_over_only_if_no_key_in_them_is_asked_for() {
        let wanted = Wanted::Range(KeySpaceId(0), b"d".to_vec(), Some(b"g".to_vec()));
        for (before, upto, expected) in [
            (None, "c", false),
            (None, "d", true),
            (Some("c"), "z", true),
            (Some("f"), "z", true),
            (Some("g"), "z", false),
        ] {
            let before = before.map(key);
            assert_eq!(wanted.may_be_in(before.as_ref(), &key(upto)), expected, "{upto}");
        }
        let (inside, outside) = (key("f"), key("g"));
        assert!(wanted.holds(&inside) && !wanted.holds(&outside));
    }
}
