//! Codec of the annotations of tables and logs. The layout is `docs/format/annotation.md`.
//!
//! - A table's annotation has its tag (the file id under which it was written), its counts, its
//!   first and last key and sequence, and its segments with their places. It can also have a
//!   summary of range tombstones, a global sequence number, a set (tables that were written
//!   together), a histogram (places of its bytes on the device), old versions (entries that only
//!   snapshots keep) and expiries (entries that expire). A log's annotation has the sequence number
//!   from which on its entries are in no table.
//! - A decoder checks the fields, and does not compare them with the table.
//! - A version or kind that is not known is [`Error::Unsupported`]; anything else that is wrong is
//!   [`Error::Corruption`].
//! - An encoder checks nothing. The caller must give at least one segment, and segments in key
//!   order without overlap.
//!
//! No locks and no I/O.

use std::ops::RangeInclusive;

use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::store::{Annotation, PlacementHint};
use terrace_env::{ByteCount, FileId, SeqNo};
use terrace_policy::{Histogram, LEVELS_MAX, Place, RunId, SetView, Span};

use super::growing::{COUNT_END, RUN_END};
use super::table_kind::TableKind;
use crate::Error;
use crate::expiries::Expiries;
use crate::key::{BOUND_BYTES_MAX, SPACE_BYTES, successor};
use crate::old_versions::OldVersions;
use crate::ranges::RangeSummary;
use crate::table::Properties;

/// The versions of logs and of tables.
const VERSION_LOG: u8 = 1;
const VERSION_TABLE: u8 = 4;
/// The version of tables with old versions.
const VERSION_TABLE_OLD: u8 = 5;
/// Bits of the optional parts of a table's annotation.
const PART_RANGES: u8 = 1;
const PART_GLOBAL_SEQUENCE: u8 = 2;
const PART_SET: u8 = 4;
const PART_HISTOGRAM: u8 = 8;
/// Only, and always, in [`VERSION_TABLE_OLD`].
const PART_OLD: u8 = 16;
/// Only in a store with the feature of expiry.
const PART_EXPIRIES: u8 = 32;
const PARTS: u8 =
    PART_RANGES | PART_GLOBAL_SEQUENCE | PART_SET | PART_HISTOGRAM | PART_OLD | PART_EXPIRIES;
const KIND_LOG: u8 = 2;
pub(super) const KIND_STORE: u8 = 3;
pub(super) const KIND_SPACES: u8 = 4;
/// The largest kind that this version knows; [`TableKind`] has those of tables.
const KIND_MAX: u8 = KIND_SPACES;

/// The stream of write-ahead logs. Flushes have [`terrace_policy::FLUSH_STREAM`], or streams that
/// the decider gives them.
pub(crate) const LOG_STREAM: u16 = 1;
/// The stream of tables that an ingest writes.
pub(crate) const INGEST_STREAM: u16 = 3;

/// A range of a table that belongs to the tree, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentRecord {
    pub(crate) place: Place,
    pub(crate) size: ByteCount,
    pub(crate) span: Span,
}

/// A table's annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableRecord {
    pub(crate) kind: TableKind,
    pub(crate) tag: u64,
    pub(crate) entries: u64,
    pub(crate) tombstones: u64,
    pub(crate) first_sequence: SeqNo,
    pub(crate) last_sequence: SeqNo,
    pub(crate) smallest: Vec<u8>,
    pub(crate) largest: Vec<u8>,
    /// Summary of its range tombstones, if it has any.
    pub(crate) ranges: Option<RangeSummary>,
    /// The common sequence of all its entries, if they have one; then it has no ranges.
    pub(crate) global_sequence: Option<SeqNo>,
    /// The set that it was written in, if it was written in one.
    pub(crate) set: Option<SetView>,
    /// Places of its bytes on the device, if its decider asked for them.
    pub(crate) histogram: Histogram,
    /// Its entries that only snapshots keep, when it was written.
    pub(crate) old_versions: OldVersions,
    /// Its entries that expire, when it was written.
    pub(crate) expiries: Expiries,
    pub(crate) segments: Vec<SegmentRecord>,
}

impl TableRecord {
    pub(crate) fn new(tag: u64, properties: &Properties) -> Self {
        Self {
            kind: TableKind::Sorted,
            tag,
            entries: properties.entries,
            tombstones: properties.tombstones,
            first_sequence: properties.first_sequence,
            last_sequence: properties.last_sequence,
            smallest: properties.smallest.clone(),
            largest: properties.largest.clone(),
            ranges: properties.ranges.as_ref().map(|(_, summary)| summary.clone()),
            global_sequence: None,
            set: None,
            histogram: Histogram::default(),
            old_versions: OldVersions::default(),
            expiries: Expiries::default(),
            segments: Vec::new(),
        }
    }

