//! Dumps the journal, in text or JSON: for each append its frames, and what these hold, such as the
//! records of transactions or a chunk of a snapshot. It begins at the head that the superblock
//! names.
//!
//! Damaged frames and payloads are reported, and the dump goes on with the parts that the inspector
//! finds after them.

use std::io::{self, Write};

use serde_json::{Value, json};
use terrace_env::{ByteCount, FileId};
use terrace_fs::AddressSpace;
use terrace_fs::catalog::{FileRecord, Record};
use terrace_fs::inspect::{Inspector, JournalContent};

use super::place::{
    addr_object, addr_text, annotation_object, annotation_text, extents_object, extents_text,
    frame_object, frame_text, kind_name,
};
use super::printer::Printer;
use crate::escape::Escaped;
use crate::failure::Failure;

/// Dumps the journal, from the superblock's head on.
pub(crate) fn dump(printer: &mut Printer<'_>, store: &Inspector) -> Result<(), Failure> {
    let (mut walk, space) = (store.journal()?, &store.space());
    let mut appends = 0u64;
    for append in walk.by_ref() {
        let append = match append {
            Ok(append) => append,
            Err(error) => {
                printer.damage("frame", &error)?;
                continue;
            }
        };
        appends += 1;
        let content = append.content.as_ref();
        printer.part(
            || {
                let frames = append.frames.iter().map(frame_object).collect::<Value>();
                let content = content.map(|content| content_object(content, space));
                json!({ "part": "append", "frames": frames, "content": content })
            },
            |out| {
                if appends > 1 {
                    writeln!(out)?;
                }
                let mut frames = append.frames.iter();
                frames.try_for_each(|frame| writeln!(out, "{}", frame_text(frame)))?;
                content.map_or(Ok(()), |content| content_text(out, content, space))
            },
        )?;
        if let Some(defect) = &append.defect {
            printer.damage("payload", defect)?;
        }
    }
    let end = walk.end().map(|(region, offset, sequence)| {
        format!("before frame {sequence}, in {region} at offset {offset}")
    });
    printer.part(
        || json!({ "part": "sums", "appends": appends, "end": end }),
        |out| match &end {
            Some(end) => writeln!(out, "\nthe journal ends {end}; {appends} appends"),
            None => writeln!(out, "\n{appends} appends"),
        },
    )
}

fn content_text(
    out: &mut dyn Write,
    content: &JournalContent,
    space: &AddressSpace,
) -> io::Result<()> {
    match content {
        JournalContent::Head { next_file, next_epoch, .. } => {
            writeln!(out, "  head of a snapshot: next file {next_file}, next epoch {next_epoch}")
        }
        JournalContent::Transactions(records) => {
            records.iter().try_for_each(|record| writeln!(out, "  {}", record_text(record, space)))
        }
        JournalContent::Chunk { from, upto, store, files } => {
            writeln!(out, "  chunk of a snapshot: files from {from} up to, without, {upto}")?;
            if let Some(store) = store {
                writeln!(out, "  the store: {}", annotation_text(store))?;
            }
            files
                .iter()
                .try_for_each(|(id, record)| writeln!(out, "  {}", file_text(*id, record, space)))
        }
        JournalContent::End { files } => writeln!(out, "  end of a snapshot: {files} files"),
        JournalContent::Link { to } => writeln!(out, "  goes on at {}", addr_text(*to, space)),
        JournalContent::Continue { from, chain } => {
            let from = addr_text(*from, space);
            writeln!(out, "  comes from {from}, after the frame of checksum {chain:#010x}")
        }
        other => writeln!(out, "  {other:?}"),
    }
}

fn file_text(id: FileId, record: &FileRecord, space: &AddressSpace) -> String {
    let state = if record.sealed { "sealed" } else { "open" };
    let (kind, size) = (kind_name(record.kind), ByteCount(record.size));
    let extents: Vec<_> = record.extents.extents().collect();
    let (extents, annotation) =
        (extents_text(&extents, space), annotation_text(&record.annotation));
    let names = record.names.iter().map(|name| format!(", name {}", quoted(name)));
    let names = names.collect::<String>();
    format!("file {id}: {state} {kind}, {size}; {extents}; {annotation}{names}")
}

/// A name in quotes.
fn quoted(name: &str) -> String {
    format!("\"{}\"", Escaped(name.as_bytes()))
}

