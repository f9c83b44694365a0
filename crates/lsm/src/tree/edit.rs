//! [`Edit`]: a change of the tree, as lists of the parts that are removed, moved and added. It
//! makes both the transaction and the next version from these lists, so that the two agree.
//!
//! The steps, in order: [`Edit::kept`], [`Edit::record`], the commit, [`Edit::version`].
//! - All steps must get the same version, the current one: the caller has the turn to commit.
//! - [`Edit::kept`] returns an error if segments of the next version would overlap: a store with
//!   such a tree could not be opened again. It panics if a part is taken of a table that has no
//!   segment there.
//! - [`Edit::version`] comes after the commit, because a new table can be opened only then. An edit
//!   of moves alone can make its version without a commit.
//!
//! If a part of a table stays, the table may be opened, and its index read for the size of the
//! remainder and for the bytes that can be freed. So the caller holds no lock. One thread uses an
//! edit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use terrace_env::store::{Store, Transaction};
use terrace_env::{ByteCount, Cause, FileId, SeqNo};
use terrace_policy::{Key, Move, Part, Place, Span};

use super::annotation::{SegmentRecord, TableRecord};
use super::handle::TableHandle;
use super::run::{Added, Segment};
use super::version::{Change, Version};
use crate::Error;
use crate::memory::Memory;

/// A table that the change seals.
#[derive(Debug)]
pub(crate) struct NewTable {
    pub(crate) id: FileId,
    pub(crate) size: ByteCount,
    pub(crate) stream: u16,
    pub(crate) place: Place,
    /// Record without segments: the table has one, of all its keys and ranges.
    pub(crate) record: TableRecord,
    /// See [`BuiltTable`](crate::table::BuiltTable).
    pub(crate) tail: Option<Bytes>,
}

impl NewTable {
    fn segment(&self) -> SegmentRecord {
        SegmentRecord { place: self.place, size: self.size, span: self.record.span() }
    }
}

/// A change of the tree.
#[derive(Debug, Default)]
pub(crate) struct Edit {
    taken: Vec<(Place, Part)>,
    moved: Vec<(Place, Segment)>,
    new: Vec<NewTable>,
    ingested: Option<SeqNo>,
}

impl Edit {
    /// An edit that adds the tables of an ingest, whose sequence readers see with them.
    pub(crate) fn of_ingest(ingested: Option<SeqNo>) -> Self {
        Self { ingested, ..Self::default() }
    }

    /// The sequence that readers see with the next version, if it is an ingest's.
    pub(crate) fn ingested(&self) -> Option<SeqNo> {
        self.ingested
    }

    /// Removes a range of a table from a run.
    pub(crate) fn take(&mut self, place: Place, part: &Part) {
        debug_assert!(part.span.start < part.span.end, "{part:?} has keys");
        self.taken.push((place, part.clone()));
    }

    /// Adds a range of a table that was removed from another run.
    fn move_in(&mut self, place: Place, segment: Segment) {
        self.moved.push((place, segment));
    }

    /// Moves or drops a part that a plan does not read. Returns its new place and its size, if it
    /// stays.
    pub(crate) fn carry(
        &mut self,
        version: &Version,
        one: &Move,
    ) -> Result<Option<(Place, ByteCount)>, Error> {
        let segment = version.part(one.from, &one.part)?;
        self.take(one.from, &one.part);
        let Some(to) = one.to else { return Ok(None) };
        let size = segment.size;
        self.move_in(to, segment);
        Ok(Some((to, size)))
    }

    /// Adds a new table to a run.
    pub(crate) fn put(&mut self, table: NewTable) {
        debug_assert!(table.size.0 > 0, "table {} has bytes", table.id);
        debug_assert!(self.new.iter().all(|other| other.id != table.id), "a table is put once");
        self.new.push(table);
    }

