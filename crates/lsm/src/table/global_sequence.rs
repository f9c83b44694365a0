//! Reads a table with its global sequence number, if it has one: [`get`], [`submit`] and
//! [`GlobalSequenceCursor`]. A table without one is read as it is.
//!
//! An ingest writes its tables before its place in the order of writes is known. So the sequence
//! numbers that are stored in such a table mean nothing. The annotation of the table has the
//! *global sequence number*, which is the sequence number of all its entries, and this module puts
//! it in the place of the stored ones. In such a table each key has one entry, a put with or
//! without expiry, and there are no range tombstones.
//!
//! The rules of `reader` and `cursor` for callers hold here, too.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use terrace_env::SeqNo;
use terrace_policy::Span;

use crate::Error;
use crate::key::{self, Kind, Trailer};
use crate::memory::Walk;
use crate::table::{Lookup, PointReads, Table, TableCursor};

/// The first entry at or after `seek_key`, if it has the same full key: [`Table::get`](Table) of a
/// table with or without a global sequence.
pub(crate) fn get(
    table: &Table,
    global_sequence: Option<SeqNo>,
    seek_key: &[u8],
    hash: u64,
    cover: Option<SeqNo>,
    reads: &mut PointReads,
) -> Result<Lookup, Error> {
    match in_table(global_sequence, seek_key) {
        None => Ok(Lookup::Searched(None)),
        Some(sought) => table.get(&sought, hash, cover, reads),
    }
}

/// Submits the read of the first block that [`get`] of the same key needs: [`Table::submit`](Table)
/// of a table with or without a global sequence. Returns whether there is one.
pub(crate) fn submit(
    table: &Table,
    global_sequence: Option<SeqNo>,
    seek_key: &[u8],
    hash: u64,
    reads: &mut PointReads,
) -> bool {
    in_table(global_sequence, seek_key).is_some_and(|sought| table.submit(&sought, hash, reads))
}

/// The key to seek within a table; `None` if no entry of the table is visible from `seek_key`.
fn in_table(global_sequence: Option<SeqNo>, seek_key: &[u8]) -> Option<Cow<'_, [u8]>> {
    let Some(global_sequence) = global_sequence else { return Some(seek_key.into()) };
    let (full_key, trailer) = key::split(seek_key);
    let is_visible = !is_behind(trailer, global_sequence);
    is_visible.then(|| key::internal_key(full_key, Trailer::NEWEST).into())
}

/// Whether a place within the entries of a full key comes after the entry of this sequence. (No
/// place lies between a put with expiry and one without.)
fn is_behind(place: Trailer, global_sequence: SeqNo) -> bool {
    place > Trailer::new(global_sequence, Kind::Put)
}

/// Walks a table, with or without a global sequence.
#[derive(Debug)]
pub(crate) struct GlobalSequenceCursor {
    table: TableCursor,
    global_sequence: Option<SeqNo>,
    /// Its current internal key, in a table with a global sequence.
    key: Vec<u8>,
}

impl GlobalSequenceCursor {
    /// A cursor that stands on no entry until it seeks.
    pub(crate) fn new(table: Arc<Table>, walk: Walk, global_sequence: Option<SeqNo>) -> Self {
        Self { table: TableCursor::new(table, walk), global_sequence, key: Vec::new() }
    }

    /// See [`TableCursor::stay_within`].
    pub(crate) fn stay_within(&mut self, span: &Span) {
        self.table.stay_within(span);
    }

    /// See [`TableCursor::share`].
    pub(crate) fn share(&mut self, offset: u64, bytes: Bytes) {
        self.table.share(offset, bytes);
    }

    /// See [`TableCursor::submit_seek`].
    pub(crate) fn submit_seek(&mut self, target: Option<&[u8]>) -> Result<(), Error> {
        let boundary = match (self.global_sequence, target) {
            (Some(global_sequence), Some(target)) => Some(boundary(target, global_sequence)),
            _ => None,
        };
        self.table.submit_seek(boundary.as_deref().or(target))
    }