    /// From the first to the last key of its entries and ranges.
    pub(crate) fn span(&self) -> Span {
        let entries = Span::new(&self.smallest[..], successor(&self.largest));
        match &self.ranges {
            // Without an entry, the smallest key is the start of the ranges.
            Some(ranges) if self.entries == 0 => ranges.span.clone(),
            Some(ranges) => entries.hull(&ranges.span),
            None => entries,
        }
    }

    /// The whole annotation of the table's file.
    pub(crate) fn annotation(&self, stream: u16) -> Annotation {
        let level = self.segments.first().map_or(0, |segment| segment.place.level);
        Annotation { hint: table_hint(level, stream), opaque: self.encode() }
    }

    fn encode(&self) -> Vec<u8> {
        let has = |there: bool, part: u8| if there { part } else { 0 };
        let parts = has(self.ranges.is_some(), PART_RANGES)
            | has(self.global_sequence.is_some(), PART_GLOBAL_SEQUENCE)
            | has(self.set.is_some(), PART_SET)
            | has(!self.histogram.is_empty(), PART_HISTOGRAM)
            | has(!self.old_versions.is_empty(), PART_OLD)
            | has(!self.expiries.is_empty(), PART_EXPIRIES);
        let version = if self.old_versions.is_empty() { VERSION_TABLE } else { VERSION_TABLE_OLD };
        let mut bytes = vec![version, self.kind.byte(), parts];
        bytes.put_u64(self.tag);
        bytes.put_u64(self.entries);
        bytes.put_u64(self.tombstones);
        bytes.put_u64(self.first_sequence.0);
        bytes.put_u64(self.last_sequence.0);
        bytes.put_prefixed(&self.smallest);
        bytes.put_prefixed(&self.largest);
        if let Some(RangeSummary { count, span }) = &self.ranges {
            bytes.put_u64(*count);
            bytes.put_prefixed(&span.start);
            bytes.put_prefixed(&span.end);
        }
        if let Some(global_sequence) = self.global_sequence {
            bytes.put_u64(global_sequence.0);
        }
        if let Some(SetView { id, tables, size }) = self.set {
            bytes.put_u64(id.0);
            bytes.put_u32(tables);
            bytes.put_u64(size.0);
        }
        if !self.histogram.is_empty() {
            bytes.put_prefixed(self.histogram.as_bytes());
        }
        if !self.old_versions.is_empty() {
            self.old_versions.encode(&mut bytes);
        }
        if !self.expiries.is_empty() {
            self.expiries.encode(&mut bytes);
        }
        bytes.put_u32(u32::try_from(self.segments.len()).expect("segments of one table"));
        for segment in &self.segments {
            bytes.put_u8(segment.place.level);
            bytes.put_u64(segment.place.run.0);
            bytes.put_u64(segment.size.0);
            bytes.put_prefixed(&segment.span.start);
            bytes.put_prefixed(&segment.span.end);
        }
        bytes
    }

    pub(crate) fn decode(file: FileId, opaque: &[u8]) -> Result<Self, Error> {
        let old = opaque.first() == Some(&VERSION_TABLE_OLD);
        let read = |reader: &mut Reader<'_>, kind| Self::read(reader, kind, old);
        decode(file, "table", TableKind::of, VERSION_TABLE..=VERSION_TABLE_OLD, opaque, read)
    }

