//! The option `--skip-damaged`: lets a scan go on after damaged blocks, and lists the ranges of
//! keys that it left out. Without it, a block that is damaged or cannot be read ends the scan with
//! an error, which names the option.
//!
//! - [`Skip::entries`] gives the entries. With the option they come forward only (no command
//!   takes it with `--reverse`), and the ranges left out are known before the first one.
//! - [`Skip::add`] adds the ranges left out to a command's JSON result.
//! - [`tell`] prints it on standard error if the answer is in text, and fails with exit code 3 if
//!   anything was left out. Call it last.

use serde_json::{Map, Value, json};
use terrace::live::Owner;
use terrace::{Bounds, Bytes, Db, Error, ErrorKind, KeySpace, LeftOut};

use crate::escape::{self, Escaped, Visible};
use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::screen::Screen;

/// Whether to go on, as one types it.
#[derive(clap::Args)]
pub(crate) struct Skip {
    /// Go on after blocks that are damaged or cannot be read: leave out all keys of which such a
    /// block may have held the newest version, list them, and end with exit code 3
    #[arg(long)]
    skip_damaged: bool,
}

/// Entries in order.
type Ordered = Box<dyn Iterator<Item = Result<(Bytes, Bytes), Failure>>>;

/// Entries in order, and the ranges left out of them.
pub(super) struct Entries {
    pub(super) entries: Ordered,
    pub(super) left_out: Vec<LeftOut>,
}

impl Skip {
    /// The entries of a range; backward if `reverse`, unless damage is to be skipped.
    pub(super) fn entries(
        &self,
        space: &KeySpace,
        bounds: Bounds,
        reverse: bool,
    ) -> Result<Entries, Failure> {
        let mut left_out = Vec::new();
        let entries: Ordered = if self.skip_damaged {
            let salvage = space.salvage(bounds)?;
            left_out.extend_from_slice(salvage.left_out());
            Box::new(salvage.map(|entry| Ok(entry?)))
        } else {
            let scan = space.scan(bounds)?;
            let scan = scan.map(move |entry| entry.map_err(|error| ended(error, reverse)));
            if reverse { Box::new(scan.rev()) } else { Box::new(scan) }
        };
        Ok(Entries { entries, left_out })
    }

    /// Refuses the option where another process has the store open.
    pub(super) fn check_alone(&self, owner: &Owner) -> Result<(), Failure> {
        if !self.skip_damaged {
            return Ok(());
        }
        let message = format!(
            "--skip-damaged: expected a store that no other process has open, found it open in \
             process {}, `{}`; run the command when that has ended",
            owner.pid, owner.command
        );
        Err(Failure::new(Kind::InUse, message))
    }

    /// Refuses the option together with another one.
    pub(super) fn check_unasked(&self, other: &str) -> Result<(), Failure> {
        if !self.skip_damaged {
            return Ok(());
        }
        let message = format!("{other}: expected no --skip-damaged with it, found both");
        Err(Failure::new(Kind::Usage, message))
    }

    /// Adds the ranges left out to the result of a command, if there could be any.
    pub(super) fn add(&self, result: &mut Value, db: &Db, left_out: &[LeftOut], hex: bool) {
        if self.skip_damaged {
            result["left_out"] = left_out.iter().map(|part| object(db, part, hex)).collect();
        }
    }
}

/// The failure of a scan without the option. If the option leads past the block, the message says
/// so.
fn ended(error: Error, reverse: bool) -> Failure {
    let can_be_skipped = matches!(error.origin(), ErrorKind::Corruption | ErrorKind::Io);
    let mut failure = Failure::from(error);
    if can_be_skipped {
        let scan = if reverse { "a scan without `--reverse`" } else { "it" };
        failure.message += "; with `--skip-damaged` ";
        failure.message += scan;
        failure.message += " goes on after them, and lists the ranges that it leaves out";
    }
    failure
}

fn object(db: &Db, part: &LeftOut, hex: bool) -> Value {
    let insert = if hex { escape::insert_hex } else { escape::insert };
    let mut object = Map::new();
    insert(&mut object, "from", &part.start);
    if let Some(end) = &part.end {
        insert(&mut object, "to", end);
    }
    let place = db.fs().and_then(|fs| fs.place_of(part.file, part.offset));
    let rest = json!({
        "table": part.file, "level": part.level, "offset": part.offset, "bytes": part.bytes,
        "device": place.map(|(at, _)| at.device()), "block": place.map(|(at, _)| at.block()),
        "zone": place.and_then(|(_, zone)| zone),
        "reason": part.reason,
    });
    object.extend(rest.as_object().cloned().unwrap_or_default());
    Value::from(object)
}

/// Prints the ranges left out, and fails if there are any.
pub(super) fn tell(
    db: &Db,
    left_out: &[LeftOut],
    hex: bool,
    output: &Output,
) -> Result<(), Failure> {
    if left_out.is_empty() {
        return Ok(());
    }
    let text = |key: &[u8]| if hex { escape::hex(key) } else { Escaped(key).to_string() };
    if !output.is_json() {
        let mut out = Screen::errors();
        for part in left_out {
            let (start, end) = (text(&part.start), part.end.as_ref().map(|end| text(end)));
            let end = end.map_or("on".to_owned(), |end| format!("up to `{end}`"));
            let place = db.fs().and_then(|fs| fs.place_of(part.file, part.offset));
            let place = place.map_or(String::new(), |(at, zone)| {
                let zone = zone.map_or(String::new(), |zone| format!(" (zone {zone})"));
                format!(", at {at}{zone}")
            });
            let LeftOut { file, level, bytes, offset, reason, .. } = part;
            writeln!(
                out,
                "left out: keys from `{start}` {end}: table {file} of level {level}, \
                 {bytes} bytes at {offset}{place}: {}",
                Visible(reason)
            )?;
        }
    }
    let where_listed = if output.is_json() { "under `left_out`" } else { "above" };
    let expected = "expected to read everything, left out";
    let message = match left_out.len() {
        1 => format!("{expected} a range of keys; it is listed {where_listed}"),
        count => format!("{expected} {count} ranges of keys; they are listed {where_listed}"),
    };
    Err(Failure::new(Kind::Corruption, message))
}