/// A record in words.
fn record_text(record: &Record, space: &AddressSpace) -> String {
    match record {
        Record::Mount { epoch, next_file } => {
            format!("mount: epoch {epoch}, next file {next_file}")
        }
        Record::Create { id, kind, size, extents, epoch, annotation } => format!(
            "create {id}: {}, {size} bytes, epoch {epoch}; {}; {}",
            kind_name(*kind),
            extents_text(extents, space),
            annotation_text(annotation)
        ),
        Record::Seal { id, kind, size, extents, annotation, .. } => format!(
            "seal {id}: {}, {size} bytes; {}; {}",
            kind_name(*kind),
            extents_text(extents, space),
            annotation_text(annotation)
        ),
        Record::Trim { id, from, to } => format!("trim {id}: blocks {from} up to, without, {to}"),
        Record::Delete { id } => format!("delete {id}"),
        Record::Annotate { id, annotation } if *id == FileId::STORE => {
            format!("annotate the store: {}", annotation_text(annotation))
        }
        Record::Annotate { id, annotation } => {
            format!("annotate {id}: {}", annotation_text(annotation))
        }
        Record::Link { name, id } => format!("link {id}: {}", quoted(name)),
        Record::Unlink { name, id } => format!("unlink {id}: {}", quoted(name)),
        Record::Rename { from, to, id, replaced } => {
            let had = replaced.map(|other| format!(", which {other} had")).unwrap_or_default();
            format!("rename {id}: {} to {}{had}", quoted(from), quoted(to))
        }
        Record::Extend { id, end, extent } => {
            format!("extend {id}: from its block {end} on {}", extents_text(&[*extent], space))
        }
        Record::Resize { id, size, from, extents } => {
            format!(
                "resize {id}: {size} bytes; from its block {from} on {}",
                extents_text(extents, space)
            )
        }
        Record::LogEnd { id, end, size, sequence, epoch } => format!(
            "log {id} ends at its block {end}, after {size} bytes; the next frame is {sequence} of \
             epoch {epoch}"
        ),
        Record::Move { id, at, old, new } => format!(
            "move {id}: its block {at} from {} to {}",
            extents_text(&[*old], space),
            extents_text(new, space)
        ),
        Record::LogDurable { id, end, size, sequence } => format!(
            "log {id} is durable to its block {end}: {size} bytes, in frames before {sequence}"
        ),
        Record::Close => "the store is closed".to_owned(),
    }
}

fn content_object(content: &JournalContent, space: &AddressSpace) -> Value {
    match content {
        JournalContent::Head { features, next_file, next_epoch } => json!({
            "type": "head",
            "compat": features.compat,
            "ro_compat": features.read_only_compat,
            "incompat": features.incompat,
            "next_file": next_file,
            "next_epoch": next_epoch,
        }),
        JournalContent::Transactions(records) => json!({
            "type": "transactions",
            "records": records.iter().map(|record| record_object(record, space)).collect::<Value>(),
        }),
        JournalContent::Chunk { from, upto, store, files } => {
            let files = files.iter().map(|(id, record)| {
                let extents: Vec<_> = record.extents.extents().collect();
                json!({
                    "file": id,
                    "kind": record.kind,
                    "sealed": record.sealed,
                    "size": record.size,
                    "extents": extents_object(&extents, space),
                    "names": record.names.iter().map(|name| &**name).collect::<Vec<_>>(),
                    "annotation": annotation_object(&record.annotation),
                })
            });
            json!({
                "type": "chunk",
                "from": from,
                "upto": upto,
                "store": store.as_ref().map(|store| annotation_object(store)),
                "files": files.collect::<Value>(),
            })
        }
        JournalContent::End { files } => json!({ "type": "end", "files": files }),
        JournalContent::Link { to } => addr_object(*to, space, json!({ "type": "link" })),
        JournalContent::Continue { from, chain } => {
            addr_object(*from, space, json!({ "type": "continue", "chain": chain }))
        }
        other => Value::from(format!("{other:?}")),
    }
}

/// A record as an object.
fn record_object(record: &Record, space: &AddressSpace) -> Value {
    match record {
        Record::Mount { epoch, next_file } => {
            json!({ "record": "mount", "epoch": epoch, "next_file": next_file })
        }
        Record::Create { id, kind, size, extents, epoch, annotation }
        | Record::Seal { id, kind, size, extents, epoch, annotation } => json!({
            "record": if matches!(record, Record::Create { .. }) { "create" } else { "seal" },
            "file": id,
            "kind": kind,
            "size": size,
            "epoch": epoch,
            "extents": extents_object(extents, space),
            "annotation": annotation_object(annotation),
        }),
        Record::Trim { id, from, to } => {
            json!({ "record": "trim", "file": id, "from": from, "to": to })
        }
        Record::Delete { id } => json!({ "record": "delete", "file": id }),
        Record::Annotate { id, annotation } => {
            json!({ "record": "annotate", "file": id, "annotation": annotation_object(annotation) })
        }
        Record::Link { name, id } => json!({ "record": "link", "file": id, "name": &**name }),
        Record::Unlink { name, id } => json!({ "record": "unlink", "file": id, "name": &**name }),
        Record::Rename { from, to, id, replaced } => {
            let (from, to) = (&**from, &**to);
            json!({ "record": "rename", "file": id, "from": from, "to": to, "replaced": replaced })
        }
        Record::Extend { id, end, extent } => json!({
            "record": "extend", "file": id, "end": end,
            "extents": extents_object(&[*extent], space),
        }),
        Record::Resize { id, size, from, extents } => json!({
            "record": "resize", "file": id, "size": size, "from": from,
            "extents": extents_object(extents, space),
        }),
        Record::LogEnd { id, end, size, sequence, epoch } => json!({
            "record": "log end", "file": id, "end": end, "size": size, "sequence": sequence,
            "epoch": epoch,
        }),
        Record::Move { id, at, old, new } => json!({
            "record": "move", "file": id, "at": at, "old": extents_object(&[*old], space),
            "new": extents_object(new, space),
        }),
        Record::LogDurable { id, end, size, sequence } => json!({
            "record": "log durable", "file": id, "end": end, "size": size, "sequence": sequence,
        }),
        Record::Close => json!({ "record": "close" }),
    }
}