    /// `old`: whether the version is that of tables with old versions.
    fn read(reader: &mut Reader<'_>, kind: TableKind, old: bool) -> Result<Self, DecodeError> {
        let parts = reader.u8("parts")?;
        let has = |part: u8| parts & part > 0;
        let both = has(PART_RANGES) && has(PART_GLOBAL_SEQUENCE);
        if parts & !PARTS > 0 || both || has(PART_OLD) != old {
            return Err(reader.wrong("parts", 1, "parts that a table can have", parts.into()));
        }
        let mut record = Self {
            kind,
            tag: reader.u64("tag")?,
            entries: read_count(reader, "entries")?,
            tombstones: read_count(reader, "tombstones")?,
            first_sequence: read_sequence(reader)?,
            last_sequence: read_sequence(reader)?,
            smallest: read_key(reader)?.to_vec(),
            largest: read_key(reader)?.to_vec(),
            ranges: None,
            global_sequence: None,
            set: None,
            histogram: Histogram::default(),
            old_versions: OldVersions::default(),
            expiries: Expiries::default(),
            segments: Vec::new(),
        };
        if record.smallest > record.largest {
            return Err(reader.wrong("largest key", 0, "the smallest or one after it", 0));
        }
        if has(PART_RANGES) {
            let count = read_count(reader, "range tombstones")?;
            let span = Span::new(read_key(reader)?, read_key(reader)?);
            if count == 0 || span.is_empty() {
                return Err(reader.wrong("range tombstones", 0, "at least 1", count));
            }
            record.ranges = Some(RangeSummary { count, span });
        }
        if has(PART_GLOBAL_SEQUENCE) {
            let global_sequence = read_sequence(reader)?;
            if global_sequence.0 == 0
                || global_sequence != record.first_sequence
                || global_sequence != record.last_sequence
            {
                return Err(reader.wrong(
                    "global sequence",
                    8,
                    "the sequence of all entries",
                    global_sequence.0,
                ));
            }
            record.global_sequence = Some(global_sequence);
        }
        if has(PART_SET) {
            let (id, tables) = (FileId(reader.u64("set")?), reader.u32("tables of the set")?);
            if tables == 0 {
                return Err(reader.wrong("tables of the set", 4, "at least 1", 0));
            }
            let size = ByteCount(reader.u64("size of the set")?);
            record.set = Some(SetView { id, tables, size });
        }
        if has(PART_HISTOGRAM) {
            let bytes = reader.prefixed("histogram")?;
            let histogram = Histogram::from_bytes(bytes).filter(|found| !found.is_empty());
            record.histogram = histogram.ok_or_else(|| {
                let got = bytes.len() as u64;
                reader.wrong("histogram", bytes.len(), "keys that grow, at least one", got)
            })?;
        }
        if has(PART_OLD) {
            record.old_versions = OldVersions::read(reader)?;
        }
        if has(PART_EXPIRIES) {
            record.expiries = Expiries::read(reader)?;
        }
        let count = reader.u32("segments")?;
        if count == 0 {
            return Err(reader.wrong("segments", 4, "at least 1", 0));
        }
        for _ in 0..count {
            let level = reader.u8("level")?;
            if usize::from(level) >= LEVELS_MAX {
                return Err(reader.wrong("level", 1, "at most 63", u64::from(level)));
            }
            let run = reader.u64("run")?;
            if run >= RUN_END {
                return Err(reader.wrong("run", 8, "less than 2^62", run));
            }
            let place = Place { level, run: RunId(run) };
            let size = ByteCount(reader.u64("segment size")?);
            let span = Span::new(read_key(reader)?, read_key(reader)?);
            let last = record.segments.last();
            if span.is_empty() || last.is_some_and(|last| last.span.end > span.start) {
                return Err(reader.wrong("segment", 0, "ranges in order", u64::from(count)));
            }
            record.segments.push(SegmentRecord { place, size, span });
        }
        Ok(record)
    }
}

/// Facts about a table that placement may use.
pub(crate) fn table_hint(level: u8, stream: u16) -> PlacementHint {
    PlacementHint { level: Some(level), stream }
}

/// A log's annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogRecord {
    /// Older entries of the log, if there are any, are in tables.
    pub(crate) first: SeqNo,
}

impl LogRecord {
    pub(crate) fn hint() -> PlacementHint {
        PlacementHint { level: None, stream: LOG_STREAM }
    }

    pub(crate) fn annotation(self) -> Annotation {
        let mut opaque = vec![VERSION_LOG, KIND_LOG];
        opaque.put_u64(self.first.0);
        Annotation { hint: Self::hint(), opaque }
    }

    pub(crate) fn decode(file: FileId, opaque: &[u8]) -> Result<Self, Error> {
        let read = |reader: &mut Reader<'_>, ()| Ok(Self { first: read_sequence(reader)? });
        let log = |kind| (kind == KIND_LOG).then_some(());
        decode(file, "log", log, VERSION_LOG..=VERSION_LOG, opaque, read)
    }
}

