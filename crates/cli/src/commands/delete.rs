//! `terrace delete IMAGE KEY`

use serde_json::json;

use super::entry::{self, Key, Space};
use super::target::Target;
use super::under::Under;
use crate::failure::Failure;
use crate::output::Output;

/// Delete a key; durable when the command ends.
#[derive(clap::Args)]
pub(crate) struct Delete {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    key: Key,
    #[command(flatten)]
    space: Space,
    #[command(flatten)]
    under: Under,
    /// It is no error if there is no such key
    #[arg(long)]
    force: bool,
}

impl Delete {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let key = self.key.bytes()?;
        let db = self.target.db_under(&self.under)?;
        let space = self.space.find(&db)?;
        let found = space.get(&key)?.is_some();
        if found {
            space.delete(&key)?;
        } else if !self.force {
            return Err(entry::not_found(&key));
        }
        db.close()?;
        output.result(&json!({ "deleted": found }), |_| Ok(()))
    }
}
