//! `terrace get IMAGE KEY`: prints the value of a key, byte for byte. On a terminal a newline is
//! added if the value does not end with one ([`Output::raw`]).
//!
//! With `--json` it prints an object with key and value, each as hex if it is not UTF-8. If the key
//! or its key space does not exist, the command fails with exit code 5.

use serde_json::Map;

use super::entry::{self, Key, Space};
use super::source::{Alone, Source};
use super::target::Target;
use crate::escape;
use crate::failure::Failure;
use crate::output::Output;

/// Print the value of a key, byte for byte.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace get drive.img greeting
  terrace get drive.img manual > copy.md
  terrace get drive.img --hex 6772656574696e67")]
pub(crate) struct Get {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    key: Key,
    #[command(flatten)]
    space: Space,
    #[command(flatten)]
    alone: Alone,
}

impl Get {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let key = self.key.bytes()?;
        if let Some(reader) = self.alone.reader(&self.target)? {
            let name = self.space.name();
            let value = reader.read(|db| db.key_space(name)?.get(&key));
            let value = value.map_err(|error| self.target.named(error.into()))?;
            let value = value.ok_or_else(|| entry::not_found_in(name, &key))?;
            return Self::print(&key, &value, output);
        }
        let value = match self.target.source()? {
            Source::Alone(db) => {
                let space = self.space.find(&db)?;
                let value = space.get(&key).map_err(|error| self.target.named(error.into()))?;
                value.ok_or_else(|| entry::not_found(&db, &space, &key))?
            }
            Source::Owner(mut live) => {
                let value = live.get(self.space.name(), &key);
                let value = value.map_err(|error| self.target.named(error.into()))?;
                value.ok_or_else(|| entry::not_found_in(self.space.name(), &key))?
            }
        };
        Self::print(&key, &value, output)
    }

    fn print(key: &[u8], value: &[u8], output: &Output) -> Result<(), Failure> {
        if !output.is_json() {
            return output.raw(value);
        }
        let mut object = Map::new();
        escape::insert(&mut object, "key", key);
        escape::insert(&mut object, "value", value);
        output.result(&object, |_| Ok(()))
    }
}
