//! [`RunCursor`]: walks a sorted run, forward and backward: its segments one behind the other, each
//! within its range.
//!
//! - The run has at least one segment; [`RunCursor::new`] panics otherwise. All entries are shown,
//!   with the global sequence number if the table has one. Range tombstones are not applied.
//! - A table is opened when the walk comes to it. A job that goes forward submits the first read of
//!   the next table earlier, while it consumes the end of the present one, if memory is there.
//! - [`RunCursor::leap`] passes over whole tables that a range tombstone hides, without opening
//!   them.
//! - If memory is short, the value may have been given back ([`RunCursor::park`]):
//!   [`RunCursor::ready`] reads it again.
//! - After an error the cursor is of no use until the next seek.
//!
//! One owner, which holds no lock: a call may wait for the device.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::SeqNo;
use terrace_policy::Span;

use crate::Error;
use crate::key::{self, Trailer};
use crate::table::GlobalSequenceCursor;
use crate::table::Walk;
use crate::tree::{Run, Segment, TableKind};

/// Walks a run.
#[derive(Debug)]
pub(crate) struct RunCursor {
    run: Arc<Run>,
    walk: Walk,
    /// The segment that `cursor` walks, and its range.
    at: usize,
    within: Span,
    cursor: Option<GlobalSequenceCursor>,
    /// The segment behind, once its first read has been submitted, or could not be.
    next: Option<(usize, Option<GlobalSequenceCursor>)>,
}

impl RunCursor {
    /// A cursor that stands nowhere until it seeks.
    pub(crate) fn new(run: Arc<Run>, walk: Walk) -> Self {
        let within = run.segments[0].span.clone();
        Self { run, walk, at: 0, within, cursor: None, next: None }
    }

