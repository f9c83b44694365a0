//! Verification: reads the current entries of every table of a version, while the engine works.
//!
//! - Checksums must hold, also of indexes and filters, and entries must be in key order. The end of
//!   a table must fit its annotation. If one segment has all of a table, the number of entries must
//!   be that of the annotation.
//! - Tables are read from the device, without the caches. Data blocks outside of all segments are
//!   left out.
//! - It ends at the first defect. It does not look at later writes. Entries in memtables are
//!   counted; neither they nor logs are checked.
//!
//! It holds one view until it ends, with its files and memtables. One thread, which holds no lock:
//! it waits for the device.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use terrace_env::{Cause, FileId};
use terrace_policy::Span;

use crate::Error;
use crate::key::{self, Trailer};
use crate::memory::Walk;
use crate::table::{Table, TableCursor};
use crate::tree::{TableHandle, Tree};

/// Counts of verified data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Tables.
    pub tables: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Entries in their segments.
    pub entries: u64,
    /// Entries that are in no table yet, but in memory and, unless unwritten, in logs. In a store
    /// that was just opened: the entries of its logs.
    #[serde(default)]
    pub entries_in_logs: u64,
}

pub(crate) fn verify(tree: &Tree) -> Result<Verified, Error> {
    let view = tree.view();
    let version = &view.version;
    let mut tables: BTreeMap<FileId, (&Arc<TableHandle>, Vec<&Span>)> = BTreeMap::new();
    for (_, segment) in version.segments() {
        let (_, spans) = tables.entry(segment.table.id()).or_insert((&segment.table, Vec::new()));
        spans.push(&segment.span);
    }
    let entries_in_logs = view.memtables().map(|memtable| memtable.len() as u64).sum();
    let mut verified = Verified { entries_in_logs, ..Verified::default() };
    for (handle, spans) in tables.into_values() {
        let table = handle.open_anew(Cause::Recovery)?;
        table.check_filters(Cause::Recovery)?;
        let mut entries = 0;
        for span in &spans {
            entries += verify_span(handle.id(), &table, span)?;
        }
        let record = handle.record();
        let whole =
            |span: &&&Span| span.start[..] <= record.smallest[..] && span.contains(&record.largest);
        if spans.iter().any(|span| whole(&span)) && entries != record.entries {
            let region = format!("table {}", handle.id());
            let expected = format!("{} entries", record.entries);
            return Err(Error::corruption(region, 0, expected, format!("{entries} entries")));
        }
        verified.tables += 1;
        verified.bytes += handle.size().0;
        verified.entries += entries;
    }
    Ok(verified)
}

/// Reads the entries of a range; returns their number.
fn verify_span(id: FileId, table: &Arc<Table>, span: &Span) -> Result<u64, Error> {
    let mut cursor = TableCursor::new(Arc::clone(table), Walk::Job(Cause::Recovery));
    // Bytes after the range may have been freed, or be damaged.
    cursor.stay_within(span);
    cursor.seek(&key::internal_key(&span.start, Trailer::NEWEST))?;
    let (mut last, mut entries): (Vec<u8>, u64) = (Vec::new(), 0);
    while let Some(found) = cursor.key() {
        if key::split(found).0 >= &span.end[..] {
            break;
        }
        if entries > 0 && key::compare(&last, found) != Ordering::Less {
            let region = format!("table {id}, entry {entries}");
            let expected = format!("a key after {}", last.escape_ascii());
            return Err(Error::corruption(region, 0, expected, found.escape_ascii()));
        }
        last.clear();
        last.extend_from_slice(found);
        entries += 1;
        cursor.next()?;
    }
    Ok(entries)
}
