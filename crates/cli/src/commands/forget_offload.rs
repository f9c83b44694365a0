//! `terrace forget-offload IMAGE`: gives up the lost offload drive of a store, and lists the ranges
//! of keys of which tables were lost with it.
//!
//! Afterwards the store is on its first drive alone. The command refuses while anything is at the
//! path that was typed for the offload drive or, without one, at the path that the store remembers:
//!
//! - the offload drive itself, if the store can be mounted with it: nothing need be lost then;
//! - anything else, also if it cannot be read: the drive may be at another path, or come back. The
//!   error says why this is not the drive.
//!
//! `--force` overrides that. A store with a log drive and a store on one drive are always refused.
//!
//! The list is printed before the drive is given up: a process that has printed nothing has given
//! up nothing.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use terrace::device::Device;
use terrace::fs::Access;
use terrace::{Bytes, Db, KeySpaceId, LostRange};
use terrace_fs::superblock::Role;
use terrace_fs::{Devices, Fs, MountOptions};

use super::log_drive;
use super::target::Target;
use crate::escape::{self, Escaped, shown};
use crate::failure::{Failure, Kind};
use crate::output::{Output, counted};

/// Give up the lost offload drive of a store: the rest of the store can be used again. Lists the
/// ranges of keys of which tables were lost; their keys have older values, or none.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace forget-offload drive.img")]
#[command(
    mut_arg("log", |arg| arg.hide(true)),
    mut_arg("offload", |arg| arg.help(
        "Where to look whether the offload drive is there after all [default: where it was when \
         the store was made]"
    ))
)]
pub(crate) struct ForgetOffload {
    #[command(flatten)]
    target: Target,
    /// Give the drive up even if it, or anything else, is there
    #[arg(long)]
    force: bool,
    /// Print keys as hexadecimal digits
    #[arg(long)]
    hex: bool,
}

impl ForgetOffload {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let drive = self.target.drive(Access::ReadWrite)?;
        let path = self.offload_path(&drive)?;
        if let Some(path) = path.filter(|path| !self.force && is_anything_at(path)) {
            return Err(self.refusal(&drive, &path));
        }
        self.tell_lost(Arc::clone(&drive), output)?;
        self.target.db_without_offload(drive, Access::ReadWrite)?.close()?;
        output.line(format_args!("{}: on this drive alone from now on", shown(self.target.path())))
    }

    /// Prints the losses, and changes nothing.
    fn tell_lost(&self, drive: Arc<dyn Device>, output: &Output) -> Result<(), Failure> {
        let db = self.target.db_without_offload(drive, Access::ReadOnly)?;
        let lost: Vec<LostRange> = db.lost_ranges().to_vec();
        let ranges: Vec<Value> = lost.iter().map(|range| self.object(&db, range)).collect();
        let bytes: u64 = lost.iter().map(|range| range.size.0).sum();
        let json = json!({ "lost": ranges, "bytes": bytes });
        let printed = output.result(&json, |out| self.print(out, &db, &lost));
        db.close()?;
        printed
    }

    /// Where the offload drive is expected, if that is known. An error if the store has none.
    fn offload_path(&self, drive: &Arc<dyn Device>) -> Result<Option<PathBuf>, Failure> {
        let image = self.target.path();
        let refuse = |kind, found: String| {
            let expected = "expected a store with an offload drive";
            Err(Failure::new(kind, format!("{}: {expected}, found {found}", image.display())))
        };
        log_drive::refuse_as_target(drive, image)?;
        let second = log_drive::second(drive, image)
            .map_err(|error| Failure::from(error).while_doing(image.display()))?;
        match (second, self.target.second()) {
            (None, _) => refuse(Kind::Failed, "one on a single drive".into()),
            (Some((Role::Log, path)), _) => {
                let at = path.map_or(String::new(), |path| format!(" ({})", path.display()));
                let needs = "it cannot do without its journal and logs";
                refuse(Kind::Failed, format!("one with a log drive{at}; {needs}"))
            }
            (Some(_), Some((Role::Log, _))) => refuse(Kind::Usage, "--log".into()),
            (Some(_), Some((Role::Offload, typed))) => Ok(Some(typed.to_owned())),
            (Some((Role::Offload, path)), None) => Ok(path),
        }
    }

    /// Why the offload drive is not given up although something is at `path`, with advice that can
    /// be followed.
    fn refusal(&self, drive: &Arc<dyn Device>, path: &Path) -> Failure {
        let (image, path_shown) = (self.target.path().display(), path.display());
        let options = MountOptions { access: Access::ReadOnly, ..MountOptions::default() };
        // If the rest of the store is damaged, --force does not help.
        let without = Devices::without_offload(Arc::clone(drive));
        match without.and_then(|devices| Fs::mount(devices, &options)) {
            Ok(fs) => fs.unmount(),
            Err(error) => return Failure::from(error).while_doing(image),
        }
        let with = self
            .target
            .open_drive(path, Access::ReadOnly)
            .and_then(|second| Ok(Fs::mount(Devices::pair(Arc::clone(drive), second), &options)?));
        let expected = format!("{image}: expected an offload drive that is lost");
        let message = match with {
            Ok(fs) => {
                fs.unmount();
                let typed = self.target.second().is_some();
                let named = if typed { format!(" --offload {path_shown}") } else { String::new() };
                format!(
                    "{expected}, found it at {path_shown}; `terrace compact {image}{named}` takes \
                     its tables off it, and --force gives it up as it is"
                )
            }
            Err(failure) => format!(
                "{expected} and nothing at {path_shown}, found something there that is not the \
                 drive as the store left it: {}; --force gives the drive up as lost",
                failure.message
            ),
        };
        Failure::new(Kind::Failed, message)
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
        let path = shown(self.target.path());
        match lost.len() {
            0 => writeln!(out, "{path}: no table is lost"),
            count => {
                let ranges = counted(count as u64, "range", "ranges");
                writeln!(out, "{path}: {ranges} of keys of which a table is lost")
            }
        }
    }

    fn object(&self, db: &Db, range: &LostRange) -> Value {
        let insert = if self.hex { escape::insert_hex } else { escape::insert };
        let mut object = Map::new();
        insert(&mut object, "from", &range.start.1);
        insert(&mut object, "to", &range.end.1);
        let rest = json!({
            "from_space": space_value(db, range.start.0), "to_space": space_value(db, range.end.0),
            "table": range.file, "level": range.level, "bytes": range.size,
        });
        object.extend(rest.as_object().cloned().unwrap_or_default());
        Value::from(object)
    }
}

/// Whether anything is at a path; also if that cannot be told.
fn is_anything_at(path: &Path) -> bool {
    path.try_exists().unwrap_or(true)
}

/// The name of a key space; of one that was dropped, its id.
fn space_value(db: &Db, space: KeySpaceId) -> Value {
    db.key_space_name(space).map_or_else(|| json!(space.0), Value::from)
}

/// A key space in words.
fn space_name(db: &Db, space: KeySpaceId) -> String {
    let name = db.key_space_name(space);
    let named = name.map(|name| format!("key space `{}`", Escaped(name.as_bytes())));
    named.unwrap_or_else(|| format!("key space {space}"))
}
