//! Tests of reads that are submitted ahead, by jobs, scans and merges, also while memory is short.
//!
//! A store that notes each read of a table shows how many reads are in flight, and that no byte of
//! data is read twice.

use std::ops::Range;
use std::sync::Arc;

use terrace_env::store::{
    CreateOptions, FileKind, FileReader, Layer, MemoryStore, PendingRead, Rank, ReadBuf,
    ReadUnderWay, Store, StoreError, Transaction,
};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Cause, FileId, SeqNo};
use terrace_policy::{RunId, Span};

use super::merge::{Merge, Source};
use super::run_cursor::RunCursor;
use crate::compression::Compression;
use crate::key::{self, KeySpaceId, Kind, Trailer};
use crate::memory::{Memory, Walk};
use crate::options::EngineOptions;
use crate::table::{TableBuilder, TableLayout};
use crate::tree::{Run, Segment, TableHandle, TableRecord, table_hint};

/// Bytes that a job moves at once here.
const IO_SIZE: u64 = 64 << 10;
const JOB: Walk = Walk::Job(Cause::Compaction);

/// Reads of files: finished ones, and the number in flight.
#[derive(Debug, Default)]
struct Notes {
    reads: Vec<(FileId, Range<u64>)>,
    submitted: u64,
    under_way: u64,
    most_under_way: u64,
}

/// A store that notes reads.
struct Noting(MemoryStore, Arc<Mutex<Notes>>);

impl Layer for Noting {
    fn below(&self) -> &dyn Store {
        &self.0
    }

    fn open(&self, id: FileId) -> Result<Arc<dyn FileReader>, StoreError> {
        Ok(Arc::new(NotingReader(self.0.open(id)?, Arc::clone(&self.1))))
    }
}

struct NotingReader(Arc<dyn FileReader>, Arc<Mutex<Notes>>);

impl NotingReader {
    fn note(&self, offset: u64, len: usize) {
        self.1.lock().reads.push((self.id(), offset..offset + len as u64));
    }
}

impl FileReader for NotingReader {
    fn id(&self) -> FileId {
        self.0.id()
    }

    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8], cause: Cause) -> Result<(), StoreError> {
        self.note(offset, into.len());
        self.0.read_at(offset, into, cause)
    }

    fn submit(&self, offset: u64, into: ReadBuf, cause: Cause) -> PendingRead {
        self.note(offset, into.len());
        let read = self.0.submit(offset, into, cause);
        let mut notes = self.1.lock();
        notes.submitted += 1;
        notes.under_way += 1;
        notes.most_under_way = notes.most_under_way.max(notes.under_way);
        drop(notes);
        PendingRead::under_way(Box::new(UnderWay(Some(read), Arc::clone(&self.1))))
    }
}

struct UnderWay(Option<PendingRead>, Arc<Mutex<Notes>>);

impl ReadUnderWay for UnderWay {
    fn wait(mut self: Box<Self>) -> Result<ReadBuf, StoreError> {
        self.0.take().expect("a read that was not waited for").wait()
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.1.lock().under_way -= 1;
    }
}

/// A store with runs in it.
struct Scene {
    store: Noting,
    memory: Arc<Memory>,
}

impl Scene {
    fn new(io_size: u64) -> Self {
        let options = EngineOptions { io_size: ByteCount(io_size), ..EngineOptions::default() };
        Self { store: Noting(MemoryStore::new(), Arc::default()), memory: Memory::new(&options) }
    }

    /// A run of tables of the keys of each range, without compression.
    fn run(&self, tables: &[Range<u32>], value_size: usize) -> Arc<Run> {
        let segments = tables.iter().map(|keys| {
            let table = self.table(keys.clone(), value_size);
            let span = Span::new(full(keys.start), full(keys.end));
            Segment { table, span, size: ByteCount(1) }
        });
        Arc::new(Run::new(RunId(1), segments.collect()))
    }

    fn table(&self, keys: Range<u32>, value_size: usize) -> Arc<TableHandle> {
        let (kind, rank, hint) = (FileKind::Table, Rank::Flush, table_hint(0, 0));
        let cause = Cause::Flush;
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
        let layout = TableLayout::new(ByteCount::kib(4), Compression::None, 0);
        let writer = Store::create(&self.store, &options).unwrap();
        let mut builder = TableBuilder::new(writer, layout, &self.memory.jobs);
        for number in keys {
            let key = key::internal_key(&full(number), Trailer::new(SeqNo(1), Kind::Put));
            builder.add(&key, &vec![number as u8; value_size]).unwrap();
        }
        let built = builder.finish().unwrap();
        let (id, record) = (built.writer.id(), TableRecord::new(built.tag, &built.properties));
        let mut transaction = Transaction::new();
        transaction.seal(id, record.annotation(0));
        Store::commit(&self.store, transaction).unwrap();
        TableHandle::new(&self.store, id, record, 0, &self.memory).unwrap()
    }

