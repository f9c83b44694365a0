//! Codec of the store's own annotation: its features, the id that the next key space gets, key
//! spaces and the dropped ones, the decider (compaction policy) with its state, counts of the bytes
//! and entries written in the store's life, the number of [pages](super::space_page) that list
//! further key spaces, the options that shape tables, the name of the merge operator, and the
//! origin of a backup's tables. The layout is `docs/format/annotation.md`.
//!
//! - An unknown version, kind or feature is [`Error::Unsupported`]. A store that is marked as an
//!   unfinished copy is [`Error::UnfinishedCopy`], except for the checkpoint that repeats it
//!   ([`StoreRecord::decode_target`]). Any other defect is [`Error::Corruption`].
//! - The encoder checks nothing. The caller must keep the rules that the decoder checks:
//!   - Key spaces are in the order of their ids. The first one is key space 0.
//!   - Dropped ids are in ascending order, and none of them is the id of a key space.
//!   - The ids of both lists are below the id that the next key space gets.
//!   - A name has at most [`SPACE_NAME_BYTES_MAX`] bytes, and the text of the decider's system at
//!     most [`SYSTEM_BYTES`].
//!   - The counts are of at most 64 levels, and some count of the last of these is not 0.
//!
//! No locks and no I/O.

use std::sync::Arc;

use terrace_env::FileId;
use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::store::Annotation;

use super::annotation::{KIND_STORE, decode};
use super::backup_record::BackupRecord;
use super::space_entry::KeySpaceEntry;
use crate::Error;
use crate::key::KeySpaceId;
use crate::lifetime::Written;
use crate::limits::{OPERATOR_NAME_BYTES, SYSTEM_BYTES};
use crate::options::TableOptions;

const VERSION: u8 = 4;
/// The version of a store that has ever written to an offload device.
const VERSION_OFFLOADED: u8 = 5;

/// Feature bit of a store: its logs may hold range deletes.
pub(crate) const FEATURE_RANGE_DELETES: u32 = 1;
/// Feature bit of a store: its logs and tables may hold entries with expiry.
pub(crate) const FEATURE_EXPIRY: u32 = 1 << 1;
/// Feature bit of a store: a checkpoint is on its way to it, or was interrupted.
pub(crate) const FEATURE_UNFINISHED_COPY: u32 = 1 << 3;
/// Feature bit of a store: pages list some of its key spaces. Set and removed by the encoder.
const FEATURE_PAGES: u32 = 1 << 4;
/// Feature bit of a store: it remembers options that shape tables. Set by the encoder.
const FEATURE_TABLE_OPTIONS: u32 = 1 << 5;
/// Feature bit of a store: these options include whether indexes have first keys. Set by the
/// encoder.
const FEATURE_FIRST_KEYS: u32 = 1 << 6;
/// Feature bit of a store: its logs and tables may hold operands, and it remembers the name of
/// their merge operator. Set by the encoder.
const FEATURE_OPERANDS: u32 = 1 << 7;
/// Feature bit of a store: key spaces may have options of their own, and tables the form that these
/// ask for; ingested tables may hold entries with expiry.
pub(crate) const FEATURE_SPACE_OPTIONS: u32 = 1 << 8;
/// Feature bit of a store: it is a backup, and remembers of which store. Set by the encoder.
const FEATURE_BACKUP: u32 = 1 << 9;
/// Feature bits that follow from other fields.
const FEATURES_DERIVED: u32 =
    FEATURE_PAGES | FEATURE_TABLE_OPTIONS | FEATURE_FIRST_KEYS | FEATURE_OPERANDS | FEATURE_BACKUP;
const FEATURES: u32 = FEATURE_RANGE_DELETES
    | FEATURE_EXPIRY
    | FEATURE_UNFINISHED_COPY
    | FEATURE_SPACE_OPTIONS
    | FEATURES_DERIVED;
/// Feature bits of kinds of entries that are reserved, and what a store that sets one has.
const FEATURES_RESERVED: [(u32, &str); 1] = [(1 << 2, "indirect values")];

