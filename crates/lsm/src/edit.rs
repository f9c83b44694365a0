//! A change of the tree: what is taken out of it and what is put in. It makes the transaction that
//! makes the change durable, and the next version, out of the same lists, so that the two cannot
//! differ.
//!
//! In order: [`Edit::kept`], [`Edit::record`], the commit, [`Edit::version`]: a new table can be
//! opened only once it is committed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use terrace_env::store::{Store, Transaction};
use terrace_env::{ByteCount, Cause, FileId};
use terrace_policy::{Key, Move, Part, Place, Span};

use crate::Error;
use crate::annotation::{SegmentRecord, TableRecord};
use crate::handle::TableHandle;
use crate::inputs;
use crate::memory::Memory;
use crate::version::{Segment, Version};

/// A table that the change seals.
#[derive(Debug)]
pub(crate) struct NewTable {
    pub(crate) id: FileId,
    pub(crate) size: ByteCount,
    pub(crate) stream: u16,
    pub(crate) place: Place,
    /// Without segments: the table has one, of all its keys and ranges.
    pub(crate) record: TableRecord,
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
    relinked: Vec<(Place, Segment)>,
    new: Vec<NewTable>,
}

impl Edit {
    /// Takes a range of a table out of a run.
    pub(crate) fn take(&mut self, place: Place, part: &Part) {
        self.taken.push((place, part.clone()));
    }

    /// Puts a range of a table that was taken out of another run into this one.
    fn relink(&mut self, place: Place, segment: Segment) {
        self.relinked.push((place, segment));
    }

    /// Does what a plan says of a part that it does not read; returns where the part goes, if it
    /// stays, and its size.
    pub(crate) fn carry(
        &mut self,
        version: &Version,
        one: &Move,
    ) -> Result<Option<(Place, ByteCount)>, Error> {
        let segment = inputs::find(version, one.from, &one.part)?;
        self.take(one.from, &one.part);
        let Some(to) = one.to else { return Ok(None) };
        let size = segment.size;
        self.relink(to, segment);
        Ok(Some((to, size)))
    }

    /// Puts a new table into a run.
    pub(crate) fn put(&mut self, table: NewTable) {
        self.new.push(table);
    }

    /// What the next version has of the tables that `before` has.
    pub(crate) fn kept(&self, before: &Version) -> Result<Kept, Error> {
        let mut taken: BTreeMap<(Place, FileId), Vec<&Span>> = BTreeMap::new();
        for (place, part) in &self.taken {
            taken.entry((*place, part.file)).or_default().push(&part.span);
        }
        let mut segments: Vec<(Place, Segment)> = Vec::new();
        let mut starts: BTreeMap<FileId, Key> = BTreeMap::new();
        for (place, segment) in before.segments() {
            let file = segment.table.id();
            let Some(spans) = taken.get(&(place, file)) else {
                segments.push((place, segment.clone()));
                continue;
            };
            let start = starts.entry(file).or_insert_with(|| Arc::clone(&segment.span.start));
            *start = Arc::clone((&segment.span.start).min(start));
            let left = what_is_left(segment, spans)?;
            segments.extend(left.into_iter().map(|segment| (place, segment)));
        }
        segments.extend(self.relinked.iter().cloned());
        let trims = trims(&starts, &segments)?;
        Ok(Kept { segments, trims })
    }

    /// Adds what makes the change durable.
    pub(crate) fn record(&self, kept: &Kept, into: &mut Transaction) {
        for table in &self.new {
            let mut record = table.record.clone();
            record.segments = vec![table.segment()];
            into.seal(table.id, record.annotation(table.stream, table.size));
        }
        let touched: BTreeSet<FileId> = self.taken.iter().map(|(_, part)| part.file).collect();
        let mut left: BTreeMap<FileId, (&Arc<TableHandle>, Vec<SegmentRecord>)> = BTreeMap::new();
        for (place, segment) in &kept.segments {
            let file = segment.table.id();
            if touched.contains(&file) {
                let (place, size, span) = (*place, segment.size, segment.span.clone());
                let (_, segments) = left.entry(file).or_insert((&segment.table, Vec::new()));
                segments.push(SegmentRecord { place, size, span });
            }
        }
        for file in touched {
            let Some((table, mut segments)) = left.remove(&file) else {
                into.delete(file);
                continue;
            };
            segments.sort_by(|a, b| a.span.start.cmp(&b.span.start));
            let record = TableRecord { segments, ..table.record().clone() };
            let mut size = table.size();
            if let Some((from, to)) = kept.trims.get(&file) {
                into.trim(file, *from, *to);
                size.0 -= to;
            }
            into.annotate(file, record.annotation(table.stream(), size));
        }
    }

    /// The next version, once the change is committed.
    pub(crate) fn version(
        self,
        kept: Kept,
        store: &dyn Store,
        memory: &Arc<Memory>,
    ) -> Result<Version, Error> {
        let Kept { mut segments, trims } = kept;
        let mut opened = BTreeMap::new();
        // The handles of the version before pin what was trimmed.
        for (_, segment) in &mut segments {
            let old = &segment.table;
            if !trims.contains_key(&old.id()) {
                continue;
            }
            let new = match opened.get(&old.id()) {
                Some(new) => Arc::clone(new),
                None => {
                    let (record, stream) = (old.record().clone(), old.stream());
                    TableHandle::new(store, old.id(), record, stream, memory)?
                }
            };
            opened.insert(old.id(), Arc::clone(&new));
            segment.table = new;
        }
        for table in self.new {
            let SegmentRecord { place, size, span } = table.segment();
            let handle = TableHandle::new(store, table.id, table.record, table.stream, memory)?;
            segments.push((place, Segment { table: handle, span, size }));
        }
        Version::new(segments)
    }
}

/// What the next version has of the tables that are there already.
#[derive(Debug)]
pub(crate) struct Kept {
    segments: Vec<(Place, Segment)>,
    /// The bytes at the front of tables that are given back.
    trims: BTreeMap<FileId, (u64, u64)>,
}

/// What can be given back of tables that began to count at `starts` and now begin further on.
fn trims(
    starts: &BTreeMap<FileId, Key>,
    segments: &[(Place, Segment)],
) -> Result<BTreeMap<FileId, (u64, u64)>, Error> {
    let mut firsts: BTreeMap<FileId, &Segment> = BTreeMap::new();
    for (_, segment) in segments {
        let file = segment.table.id();
        if starts.contains_key(&file) {
            let first = firsts.entry(file).or_insert(segment);
            if segment.span.start < first.span.start {
                *first = segment;
            }
        }
    }
    let mut trims = BTreeMap::new();
    for (file, first) in firsts {
        let start = &starts[&file];
        if first.span.start > *start {
            let table = first.table.table(Cause::Compaction)?;
            let (from, to) = (table.offset_of(start)?, table.offset_of(&first.span.start)?);
            if from < to {
                trims.insert(file, (from, to));
            }
        }
    }
    Ok(trims)
}

/// What is left of a segment without these ranges.
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
