//! Dumps a table: annotation, footer, properties, range tombstones, filter, index, and counts of
//! blocks and entries; with `--blocks` also data blocks, and with `--entries` entries.
//!
//! - The data blocks that may hold keys of the filter are read and verified, whether they are shown
//!   or not. Other data blocks are only counted.
//! - Damaged parts are reported, and the dump goes on. Without a footer nothing but the annotation
//!   is found; without the index, no data block; without the properties, no range tombstone.
//! - Blocks that were trimmed are named, and are no damage.

use std::io::{self, Write};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use terrace_env::ByteCount;
use terrace_env::store::{FileInfo, FileReader};
use terrace_lsm::inspect::{
    DataBlock, FullKey, IndexEntry, Part, Properties, Role, TableFile, compression_name,
};

use super::command::Detail;
use super::filter::Wanted;
use super::place::{role_object, role_text};
use super::printer::{Printer, entry_line, entry_object, insert_key, key_text};
use crate::failure::Failure;
use crate::output::counted;

/// Dumps a table.
pub(crate) fn dump(
    printer: &mut Printer<'_>,
    info: &FileInfo,
    file: Arc<dyn FileReader>,
    detail: &Detail,
    wanted: &Wanted,
) -> Result<(), Failure> {
    dump_annotation(printer, info)?;
    let table = match TableFile::open(file) {
        Ok(table) => table,
        // Without it nothing else can be found.
        Err(error) => return printer.damage("footer", &error),
    };
    footer(printer, &table)?;
    match table.read_properties() {
        Ok(found) => properties(printer, table.properties(), &found)?,
        Err(error) => printer.damage("properties", &error)?,
    }
    ranges(printer, &table)?;
    filter(printer, &table)?;
    Blocks { table: &table, detail, wanted, blocks: 0, sound: 0, entries: 0 }.walk(printer)
}

/// Dumps the annotation of a table, or of an empty file that lists key spaces.
pub(super) fn dump_annotation(printer: &mut Printer<'_>, info: &FileInfo) -> Result<(), Failure> {
    let level = info.annotation.hint.level.map_or("-".to_owned(), |level| level.to_string());
    let (id, size) = (info.id, info.size);
    printer.part(
        || json!({ "part": "file", "id": id, "kind": "table", "size": size }),
        |out| writeln!(out, "table {id}: {} in level {level}", ByteCount(size)),
    )?;
    match Role::of(id, info.kind, &info.annotation) {
        Ok(Some(role)) => printer.part(
            || json!({ "part": "annotation", "annotation": role_object(&role) }),
            |out| {
                let label = if let Role::KeySpaces { .. } = role { "page" } else { "segment" };
                let lines = role_text(&role);
                lines.iter().try_for_each(|line| writeln!(out, "  {label:<12}{line}"))
            },
        )?,
        Ok(None) => {}
        Err(error) => printer.damage("annotation", &error)?,
    }
    Ok(())
}

fn place(part: Part) -> String {
    format!("at {}, {} bytes", part.offset, part.size)
}

fn footer(printer: &mut Printer<'_>, table: &TableFile) -> Result<(), Failure> {
    let (part, tag, length) = (table.footer(), table.tag(), table.length());
    printer.part(
        || {
            json!({
                "part": "footer", "offset": part.offset, "size": part.size, "tag": tag,
                "length": length,
            })
        },
        |out| writeln!(out, "  footer      {}: tag {tag}, file of {length} bytes", place(part)),
    )
}

fn properties(printer: &mut Printer<'_>, part: Part, found: &Properties) -> Result<(), Failure> {
    let (smallest, largest) = (FullKey::of(&found.smallest), FullKey::of(&found.largest));
    let object = || {
        let mut object = Map::new();
        object.insert("part".into(), "properties".into());
        object.insert("offset".into(), part.offset.into());
        object.insert("size".into(), part.size.into());
        object.insert("entries".into(), found.entries.into());
        object.insert("tombstones".into(), found.tombstones.into());
        object.insert("first_sequence".into(), found.first_sequence.0.into());
        object.insert("last_sequence".into(), found.last_sequence.0.into());
        object.insert("plain_bytes".into(), found.plain_bytes.into());
        insert_key(&mut object, "smallest", &smallest);
        insert_key(&mut object, "largest", &largest);
        Value::from(object)
    };
    printer.part(object, |out| {
        let Properties { entries, tombstones, first_sequence, last_sequence, .. } = found;
        let entries = counted(*entries, "entry", "entries");
        let plain = ByteCount(found.plain_bytes);
        writeln!(
            out,
            "  properties  {}: {entries}, {tombstones} of them tombstones, sequences \
             {first_sequence} to {last_sequence}, {plain} before compression",
            place(part)
        )?;
        writeln!(out, "  keys        {} to {}", key_text(&smallest), key_text(&largest))
    })
}

fn ranges(printer: &mut Printer<'_>, table: &TableFile) -> Result<(), Failure> {
    // The faults of the properties have been told.
    if table.read_properties().is_err() {
        return Ok(());
    }
    let ranges = match table.read_ranges() {
        Ok(ranges) => ranges,
        Err(error) => return printer.damage("range tombstones", &error),
    };
    ranges.iter().try_for_each(|range| {
        let sequences = || range.sequences.iter().map(|sequence| sequence.0);
        printer.part(
            || {
                let mut object = Map::new();
                object.insert("part".into(), "range tombstones".into());
                insert_key(&mut object, "start", &range.start);
                insert_key(&mut object, "end", &range.end);
                object.insert("sequences".into(), sequences().collect::<Vec<_>>().into());
                object.into()
            },
            |out| {
                let (start, end) = (key_text(&range.start), key_text(&range.end));
                let sequences: Vec<String> = sequences().map(|one| one.to_string()).collect();
                let sequences = sequences.join(", ");
                writeln!(out, "  deleted     {start} up to, without, {end}, at {sequences}")
            },
        )
    })
}