/// The longest name of a key space.
pub(crate) const SPACE_NAME_BYTES_MAX: usize = 255;
const NAME_TEXT: (usize, &str) = (SPACE_NAME_BYTES_MAX, "at most 255 bytes of UTF-8");
const OPERATOR_TEXT: (usize, &str) =
    (OPERATOR_NAME_BYTES.most as usize, "at most 255 bytes of UTF-8");
const SYSTEM_TEXT: (usize, &str) = (SYSTEM_BYTES.most as usize, "at most 1024 bytes of UTF-8");

/// The store's own annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreRecord {
    /// Bits of incompatible features, except for those that follow from other fields.
    pub(crate) features: u32,
    pub(crate) next_space: u32,
    /// Key spaces that no page lists, in the order of their ids.
    pub(crate) spaces: Vec<KeySpaceEntry>,
    pub(crate) decider: String,
    pub(crate) state: Vec<u8>,
    /// Key spaces that do not exist any more, and whose entries may not be hidden yet.
    pub(crate) dropped: Vec<KeySpaceId>,
    /// Bytes and entries written in its life, when this was recorded.
    pub(crate) lifetime: Written,
    /// Number of pages that list further key spaces.
    pub(crate) pages: u32,
    /// Options that shape tables, as they were last stated.
    pub(crate) tables: TableOptions,
    /// The name of the merge operator, from the first operand on.
    pub(crate) merge_operator: Option<Arc<str>>,
    /// The origin of its tables, if it is a backup that was never opened for writing.
    pub(crate) backup: Option<BackupRecord>,
}

impl StoreRecord {
    pub(crate) fn new() -> Self {
        let spaces = vec![KeySpaceEntry::new(KeySpaceId::DEFAULT, "default")];
        let (decider, state) = (String::new(), Vec::new());
        let lifetime = Written::default();
        let (dropped, pages, tables) = (Vec::new(), 0, TableOptions::default());
        Self {
            features: 0,
            next_space: 1,
            spaces,
            decider,
            state,
            dropped,
            lifetime,
            pages,
            tables,
            merge_operator: None,
            backup: None,
        }
    }

    /// The same record of a store that a checkpoint is about to fill.
    pub(crate) fn marked(mut self) -> Self {
        self.features |= FEATURE_UNFINISHED_COPY;
        self
    }

    pub(crate) fn is_marked(&self) -> bool {
        self.features & FEATURE_UNFINISHED_COPY != 0
    }

    pub(crate) fn annotation(&self) -> Annotation {
        let version = if self.lifetime.offloaded > 0 { VERSION_OFFLOADED } else { VERSION };
        let mut opaque = vec![version, KIND_STORE];
        let pages = if self.pages > 0 { FEATURE_PAGES } else { 0 };
        let tables = if self.tables.is_none() { 0 } else { FEATURE_TABLE_OPTIONS };
        let first_keys = if self.tables.first_keys.is_some() { FEATURE_FIRST_KEYS } else { 0 };
        let operands = if self.merge_operator.is_some() { FEATURE_OPERANDS } else { 0 };
        let backup = if self.backup.is_some() { FEATURE_BACKUP } else { 0 };
        opaque.put_u32(self.features | pages | tables | first_keys | operands | backup);
        opaque.put_u32(self.next_space);
        opaque.put_u32(u32::try_from(self.spaces.len()).expect("key spaces have 32-bit ids"));
        let has_options = self.features & FEATURE_SPACE_OPTIONS > 0;
        debug_assert!(
            has_options || self.spaces.iter().all(|space| space.options.is_none()),
            "options that are not encoded"
        );
        debug_assert!(self.dropped.is_sorted(), "{:?} in order", self.dropped);
        self.spaces.iter().for_each(|space| space.encode(has_options, &mut opaque));
        opaque.put_prefixed(self.decider.as_bytes());
        opaque.put_prefixed(&self.state);
        opaque.put_u32(u32::try_from(self.dropped.len()).expect("ids have 32 bits"));
        self.dropped.iter().for_each(|id| opaque.put_u32(id.0));
        self.lifetime.encode(&mut opaque);
        if self.pages > 0 {
            opaque.put_u32(self.pages);
        }
        if !self.tables.is_none() {
            self.tables.encode(&mut opaque);
        }
        if let Some(name) = &self.merge_operator {
            opaque.put_prefixed(name.as_bytes());
        }
        if let Some(backup) = &self.backup {
            backup.encode(&mut opaque);
        }
        Annotation { opaque, ..Annotation::default() }
    }

