//! What the engine writes into the annotations of its files: the tree itself. The layout is
//! `docs/format/annotation.md`.
//!
//! Pure; every decoder checks what it reads.

use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::store::{Annotation, KeyRange, Lifetime, PlacementHint};
use terrace_env::{ByteCount, FileId, SeqNo};
use terrace_policy::{LEVELS_MAX, Place, RunId, Span};

use crate::Error;
use crate::key::{KEY_BYTES_MAX, KeySpaceId, SPACE_BYTES};
use crate::table::Properties;

const VERSION: u8 = 1;
const KIND_TABLE: u8 = 1;
const KIND_LOG: u8 = 2;
const KIND_STORE: u8 = 3;

/// The stream of write-ahead logs, and of tables that a flush writes.
pub(crate) const LOG_STREAM: u16 = 1;
pub(crate) const FLUSH_STREAM: u16 = 2;
/// The longest name of a key space.
pub(crate) const SPACE_NAME_BYTES_MAX: usize = 255;

/// A range of a table that counts, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentRecord {
    pub(crate) place: Place,
    pub(crate) size: ByteCount,
    pub(crate) span: Span,
}

/// A table's annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableRecord {
    pub(crate) tag: u64,
    pub(crate) entries: u64,
    pub(crate) tombstones: u64,
    pub(crate) first_sequence: SeqNo,
    pub(crate) last_sequence: SeqNo,
    pub(crate) smallest: Vec<u8>,
    pub(crate) largest: Vec<u8>,
    pub(crate) segments: Vec<SegmentRecord>,
}

impl TableRecord {
    pub(crate) fn new(tag: u64, properties: &Properties) -> Self {
        Self {
            tag,
            entries: properties.entries,
            tombstones: properties.tombstones,
            first_sequence: properties.first_sequence,
            last_sequence: properties.last_sequence,
            smallest: properties.smallest.clone(),
            largest: properties.largest.clone(),
            segments: Vec::new(),
        }
    }