/// Checks version and kind, and reads an annotation to its end. `kind_of`: the kind of a byte, if a
/// file of this sort may have it.
pub(super) fn decode<T, K>(
    file: FileId,
    what: &str,
    kind_of: impl Fn(u8) -> Option<K>,
    versions: RangeInclusive<u8>,
    opaque: &[u8],
    read: impl FnOnce(&mut Reader<'_>, K) -> Result<T, DecodeError>,
) -> Result<T, Error> {
    let region = || format!("annotation of {what} {file}");
    let unsupported = |field, supported: u8, got: u8| {
        let (supported, got) = (u64::from(supported), u64::from(got));
        Error::Unsupported { region: region(), field, supported, got }
    };
    let damaged = |error: DecodeError| Error::decode(region(), 0, &error);
    let mut reader = Reader::new(opaque);
    let version = reader.u8("version").map_err(damaged)?;
    let byte = reader.u8("kind").map_err(damaged)?;
    if !versions.contains(&version) {
        return Err(unsupported("version", *versions.end(), version));
    }
    if byte > KIND_MAX {
        return Err(unsupported("kind", KIND_MAX, byte));
    }
    let Some(kind) = kind_of(byte) else {
        return Err(damaged(reader.wrong("kind", 1, "the kind of its file", u64::from(byte))));
    };
    let record = read(&mut reader, kind);
    let record = record.and_then(|record| reader.finish("annotation").map(|()| record));
    record.map_err(damaged)
}

fn read_key<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let key = reader.prefixed("full key")?;
    // An exclusive end may be one byte longer than the longest key.
    if !(SPACE_BYTES..=SPACE_BYTES + BOUND_BYTES_MAX).contains(&key.len()) {
        let got = key.len() as u64;
        return Err(reader.wrong("full key", key.len(), "4 to 65,540 bytes", got));
    }
    Ok(key)
}

/// Reads the number of entries of some kind in a table.
fn read_count(reader: &mut Reader<'_>, field: &'static str) -> Result<u64, DecodeError> {
    let count = reader.u64(field)?;
    if count >= COUNT_END {
        return Err(reader.wrong(field, 8, "less than 2^44", count));
    }
    Ok(count)
}