    fn notes(&self) -> terrace_env::sync::MutexGuard<'_, Notes> {
        self.store.1.lock()
    }

    /// The noted reads of each file, in the order of their offsets.
    fn take_reads(&self) -> Vec<(FileId, Range<u64>)> {
        let mut reads = std::mem::take(&mut self.notes().reads);
        reads.sort_by_key(|(file, range)| (*file, range.start));
        reads
    }
}

fn full(number: u32) -> Vec<u8> {
    key::full_key(KeySpaceId(0), &number.to_be_bytes())
}

/// Asserts that reads cover the data of a run's tables once.
fn assert_each_byte_once(run: &Run, reads: &[(FileId, Range<u64>)]) {
    for segment in run.segments.iter() {
        let (mut end, data_end) = (0, segment.table.table(Cause::Compaction).unwrap().data_end());
        let is_data = |(file, range): &&(FileId, Range<u64>)| {
            *file == segment.table.id() && range.end <= data_end
        };
        for (_, range) in reads.iter().filter(is_data) {
            assert_eq!(range.start, end, "in {reads:?}");
            end = range.end;
        }
        assert_eq!(end, data_end);
    }
}

/// Walks a run to its end; calls `at` on each entry, with its number. Returns the number of
/// entries.
fn walk(run: &Arc<Run>, walk: Walk, mut at: impl FnMut(u32)) -> u32 {
    let mut cursor = RunCursor::new(Arc::clone(run), walk);
    cursor.seek_to_first().unwrap();
    let mut entries = 0;
    while let Some(found) = cursor.key() {
        let number = u32::from_be_bytes(key::split(found).0[4..].try_into().unwrap());
        assert_eq!(cursor.value_slice().first(), Some(&(number as u8)));
        at(number);
        entries += 1;
        cursor.next().unwrap();
    }
    entries
}

#[test]
fn a_job_consumes_one_section_while_the_next_is_read_also_into_the_next_table() {
    for value_size in [1000, 30_000, 200_000] {
        let scene = Scene::new(IO_SIZE);
        let count = 4_000_000 / value_size as u32;
        let run = scene.run(&[0..count / 2, count / 2..count], value_size);
        let (mut waited_alone, mut last) = (0, 0);
        let entries = walk(&run, JOB, |number| {
            let notes = scene.notes();
            assert!(notes.under_way <= 1, "{} reads under way", notes.under_way);
            waited_alone += u32::from(notes.under_way == 0);
            last = number;
            let used = scene.memory.stats().jobs;
            assert!(used <= 32 * IO_SIZE + 4 * value_size as u64, "{used} bytes held");
        });
        assert_eq!((entries, last + 1), (count, count));
        // Only in the last section there is no further read.
        let reads = scene.take_reads();
        // In addition, each table's end and index are read, and the first section.
        if (value_size as u64) < IO_SIZE {
            assert!(waited_alone <= count / 20 + 2, "{waited_alone} of {count} entries");
            assert!(scene.notes().submitted as usize + 7 >= reads.len(), "{reads:?}");
        }
        assert_each_byte_once(&run, &reads);
        assert_eq!((scene.memory.stats().jobs, scene.notes().under_way), (0, 0));
    }
}

#[test]
fn where_memory_is_short_a_job_reads_the_same_bytes_by_one_buffer() {
    let scene = Scene::new(IO_SIZE);
    let run = scene.run(&[0..2000, 2000..4000], 1000);
    let others = scene.memory.jobs.lease(32 * IO_SIZE as usize);
    assert_eq!(walk(&run, JOB, |_| assert_eq!(scene.notes().under_way, 0)), 4000);
    assert_eq!(scene.notes().submitted, 0);
    assert_each_byte_once(&run, &scene.take_reads());
    drop(others);
}

