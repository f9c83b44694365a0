//! `terrace put IMAGE KEY VALUE`: stores a value, given as an argument, in a file, or on standard
//! input, for good or for a time. The put is durable when the command succeeds.
//!
//! A file or an input that is larger than the largest value is refused before the store is opened.
//! The key space is made if the store does not have it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use terrace::{ByteCount, VALUE_BYTES_MAX};

use super::duration::duration;
use super::entry::{Key, Space};
use super::target::Target;
use super::under::{Consent, Under};
use crate::failure::{Failure, Kind};
use crate::output::Output;

/// Store a value under a key; it is durable when the command ends.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace put drive.img greeting hello
  terrace put drive.img manual --file docs/cli.md
  date | terrace put drive.img today -
  terrace put drive.img session/ada token --expires 90min")]
pub(crate) struct Put {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    key: Key,
    #[command(flatten)]
    space: Space,
    #[command(flatten)]
    under: Under,
    #[command(flatten)]
    consent: Consent,
    /// The value; read from standard input if it is `-`
    #[arg(required_unless_present = "file")]
    value: Option<std::ffi::OsString>,
    /// Take the value from this file
    #[arg(long, conflicts_with = "value")]
    file: Option<PathBuf>,
    /// How long the value is there, such as 90min or 30d; then the key has none
    #[arg(long, value_name = "TIME", value_parser = duration)]
    expires: Option<Duration>,
}

impl Put {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let key = self.key.bytes()?;
        let value = self.read()?;
        self.put(&key, &value).map_err(|failure| self.target.named(failure))?;
        output.result(&json!({ "key_bytes": key.len(), "value_bytes": value.len() }), |_| Ok(()))
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let db = self.target.db_made(&self.under, self.consent.create_store)?;
        let space = self.space.make(&db)?;
        match self.expires {
            Some(ttl) => space.put_with_ttl(key, value, ttl)?,
            None => space.put(key, value)?,
        }
        Ok(db.close()?)
    }

    fn read(&self) -> Result<Vec<u8>, Failure> {
        use std::os::unix::ffi::OsStrExt;
        match (&self.file, &self.value) {
            (Some(path), _) => {
                let file = File::open(path).map_err(|error| Failure::path(path, &error))?;
                read_value(path, file)
            }
            (None, Some(value)) if value != "-" => Ok(value.as_bytes().to_vec()),
            _ => read_value(Path::new("standard input"), io::stdin().lock()),
        }
    }
}

/// Reads a value; no more of it than the largest value has, for a pipe or a device may never end.
fn read_value(name: &Path, from: impl Read) -> Result<Vec<u8>, Failure> {
    let mut value = Vec::new();
    let read = from.take(VALUE_BYTES_MAX as u64 + 1).read_to_end(&mut value);
    read.map_err(|error| Failure::path(name, &error))?;
    if value.len() <= VALUE_BYTES_MAX {
        return Ok(value);
    }
    let (name, limit) = (name.display(), ByteCount(VALUE_BYTES_MAX as u64).exact());
    let message = format!("{name}: expected a value of at most {limit}, found more");
    Err(Failure::new(Kind::Failed, message))
}
