//! [`Merge`]: merges sorted sources, memtables and runs, into one order, forward or backward.
//!
//! - It shows all entries of its sources, also deletes and overwritten ones, and does not apply
//!   range tombstones. A caller that applies them can [`leap`](Merge::leap) over a hidden range, or
//!   [`skip`](Merge::skip_to) entries that it does not need.
//! - The sources are given newest first, and lie in a binary heap by their internal keys (by key,
//!   newest entry first). The heap has the [head](key::head) of each key, and most comparisons need
//!   no more.
//! - A seek over several runs submits the first read of data in each run before it waits for one of
//!   these reads, so that the device works on all of them. Reads that open a table, or read an
//!   index, are waited for one by one. On a disk, the read of the last run comes last and is not
//!   submitted. In a store that does not queue reads, such as a directory, no read is submitted.
//! - If a seek forward leads to the first entry of a block, and the run's index has first keys, the
//!   run is placed by the first key. The block is neither submitted nor read until its first entry
//!   is the first of all sources. Such blocks are waited for one by one.
//! - A merge moves in the direction of its last seek. To change direction, the caller seeks again.
//! - The caller must call [`Merge::ready`] before it asks for the value: a source may not have read
//!   its block yet, or may have freed it when memory was short.
//! - After an error the merge stands on no entry.
//!
//! One owner, which holds no lock: a call may wait for the device.

use std::cmp::Ordering;

use bytes::Bytes;
use terrace_env::SeqNo;

use super::run_cursor::RunCursor;
use crate::Error;
use crate::key::{self, Head, Trailer};
use crate::memtable::MemoryCursor;

/// A sorted source.
#[derive(Debug)]
pub(crate) enum Source {
    Memory(MemoryCursor),
    Run(Box<RunCursor>),
}

impl Source {
    fn seek(&mut self, target: &[u8]) -> Result<(), Error> {
        match self {
            Self::Memory(cursor) => cursor.seek(target),
            Self::Run(cursor) => return cursor.seek(target),
        }
        Ok(())
    }

    fn seek_to_first(&mut self) -> Result<(), Error> {
        match self {
            Self::Memory(cursor) => cursor.seek_to_first(),
            Self::Run(cursor) => return cursor.seek_to_first(),
        }
        Ok(())
    }

    fn seek_before(&mut self, target: &[u8]) -> Result<(), Error> {
        match self {
            Self::Memory(cursor) => cursor.seek_before(target),
            Self::Run(cursor) => return cursor.seek_before(target),
        }
        Ok(())
    }

    fn seek_to_last(&mut self) -> Result<(), Error> {
        match self {
            Self::Memory(cursor) => cursor.seek_to_last(),
            Self::Run(cursor) => return cursor.seek_to_last(),
        }
        Ok(())
    }

    fn step(&mut self, direction: Direction) -> Result<(), Error> {
        match (self, direction) {
            (Self::Memory(cursor), Direction::Forward) => cursor.next(),
            (Self::Memory(cursor), Direction::Backward) => cursor.prev(),
            (Self::Run(cursor), Direction::Forward) => return cursor.next(),
            (Self::Run(cursor), Direction::Backward) => return cursor.prev(),
        }
        Ok(())
    }

    /// See [`RunCursor::leap`].
    fn leap(&mut self, cover: SeqNo, until: &[u8]) -> Result<(), Error> {
        match self {
            Self::Memory(cursor) if cursor.is_older(cover) => {
                cursor.seek(&key::internal_key(until, Trailer::NEWEST));
            }
            Self::Memory(_) => {}
            Self::Run(cursor) => return cursor.leap(cover, until),
        }
        Ok(())
    }

    /// See [`RunCursor::leap_back`].
    fn leap_back(&mut self, cover: SeqNo, from: &[u8]) -> Result<(), Error> {
        match self {
            Self::Memory(cursor) if cursor.is_older(cover) => {
                cursor.seek_before(&key::internal_key(from, Trailer::NEWEST));
            }
            Self::Memory(_) => {}
            Self::Run(cursor) => return cursor.leap_back(cover, from),
        }
        Ok(())
    }

    /// See [`TableCursor::park`](crate::table::TableCursor::park).
    fn park(&mut self) {
        if let Self::Run(cursor) = self {
            cursor.park();
        }
    }

    fn key(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(cursor) => cursor.key(),
            Self::Run(cursor) => cursor.key(),
        }
    }
}

/// Direction of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// Walks several sources in one order.
#[derive(Debug)]
pub(crate) struct Merge {
    sources: Vec<Source>,
    direction: Direction,
    /// The sources that are not at their end, as a heap. The root has the first key in the
    /// direction.
    heap: Vec<Placed>,
}