#[test]
fn memory_that_gets_short_while_a_section_is_read_makes_nothing_be_read_twice() {
    for value_size in [1000, 200_000] {
        let scene = Scene::new(IO_SIZE);
        let count = 4_000_000 / value_size as u32;
        let run = scene.run(std::slice::from_ref(&(0..count)), value_size);
        let mut others = scene.memory.jobs.lease(0);
        walk(&run, JOB, |number| {
            let is_short = number / (count / 8).max(1) % 2 == 1;
            others.resize(if is_short { 32 * IO_SIZE as usize } else { 0 });
        });
        assert!(scene.notes().submitted > 0 || value_size as u64 > IO_SIZE);
        assert_each_byte_once(&run, &scene.take_reads());
    }
}

#[test]
fn a_scan_reads_ahead_of_itself_once_it_is_long_and_a_short_one_reads_no_more() {
    let scene = Scene::new(8 * IO_SIZE);
    let run = scene.run(std::slice::from_ref(&(0..4000)), 1000);
    let mut first = None;
    let mut read_before = 0;
    walk(&run, Walk::Scan, |number| {
        let notes = scene.notes();
        if notes.under_way > 0 && first.is_none() {
            first = Some(number);
            let bytes = notes.reads.iter().map(|(_, range)| range.end - range.start);
            read_before = bytes.sum::<u64>();
        }
    });
    // The reads grow from a block to an eighth of the bytes that jobs move at once, by doubling.
    let first = first.expect("a read under way");
    assert!(u64::from(first) * 1000 > IO_SIZE, "entry {first}, {read_before} bytes");
    assert!(scene.notes().submitted > 40, "{} reads", scene.notes().submitted);
    assert_eq!(scene.notes().most_under_way, 1);
    assert_each_byte_once(&run, &scene.take_reads());
    assert_eq!(scene.memory.stats().scans, 0);
}

#[test]
fn a_merge_submits_the_first_read_of_each_run_before_it_waits_for_one() {
    for walk in [Walk::Scan, JOB] {
        let scene = Scene::new(IO_SIZE);
        let runs: Vec<_> = (0..5).map(|_| scene.run(&[0..300, 300..600], 1000)).collect();
        let cursors = runs.iter().map(|run| RunCursor::new(Arc::clone(run), walk));
        let sources = cursors.map(|cursor| Source::Run(Box::new(cursor)));
        let mut merge = Merge::new(sources.collect());
        let target = key::internal_key(&full(450), Trailer::NEWEST);
        merge.seek(&target).unwrap();
        assert!(scene.notes().most_under_way >= 5, "{:?}", scene.notes());
        let block = 6000;
        let reads = scene.take_reads();
        if walk == Walk::Scan {
            let is_block = |range: &Range<u64>| range.end - range.start < block;
            assert!(reads.iter().all(|(_, range)| is_block(range)), "{reads:?}");
            assert_eq!(scene.notes().submitted, 5);
        }
        let mut entries = 0;
        while merge.key().is_some() {
            entries += 1;
            merge.next().unwrap();
        }
        assert_eq!(entries, 5 * 150);
        merge.seek_to_first().unwrap();
        assert!(merge.key().is_some_and(|found| key::split(found).0 == full(0)));
        drop(merge);
        assert_eq!(scene.notes().under_way, 0);
    }
}

#[test]
fn a_merge_backward_submits_the_first_read_of_each_run_too() {
    for last in [false, true] {
        let scene = Scene::new(IO_SIZE);
        let runs: Vec<_> = (0..5).map(|_| scene.run(&[0..300, 300..600], 1000)).collect();
        let cursors = runs.iter().map(|run| RunCursor::new(Arc::clone(run), Walk::Scan));
        let sources = cursors.map(|cursor| Source::Run(Box::new(cursor)));
        let mut merge = Merge::new(sources.collect());
        let from = if last { 600 } else { 450 };
        match last {
            true => merge.seek_to_last().unwrap(),
            false => merge.seek_before(&key::internal_key(&full(450), Trailer::NEWEST)).unwrap(),
        }
        assert_eq!(scene.notes().submitted, 5);
        assert!(scene.notes().most_under_way >= 5, "{:?}", scene.notes());
        let is_block = |range: &Range<u64>| range.end - range.start < 6000;
        let reads = scene.take_reads();
        assert!(reads.iter().all(|(_, range)| is_block(range)), "{reads:?}");
        let mut entries = 0;
        while let Some(found) = merge.key() {
            assert!(key::split(found).0 == full(from - 1 - entries / 5));
            entries += 1;
            merge.prev().unwrap();
        }
        assert_eq!((entries, scene.notes().submitted), (5 * from, 5));
        drop(merge);
        assert_eq!(scene.notes().under_way, 0);
    }
}
