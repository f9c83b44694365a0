//! `terrace put IMAGE KEY VALUE`

use std::io::Read;
use std::path::PathBuf;

use serde_json::json;

use super::entry::{Key, Space};
use super::target::Target;
use super::under::Under;
use crate::failure::Failure;
use crate::output::Output;

/// Store a value under a key; it is durable when the command ends.
#[derive(clap::Args)]
pub(crate) struct Put {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    key: Key,
    #[command(flatten)]
    space: Space,
    #[command(flatten)]
    under: Under,
    /// The value; read from standard input if it is `-`
    #[arg(required_unless_present = "file")]
    value: Option<std::ffi::OsString>,
    /// Take the value from this file
    #[arg(long, conflicts_with = "value")]
    file: Option<PathBuf>,
}

impl Put {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let key = self.key.bytes()?;
        let value = self.read()?;
        let db = self.target.db_under(&self.under)?;
        let space = self.space.make(&db)?;
        space.put(&key, &value)?;
        db.close()?;
        output.result(&json!({ "key_bytes": key.len(), "value_bytes": value.len() }), |_| Ok(()))
    }

    fn read(&self) -> Result<Vec<u8>, Failure> {
        use std::os::unix::ffi::OsStrExt;
        match (&self.file, &self.value) {
            (Some(path), _) => std::fs::read(path).map_err(|error| Failure::path(path, &error)),
            (None, Some(value)) if value != "-" => Ok(value.as_bytes().to_vec()),
            _ => {
                let mut value = Vec::new();
                let read = std::io::stdin().lock().read_to_end(&mut value);
                read.map_err(|error| Failure::path("standard input".as_ref(), &error))?;
                Ok(value)
            }
        }
    }
}