    /// Whether the run lies on a drive with a head.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.run.segments[0].table.is_on_disk()
    }

    /// The first segment that reaches behind the key.
    fn place_of(&self, full_key: &[u8]) -> usize {
        self.run.segments.partition_point(|segment| &segment.span.end[..] <= full_key)
    }

    /// The last segment that begins at or before the key; the last of all without a key.
    fn place_before(&self, target: Option<&[u8]>) -> Option<usize> {
        let segments = &self.run.segments;
        let full_key = target.map(|target| key::split(target).0);
        let begins =
            |segment: &Segment| full_key.is_none_or(|full_key| &segment.span.start[..] <= full_key);
        segments.partition_point(begins).checked_sub(1)
    }

    /// Submits the first read of a seek to `target`, an internal key, or of one to the first entry.
    /// The seek has to follow, and meets the same errors.
    pub(crate) fn submit_seek(&mut self, target: Option<&[u8]>) {
        let full_key = target.map(|target| key::split(target).0);
        let at = full_key.map_or(0, |full_key| self.place_of(full_key));
        if self.open(at).is_err() {
            return;
        }
        if let (Some(cursor), Some(segment)) = (&mut self.cursor, segments_at(&self.run, at)) {
            let _ = match target.filter(|target| &segment.span.start[..] <= key::split(target).0) {
                Some(target) => cursor.submit_seek(Some(target)),
                None => cursor.submit_seek(start_of(segment).as_deref()),
            };
        }
    }

    /// Submits the first read of a seek to before `target`, an internal key, or of one to the last
    /// entry. The seek has to follow, and meets the same errors.
    pub(crate) fn submit_seek_before(&mut self, target: Option<&[u8]>) {
        let Some(at) = self.place_before(target) else { return };
        if self.open(at).is_err() {
            return;
        }
        if let (Some(cursor), Some(segment)) = (&mut self.cursor, segments_at(&self.run, at)) {
            let _ = match target.filter(|target| key::split(target).0 < &segment.span.end[..]) {
                Some(target) => cursor.submit_seek_before(target),
                None => cursor.submit_seek_before(&end_of(segment)),
            };
        }
    }

    /// Submits the first read of the segment behind, once this one is read to its end.
    fn submit_next(&mut self) {
        if self.walk == Walk::Scan || self.next.is_some() {
            return;
        }
        if !self.cursor.as_ref().is_some_and(GlobalSequenceCursor::has_room_for_another) {
            return;
        }
        let at = self.at + 1;
        // An error is met again when the walk comes there.
        let cursor = segments_at(&self.run, at).and_then(|segment| {
            let mut cursor = self.cursor_of(segment).ok()?;
            cursor.submit_seek(start_of(segment).as_deref()).ok()?;
            Some(cursor)
        });
        self.next = Some((at, cursor));
    }

    /// Moves to the first entry at or behind `target`, an internal key.
    pub(crate) fn seek(&mut self, target: &[u8]) -> Result<(), Error> {
        let (full_key, _) = key::split(target);
        let at = self.place_of(full_key);
        self.open(at)?;
        if let (Some(cursor), Some(segment)) = (&mut self.cursor, segments_at(&self.run, at)) {
            if &segment.span.start[..] <= full_key {
                cursor.seek(target)?;
            } else {
                cursor.seek(&key::internal_key(&segment.span.start, Trailer::NEWEST))?;
            }
        }
        self.settle()
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<(), Error> {
        self.start(0)?;
        self.settle()
    }

    /// Moves to the last entry before `target`, an internal key.
    pub(crate) fn seek_before(&mut self, target: &[u8]) -> Result<(), Error> {
        let Some(at) = self.place_before(Some(target)) else {
            self.cursor = None;
            return Ok(());
        };
        if &self.run.segments[at].span.end[..] <= key::split(target).0 {
            self.start_at_end(at)?;
        } else {
            self.open(at)?;
            if let Some(cursor) = &mut self.cursor {
                cursor.seek_before(target)?;
            }
        }
        self.settle_back()
    }

    pub(crate) fn seek_to_last(&mut self) -> Result<(), Error> {
        self.start_at_end(self.run.segments.len() - 1)?;
        self.settle_back()
    }

    pub(crate) fn next(&mut self) -> Result<(), Error> {
        if let Some(cursor) = &mut self.cursor {
            cursor.next()?;
        }
        self.submit_next();
        self.settle()
    }

    pub(crate) fn prev(&mut self) -> Result<(), Error> {
        if let Some(cursor) = &mut self.cursor {
            cursor.prev()?;
        }
        self.settle_back()
    }

    /// Goes on to the first entry at or behind `until`, a full key, as far as there is nothing
    /// newer than `cover` on the way. Tables that lie before it are not even opened.
    pub(crate) fn leap(&mut self, cover: SeqNo, until: &[u8]) -> Result<(), Error> {
        let segments = &self.run.segments;
        let older = |segment: &Segment| segment.table.record().last_sequence < cover;
        let passed = |segment: &&Segment| older(segment) && &segment.span.end[..] <= until;
        let rest = segments.slice(self.at..segments.len());
        let at = self.at + rest.iter().take_while(passed).count();
        match segments.get(at) {
            Some(segment) if older(segment) && &segment.span.start[..] < until => {
                self.open(at)?;
                if let Some(cursor) = &mut self.cursor {
                    cursor.seek(&key::internal_key(until, Trailer::NEWEST))?;
                }
            }
            _ if at > self.at => self.start(at)?,
            _ => {}
        }
        self.settle()
    }

    /// Goes back to the last entry before `from`, a full key, as far as there is nothing newer than
    /// `cover` on the way.
    pub(crate) fn leap_back(&mut self, cover: SeqNo, from: &[u8]) -> Result<(), Error> {
        let segments = &self.run.segments;
        let older = |segment: &Segment| segment.table.record().last_sequence < cover;
        let passed = |segment: &&Segment| older(segment) && from <= &segment.span.start[..];
        let passed = segments.slice(0..self.at + 1).iter().rev().take_while(passed).count();
        let Some(at) = self.at.checked_sub(passed) else {
            self.cursor = None;
            return Ok(());
        };
        if older(&segments[at]) && from < &segments[at].span.end[..] {
            self.open(at)?;
            if let Some(cursor) = &mut self.cursor {
                cursor.seek_before(&key::internal_key(from, Trailer::NEWEST))?;
            }
        } else if passed > 0 {
            self.start_at_end(at)?;
        }
        self.settle_back()
    }

    /// See [`TableCursor::park`](crate::table::TableCursor::park).
    pub(crate) fn park(&mut self) {
        if let Some(cursor) = &mut self.cursor {
            cursor.park();
        }
    }

    /// See [`TableCursor::ready`](crate::table::TableCursor::ready).
    pub(crate) fn ready(&mut self) -> Result<(), Error> {
        self.cursor.as_mut().map_or(Ok(()), GlobalSequenceCursor::ready)
    }

    /// The internal key it stands on, or `None` at the end.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        self.cursor.as_ref()?.key()
    }

    /// The value it stands on.
    ///
    /// # Panics
    /// When it stands nowhere.
    pub(crate) fn value(&self) -> Bytes {
        self.cursor.as_ref().expect("a cursor that stands on an entry").value()
    }

    pub(crate) fn value_slice(&self) -> &[u8] {
        self.cursor.as_ref().expect("a cursor that stands on an entry").value_slice()
    }

    /// Goes over to the next segment while this one has no entry left within its range.
    fn settle(&mut self) -> Result<(), Error> {
        while let Some(cursor) = &self.cursor {
            if cursor.key().is_some_and(|found| key::split(found).0 < &self.within.end[..]) {
                return Ok(());
            }
            self.start(self.at + 1)?;
        }
        Ok(())
    }

    /// Goes back to the segment before while this one has no entry left within its range.
    fn settle_back(&mut self) -> Result<(), Error> {
        while let Some(cursor) = &self.cursor {
            if cursor.key().is_some_and(|found| key::split(found).0 >= &self.within.start[..]) {
                return Ok(());
            }
            match self.at.checked_sub(1) {
                Some(before) => self.start_at_end(before)?,
                None => self.cursor = None,
            }
        }
        Ok(())
    }

    /// Stands on the last entry of a segment.
    fn start_at_end(&mut self, at: usize) -> Result<(), Error> {
        self.open(at)?;
        if let (Some(cursor), Some(segment)) = (&mut self.cursor, segments_at(&self.run, at)) {
            cursor.seek_before(&end_of(segment))?;
        }
        Ok(())
    }

    /// Stands on the first entry of a segment.
    fn start(&mut self, at: usize) -> Result<(), Error> {
        self.open(at)?;
        if let (Some(cursor), Some(segment)) = (&mut self.cursor, segments_at(&self.run, at)) {
            match start_of(segment) {
                None => cursor.seek_to_first()?,
                Some(start) => cursor.seek(&start)?,
            }
        }
        Ok(())
    }

    fn open(&mut self, at: usize) -> Result<(), Error> {
        if self.cursor.is_some() && self.at == at {
            return Ok(());
        }
        self.at = at;
        self.cursor = None;
        let next = self.next.take().filter(|(place, _)| *place == at);
        if let Some(segment) = segments_at(&self.run, at) {
            self.within = segment.span.clone();
            self.cursor = match next {
                Some((_, Some(cursor))) => Some(cursor),
                _ => Some(self.cursor_of(segment)?),
            };
        }
        Ok(())
    }

    /// A cursor that stays within a segment.
    fn cursor_of(&self, segment: &Segment) -> Result<GlobalSequenceCursor, Error> {
        let table = segment.table.table(self.walk.cause())?;
        let record = segment.table.record();
        let mut cursor = match record.kind {
            TableKind::Sorted => {
                GlobalSequenceCursor::new(table, self.walk, record.global_sequence)
            }
        };
        cursor.stay_within(&segment.span);
        Ok(cursor)
    }
}

