//! `terrace delete IMAGE`: deletes a key, a range of keys, or a whole key space. The deletes are
//! durable when the command succeeds.
//!
//! - A key that does not exist is an error (exit code 5) unless `--force` is given. So is a key
//!   space that does not exist and is to be dropped. A range may be empty.
//! - A range of all keys, such as those with an empty prefix, is refused: a script whose variable
//!   is empty is not to delete everything. `--all` does.
//! - If a key or a range is to be deleted, its key space must exist, also with `--force`.
//! - `--drop-space` also drops the key space with the symbolic links of an imported tree
//!   ([`links_of`]). A delete of keys leaves the links.

use std::ffi::OsString;

use serde_json::json;
use terrace::{Bounds, Db};

use super::entry::{self, Space};
use super::range::Range;
use super::target::Target;
use super::under::Under;
use crate::failure::{Failure, Kind};
use crate::loader::links_of;
use crate::output::Output;

/// Delete a key, a range of keys or a key space; durable when the command ends.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace delete drive.img today
  terrace delete drive.img --prefix temporary/
  terrace delete drive.img --from a --to b")]
pub(crate) struct Delete {
    #[command(flatten)]
    target: Target,
    /// The key
    #[arg(conflicts_with_all = ["from", "to", "prefix"])]
    key: Option<OsString>,
    /// The key, or those of the range, are given as hexadecimal digits
    #[arg(long)]
    hex: bool,
    #[command(flatten)]
    range: Range,
    #[command(flatten)]
    space: Space,
    #[command(flatten)]
    under: Under,
    /// All keys of the key space
    #[arg(long, conflicts_with_all = ["key", "from", "to", "prefix"])]
    all: bool,
    /// Drop this key space and everything in it, and the one of the symbolic links of its tree
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with_all = ["key", "from", "to", "prefix", "all", "name"]
    )]
    drop_space: Option<String>,
    /// It is no error if there is no such key, or no such key space to drop
    #[arg(long)]
    force: bool,
}

impl Delete {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let key = self.key.as_ref().map(|key| entry::parse_key(key, self.hex)).transpose()?;
        if key.is_none() && !self.range.is_given() && !self.all && self.drop_space.is_none() {
            let expected = "expected a KEY, a range of keys, --all or --drop-space, found none";
            return Err(Failure::new(Kind::Usage, expected.to_owned()));
        }
        let bounds = self.range.bounds(self.hex)?;
        if self.range.is_given() && bounds.is_all() {
            let expected = "expected a range of keys that leaves some out, found one of all keys; \
                            --all deletes all keys of the key space";
            return Err(Failure::new(Kind::Usage, expected));
        }
        let deleted = self.delete(key.as_deref(), bounds);
        let deleted = deleted.map_err(|failure| self.target.named(failure))?;
        output.result(&json!({ "deleted": deleted }), |_| Ok(()))
    }

    /// Whether there was anything to delete.
    fn delete(&self, key: Option<&[u8]>, bounds: Bounds) -> Result<bool, Failure> {
        let db = self.target.db_under(&self.under)?;
        let deleted = match (&self.drop_space, key) {
            (Some(name), _) => self.drop_space(&db, name)?,
            (None, Some(key)) => self.delete_key(&db, key)?,
            (None, None) => {
                self.space.find(&db)?.delete_range(bounds)?;
                true
            }
        };
        db.close()?;
        Ok(deleted)
    }

    fn delete_key(&self, db: &Db, key: &[u8]) -> Result<bool, Failure> {
        let space = self.space.find(db)?;
        let found = space.get(key)?.is_some();
        if found {
            space.delete(key)?;
        } else if !self.force {
            return Err(entry::not_found(db, &space, key));
        }
        Ok(found)
    }

    fn drop_space(&self, db: &Db, name: &str) -> Result<bool, Failure> {
        let found = db.drop_key_space(name)?;
        // The symbolic links of a tree that was imported into it.
        if let Ok(links) = links_of(name) {
            db.drop_key_space(&links)?;
        }
        if found || self.force { Ok(found) } else { Err(entry::no_space(db, name)) }
    }
}