pub(super) fn read_sequence(reader: &mut Reader<'_>) -> Result<SeqNo, DecodeError> {
    let sequence = reader.u64("sequence")?;
    if sequence > SeqNo::MAX.0 {
        return Err(reader.wrong("sequence", 8, "at most 56 bits", sequence));
    }
    Ok(SeqNo(sequence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expiries::ExpiriesBuilder;
    use crate::golden::{specimen, survives};
    use crate::old_versions::{HeldBy, OldVersionsBuilder};
    use terrace_env::Date;

    fn table() -> TableRecord {
        let segment = |level, run, start: &str, end: &str| SegmentRecord {
            place: Place { level, run: RunId(run) },
            size: ByteCount(500),
            span: Span::new(start.as_bytes(), end.as_bytes()),
        };
        TableRecord {
            kind: TableKind::Sorted,
            tag: 7,
            entries: 100,
            tombstones: 3,
            first_sequence: SeqNo(11),
            last_sequence: SeqNo(99),
            smallest: b"\0\0\0\0aa".to_vec(),
            largest: b"\0\0\0\0zz".to_vec(),
            ranges: None,
            global_sequence: None,
            set: None,
            histogram: Histogram::default(),
            old_versions: OldVersions::default(),
            expiries: Expiries::default(),
            segments: vec![
                segment(1, 5, "\0\0\0\0b", "\0\0\0\0d"),
                segment(2, 1, "\0\0\0\0d", "\0\0\0\0x"),
            ],
        }
    }

    #[test]
    fn annotations_read_back_and_no_damage_makes_them_panic() {
        let bytes = specimen("annotation-table.bin", &table().encode());
        assert_eq!(TableRecord::decode(FileId(7), &bytes).unwrap(), table());
        survives(&bytes, |b| TableRecord::decode(FileId(7), b), TableRecord::encode);
        let span = Span::new(*b"\0\0\0\0a", *b"\0\0\0\0m");
        let ranged = TableRecord { ranges: Some(RangeSummary { count: 3, span }), ..table() };
        let bytes = specimen("annotation-table-ranges.bin", &ranged.encode());
        assert_eq!(TableRecord::decode(FileId(7), &bytes).unwrap(), ranged);
        survives(&bytes, |b| TableRecord::decode(FileId(7), b), TableRecord::encode);
        let one = SeqNo(99);
        let global = TableRecord { first_sequence: one, global_sequence: Some(one), ..table() };
        let bytes = specimen("annotation-table-global-sequence.bin", &global.encode());
        assert_eq!(TableRecord::decode(FileId(7), &bytes).unwrap(), global);
        survives(&bytes, |b| TableRecord::decode(FileId(7), b), TableRecord::encode);
        let set = Some(SetView { id: FileId(5), tables: 7, size: ByteCount(3500) });
        let of_set = TableRecord { set, ..table() };
        let bytes = specimen("annotation-table-set.bin", &of_set.encode());
        assert_eq!(TableRecord::decode(FileId(7), &bytes).unwrap(), of_set);
        survives(&bytes, |b| TableRecord::decode(FileId(7), b), TableRecord::encode);
        let histogram = Histogram::new([&b"\0\0\0\0g"[..], b"\0\0\0\0ma"]);
        let known = TableRecord { histogram, ..table() };
        let bytes = specimen("annotation-table-histogram.bin", &known.encode());
        assert_eq!(TableRecord::decode(FileId(7), &bytes).unwrap(), known);
        survives(&bytes, |b| TableRecord::decode(FileId(7), b), TableRecord::encode);
        let mut old = OldVersionsBuilder::default();
        for (from, bytes) in [(12, 20), (40, 30)] {
            let snapshots = [SeqNo(20), SeqNo(41)];
            let held = HeldBy::between(&snapshots, SeqNo(from), SeqNo(99));
            old.add(held.expect("a snapshot"), bytes);
        }
        let old_versions = old.finish(ByteCount(500), 100);
        let keeping = TableRecord { old_versions, ..table() };
        let bytes = specimen("annotation-table-old-versions.bin", &keeping.encode());
        assert_eq!(TableRecord::decode(FileId(7), &bytes).unwrap(), keeping);
        survives(&bytes, |b| TableRecord::decode(FileId(7), b), TableRecord::encode);
        let mut expiries = ExpiriesBuilder::default();
        for (at, bytes) in [(1_000, 20), (1_000, 10), (90_000, 30)] {
            expiries.add(Date(at), bytes);
        }
        let expiries = expiries.finish(ByteCount(500), 100);
        let expiring = TableRecord { expiries, ..keeping.clone() };
        let bytes = specimen("annotation-table-expiries.bin", &expiring.encode());
        assert_eq!(TableRecord::decode(FileId(7), &bytes).unwrap(), expiring);
        survives(&bytes, |b| TableRecord::decode(FileId(7), b), TableRecord::encode);
        let expiring = TableRecord { old_versions: OldVersions::default(), ..expiring };
        assert_eq!(expiring.encode()[0], VERSION_TABLE);
        assert_eq!(TableRecord::decode(FileId(7), &expiring.encode()).unwrap(), expiring);
        let log = LogRecord { first: SeqNo(77) };
        let bytes = specimen("annotation-log.bin", &log.annotation().opaque);
        survives(&bytes, |b| LogRecord::decode(FileId(1), b), |log| log.annotation().opaque);
    }

    #[test]
    fn the_file_system_learns_where_a_table_belongs() {
        let annotation = table().annotation(17);
        assert_eq!((annotation.hint.level, annotation.hint.stream), (Some(1), 17));
    }

    #[test]
    fn a_newer_version_is_told_apart_from_damage() {
        let mut bytes = table().encode();
        bytes[0] = 6;
        let error = TableRecord::decode(FileId(7), &bytes).unwrap_err();
        assert!(matches!(error, Error::Unsupported { got: 6, .. }), "{error}");
    }

    #[test]
    fn range_tombstones_of_no_keys_are_damage() {
        let (a, m) = (*b"\0\0\0\0a", *b"\0\0\0\0m");
        for (count, start, end, sound) in [(3, a, m, true), (3, m, a, false), (3, a, a, false)] {
            let ranges = Some(RangeSummary { count, span: Span::new(start, end) });
            let decoded =
                TableRecord::decode(FileId(7), &TableRecord { ranges, ..table() }.encode());
            assert_eq!(decoded.is_ok(), sound, "{start:?}..{end:?}");
        }
    }

    #[test]
    fn a_kind_of_a_newer_version_is_refused_by_name_and_that_of_another_file_is_damage() {
        let with_kind = |kind| {
            let mut bytes = table().encode();
            bytes[1] = kind;
            TableRecord::decode(FileId(7), &bytes).unwrap_err()
        };
        let error = with_kind(5);
        assert!(matches!(error, Error::Unsupported { field: "kind", supported: 4, got: 5, .. }));
        let text = error.to_string();
        assert!(text.contains("table 7") && text.contains("a newer Terrace"), "{text}");
        for kind in [0, KIND_LOG, KIND_STORE, KIND_SPACES] {
            let error = with_kind(kind);
            assert!(matches!(error, Error::Corruption { .. }), "kind {kind}: {error}");
        }
    }
}
