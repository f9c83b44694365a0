//! Dumps a write-ahead log: for each append its frames, then the batches in it, and with
//! `--entries` also their entries.
//!
//! Damaged frames and batches are reported, and the dump goes on with the parts that the inspector
//! finds after them. The filter chooses the entries to print, and those that the sum at the end
//! counts; batches are printed whether they hold such entries or not.

use serde_json::{Value, json};
use terrace_env::store::FileInfo;
use terrace_fs::inspect::{Inspector, LogAppend};
use terrace_lsm::inspect::{BatchRecord, Batches, Role};

use super::command::Detail;
use super::filter::Wanted;
use super::place::{frame_object, frame_text, role_object, role_text};
use super::printer::{Printer, entry_line, entry_object};
use crate::failure::Failure;
use crate::output::counted;

/// Dumps a log.
pub(crate) fn dump(
    printer: &mut Printer<'_>,
    store: &Inspector,
    info: &FileInfo,
    detail: &Detail,
    wanted: &Wanted,
) -> Result<(), Failure> {
    let (id, state) = (info.id, if info.sealed { "sealed" } else { "open" });
    printer.part(
        || json!({ "part": "file", "id": id, "kind": "log", "sealed": info.sealed }),
        |out| writeln!(out, "log {id}: {state}"),
    )?;
    match Role::of(id, info.kind, &info.annotation) {
        Ok(Some(role)) => printer.part(
            || json!({ "part": "annotation", "annotation": role_object(&role) }),
            |out| role_text(&role).iter().try_for_each(|line| writeln!(out, "  {line}")),
        )?,
        Ok(None) => {}
        Err(error) => printer.damage("annotation", &error)?,
    }
    let mut walk = store.log(id)?;
    let (mut appends, mut batches, mut entries) = (0u64, 0u64, 0u64);
    for append in walk.by_ref() {
        let append = match append {
            Ok(append) => append,
            Err(error) => {
                printer.damage("frame", &error)?;
                continue;
            }
        };
        appends += 1;
        frames(printer, &append)?;
        for batch in Batches::new(id, append.offset, append.payload.into()) {
            match batch {
                Ok(batch) => {
                    batches += 1;
                    entries += dump_batch(printer, &batch, detail, wanted)?;
                }
                Err(error) => printer.damage("batch", &error)?,
            }
        }
    }
    let end = walk.end().map(|(region, offset)| format!("in {region} at offset {offset}"));
    printer.part(
        || {
            json!({
                "part": "sums", "appends": appends, "batches": batches, "entries": entries,
                "end": end,
            })
        },
        |out| {
            if let Some(end) = &end {
                writeln!(out, "\nthe log ends {end}")?;
            }
            let appends = counted(appends, "append", "appends");
            let batches = counted(batches, "batch", "batches");
            let entries = counted(entries, "entry", "entries");
            writeln!(out, "{appends}, {batches}, {entries}")
        },
    )
}

fn frames(printer: &mut Printer<'_>, append: &LogAppend) -> Result<(), Failure> {
    printer.part(
        || {
            let frames = append.frames.iter().map(frame_object).collect::<Value>();
            let bytes = append.payload.len();
            json!({ "part": "append", "offset": append.offset, "bytes": bytes, "frames": frames })
        },
        |out| {
            writeln!(out)?;
            if append.frames.is_empty() {
                writeln!(out, "in no frame, but in the file TAIL: {} bytes", append.payload.len())?;
            }
            append.frames.iter().try_for_each(|frame| writeln!(out, "{}", frame_text(frame)))
        },
    )
}

/// Returns how many entries were asked for.
fn dump_batch(
    printer: &mut Printer<'_>,
    batch: &BatchRecord,
    detail: &Detail,
    wanted: &Wanted,
) -> Result<u64, Failure> {
    let (first, count, size) = (batch.first_sequence(), batch.count(), batch.size());
    let offset = batch.offset;
    printer.part(
        || {
            let before = batch.predecessor();
            let before = before.map(|(log, size)| json!({ "log": log, "size": size }));
            json!({
                "part": "batch", "offset": offset, "size": size, "first_sequence": first,
                "entries": count, "log_before": before,
            })
        },
        |out| {
            if let Some((log, size)) = batch.predecessor() {
                return writeln!(out, "  note at byte {offset}: log {log} ended with {size}");
            }
            let count = counted(u64::from(count), "entry", "entries");
            writeln!(out, "  batch at byte {offset}: {size} bytes, {count} from {first} on")
        },
    )?;
    let mut entries = 0;
    for entry in batch.entries().filter(|entry| wanted.holds(&entry.key)) {
        entries += 1;
        if detail.entries {
            printer.part(
                || entry_object(&entry, detail.values).into(),
                |out| entry_line(out, &entry, detail.values),
            )?;
        }
    }
    Ok(entries)
}