/// A source in the heap.
#[derive(Clone, Copy, Debug)]
struct Placed {
    /// Head of its current key.
    head: Head,
    /// Its index.
    source: usize,
}

impl Merge {
    /// A merge that stands on no entry until it seeks.
    pub(crate) fn new(sources: Vec<Source>) -> Self {
        let heap = Vec::with_capacity(sources.len());
        Self { sources, direction: Direction::Forward, heap }
    }

    /// Moves to the first entry at or after `target`, an internal key, to go forward.
    pub(crate) fn seek(&mut self, target: &[u8]) -> Result<(), Error> {
        self.submit_seek(|cursor| cursor.submit_seek(Some(target)));
        self.start(Direction::Forward, |source| source.seek(target))
    }

    /// Moves to the first entry, to go forward.
    pub(crate) fn seek_to_first(&mut self) -> Result<(), Error> {
        self.submit_seek(|cursor| cursor.submit_seek(None));
        self.start(Direction::Forward, Source::seek_to_first)
    }

    /// Moves to the last entry before `target`, an internal key, to go backward.
    pub(crate) fn seek_before(&mut self, target: &[u8]) -> Result<(), Error> {
        self.submit_seek(|cursor| cursor.submit_seek_before(Some(target)));
        self.start(Direction::Backward, |source| source.seek_before(target))
    }

    /// Moves to the last entry, to go backward.
    pub(crate) fn seek_to_last(&mut self) -> Result<(), Error> {
        self.submit_seek(|cursor| cursor.submit_seek_before(None));
        self.start(Direction::Backward, Source::seek_to_last)
    }

    /// Moves to the next entry. After an error it stands on no entry.
    ///
    /// # Panics
    /// In debug builds, if it goes backward.
    pub(crate) fn next(&mut self) -> Result<(), Error> {
        debug_assert!(self.direction == Direction::Forward, "a merge that goes forward");
        self.step()
    }

    /// Moves to the entry before. After an error it stands on no entry.
    ///
    /// # Panics
    /// In debug builds, if it goes forward.
    pub(crate) fn prev(&mut self) -> Result<(), Error> {
        debug_assert!(self.direction == Direction::Backward, "a merge that goes backward");
        self.step()
    }

    /// Skips to `until`, a full key, in the sources that can tell that all their entries before it
    /// are older than `cover`, a range tombstone that hides them.
    pub(crate) fn leap(&mut self, cover: SeqNo, until: &[u8]) -> Result<(), Error> {
        debug_assert!(self.direction == Direction::Forward, "a merge that goes forward");
        self.leap_each(|source| match source.key() {
            Some(key) if key::split(key).0 < until => source.leap(cover, until),
            _ => Ok(()),
        })
    }

    /// Skips back to before `from`, in the same kind of sources.
    pub(crate) fn leap_back(&mut self, cover: SeqNo, from: &[u8]) -> Result<(), Error> {
        debug_assert!(self.direction == Direction::Backward, "a merge that goes backward");
        self.leap_each(|source| match source.key() {
            Some(key) if key::split(key).0 >= from => source.leap_back(cover, from),
            _ => Ok(()),
        })
    }

    /// Skips to the first entry at or after `target`, an internal key.
    pub(crate) fn skip_to(&mut self, target: &[u8]) -> Result<(), Error> {
        debug_assert!(self.direction == Direction::Forward, "a merge that goes forward");
        self.leap_each(|source| match source.key() {
            Some(key) if key::compare(key, target).is_lt() => source.seek(target),
            _ => Ok(()),
        })
    }

    /// Skips back to the last entry before `target`, an internal key.
    pub(crate) fn skip_before(&mut self, target: &[u8]) -> Result<(), Error> {
        debug_assert!(self.direction == Direction::Backward, "a merge that goes backward");
        self.leap_each(|source| match source.key() {
            Some(key) if key::compare(key, target).is_ge() => source.seek_before(target),
            _ => Ok(()),
        })
    }

    fn leap_each(
        &mut self,
        leap: impl FnMut(&mut Source) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.heap.clear();
        self.sources.iter_mut().try_for_each(leap)?;
        self.fill_heap();
        Ok(())
    }

    fn step(&mut self) -> Result<(), Error> {
        let Some(root) = self.heap.first_mut() else { return Ok(()) };
        let source = root.source;
        if let Err(error) = self.sources[source].step(self.direction) {
            self.heap.clear();
            return Err(error);
        }
        match self.sources[source].key() {
            Some(found) => root.head = key::head(key::split(found).0),
            None => _ = self.heap.swap_remove(0),
        }
        self.sift_down(0);
        if self.top() != Some(source) {
            self.sources[source].park();
        }
        Ok(())
    }