    /// Segments, in the next version, of tables that parts are removed from. An error if a segment
    /// of the next version would overlap another one of its run.
    pub(crate) fn kept(&self, before: &Version) -> Result<Kept, Error> {
        let mut taken: BTreeMap<FileId, BTreeMap<Place, Vec<&Span>>> = BTreeMap::new();
        for (place, part) in &self.taken {
            let of_file = taken.entry(part.file).or_default();
            of_file.entry(*place).or_default().push(&part.span);
        }
        let mut moved: BTreeMap<FileId, Vec<(Place, Segment)>> = BTreeMap::new();
        for (place, segment) in &self.moved {
            let of_file = moved.entry(segment.table.id()).or_default();
            of_file.push((*place, segment.clone()));
        }
        let mut tables = BTreeMap::new();
        for (file, taken) in taken {
            let moved = moved.remove(&file).unwrap_or_default();
            tables.insert(file, Rest::of(before, file, &taken, moved)?);
        }
        let kept = Kept { tables };
        self.check(before, &kept)?;
        Ok(kept)
    }

    fn check(&self, before: &Version, kept: &Kept) -> Result<(), Error> {
        let mut added: BTreeMap<Place, Vec<Added<'_>>> = BTreeMap::new();
        let spans: Vec<Span> = self.new.iter().map(|table| table.record.span()).collect();
        for (table, span) in self.new.iter().zip(&spans) {
            added.entry(table.place).or_default().push((table.id, span));
        }
        for (place, segment) in kept.tables.values().flat_map(|rest| &rest.left) {
            added.entry(*place).or_default().push((segment.table.id(), &segment.span));
        }
        before.check_change(&kept.removed(), &added)
    }

    /// Adds the change to a transaction.
    pub(crate) fn record(&self, kept: &Kept, into: &mut Transaction) {
        for table in &self.new {
            let mut record = table.record.clone();
            record.segments = vec![table.segment()];
            into.seal(table.id, record.annotation(table.stream));
        }
        for (&file, Rest { table, left, trim, .. }) in &kept.tables {
            debug_assert!(
                trim.is_none_or(|(from, to)| from == 0 && to <= table.size().0),
                "{file}: {trim:?} is no front of the file"
            );
            if left.is_empty() {
                into.delete(file);
                continue;
            }
            let record = |(place, segment): &(Place, Segment)| {
                let (place, size, span) = (*place, segment.size, segment.span.clone());
                SegmentRecord { place, size, span }
            };
            let mut segments: Vec<SegmentRecord> = left.iter().map(record).collect();
            segments.sort_by(|a, b| a.span.start.cmp(&b.span.start));
            let record = TableRecord { segments, ..table.record().clone() };
            if let Some((from, to)) = trim {
                into.trim(file, *from, *to);
            }
            into.annotate(file, record.annotation(table.stream()));
        }
    }

    /// The next version, once the change is committed.
    pub(crate) fn version(
        self,
        before: &Version,
        kept: Kept,
        store: &dyn Store,
        memory: &Arc<Memory>,
    ) -> Result<Version, Error> {
        let mut change = Change { removed: kept.removed(), ..Change::default() };
        for Rest { table, left, trim, .. } in kept.tables.into_values() {
            let table = match trim {
                Some(_) if !left.is_empty() => table.trimmed(store)?,
                _ => table,
            };
            for (place, segment) in left {
                let segment = Segment { table: Arc::clone(&table), ..segment };
                change.added.entry(place).or_default().push(segment);
            }
        }
        for table in self.new {
            let SegmentRecord { place, size, span } = table.segment();
            let handle = TableHandle::new(store, table.id, table.record, table.stream, memory)?;
            if let Some(tail) = table.tail {
                handle.open_by(tail)?;
            }
            let added = change.added.entry(place).or_default();
            added.push(Segment { table: handle, span, size });
        }
        Ok(before.changed(change))
    }
}

/// Segments, in the next version, of tables that a change removes parts from.
#[derive(Debug)]
pub(crate) struct Kept {
    tables: BTreeMap<FileId, Rest>,
}

