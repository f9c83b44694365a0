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
use terrace_policy::{Part, Place, Span};

use crate::Error;
use crate::annotation::{SegmentRecord, TableRecord};
use crate::handle::{TableHandle, TableSpace};
use crate::version::{Segment, Version};

/// A table that the change seals.
#[derive(Debug)]
pub(crate) struct NewTable {
    pub(crate) id: FileId,
    pub(crate) size: ByteCount,
    pub(crate) stream: u16,
    pub(crate) place: Place,
    /// Without segments: the table has one, of all its keys.
    pub(crate) record: TableRecord,
}

impl NewTable {
    fn segment(&self) -> SegmentRecord {
        let end = crate::key::successor(&self.record.largest);
        let span = Span::new(&self.record.smallest[..], end);
        SegmentRecord { place: self.place, size: self.size, span }
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
    pub(crate) fn relink(&mut self, place: Place, segment: Segment) {
        self.relinked.push((place, segment));
    }

    /// Puts a new table into a run.
    pub(crate) fn put(&mut self, table: NewTable) {
        self.new.push(table);
    }

    /// What the next version has of the tables that `before` has.
    pub(crate) fn kept(&self, before: &Version) -> Result<Vec<(Place, Segment)>, Error> {
        let mut taken: BTreeMap<(Place, FileId), Vec<&Span>> = BTreeMap::new();
        for (place, part) in &self.taken {
            taken.entry((*place, part.file)).or_default().push(&part.span);
        }
        let mut kept: Vec<(Place, Segment)> = Vec::new();
        for (place, segment) in before.segments() {
            match taken.get(&(place, segment.table.id())) {
                None => kept.push((place, segment.clone())),
                Some(spans) => {
                    let left = what_is_left(segment, spans)?;
                    kept.extend(left.into_iter().map(|segment| (place, segment)));
                }
            }
        }
        kept.extend(self.relinked.iter().cloned());
        Ok(kept)
    }

    /// Adds what makes the change durable.
    pub(crate) fn record(&self, kept: &[(Place, Segment)], into: &mut Transaction) {
        for table in &self.new {
            let mut record = table.record.clone();
            record.segments = vec![table.segment()];
            into.seal(table.id, record.annotation(table.stream, table.size));
        }
        let touched: BTreeSet<FileId> = self.taken.iter().map(|(_, part)| part.file).collect();
        let mut left: BTreeMap<FileId, (&Arc<TableHandle>, Vec<SegmentRecord>)> = BTreeMap::new();
        for (place, segment) in kept {
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
            into.annotate(file, record.annotation(table.stream(), table.size()));
        }
    }

    /// The next version, once the change is committed.
    pub(crate) fn version(
        self,
        kept: Vec<(Place, Segment)>,
        store: &dyn Store,
        space: &TableSpace,
    ) -> Result<Version, Error> {
        let mut segments = kept;
        for table in self.new {
            let SegmentRecord { place, size, span } = table.segment();
            let handle = TableHandle::new(store, table.id, table.record, table.stream, space)?;
            segments.push((place, Segment { table: handle, span, size }));
        }
        Version::new(segments)
    }
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
