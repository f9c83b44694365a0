//! [`Run`]: segments of tables in key order, and the search for a key in them.
//!
//! - A run never changes. [`Run::changed`] makes another one, which shares most of the segments
//!   that stay ([`Chunked`]).
//! - [`Run::check_change`] tells whether such a change would make segments overlap. [`Run::new`]
//!   and [`Run::changed`] check nothing: their caller must give segments without overlap.
//! - A search ([`Run::get`]) may open a table and read from the device, so its caller holds no
//!   lock. If it finds nothing, an older run may know the key.
//!
//! Threads: any number read a run without a lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use terrace_env::{ByteCount, Cause, Chunked, ChunkedSlice, Date, FileId, SeqNo};
use terrace_policy::{RunId, RunView, SegmentView, Span};

use super::handle::TableHandle;
use crate::Error;
use crate::key::{self, Head};
use crate::memtable::Found;
use crate::ranges::{CoverRange, Fragment};
use crate::table::{self, Lookup, PointReads, Table, global_sequence};

/// A range of a table that belongs to the tree.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) table: Arc<TableHandle>,
    pub(crate) span: Span,
    pub(crate) size: ByteCount,
}

impl Segment {
    /// Whether its table has range tombstones.
    pub(crate) fn has_ranges(&self) -> bool {
        self.table.record().ranges.is_some()
    }

    /// Whether its table has entries that only snapshots keep, or have kept.
    fn has_old_versions(&self) -> bool {
        !self.table.record().old_versions.is_empty()
    }

    /// Whether its table counts entries that an in-place rewrite may drop one day.
    fn counts_garbage(&self) -> bool {
        self.has_old_versions() || !self.table.record().expiries.is_empty()
    }

    /// Approximate bytes of its entries that have expired at a date.
    pub(crate) fn expired(&self, date: Date) -> ByteCount {
        ByteCount(self.share(self.table.record().expiries.expired(date).0))
    }

    /// Its range tombstones, cut to its span. Opens the table if it has any.
    pub(crate) fn ranges(&self, cause: Cause) -> Result<Vec<Fragment>, Error> {
        if !self.has_ranges() {
            return Ok(Vec::new());
        }
        Ok(self.table.table(cause)?.ranges().within(&self.span).collect())
    }

    /// Approximate part of a count of its table's entries that is in it.
    fn share(&self, count: u64) -> u64 {
        let whole = self.table.size().0.max(1);
        let part = u128::from(count) * u128::from(self.size.0.min(whole)) / u128::from(whole);
        part as u64
    }

    /// Approximate numbers of its entries, and of the tombstones of keys among these. Range
    /// tombstones are left out.
    pub(crate) fn entries_and_tombstones(&self) -> (u64, u64) {
        let record = self.table.record();
        (self.share(record.entries), self.share(record.tombstones))
    }

    /// Approximate number of its range tombstones, at least one if its table has any.
    pub(crate) fn range_tombstones(&self) -> u64 {
        let ranges = self.table.record().ranges.as_ref();
        ranges.map_or(0, |ranges| self.share(ranges.count).max(1))
    }

    /// Approximate bytes of it that only snapshots keep, or have kept.
    pub(crate) fn old_versions(&self) -> ByteCount {
        ByteCount(self.share(self.table.record().old_versions.size().0))
    }

    /// Approximate bytes of these that can be dropped while some snapshots (ascending) are alive.
    pub(crate) fn droppable(&self, snapshots: &[SeqNo]) -> ByteCount {
        ByteCount(self.share(self.table.record().old_versions.droppable(snapshots).0))
    }

    fn head(&self) -> Head {
        key::head(&self.span.end)
    }

    fn view(&self) -> SegmentView {
        let (record, ranges) = (self.table.record(), self.range_tombstones());
        SegmentView {
            file: self.table.id(),
            span: self.span.clone(),
            size: self.size,
            entries: self.share(record.entries) + ranges,
            tombstones: self.share(record.tombstones) + ranges,
            set: record.set,
            histogram: record.histogram.clone(),
        }
    }
}

/// A key to look up in one run after the other.
#[derive(Debug)]
pub(crate) struct Sought<'a> {
    /// The internal key to look up.
    seek_key: &'a [u8],
    /// Hash of the full key, once it was needed.
    hash: Option<u64>,
}

impl<'a> Sought<'a> {
    /// A key that has not been looked up yet.
    pub(crate) fn new(seek_key: &'a [u8]) -> Self {
        Self { seek_key, hash: None }
    }
}

/// A segment that is to be added to a run: its table and its keys.
pub(crate) type Added<'a> = (FileId, &'a Span);

/// A sorted run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) segments: Chunked<Segment>,
    /// Head of the end of each of them, by which a search comes close without a look at the keys.
    heads: Chunked<Head>,
    /// Deciders' view of each of them.
    views: Chunked<SegmentView>,
    /// Number of segments with range tombstones.
    ranged: usize,
    /// Number of segments that count garbage.
    keeping: usize,
}