impl Kept {
    /// Indexes of the tables' segments in the version before.
    fn removed(&self) -> BTreeMap<Place, BTreeSet<usize>> {
        let mut removed: BTreeMap<Place, BTreeSet<usize>> = BTreeMap::new();
        for (place, at) in self.tables.values().flat_map(|rest| &rest.was) {
            removed.entry(*place).or_default().insert(*at);
        }
        removed
    }
}

/// Remainder of a table.
#[derive(Debug)]
struct Rest {
    table: Arc<TableHandle>,
    /// Indexes of its segments in the version before.
    was: Vec<(Place, usize)>,
    /// Its segments in the next version.
    left: Vec<(Place, Segment)>,
    /// The bytes at its front that are freed.
    trim: Option<(u64, u64)>,
}

impl Rest {
    fn of(
        before: &Version,
        file: FileId,
        taken: &BTreeMap<Place, Vec<&Span>>,
        moved: Vec<(Place, Segment)>,
    ) -> Result<Self, Error> {
        let table = table_of(before, file, taken);
        let all = table.record().span();
        let (mut was, mut left) = (Vec::new(), moved);
        let mut start: Option<Key> = None;
        let one: BTreeSet<Place> = taken.keys().copied().collect();
        for &place in before.split_places(file).unwrap_or(&one) {
            let Some(run) = before.run(place) else { continue };
            let (first, segments) = run.overlapping(&all);
            for (at, segment) in (first..).zip(segments) {
                if segment.table.id() != file {
                    continue;
                }
                was.push((place, at));
                let Some(spans) = taken.get(&place) else {
                    left.push((place, segment.clone()));
                    continue;
                };
                let before = start.get_or_insert_with(|| Arc::clone(&segment.span.start));
                *before = Arc::clone((&segment.span.start).min(before));
                let rest = what_is_left(segment, spans)?;
                left.extend(rest.into_iter().map(|segment| (place, segment)));
            }
        }
        debug_assert!(!was.is_empty(), "{file}: parts are taken of its segments");
        let trim = trim(&table, start.as_ref(), &left)?;
        Ok(Self { table, was, left, trim })
    }
}

/// The table that parts are removed from.
fn table_of(
    before: &Version,
    file: FileId,
    taken: &BTreeMap<Place, Vec<&Span>>,
) -> Arc<TableHandle> {
    let segments = taken.iter().flat_map(|(place, spans)| {
        let run = before.run(*place).into_iter();
        run.flat_map(|run| spans.iter().flat_map(|span| run.overlapping(span).1))
    });
    let table = segments.map(|segment| &segment.table).find(|table| table.id() == file);
    Arc::clone(table.unwrap_or_else(|| {
        panic!("a change that was checked takes of {file}, which the tree does not hold")
    }))
}

/// Range that can be freed of a table whose first segment began at `start`, if it now begins later.
fn trim(
    table: &Arc<TableHandle>,
    start: Option<&Key>,
    left: &[(Place, Segment)],
) -> Result<Option<(u64, u64)>, Error> {
    let first = left.iter().map(|(_, segment)| &segment.span.start).min();
    let (Some(start), Some(first)) = (start, first) else { return Ok(None) };
    if first <= start {
        return Ok(None);
    }
    let cause = Cause::Compaction;
    let table = table.table(cause)?;
    let (from, to) = (table.offset_of(start, cause)?, table.offset_of(first, cause)?);
    // From the front of the file, because a store frees whole blocks: the block in which the last
    // trim ended becomes whole only together with the bytes of that trim.
    Ok((from < to).then_some((0, to)))
}

/// Remainder of a segment without these ranges.
fn what_is_left(segment: &Segment, taken: &[&Span]) -> Result<Vec<Segment>, Error> {
    let mut left = vec![segment.span.clone()];
    for span in taken {
        left = left.iter().flat_map(|part| part.without(span)).collect();
    }
    let sized = |span: Span| {
        let size = if span == segment.span {
            segment.size
        } else {
            let table = segment.table.table(Cause::Compaction)?;
            ByteCount(table.size_of(&span.start, &span.end)?.0.max(1))
        };
        Ok(Segment { table: Arc::clone(&segment.table), span, size })
    };
    left.into_iter().map(sized).collect()
}