fn filter(printer: &mut Printer<'_>, table: &TableFile) -> Result<(), Failure> {
    let Some(part) = table.filter() else {
        return printer.part(
            || json!({ "part": "filter", "size": 0 }),
            |out| writeln!(out, "  filter      none"),
        );
    };
    let parameters = match table.read_filter() {
        Ok(parameters) => parameters,
        Err(error) => return printer.damage("filter", &error),
    };
    let (lines, probes) = (parameters.map(|it| it.lines), parameters.map(|it| it.probes));
    printer.part(
        || {
            json!({
                "part": "filter", "offset": part.offset, "size": part.size, "lines": lines,
                "probes": probes,
            })
        },
        |out| match (lines, probes) {
            (Some(lines), Some(probes)) => writeln!(
                out,
                "  filter      {}: {lines} lines of 64 bytes, {probes} probes a key",
                place(part)
            ),
            _ => writeln!(out, "  filter      {}: of an unknown kind", place(part)),
        },
    )
}

/// The data blocks, as the index leads to them.
struct Blocks<'a> {
    table: &'a TableFile,
    detail: &'a Detail,
    wanted: &'a Wanted,
    blocks: u64,
    sound: u64,
    entries: u64,
}

impl Blocks<'_> {
    fn walk(mut self, printer: &mut Printer<'_>) -> Result<(), Failure> {
        let part = self.table.index();
        let index = match self.table.walk_index() {
            Ok(index) => index,
            // Blocks do not say where they end: without the index they cannot be told apart.
            Err(error) => return printer.damage("index", &error),
        };
        let (compression, plain) = (compression_text(index.compression()), index.plain_size());
        printer.part(
            || {
                json!({
                    "part": "index", "offset": part.offset, "size": part.size,
                    "compression": compression, "plain_size": plain,
                })
            },
            |out| {
                let place = place(part);
                writeln!(out, "  index       {place}: {compression}, {plain} bytes before")
            },
        )?;
        let mut before: Option<FullKey> = None;
        for entry in index {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    printer.damage("index entry", &error)?;
                    continue;
                }
            };
            self.blocks += 1;
            if self.wanted.may_be_in(before.as_ref(), &entry.separator) {
                self.block(printer, &entry)?;
            }
            before = Some(entry.separator);
        }
        let Self { blocks, sound, entries, .. } = self;
        printer.part(
            || json!({ "part": "sums", "blocks": blocks, "read": sound, "entries": entries }),
            |out| {
                let blocks = counted(blocks, "block", "blocks");
                let entries = counted(entries, "entry", "entries");
                writeln!(out, "  sums        {blocks}, {sound} read, {entries}")
            },
        )
    }

    fn block(&mut self, printer: &mut Printer<'_>, entry: &IndexEntry) -> Result<(), Failure> {
        let number = self.blocks - 1;
        let block = match self.table.read_block(entry.block) {
            Ok(block) => block,
            Err(error) => {
                return printer
                    .missing(&format!("block {number} ({})", place(entry.block)), &error);
            }
        };
        self.sound += 1;
        if self.detail.blocks {
            // An entry that does not decode is told below, where all entries are gone through.
            let count = block.entries().filter(Result::is_ok).count();
            printer.part(
                || block_object(number, &block, entry, count),
                |out| block_line(out, number, &block, entry, count),
            )?;
        }
        for found in block.entries() {
            match found {
                Ok(found) if !self.wanted.holds(&found.key) => {}
                Ok(found) => {
                    self.entries += 1;
                    if self.detail.entries {
                        let values = self.detail.values;
                        printer.part(
                            || entry_object(&found, values).into(),
                            |out| entry_line(out, &found, values),
                        )?;
                    }
                }
                Err(error) => printer.damage(&format!("entry of block {number}"), &error)?,
            }
        }
        Ok(())
    }
}

fn compression_text(number: u8) -> String {
    compression_name(number).map_or_else(|| format!("compression {number}"), str::to_owned)
}

fn block_object(number: u64, block: &DataBlock, entry: &IndexEntry, entries: usize) -> Value {
    let mut object = Map::new();
    object.insert("part".into(), "block".into());
    object.insert("number".into(), number.into());
    object.insert("offset".into(), block.at.offset.into());
    object.insert("size".into(), block.at.size.into());
    object.insert("compression".into(), compression_text(block.compression).into());
    object.insert("plain_size".into(), block.plain_size.into());
    object.insert("entries".into(), entries.into());
    object.insert("restarts".into(), block.restarts().into());
    insert_key(&mut object, "upto", &entry.separator);
    object.into()
}

fn block_line(
    out: &mut dyn Write,
    number: u64,
    block: &DataBlock,
    entry: &IndexEntry,
    entries: usize,
) -> io::Result<()> {
    let (compression, plain) = (compression_text(block.compression), block.plain_size);
    let upto = key_text(&entry.separator);
    let entries = counted(entries as u64, "entry", "entries");
    let restarts = counted(block.restarts() as u64, "restart", "restarts");
    writeln!(
        out,
        "block {number} {}: {compression}, {plain} bytes before, {entries}, {restarts}, up to \
         {upto}",
        place(block.at)
    )
}