    /// The record of a whole store.
    pub(crate) fn decode(opaque: &[u8]) -> Result<Self, Error> {
        let record = Self::decode_target(opaque)?;
        if record.is_marked() { Err(Error::UnfinishedCopy) } else { Ok(record) }
    }

    /// The record of a store that a checkpoint is to fill: it may be an unfinished copy.
    pub(crate) fn decode_target(opaque: &[u8]) -> Result<Self, Error> {
        if let &[VERSION | VERSION_OFFLOADED, KIND_STORE, a, b, c, d, ..] = opaque
            && u32::from_le_bytes([a, b, c, d]) & !FEATURES != 0
        {
            let (got, field) = (u32::from_le_bytes([a, b, c, d]), "features");
            let named = FEATURES_RESERVED.iter().filter(|(bit, _)| got & bit != 0);
            let names: String = named.map(|(_, name)| format!(", which has {name}")).collect();
            let (region, got) = (format!("annotation of the store{names}"), u64::from(got));
            return Err(Error::Unsupported { region, field, supported: u64::from(FEATURES), got });
        }
        let has_offloaded = opaque.first() == Some(&VERSION_OFFLOADED);
        let store = |kind| (kind == KIND_STORE).then_some(());
        let read = |reader: &mut Reader<'_>, ()| Self::read(reader, has_offloaded);
        decode(FileId::STORE, "store", store, VERSION..=VERSION_OFFLOADED, opaque, read)
    }

    fn read(reader: &mut Reader<'_>, has_offloaded: bool) -> Result<Self, DecodeError> {
        let features = reader.u32("features")?;
        let next_space = reader.u32("next key space")?;
        let count = reader.u32("key spaces")?;
        let has_options = features & FEATURE_SPACE_OPTIONS > 0;
        let mut spaces: Vec<KeySpaceEntry> = Vec::new();
        for _ in 0..count {
            let id = reader.u32("key space")?;
            let first = spaces.last().is_none_or(|last| last.id.0 < id);
            if id >= next_space || !first || (spaces.is_empty() && id != 0) {
                return Err(reader.wrong("key space", 4, "growing ids from 0", u64::from(id)));
            }
            spaces.push(KeySpaceEntry::read_rest(reader, KeySpaceId(id), has_options)?);
        }
        if spaces.is_empty() {
            return Err(reader.wrong("key spaces", 4, "at least 1", 0));
        }
        let decider = read_text(reader, "decider", SYSTEM_TEXT)?;
        let state = reader.prefixed("decider state")?.to_vec();
        let count = reader.u32("dropped key spaces")?;
        let mut dropped: Vec<KeySpaceId> = Vec::new();
        for _ in 0..count {
            let id = KeySpaceId(reader.u32("dropped key space")?);
            let exists = spaces.binary_search_by_key(&id, |space| space.id).is_ok();
            if id.0 >= next_space || exists || dropped.last().is_some_and(|last| *last >= id) {
                let expected = "growing ids of no key space";
                return Err(reader.wrong("dropped key space", 4, expected, u64::from(id.0)));
            }
            dropped.push(id);
        }
        let lifetime = Written::read(reader, has_offloaded)?;
        let pages = if features & FEATURE_PAGES > 0 { reader.u32("pages")? } else { 0 };
        if features & FEATURE_PAGES > 0 && pages == 0 {
            return Err(reader.wrong("pages", 4, "at least 1", 0));
        }
        let tables = match features & FEATURE_TABLE_OPTIONS {
            0 => TableOptions::default(),
            _ => TableOptions::read(reader)?,
        };
        if tables.first_keys.is_some() != (features & FEATURE_FIRST_KEYS > 0) {
            let expected = "bit 6 exactly with first keys among the options";
            return Err(reader.wrong("features", 4, expected, u64::from(features)));
        }
        let merge_operator = match features & FEATURE_OPERANDS {
            0 => None,
            _ => Some(read_operator_name(reader)?),
        };
        let backup = match features & FEATURE_BACKUP {
            0 => None,
            _ => Some(BackupRecord::read(reader)?),
        };
        Ok(Self {
            features: features & !FEATURES_DERIVED,
            next_space,
            spaces,
            decider,
            state,
            dropped,
            lifetime,
            pages,
            tables,
            merge_operator,
            backup,
        })
    }
}

