//! `terrace forget-offload IMAGE`: gives up the lost offload drive of a store, and lists the ranges
//! of keys of which tables were lost with it.
//!
//! Afterwards the store is on its first drive alone. The command refuses while anything is at the
//! path that the store remembers for its second drive, because nothing need be lost then; `--force`
//! overrides that.

use std::io::{self, Write};

use serde_json::{Map, Value, json};
use terrace::fs::Access;
use terrace::{Bytes, Db, KeySpaceId, LostRange};

use super::log_drive;
use super::target::Target;
use crate::escape::{self, Escaped};
use crate::failure::{Failure, Kind};
use crate::output::Output;

/// Give up the lost offload drive of a store: the rest of the store can be used again. Lists the
/// ranges of keys of which tables were lost; their keys have older values, or none.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace forget-offload drive.img")]
pub(crate) struct ForgetOffload {
    #[command(flatten)]
    target: Target,
    /// Give the drive up even if it is there
    #[arg(long)]
    force: bool,
    /// Print keys as hexadecimal digits
    #[arg(long)]
    hex: bool,
}

impl ForgetOffload {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let drive = self.target.drive(Access::ReadWrite)?;
        let remembered = log_drive::remembered(&drive, self.target.path());
        if let Some((_, path)) = remembered.filter(|(_, path)| path.exists() && !self.force) {
            let message = format!(
                "{}: expected an offload drive that is lost, found one at {}; `terrace compact` \
                 takes its tables off it, and --force gives it up as it is",
                self.target.path().display(),
                path.display()
            );
            return Err(Failure::new(Kind::Failed, message));
        }
        let db = self.target.db_without_offload(drive)?;
        let lost: Vec<LostRange> = db.lost_ranges().to_vec();
        let ranges: Vec<Value> = lost.iter().map(|range| self.object(&db, range)).collect();
        let bytes: u64 = lost.iter().map(|range| range.size.0).sum();
        let json = json!({ "lost": ranges, "bytes": bytes });
        let printed = output.result(&json, |out| self.print(out, &db, &lost));
        db.close()?;
        printed
    }

    fn print(&self, out: &mut dyn Write, db: &Db, lost: &[LostRange]) -> io::Result<()> {
        for LostRange { file, level, size, start, end } in lost {
            let key = |(space, key): &(KeySpaceId, Bytes)| {
                let text = if self.hex { escape::hex(key) } else { Escaped(key).to_string() };
                format!("`{text}` of {}", space_name(db, *space))
            };
            let (start, end) = (key(start), key(end));
            writeln!(
                out,
                "lost: keys from {start} up to {end}: {size} of table {file}, level {level}"
            )?;
        }
        let path = self.target.path().display();
        match lost.len() {
            0 => writeln!(out, "{path}: nothing was lost; the store is on this drive alone now"),
            count => writeln!(
                out,
                "{path}: {count} ranges of keys were lost; the store is on this drive alone now"
            ),
        }
    }

    fn object(&self, db: &Db, range: &LostRange) -> Value {
        let insert = if self.hex { escape::insert_hex } else { escape::insert };
        let mut object = Map::new();
        insert(&mut object, "from", &range.start.1);
        insert(&mut object, "to", &range.end.1);
        let rest = json!({
            "from_space": space_name(db, range.start.0), "to_space": space_name(db, range.end.0),
            "table": range.file, "level": range.level, "bytes": range.size,
        });
        object.extend(rest.as_object().cloned().unwrap_or_default());
        Value::from(object)
    }
}

/// The name of a key space; of one that was dropped, its number.
fn space_name(db: &Db, space: KeySpaceId) -> String {
    let named = db.key_space_name(space).map(|name| format!("key space `{name}`"));
    named.unwrap_or_else(|| format!("key space {space}"))
}