    /// The source with the first key.
    fn top(&self) -> Option<usize> {
        self.heap.first().map(|placed| placed.source)
    }

    /// Makes the value available: reads the block of a source that has not read it yet, or, if it
    /// was freed for lack of memory, a large value again.
    pub(crate) fn ready(&mut self) -> Result<(), Error> {
        let Some(top) = self.top() else { return Ok(()) };
        match &mut self.sources[top] {
            Source::Memory(_) => Ok(()),
            Source::Run(cursor) => cursor.ready().inspect_err(|_| self.heap.clear()),
        }
    }

    /// Frees the current value, if it is large and memory is short.
    pub(crate) fn park(&mut self) {
        if let Some(top) = self.top() {
            self.sources[top].park();
        }
    }

    /// The current internal key, or `None` at the end.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        self.sources[self.top()?].key()
    }

    /// The current value, shared.
    ///
    /// # Panics
    /// If it stands on no entry, or is not [`ready`](Self::ready).
    pub(crate) fn value(&self) -> Bytes {
        match &self.sources[self.heap[0].source] {
            Source::Memory(cursor) => cursor.value(),
            Source::Run(cursor) => cursor.value(),
        }
    }

    /// The current value.
    ///
    /// # Panics
    /// If it stands on no entry, or is not [`ready`](Self::ready).
    pub(crate) fn value_slice(&self) -> &[u8] {
        match &self.sources[self.heap[0].source] {
            Source::Memory(cursor) => cursor.value_slice(),
            Source::Run(cursor) => cursor.value_slice(),
        }
    }

    /// Approximate memory, without the bytes that leases of its sources count.
    pub(crate) fn memory(&self) -> usize {
        let of = |source: &Source| match source {
            Source::Memory(_) => 0,
            Source::Run(cursor) => cursor.memory(),
        };
        let each = size_of::<Source>() + size_of::<Placed>();
        self.sources.len() * each + self.sources.iter().map(of).sum::<usize>()
    }

    /// Submits the first read of each run, if there are several, before the first is waited for. A
    /// store that does not queue reads gets each read when it is needed.
    ///
    /// On a disk, the last run is left out. It is the oldest and has most of the entries. After its
    /// last block, a disk reads ahead for free, and that helps the last run if its read comes last.
    /// The disk itself orders submitted reads.
    fn submit_seek(&mut self, submit: impl Fn(&mut RunCursor)) {
        let queues = |source: &&Source| match source {
            Source::Memory(_) => false,
            Source::Run(cursor) => cursor.queues_reads(),
        };
        if self.sources.iter().filter(queues).nth(1).is_none() {
            return;
        }
        let mut submitted = self.sources.len();
        if let Some(Source::Run(last)) = self.sources.last()
            && last.is_on_disk()
        {
            submitted -= 1;
        }
        for source in &mut self.sources[..submitted] {
            if let Source::Run(cursor) = source {
                submit(cursor);
            }
        }
    }

    fn start(
        &mut self,
        direction: Direction,
        mut seek: impl FnMut(&mut Source) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.heap.clear();
        self.direction = direction;
        for source in &mut self.sources {
            seek(source)?;
            source.park();
        }
        self.fill_heap();
        Ok(())
    }

    fn fill_heap(&mut self) {
        let sources = &self.sources;
        self.heap.extend(sources.iter().enumerate().filter_map(|(source, cursor)| {
            let head = key::head(key::split(cursor.key()?).0);
            Some(Placed { head, source })
        }));
        debug_assert!(self.heap.len() <= self.sources.len(), "a source has one place");
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at);
        }
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let mut least = at;
            for child in [left, right] {
                if child < self.heap.len() && self.before(self.heap[child], self.heap[least]) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    fn before(&self, left: Placed, right: Placed) -> bool {
        let keys = || match (self.sources[left.source].key(), self.sources[right.source].key()) {
            (Some(left), Some(right)) => key::compare(left, right),
            (left, right) => left.is_none().cmp(&right.is_none()),
        };
        let order = left.head.cmp(&right.head).then_with(keys);
        let order = order.then(left.source.cmp(&right.source));
        order
            == if self.direction == Direction::Forward { Ordering::Less } else { Ordering::Greater }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use crate::compression::Compression;
    use crate::key::KeySpaceId;
    use crate::memory::{Memory, MemtableChunks, Walk};
    use crate::memtable::Memtable;
    use crate::merge::run_cursor::tests::{full, written_of};
    use crate::options::EngineOptions;
    use crate::table::TableLayout;
    use crate::tree::{Run, Segment, TableHandle};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use terrace_env::random::{Random, Rng};
    use terrace_env::store::{FileReader, Layer, MemoryStore, Store, StoreError};
    use terrace_env::{ByteCount, Cause, FileId, MemoryGauge};
    use terrace_policy::{RunId, Span};

    #[test]
    fn any_number_of_sources_comes_out_in_order() {
        let mut random = Random::seeded(7);
        for count in 0..9 {
            let mut all = Vec::new();
            let mut sequence = 1;
            let mut sources = Vec::new();
            for _ in 0..count {
                let table = Memtable::new(&MemtableChunks::counted_by(&MemoryGauge::new("test")));
                for _ in 0..random.random_range(0..40) {
                    let key: u8 = random.random_range(0..60);
                    let mut batch = Batch::new();
                    batch.put(KeySpaceId(0), &[key], &[]);
                    table.insert(&batch.freeze(SeqNo(sequence)));
                    all.push((key, std::cmp::Reverse(sequence)));
                    sequence += 1;
                }
                sources.push(Source::Memory(MemoryCursor::new(Arc::new(table))));
            }
            all.sort_unstable();
            let mut merge = Merge::new(sources);
            merge.seek_to_first().unwrap();
            let mut seen = Vec::new();
            while let Some(found) = merge.key() {
                let (full_key, trailer) = key::split(found);
                seen.push((full_key[4], std::cmp::Reverse(trailer.sequence().0)));
                merge.next().unwrap();
            }
            assert_eq!(seen, all);
            merge.seek_to_last().unwrap();
            let mut seen = Vec::new();
            while let Some(found) = merge.key() {
                let (full_key, trailer) = key::split(found);
                seen.push((full_key[4], std::cmp::Reverse(trailer.sequence().0)));
                merge.prev().unwrap();
            }
            seen.reverse();
            assert_eq!(seen, all);
        }
    }

    /// A store whose reads fail from an offset on.
    struct Failing(MemoryStore, Arc<AtomicU64>);

    impl Layer for Failing {
        fn below(&self) -> &dyn Store {
            &self.0
        }

        fn open(&self, id: FileId) -> Result<Arc<dyn FileReader>, StoreError> {
            Ok(Arc::new(FailingReader(self.0.open(id)?, Arc::clone(&self.1))))
        }
    }

    struct FailingReader(Arc<dyn FileReader>, Arc<AtomicU64>);

    impl FileReader for FailingReader {
        fn id(&self) -> FileId {
            self.0.id()
        }

        fn len(&self) -> u64 {
            self.0.len()
        }

        fn read_at(&self, offset: u64, into: &mut [u8], cause: Cause) -> Result<(), StoreError> {
            if offset + into.len() as u64 > self.1.load(Ordering::Relaxed) {
                let error = std::io::Error::other("a block that cannot be read");
                return Err(StoreError::io("reading", error));
            }
            self.0.read_at(offset, into, cause)
        }
    }

    #[test]
    fn after_an_error_it_stands_on_no_entry_and_can_seek_again() {
        // With first keys in the index, a block is read when its value is needed.
        [false, true].into_iter().for_each(check_errors);
    }

    fn check_errors(first_keys: bool) {
        let (store, limit) = (MemoryStore::new(), Arc::new(AtomicU64::new(u64::MAX)));
        let layout = TableLayout::new(ByteCount(64), Compression::None, 0);
        let layout = layout.with_first_keys(first_keys);
        let memory = Memory::new(&EngineOptions::default());
        let written = |at: u64| {
            let (handle, _) = written_of(&store, (0..100).map(|number| (number, at)), layout);
            let layer = Failing(store.clone(), Arc::clone(&limit));
            let record = handle.record().clone();
            TableHandle::new(&layer, handle.id(), record, 0, &memory).unwrap()
        };
        let sources = [1, 2].map(|at| {
            let (table, span) = (written(at), Span::new(full(0), full(100)));
            table.table(Cause::Read).unwrap();
            let run = Run::new(RunId(at), vec![Segment { table, span, size: ByteCount(1) }]);
            Source::Run(Box::new(RunCursor::new(Arc::new(run), Walk::Scan)))
        });
        let mut merge = Merge::new(sources.into());
        let mut errors = 0;
        for until in (100..2000).step_by(50) {
            limit.store(u64::MAX, Ordering::Relaxed);
            merge.seek_to_first().unwrap();
            limit.store(until, Ordering::Relaxed);
            let mut steps = 0;
            while merge.key().is_some() {
                steps += 1;
                if merge.ready().and_then(|()| merge.next()).is_err() {
                    errors += 1;
                    // The other source does not go on alone.
                    merge.next().unwrap();
                    assert_eq!(merge.key(), None, "blocks up to {until} can be read");
                }
            }
            assert!(steps <= 200, "{steps} steps");
        }
        assert!(errors > 5, "{errors} errors");
    }
}