fn read_operator_name(reader: &mut Reader<'_>) -> Result<Arc<str>, DecodeError> {
    let name = read_text(reader, "merge operator", OPERATOR_TEXT)?;
    if name.is_empty() {
        return Err(reader.wrong("merge operator", 0, "a name", 0));
    }
    Ok(name.into())
}

pub(super) fn read_space_name(reader: &mut Reader<'_>) -> Result<String, DecodeError> {
    read_text(reader, "key space name", NAME_TEXT)
}

fn read_text(
    reader: &mut Reader<'_>,
    field: &'static str,
    (bytes_max, expected): (usize, &'static str),
) -> Result<String, DecodeError> {
    let bytes = reader.prefixed(field)?;
    match std::str::from_utf8(bytes) {
        Ok(text) if text.len() <= bytes_max => Ok(text.to_owned()),
        _ => {
            let got = bytes.len() as u64;
            Err(reader.wrong(field, bytes.len(), expected, got))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_env::{SeqNo, Uuid};

    use crate::golden::{specimen, survives};
    use crate::lifetime::LevelWork;
    use crate::options::KeySpaceOptions;
    use crate::tree::Origin;

    fn store() -> StoreRecord {
        let mut record = StoreRecord::new();
        record.spaces.push(KeySpaceEntry::new(KeySpaceId(3), "users"));
        record.next_space = 4;
        record.decider = "leveled".into();
        record.state = vec![1, 2, 3];
        let level = LevelWork { bytes_written: 500, merges: 1, ..LevelWork::default() };
        let levels = vec![level];
        record.lifetime = Written { user_bytes: 1000, entries: 10, levels, ..Written::default() };
        record
    }

    #[test]
    fn annotations_of_stores_read_back_and_no_damage_makes_them_panic() {
        let bytes = specimen("annotation-store.bin", &store().annotation().opaque);
        assert_eq!(StoreRecord::decode(&bytes).unwrap(), store());
        survives(&bytes, StoreRecord::decode, |record| record.annotation().opaque);
        let dropped = vec![KeySpaceId(1), KeySpaceId(2)];
        let used = StoreRecord { features: FEATURE_RANGE_DELETES, dropped, ..store() };
        let bytes = specimen("annotation-store-features.bin", &used.annotation().opaque);
        assert_eq!(StoreRecord::decode(&bytes).unwrap(), used);
        survives(&bytes, StoreRecord::decode, |record| record.annotation().opaque);
        let mut offloaded = store();
        offloaded.lifetime.offloaded = 300;
        let bytes = specimen("annotation-store-offloaded.bin", &offloaded.annotation().opaque);
        assert_eq!(StoreRecord::decode(&bytes).unwrap(), offloaded);
        survives(&bytes, StoreRecord::decode, |record| record.annotation().opaque);
        let tables = TableOptions { filter_bits: Some(15), ..TableOptions::default() };
        let shaped = StoreRecord { pages: 2, tables, ..store() };
        let bytes = specimen("annotation-store-table-options.bin", &shaped.annotation().opaque);
        assert_eq!(StoreRecord::decode(&bytes).unwrap(), shaped);
        survives(&bytes, StoreRecord::decode, |record| record.annotation().opaque);
        let tables = TableOptions { first_keys: Some(true), ..tables };
        let shaped = StoreRecord { tables, ..store() };
        let bytes = specimen("annotation-store-first-keys.bin", &shaped.annotation().opaque);
        assert_eq!(StoreRecord::decode(&bytes).unwrap(), shaped);
        survives(&bytes, StoreRecord::decode, |record| record.annotation().opaque);
        let features = FEATURE_RANGE_DELETES | FEATURE_EXPIRY;
        let expiring = StoreRecord { features, ..store() };
        let bytes = specimen("annotation-store-expiry.bin", &expiring.annotation().opaque);
        assert_eq!(StoreRecord::decode(&bytes).unwrap(), expiring);
        survives(&bytes, StoreRecord::decode, |record| record.annotation().opaque);
        let merge_operator = Some("terrace.counter".into());
        let merging = StoreRecord { merge_operator, ..expiring };
        let bytes = specimen("annotation-store-operands.bin", &merging.annotation().opaque);
        assert_eq!(StoreRecord::decode(&bytes).unwrap(), merging);
        survives(&bytes, StoreRecord::decode, |record| record.annotation().opaque);
        let mut shaped = StoreRecord { features: FEATURE_SPACE_OPTIONS, ..store() };
        shaped.spaces[1].options = KeySpaceOptions::default().filter_bits(15);
        let bytes = specimen("annotation-store-space-options.bin", &shaped.annotation().opaque);
        assert_eq!(StoreRecord::decode(&bytes).unwrap(), shaped);
        survives(&bytes, StoreRecord::decode, |record| record.annotation().opaque);
        let paged = StoreRecord { pages: 2, ..store() };
        let bytes = specimen("annotation-store-pages.bin", &paged.annotation().opaque);
        assert_eq!(StoreRecord::decode(&bytes).unwrap(), paged);
        survives(&bytes, StoreRecord::decode, |record| record.annotation().opaque);
        let origin = |file, source, end| Origin { file: FileId(file), source: FileId(source), end };
        let tables = vec![origin(3, 9, 0x1234), origin(5, 2, u64::MAX)];
        let backup = BackupRecord { source: Uuid([7; 16]), sequence: SeqNo(99), tables };
        let kept = StoreRecord { backup: Some(backup), ..store() };
        let bytes = specimen("annotation-store-backup.bin", &kept.annotation().opaque);
        assert_eq!(StoreRecord::decode(&bytes).unwrap(), kept);
        survives(&bytes, StoreRecord::decode, |record| record.annotation().opaque);
    }

    #[test]
    fn an_unfinished_copy_is_decoded_for_the_checkpoint_that_repeats_it_alone() {
        let marked = store().marked();
        let bytes = marked.annotation().opaque;
        let error = StoreRecord::decode(&bytes).unwrap_err();
        assert!(matches!(error, Error::UnfinishedCopy), "{error}");
        assert_eq!(StoreRecord::decode_target(&bytes).unwrap(), marked);
        let again = |record: &StoreRecord| record.annotation().opaque;
        survives(&bytes, StoreRecord::decode_target, again);
        let bytes = specimen("annotation-store-unfinished.bin", &bytes);
        assert_eq!(StoreRecord::decode_target(&bytes).unwrap(), marked);
    }

    #[test]
    fn an_unknown_feature_is_told_apart_from_damage() {
        let used = StoreRecord { features: FEATURE_RANGE_DELETES, ..store() };
        let mut bytes = used.annotation().opaque;
        bytes[3] = 1 << 7;
        let error = StoreRecord::decode(&bytes).unwrap_err();
        assert!(matches!(error, Error::Unsupported { field: "features", .. }), "{error}");
    }

    #[test]
    fn a_reserved_feature_is_refused_by_its_name() {
        for (bit, name) in FEATURES_RESERVED {
            let used = StoreRecord { features: FEATURE_RANGE_DELETES | bit, ..store() };
            let error = StoreRecord::decode(&used.annotation().opaque).unwrap_err();
            assert!(matches!(error, Error::Unsupported { field: "features", .. }), "{error}");
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