    /// See [`TableCursor::submit_seek_before`].
    pub(crate) fn submit_seek_before(&mut self, target: &[u8]) -> Result<(), Error> {
        match self.global_sequence {
            None => self.table.submit_seek_before(target),
            Some(global_sequence) => {
                self.table.submit_seek_before(&boundary(target, global_sequence))
            }
        }
    }

    /// See [`TableCursor::has_room_for_another`].
    pub(crate) fn has_room_for_another(&self) -> bool {
        self.table.has_room_for_another()
    }

    /// Moves to the first entry at or after `target`, an internal key.
    pub(crate) fn seek(&mut self, target: &[u8]) -> Result<(), Error> {
        match self.global_sequence {
            None => self.table.seek(target),
            Some(global_sequence) => {
                self.table.seek(&boundary(target, global_sequence))?;
                self.apply();
                Ok(())
            }
        }
    }

    /// Moves to the last entry before `target`, an internal key.
    pub(crate) fn seek_before(&mut self, target: &[u8]) -> Result<(), Error> {
        match self.global_sequence {
            None => self.table.seek_before(target),
            Some(global_sequence) => {
                self.table.seek_before(&boundary(target, global_sequence))?;
                self.apply();
                Ok(())
            }
        }
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<(), Error> {
        self.table.seek_to_first()?;
        self.apply();
        Ok(())
    }

    pub(crate) fn next(&mut self) -> Result<(), Error> {
        self.table.next()?;
        self.apply();
        Ok(())
    }

    pub(crate) fn prev(&mut self) -> Result<(), Error> {
        self.table.prev()?;
        self.apply();
        Ok(())
    }

    /// See [`TableCursor::uncounted`].
    pub(crate) fn uncounted(&self) -> usize {
        self.table.uncounted() + self.key.capacity()
    }

    /// See [`TableCursor::park`].
    pub(crate) fn park(&mut self) {
        self.table.park();
    }

    /// See [`TableCursor::ready`].
    pub(crate) fn ready(&mut self) -> Result<(), Error> {
        self.table.ready()
    }

    /// The internal key of its entry, or `None` at the end.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        let found = self.table.key()?;
        Some(if self.global_sequence.is_some() { &self.key } else { found })
    }

    /// The value of its entry.
    ///
    /// # Panics
    /// If it stands on no entry.
    pub(crate) fn value(&self) -> Bytes {
        self.table.value()
    }

    pub(crate) fn value_slice(&self) -> &[u8] {
        self.table.value_slice()
    }

    /// Sets the sequence of the current key.
    fn apply(&mut self) {
        if let Some(global_sequence) = self.global_sequence
            && let Some(found) = self.table.key()
        {
            let (full_key, stored) = key::split(found);
            let kind = stored.kind().unwrap_or(Kind::Put);
            self.key.clear();
            self.key.extend_from_slice(full_key);
            self.key.extend_from_slice(&Trailer::new(global_sequence, kind).to_bytes());
        }
    }
}