    /// The whole annotation of the table's file.
    pub(crate) fn annotation(&self, stream: u16, size: ByteCount) -> Annotation {
        let level = self.segments.first().map_or(0, |segment| segment.place.level);
        let kept: u64 = self.segments.iter().map(|segment| segment.size.0).sum();
        let keys = KeyRange { first: self.smallest.clone(), last: self.largest.clone() };
        Annotation {
            hint: table_hint(level, stream, Some(keys)),
            dead: ByteCount(size.0.saturating_sub(kept)),
            opaque: self.encode(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, KIND_TABLE];
        bytes.put_u64(self.tag);
        bytes.put_u64(self.entries);
        bytes.put_u64(self.tombstones);
        bytes.put_u64(self.first_sequence.0);
        bytes.put_u64(self.last_sequence.0);
        bytes.put_prefixed(&self.smallest);
        bytes.put_prefixed(&self.largest);
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
        decode(file, "table", KIND_TABLE, opaque, Self::read)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut record = Self {
            tag: reader.u64("tag")?,
            entries: reader.u64("entries")?,
            tombstones: reader.u64("tombstones")?,
            first_sequence: read_sequence(reader)?,
            last_sequence: read_sequence(reader)?,
            smallest: read_key(reader)?.to_vec(),
            largest: read_key(reader)?.to_vec(),
            segments: Vec::new(),
        };
        let count = reader.u32("segments")?;
        if count == 0 {
            return Err(reader.wrong("segments", 4, "at least 1", 0));
        }
        for _ in 0..count {
            let level = reader.u8("level")?;
            if usize::from(level) >= LEVELS_MAX {
                return Err(reader.wrong("level", 1, "at most 63", u64::from(level)));
            }
            let place = Place { level, run: RunId(reader.u64("run")?) };
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

/// What placement may know of a table.
pub(crate) fn table_hint(level: u8, stream: u16, keys: Option<KeyRange>) -> PlacementHint {
    let lifetime = match level {
        0 => Lifetime::Short,
        1 => Lifetime::Medium,
        _ => Lifetime::Long,
    };
    PlacementHint { level: Some(level), stream, lifetime, keys }
}

/// A log's annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogRecord {
    /// Nothing in the log is older.
    pub(crate) first: SeqNo,
}

impl LogRecord {
    pub(crate) fn hint() -> PlacementHint {
        let lifetime = Lifetime::Short;
        PlacementHint { level: None, stream: LOG_STREAM, lifetime, keys: None }
    }

    pub(crate) fn annotation(self) -> Annotation {
        let mut opaque = vec![VERSION, KIND_LOG];
        opaque.put_u64(self.first.0);
        Annotation { hint: Self::hint(), dead: ByteCount(0), opaque }
    }

    pub(crate) fn decode(file: FileId, opaque: &[u8]) -> Result<Self, Error> {
        decode(file, "log", KIND_LOG, opaque, |reader| Ok(Self { first: read_sequence(reader)? }))
    }
}

/// The store's own annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreRecord {
    pub(crate) next_space: u32,
    /// In the order of their ids.
    pub(crate) spaces: Vec<(KeySpaceId, String)>,
    pub(crate) decider: String,
    pub(crate) state: Vec<u8>,
}

impl StoreRecord {
    pub(crate) fn new() -> Self {
        let spaces = vec![(KeySpaceId::DEFAULT, "default".to_owned())];
        Self { next_space: 1, spaces, decider: String::new(), state: Vec::new() }
    }

    pub(crate) fn annotation(&self) -> Annotation {
        let mut opaque = vec![VERSION, KIND_STORE];
        opaque.put_u32(self.next_space);
        opaque.put_u32(u32::try_from(self.spaces.len()).expect("key spaces have 32-bit ids"));
        for (id, name) in &self.spaces {
            opaque.put_u32(id.0);
            opaque.put_prefixed(name.as_bytes());
        }
        opaque.put_prefixed(self.decider.as_bytes());
        opaque.put_prefixed(&self.state);
        Annotation { opaque, ..Annotation::default() }
    }

    pub(crate) fn decode(opaque: &[u8]) -> Result<Self, Error> {
        decode(FileId::STORE, "store", KIND_STORE, opaque, Self::read)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let next_space = reader.u32("next key space")?;
        let count = reader.u32("key spaces")?;
        let mut spaces: Vec<(KeySpaceId, String)> = Vec::new();
        for _ in 0..count {
            let id = reader.u32("key space")?;
            let first = spaces.last().is_none_or(|(last, _)| last.0 < id);
            if id >= next_space || !first || (spaces.is_empty() && id != 0) {
                return Err(reader.wrong("key space", 4, "growing ids from 0", u64::from(id)));
            }
            spaces.push((KeySpaceId(id), read_text(reader, "key space name")?));
        }
        if spaces.is_empty() {
            return Err(reader.wrong("key spaces", 4, "at least 1", 0));
        }
        let decider = read_text(reader, "decider")?;
        let state = reader.prefixed("decider state")?.to_vec();
        Ok(Self { next_space, spaces, decider, state })
    }
}

fn decode<T>(
    file: FileId,
    what: &str,
    kind: u8,
    opaque: &[u8],
    read: impl FnOnce(&mut Reader<'_>) -> Result<T, DecodeError>,
) -> Result<T, Error> {
    let region = || format!("annotation of {what} {file}");
    let mut reader = Reader::new(opaque);
    let mut checked = || {
        let version = reader.u8("version")?;
        let got = reader.u8("kind")?;
        if got != kind && version == VERSION {
            return Err(reader.wrong("kind", 1, "the kind of its file", u64::from(got)));
        }
        Ok(version)
    };
    let version = checked().map_err(|error| Error::decode(region(), 0, &error))?;
    if version != VERSION {
        let (supported, got) = (u64::from(VERSION), u64::from(version));
        return Err(Error::Unsupported { region: region(), field: "version", supported, got });
    }
    let record = read(&mut reader).and_then(|record| reader.finish("annotation").map(|()| record));
    record.map_err(|error| Error::decode(region(), 0, &error))
}

fn read_key<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let key = reader.prefixed("full key")?;
    // An exclusive end may be one byte longer than the longest key.
    if !(SPACE_BYTES..=SPACE_BYTES + KEY_BYTES_MAX + 1).contains(&key.len()) {
        let got = key.len() as u64;
        return Err(reader.wrong("full key", key.len(), "4 to 65,540 bytes", got));
    }
    Ok(key)
}

fn read_sequence(reader: &mut Reader<'_>) -> Result<SeqNo, DecodeError> {
    let sequence = reader.u64("sequence")?;
    if sequence > SeqNo::MAX.0 {
        return Err(reader.wrong("sequence", 8, "at most 56 bits", sequence));
    }
    Ok(SeqNo(sequence))
}

fn read_text(reader: &mut Reader<'_>, field: &'static str) -> Result<String, DecodeError> {
    let bytes = reader.prefixed(field)?;
    match std::str::from_utf8(bytes) {
        Ok(text) if text.len() <= SPACE_NAME_BYTES_MAX => Ok(text.to_owned()),
        _ => {
            let got = bytes.len() as u64;
            Err(reader.wrong(field, bytes.len(), "at most 255 bytes of UTF-8", got))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{damaged, specimen};

    fn table() -> TableRecord {
        let segment = |level, run, start: &str, end: &str| SegmentRecord {
            place: Place { level, run: RunId(run) },
            size: ByteCount(500),
            span: Span::new(start.as_bytes(), end.as_bytes()),
        };
        TableRecord {
            tag: 7,
            entries: 100,
            tombstones: 3,
            first_sequence: SeqNo(11),
            last_sequence: SeqNo(99),
            smallest: b"\0\0\0\0aa".to_vec(),
            largest: b"\0\0\0\0zz".to_vec(),
            segments: vec![
                segment(1, 5, "\0\0\0\0b", "\0\0\0\0d"),
                segment(2, 1, "\0\0\0\0d", "\0\0\0\0x"),
            ],
        }
    }

    fn store() -> StoreRecord {
        let mut record = StoreRecord::new();
        record.spaces.push((KeySpaceId(3), "users".into()));
        record.next_space = 4;
        record.decider = "leveled".into();
        record.state = vec![1, 2, 3];
        record
    }

    /// Every damaged specimen is refused or decodes to something that encodes to itself.
    fn survives<T>(
        bytes: &[u8],
        decode: impl Fn(&[u8]) -> Result<T, Error>,
        encode: fn(&T) -> Vec<u8>,
    ) {
        assert_eq!(encode(&decode(bytes).unwrap()), bytes);
        for (what, specimen) in damaged(bytes) {
            if let Ok(record) = decode(&specimen) {
                assert_eq!(encode(&record), specimen, "{what}");
                assert!(what.starts_with("bit"), "{what}");
            }
        }
        assert!(decode(&[bytes, &[0]].concat()).is_err());
    }

    #[test]
    fn annotations_read_back_and_no_damage_makes_them_panic() {
        let bytes = specimen("annotation-table.bin", &table().encode());
        assert_eq!(TableRecord::decode(FileId(7), &bytes).unwrap(), table());
        survives(&bytes, |b| TableRecord::decode(FileId(7), b), TableRecord::encode);
        let bytes = specimen("annotation-store.bin", &store().annotation().opaque);
        assert_eq!(StoreRecord::decode(&bytes).unwrap(), store());
        survives(&bytes, StoreRecord::decode, |record| record.annotation().opaque);
        let log = LogRecord { first: SeqNo(77) };
        let bytes = specimen("annotation-log.bin", &log.annotation().opaque);
        survives(&bytes, |b| LogRecord::decode(FileId(1), b), |log| log.annotation().opaque);
    }

    #[test]
    fn the_file_system_learns_what_is_dead_and_where_it_belongs() {
        let annotation = table().annotation(17, ByteCount(1500));
        assert_eq!(annotation.dead, ByteCount(500));
        assert_eq!((annotation.hint.level, annotation.hint.stream), (Some(1), 17));
    }

    #[test]
    fn a_newer_version_is_told_apart_from_damage() {
        let mut bytes = table().encode();
        bytes[0] = 2;
        let error = TableRecord::decode(FileId(7), &bytes).unwrap_err();
        assert!(matches!(error, Error::Unsupported { got: 2, .. }), "{error}");
    }
}