/// The internal key to seek for a segment's first entry; `None`: the first entry of its table.
fn start_of(segment: &Segment) -> Option<Vec<u8>> {
    let is_whole = segment.span.start[..] <= segment.table.record().smallest[..];
    (!is_whole).then(|| key::internal_key(&segment.span.start, Trailer::NEWEST))
}

/// The internal key to seek before for a segment's last entry.
fn end_of(segment: &Segment) -> Vec<u8> {
    key::internal_key(&segment.span.end, Trailer::NEWEST)
}

fn segments_at(run: &Run, at: usize) -> Option<&Segment> {
    run.segments.get(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{KeySpaceId, Kind};
    use crate::memory::Memory;
    use crate::options::EngineOptions;
    use crate::table::{Compression, TableBuilder, TableLayout};
    use crate::tree::TableHandle;
    use crate::tree::{TableRecord, table_hint};
    use terrace_env::store::{CreateOptions, FileKind, MemoryStore, Rank, Store, Transaction};
    use terrace_env::{ByteCount, Cause};
    use terrace_policy::{RunId, Span};

    /// Longer than what tells it from its neighbours, so that separators are shorter than keys.
    fn full(number: u8) -> Vec<u8> {
        key::full_key(KeySpaceId(0), &[number, 0])
    }

    /// A table of the keys of `numbers`, each in two versions.
    fn table(store: &MemoryStore, numbers: std::ops::Range<u8>) -> Arc<TableHandle> {
        table_of(store, numbers, ByteCount(128))
    }

    /// The same, in blocks of another size.
    fn table_of(
        store: &MemoryStore,
        numbers: std::ops::Range<u8>,
        block_size: ByteCount,
    ) -> Arc<TableHandle> {
        written(store, numbers, block_size).0
    }

    /// The same, with its last bytes.
    fn written(
        store: &MemoryStore,
        numbers: std::ops::Range<u8>,
        block_size: ByteCount,
    ) -> (Arc<TableHandle>, bytes::Bytes) {
        let cause = Cause::Flush;
        let (kind, rank, hint) = (FileKind::Table, Rank::Flush, table_hint(0, 0));
        let options =
            CreateOptions { kind, hint, size: None, rank, reservation: None, group: None, cause };
        let layout = TableLayout::new(block_size, Compression::None, 0);
        let memory = Memory::new(&EngineOptions::default());
        let writer = store.create(&options).unwrap();
        let mut builder = TableBuilder::new(writer, layout, &memory.jobs);
        for number in numbers {
            for sequence in [2, 1] {
                let trailer = Trailer::new(SeqNo(sequence), Kind::Put);
                builder.add(&key::internal_key(&full(number), trailer), &[number]).unwrap();
            }
        }
        let built = builder.finish().unwrap();
        let (id, record) = (built.writer.id(), TableRecord::new(built.tag, &built.properties));
        let mut transaction = Transaction::new();
        transaction.seal(id, record.annotation(0));
        store.commit(transaction).unwrap();
        (TableHandle::new(store, id, record, 0, &memory).unwrap(), built.tail.unwrap())
    }

    #[test]
    fn only_what_lies_in_the_segments_is_seen_from_either_side() {
        let store = MemoryStore::new();
        let (left, right) = (table(&store, 0..60), table(&store, 60..120));
        let ranges = [(&left, 5, 10), (&left, 20, 30), (&left, 58, 60), (&right, 70, 100)];
        let segments = ranges.map(|(table, start, end)| Segment {
            table: Arc::clone(table),
            span: Span::new(full(start), full(end)),
            size: ByteCount(1),
        });
        let run = Arc::new(Run::new(RunId(1), segments.to_vec()));
        let held: Vec<u8> = ranges.iter().flat_map(|&(_, start, end)| start..end).collect();
        let mut cursor = RunCursor::new(run, Walk::Scan);
        let number = |cursor: &RunCursor| cursor.key().map(|found| key::split(found).0[4]);
        for sought in 0..=120 {
            let target = key::internal_key(&full(sought), Trailer::NEWEST);
            let split = held.partition_point(|&number| number < sought);
            cursor.seek(&target).unwrap();
            for expected in held[split..].iter().flat_map(|&number| [number; 2]) {
                assert_eq!(number(&cursor), Some(expected), "forward from {sought}");
                cursor.next().unwrap();
            }
            assert_eq!(number(&cursor), None);
            cursor.seek_before(&target).unwrap();
            for expected in held[..split].iter().rev().flat_map(|&number| [number; 2]) {
                assert_eq!(number(&cursor), Some(expected), "backward from {sought}");
                cursor.prev().unwrap();
            }
            assert_eq!(number(&cursor), None);
        }
        cursor.seek_to_last().unwrap();
        assert_eq!(number(&cursor), held.last().copied());
    }

    /// Bytes read by a job, and by how many requests.
    fn read_by_jobs(store: &MemoryStore) -> (u64, u64) {
        let (io, at) = (store.io(), Cause::Compaction as usize);
        (io.read_bytes[at], io.reads[at])
    }

    #[test]
    fn a_job_reads_no_further_than_its_segment_reaches() {
        let store = MemoryStore::new();
        let whole = table(&store, 0..200);
        let size = whole.table(Cause::Compaction).unwrap().data_end();
        for (start, end) in [(0, 10), (95, 105), (190, 200)] {
            let (table, span) = (Arc::clone(&whole), Span::new(full(start), full(end)));
            let (entries, bytes, requests) = walk_by_a_job(&store, table, span);
            assert_eq!(entries, 2 * u64::from(end - start));
            assert_eq!(requests, 1, "{start}..{end}");
            assert!(bytes <= size / 10, "{bytes} bytes of {size} for {start}..{end}");
        }
    }

    #[test]
    fn where_a_slice_ends_nothing_is_read_to_see_that_it_does() {
        let store = MemoryStore::new();
        let whole = table(&store, 0..200);
        let table = whole.table(Cause::Compaction).unwrap();
        let all = Span::new(full(0), full(200));
        let mut start = full(0);
        let (mut read, mut pieces) = (0, 0);
        for (end, _) in table.pieces(&all, ByteCount(table.data_end() / 16)).unwrap() {
            let span = Span::new(std::mem::replace(&mut start, end.to_vec()), end.to_vec());
            let (entries, _, requests) = walk_by_a_job(&store, Arc::clone(&whole), span);
            assert_eq!(requests, 1, "up to {end:?}");
            (read, pieces) = (read + entries, pieces + 1);
        }
        assert!(read == 400 && pieces > 10, "{read} entries in {pieces} pieces");
    }

    /// How many entries a job finds in a part of a table, and what it reads for them: bytes, and
    /// by how many requests.
    fn walk_by_a_job(store: &MemoryStore, table: Arc<TableHandle>, span: Span) -> (u64, u64, u64) {
        let run = Run::new(RunId(1), vec![Segment { table, span, size: ByteCount(1) }]);
        let mut cursor = RunCursor::new(Arc::new(run), Walk::Job(Cause::Compaction));
        let before = read_by_jobs(store);
        cursor.seek_to_first().unwrap();
        let mut entries = 0;
        while cursor.key().is_some() {
            entries += 1;
            cursor.next().unwrap();
        }
        let after = read_by_jobs(store);
        (entries, after.0 - before.0, after.1 - before.1)
    }

    #[test]
    fn of_a_table_just_written_jobs_read_data_only_and_of_what_is_left_of_it_later() {
        // In one partition, and in some dozen.
        for block_size in [ByteCount(128), ByteCount(1)] {
            let store = MemoryStore::new();
            let (handle, tail) = written(&store, 0..250, block_size);
            handle.open_by(tail).unwrap();
            let table = handle.table(Cause::Compaction).unwrap();
            let (cut, end) = (full(100), full(250));
            let front = table.size_of(&full(0), &cut).unwrap();
            assert_eq!(read_by_jobs(&store), (0, 0), "in blocks of {block_size}");
            let mut transaction = Transaction::new();
            transaction.trim(handle.id(), 0, front.0);
            store.commit(transaction).unwrap();
            let rest = handle.trimmed(&store).unwrap();
            let (entries, bytes, _) = walk_by_a_job(&store, rest, Span::new(cut, end));
            assert_eq!((entries, bytes), (300, table.data_end() - front.0));
        }
    }

    #[test]
    fn what_a_part_of_a_table_comes_to_is_asked_of_an_index_that_is_read_once() {
        for (opened_for, reads) in [(Cause::Read, 1), (Cause::Compaction, 0)] {
            let store = MemoryStore::new();
            // A block to an entry: the index is larger than what a client reads of a table's end.
            let handle = table_of(&store, 0..100, ByteCount(1));
            let table = handle.table(opened_for).unwrap();
            let before = read_by_jobs(&store).1;
            let all = table.size_of(&full(0), &full(100)).unwrap();
            let part = table.size_of(&full(25), &full(50)).unwrap();
            assert!(part.0 > 0 && part < all, "{part} of {all}");
            assert_eq!(read_by_jobs(&store).1 - before, reads, "opened for {opened_for}");
        }
    }
}