impl Run {
    /// A run without segments, which no version holds.
    pub(crate) fn empty(id: RunId) -> Self {
        Self::new(id, Vec::new())
    }

    /// A run of segments in key order.
    pub(crate) fn new(id: RunId, segments: Vec<Segment>) -> Self {
        let views = segments.iter().map(Segment::view).collect();
        let heads = segments.iter().map(Segment::head).collect();
        let ranged = segments.iter().filter(|segment| segment.has_ranges()).count();
        let keeping = segments.iter().filter(|segment| segment.counts_garbage()).count();
        let segments = segments.into_iter().collect();
        Self { id, segments, heads, views, ranged, keeping }
    }

    /// The run without the segments at some indices and with others, which may come in any order.
    /// They have been [checked](Self::check_change).
    pub(crate) fn changed(&self, removed: &BTreeSet<usize>, added: Vec<Segment>) -> Self {
        let mut patches: BTreeMap<usize, Vec<Segment>> = BTreeMap::new();
        patches.extend(removed.iter().map(|at| (*at, Vec::new())));
        let gone = || removed.iter().filter_map(|at| self.segments.get(*at));
        let ranged = self.ranged + added.iter().filter(|s| s.has_ranges()).count()
            - gone().filter(|s| s.has_ranges()).count();
        let keeping = self.keeping + added.iter().filter(|s| s.counts_garbage()).count()
            - gone().filter(|s| s.counts_garbage()).count();
        for segment in added {
            let at = self.segments.partition_point(|other| other.span.end <= segment.span.start);
            patches.entry(at).or_default().push(segment);
        }
        let mut changes = Vec::with_capacity(patches.len());
        for (at, mut with) in patches {
            with.sort_by(|a, b| a.span.start.cmp(&b.span.start));
            changes.push((at..at + usize::from(removed.contains(&at)), with));
        }
        let views = changes.iter().map(|(at, with)| {
            let with = with.iter().map(Segment::view).collect();
            (at.clone(), with)
        });
        let views = self.views.patched(views);
        let heads = changes.iter().map(|(at, with)| {
            let with = with.iter().map(Segment::head).collect();
            (at.clone(), with)
        });
        let heads = self.heads.patched(heads);
        let segments = self.segments.patched(changes);
        let run = Self { id: self.id, segments, heads, views, ranged, keeping };
        debug_assert_eq!(run.unsound(), None, "run {}", run.id);
        run
    }

