//! Tests of cursors of runs: the entries that they show, and the reads of them and their tables.

use super::*;
use crate::compression::Compression;
use crate::key::{KeySpaceId, Kind};
use crate::memory::Memory;
use crate::options::{EngineOptions, ReadOptions};
use crate::table::{PointReads, TableBuilder, TableLayout};
use crate::tree::{Sought, TableHandle, TableRecord, table_hint};
use terrace_env::store::{CreateOptions, FileKind, MemoryStore, Rank, Store, Transaction};
use terrace_env::{ByteCount, Cause};
use terrace_policy::{RunId, Span};

/// A key with a common suffix, so that separators are shorter than keys.
pub(in crate::merge) fn full(number: u8) -> Vec<u8> {
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
    let layout = TableLayout::new(block_size, Compression::None, 0);
    let versions = numbers.flat_map(|number| [(number, 2), (number, 1)]);
    written_of(store, versions, layout)
}

/// A table of numbers with their sequences, in this layout, with its last bytes.
pub(in crate::merge) fn written_of(
    store: &MemoryStore,
    versions: impl Iterator<Item = (u8, u64)>,
    layout: TableLayout,
) -> (Arc<TableHandle>, bytes::Bytes) {
    let cause = Cause::Flush;
    let (kind, rank, hint) = (FileKind::Table, Rank::Flush, table_hint(0, 0));
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
    let memory = Memory::new(&EngineOptions::default());
    let writer = store.create(&options).unwrap();
    let mut builder = TableBuilder::new(writer, layout, &memory.jobs);
    for (number, sequence) in versions {
        let trailer = Trailer::new(SeqNo(sequence), Kind::Put);
        builder.add(&key::internal_key(&full(number), trailer), &[number]).unwrap();
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
    for first_keys in [false, true] {
        let store = MemoryStore::new();
        let layout = TableLayout::new(ByteCount(128), Compression::None, 0);
        let layout = layout.with_first_keys(first_keys);
        let table = |numbers: std::ops::Range<u8>| {
            written_of(&store, numbers.flat_map(|number| [(number, 2), (number, 1)]), layout).0
        };
        check_segments(&table(0..60), &table(60..120));
    }
}

/// Walks parts of two tables, of the numbers up to 60 and up to 120.
fn check_segments(left: &Arc<TableHandle>, right: &Arc<TableHandle>) {
    let ranges = [(left, 5, 10), (left, 20, 30), (left, 58, 60), (right, 70, 100)];
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

/// Bytes read by a job, and the number of requests.
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

/// Number of entries that a job finds in a part of a table, with the bytes and the requests of its
/// reads.
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
    // With one partition, and with some dozen.
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
        // A block for each entry: the index is larger than the part of a table's end that a client
        // reads.
        let handle = table_of(&store, 0..100, ByteCount(1));
        let table = handle.table(opened_for).unwrap();
        let before = read_by_jobs(&store).1;
        let all = table.size_of(&full(0), &full(100)).unwrap();
        let part = table.size_of(&full(25), &full(50)).unwrap();
        assert!(part.0 > 0 && part < all, "{part} of {all}");
        assert_eq!(read_by_jobs(&store).1 - before, reads, "opened for {opened_for}");
    }
}

#[test]
fn of_a_table_just_written_clients_read_nothing_to_see_that_a_key_is_absent() {
    // With one partition, and with several.
    for whole_max in [usize::MAX, 0] {
        let store = MemoryStore::new();
        let mut layout = TableLayout::new(ByteCount(1), Compression::None, 20);
        layout.index.whole_max = whole_max;
        let evens = (0..125).map(|number| (2 * number, 1));
        let (handle, tail) = written_of(&store, evens, layout);
        handle.open_by(tail).unwrap();
        let run = Run::new(
            RunId(1),
            vec![Segment {
                table: handle,
                span: Span::new(full(0), full(250)),
                size: ByteCount(1),
            }],
        );
        let reads = || store.io().reads.iter().sum::<u64>();
        let before = reads();
        let mut found = 0;
        for number in (1..249).step_by(2) {
            let mut blocks = PointReads::one(ReadOptions::default());
            let seek_key = key::internal_key(&full(number), Trailer::NEWEST);
            let sought = run.get(&mut Sought::new(&seek_key), &mut blocks, |_| {});
            found += u64::from(sought.unwrap().is_some());
        }
        assert_eq!(found, 0, "whole up to {whole_max}");
        // A filter of 20 bits for a key is wrong once in some ten thousand times.
        assert!(reads() - before <= 1, "{} reads", reads() - before);
    }
}