/// The key that divides the table's stored entries like `target` divides those with the global
/// sequence.
fn boundary(target: &[u8], global_sequence: SeqNo) -> Vec<u8> {
    let (full_key, trailer) = key::split(target);
    if is_behind(trailer, global_sequence) {
        return key::internal_key(&key::successor(full_key), Trailer::NEWEST);
    }
    key::internal_key(full_key, Trailer::NEWEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::Compression;
    use crate::key::KeySpaceId;
    use crate::memory::Memory;
    use crate::memtable::Found;
    use crate::options::EngineOptions;
    use crate::table::{TableBuilder, TableLayout, hash};
    use crate::tree::table_hint;
    use terrace_env::store::{CreateOptions, FileKind, MemoryStore, Rank, Store, Transaction};
    use terrace_env::{ByteCount, Cause};

    const GLOBAL: SeqNo = SeqNo(70);

    fn full(number: u8) -> Vec<u8> {
        key::full_key(KeySpaceId(0), &[number])
    }

    /// A table of the even numbers below 60, written before its global sequence was known.
    fn table() -> Arc<Table> {
        table_with(false)
    }

    /// The same, with or without first keys in its index.
    fn table_with(first_keys: bool) -> Arc<Table> {
        let store = MemoryStore::new();
        let cause = Cause::Flush;
        let (kind, rank, hint) = (FileKind::Table, Rank::Log, table_hint(0, 0));
        let options = CreateOptions {
            kind,
            hint,
            size: None,
            rank,
            reservation: None,
            group: None,
            offload: false,
            cause,
        };
        let layout = TableLayout::new(ByteCount(64), Compression::None, 10);
        let layout = layout.with_first_keys(first_keys);
        let memory = Arc::new(Memory::new(&EngineOptions::default()));
        let mut builder = TableBuilder::new(store.create(&options).unwrap(), layout, &memory.jobs);
        for number in (0..60).step_by(2) {
            let key = key::internal_key(&full(number), Trailer::new(SeqNo(0), Kind::Put));
            builder.add(&key, &[number]).unwrap();
        }
        let built = builder.finish().unwrap();
        let mut transaction = Transaction::new();
        transaction.seal(built.writer.id(), terrace_env::store::Annotation::default());
        store.commit(transaction).unwrap();
        Table::open(store.open(built.writer.id()).unwrap(), 0, &memory, Cause::Read).unwrap()
    }

    /// Entries of the table, as every reader must see them.
    fn entries() -> Vec<Vec<u8>> {
        let global = Trailer::new(GLOBAL, Kind::Put);
        (0..60).step_by(2).map(|number| key::internal_key(&full(number), global)).collect()
    }

    /// Places around every entry: before its key, at the sequences around its own, after its key.
    fn targets() -> Vec<Vec<u8>> {
        let trailers = [
            Trailer::NEWEST,
            Trailer::seek(SeqNo(71)),
            Trailer::seek(GLOBAL),
            Trailer::new(GLOBAL, Kind::Put),
            Trailer::new(GLOBAL, Kind::Delete),
            Trailer::seek(SeqNo(69)),
            Trailer::seek(SeqNo(0)),
            Trailer::new(SeqNo(0), Kind::Put),
        ];
        let of = |number: u8| trailers.map(|trailer| key::internal_key(&full(number), trailer));
        (0..62).flat_map(of).collect()
    }

    #[test]
    fn a_table_with_a_global_sequence_is_walked_as_if_its_entries_had_it() {
        for first_keys in [false, true] {
            let table = table_with(first_keys);
            let mut cursor = GlobalSequenceCursor::new(table, Walk::Scan, Some(GLOBAL));
            let entries = entries();
            for target in targets() {
                let behind = |entry: &&Vec<u8>| key::compare(entry, &target).is_ge();
                cursor.seek(&target).unwrap();
                for entry in entries.iter().filter(behind).take(3) {
                    assert_eq!(cursor.key(), Some(&entry[..]));
                    cursor.ready().unwrap();
                    assert_eq!(cursor.key(), Some(&entry[..]));
                    assert_eq!(cursor.value_slice(), &key::split(entry).0[key::SPACE_BYTES..]);
                    cursor.next().unwrap();
                }
                cursor.seek_before(&target).unwrap();
                for entry in entries.iter().rev().filter(|entry| !behind(entry)).take(3) {
                    assert_eq!(cursor.key(), Some(&entry[..]));
                    cursor.prev().unwrap();
                }
            }
        }
    }

    #[test]
    fn a_search_finds_what_its_sequence_may_see() {
        let table = table();
        for number in 0..62u8 {
            for (sequence, sees) in [(69, false), (70, true), (1000, true)] {
                let seek = key::internal_key(&full(number), Trailer::seek(SeqNo(sequence)));
                let there = sees && number % 2 == 0 && number < 60;
                let (hash, reads) = (hash(&full(number)), &mut PointReads::default());
                let found = get(&table, Some(GLOBAL), &seek, hash, None, reads).unwrap();
                let value = match found {
                    Lookup::Searched(Some(Found::Value(value))) => Some(value),
                    _ => None,
                };
                assert_eq!(value.map(|value| value[0]), there.then_some(number));
            }
        }
    }
}