    /// The first of its promises that the run breaks: segments in key order without overlap, each
    /// with its view, and counts that a walk would find.
    fn unsound(&self) -> Option<&'static str> {
        let spans = || self.segments.iter().map(|segment| &segment.span);
        let in_order = spans().zip(spans().skip(1)).all(|(a, b)| a.end <= b.start);
        let has_keys = spans().all(|span| span.start < span.end);
        let of_files = self.segments.iter().map(|segment| segment.table.id());
        let viewed = of_files.eq(self.views.iter().map(|view| view.file));
        let headed = self.segments.iter().map(Segment::head).eq(self.heads.iter().copied());
        let count = |of: fn(&Segment) -> bool| self.segments.iter().filter(|one| of(one)).count();
        [
            (in_order, "segments overlap"),
            (has_keys, "a segment has no keys"),
            (viewed, "a segment has another view"),
            (headed, "a segment has another head"),
            (self.ranged == count(Segment::has_ranges), "range tombstones are miscounted"),
            (self.keeping == count(Segment::counts_garbage), "garbage is miscounted"),
        ]
        .into_iter()
        .find_map(|(holds, what)| (!holds).then_some(what))
    }

    /// Checks that segments to be added, in any order, overlap neither each other nor the segments
    /// that stay. `place`: the name of the run in an error.
    pub(crate) fn check_change(
        &self,
        removed: &BTreeSet<usize>,
        added: &[Added<'_>],
        place: impl Fn() -> String,
    ) -> Result<(), Error> {
        let overlap = |(left, before): Added<'_>, (right, behind): Added<'_>| {
            let expected = format!("table {right} to begin after table {left}, {before:?}");
            Err(Error::corruption(place(), 0, expected, format!("{behind:?}")))
        };
        let mut added = added.to_vec();
        added.sort_by_key(|(_, span)| &span.start);
        for pair in added.windows(2) {
            if pair[0].1.overlaps(pair[1].1) {
                return overlap(pair[0], pair[1]);
            }
        }
        for one in added {
            let (first, segments) = self.overlapping(one.1);
            let mut stays = (first..).zip(segments).filter(|(at, _)| !removed.contains(at));
            if let Some((_, segment)) = stays.next() {
                let stays = (segment.table.id(), &segment.span);
                let one_is_first = one.1.start < stays.1.start;
                return if one_is_first { overlap(one, stays) } else { overlap(stays, one) };
            }
        }
        Ok(())
    }

    /// Deciders' view of the run.
    pub(crate) fn view(&self) -> RunView {
        RunView { id: self.id, segments: self.views.clone() }
    }

    /// Whether reads that are submitted to its tables may be in flight together.
    pub(crate) fn queues_reads(&self) -> bool {
        self.segments.get(0).is_some_and(|segment| segment.table.queues_reads())
    }

    /// Whether any of its tables has range tombstones.
    pub(crate) fn has_ranges(&self) -> bool {
        self.ranged > 0
    }

    /// Whether any of its tables counts entries that only snapshots keep or have kept, or that
    /// expire.
    pub(crate) fn counts_garbage(&self) -> bool {
        self.keeping > 0
    }

    /// The segments that overlap a range, and the index of the first of them.
    pub(crate) fn overlapping(&self, span: &Span) -> (usize, ChunkedSlice<'_, Segment>) {
        let first = self.segments.partition_point(|segment| segment.span.end <= span.start);
        let behind = self.segments.partition_point(|segment| segment.span.start < span.end);
        (first, self.segments.slice(first..behind.max(first)))
    }

    /// Cover of a key by the run's range tombstones, with the keys around it that have the same
    /// cover, up to the ends of its segment or of the gap between two.
    pub(crate) fn ranges_at(&self, full_key: &[u8], at: SeqNo) -> Result<CoverRange, Error> {
        let next = self.segments.partition_point(|segment| &segment.span.end[..] <= full_key);
        let Some(segment) = self.segment_of(full_key) else {
            let from = next.checked_sub(1).map(|before| self.segments[before].span.end.clone());
            let until = self.segments.get(next).map(|behind| behind.span.start.clone());
            return Ok(CoverRange { cover: None, from, until });
        };
        let Span { start, end } = segment.span.clone();
        let within = CoverRange { cover: None, from: Some(start), until: Some(end) };
        if !segment.has_ranges() {
            return Ok(within);
        }
        Ok(segment.table.table(Cause::Read)?.ranges().at(full_key, at).and(within))
    }

    /// The run's answer for a key; `None`: an older run may know the key.
    pub(crate) fn get(
        &self,
        sought: &mut Sought<'_>,
        reads: &mut PointReads,
        searched: impl FnOnce(&Arc<TableHandle>),
    ) -> Result<Option<Found>, Error> {
        let (full_key, trailer) = key::split(sought.seek_key);
        let Some(segment) = self.segment_of(full_key) else { return Ok(None) };
        let hash = *sought.hash.get_or_insert_with(|| table::hash(full_key));
        let global = segment.table.record().global_sequence;
        let mut search = |table: &Table| {
            let cover = table.ranges().cover(full_key, trailer.sequence());
            let lookup = global_sequence::get(table, global, sought.seek_key, hash, cover, reads)?;
            Ok::<_, Error>((lookup, cover))
        };
        let (lookup, cover) = match segment.table.glance() {
            Some(table) => search(&table)?,
            None => search(&*segment.table.table(Cause::Read)?)?,
        };
        if let Lookup::Searched(found) = lookup {
            searched(&segment.table);
            if found.is_some() {
                return Ok(found);
            }
        }
        // Entries older than the tombstone are hidden, and older runs have no newer entry.
        Ok(cover.map(|_| Found::Deleted))
    }

    /// Submits the read of the first block that [`get`](Self::get) of the same key needs, if the
    /// table is open and the block is not in memory. Returns whether `get` may know of the key;
    /// `false` is certain.
    pub(crate) fn submit(&self, sought: &mut Sought<'_>, reads: &mut PointReads) -> bool {
        let (full_key, trailer) = key::split(sought.seek_key);
        let Some(segment) = self.segment_of(full_key) else { return false };
        let Some(table) = segment.table.glance() else { return true };
        let hash = *sought.hash.get_or_insert_with(|| table::hash(full_key));
        let global = segment.table.record().global_sequence;
        global_sequence::submit(&table, global, sought.seek_key, hash, reads)
            || table.ranges().cover(full_key, trailer.sequence()).is_some()
    }

    /// The only segment that may hold the key.
    pub(crate) fn segment_of(&self, full_key: &[u8]) -> Option<&Segment> {
        let head = key::head(full_key);
        let at = self.heads.partition_point(|end| *end < head);
        let segment = match self.heads.get(at) {
            // The heads do not tell which of the two is first.
            Some(end) if *end == head => {
                self.segments.first_behind(|segment| &segment.span.end[..] <= full_key)
            }
            _ => self.segments.get(at),
        };
        segment.filter(|segment| &segment.span.start[..] <= full_key)
    }
}
