//! Write-ahead files as a scan finds them: runs, epochs, and bytes that must not come back.

use std::sync::Arc;

use terrace_env::store::{Annotation, FileKind, StoreError};
use terrace_env::{DeviceId, FileId, IoBuf};
use terrace_fs::catalog::{Catalog, Extent, FileRecord, Record};
use terrace_fs::frame::{
    Binding, Cursor, FrameHead, LOG_FRAME, LogScan, LogTail, MemorySource, encode_frame,
};
use terrace_fs::{AddressSpace, BLOCK, BlockAddr};

use crate::specimens::UUID;

const LOG: FileId = FileId(9);

fn extent(start: u32, blocks: u32) -> Extent {
    Extent { first: BlockAddr::new(DeviceId(0), start.into()), blocks, crc: None }
}

/// A log of 64 blocks, as the catalog knows it, and its bytes.
struct Log {
    catalog: Catalog,
    bytes: Vec<u8>,
}

impl Log {
    fn new(epoch: u32) -> Self {
        let mut catalog = Catalog::new(AddressSpace::plain());
        let extents = vec![extent(3, 64)];
        let (kind, annotation) = (FileKind::Log, Arc::<Annotation>::default());
        let create = Record::Create { id: LOG, kind, size: 0, extents, epoch, annotation };
        catalog.stage(&mut [create]).expect("a log");
        Self { catalog, bytes: vec![0; 64 * BLOCK] }
    }

    fn record(&self) -> FileRecord {
        self.catalog.get(LOG).expect("the log").clone()
    }

    /// Writes frames at a block; returns where they end.
    fn write(&mut self, epoch: u32, block: u32, cursor: &mut Cursor, payloads: &[&str]) -> u32 {
        let binding = Binding { uuid: UUID, owner: LOG.0, epoch };
        let mut data = IoBuf::default();
        for payload in payloads {
            let head = FrameHead { synced: cursor.sequence, kind: LOG_FRAME, continues: false };
            encode_frame(&binding, cursor, head, payload.as_bytes(), &mut data);
        }
        let start = block as usize * BLOCK;
        self.bytes[start..start + data.len()].copy_from_slice(&data);
        block + (data.len() / BLOCK) as u32
    }

    fn scan(&self) -> Result<(Vec<String>, LogTail), StoreError> {
        let (region, bytes) = ("log 9".to_owned(), self.bytes.clone());
        let source = MemorySource { region, bytes, atomic: BLOCK };
        let mut scan = LogScan::new(&source, UUID, LOG, &self.record());
        let mut found = Vec::new();
        while let Some(append) = scan.next_append()? {
            found.push(String::from_utf8(append.payload).expect("text"));
        }
        Ok((found, scan.tail()))
    }

    /// A mount's recovery of the log: its end, with the mount's epoch, and a lease from there.
    fn recover(&mut self, epoch: u32) -> (LogTail, Cursor) {
        let (_, tail) = self.scan().expect("a scan");
        let LogTail { block: end, size, cursor, .. } = tail;
        let sequence = cursor.sequence;
        let extent = extent(3 + end, 64 - end);
        let mut records = [
            Record::LogEnd { id: LOG, end, size, sequence, epoch },
            Record::Extend { id: LOG, end, extent },
        ];
        self.catalog.stage(&mut records).expect("an end that fits");
        (tail, Binding { uuid: UUID, owner: LOG.0, epoch }.start(sequence))
    }
}

fn start(epoch: u32) -> Cursor {
    Binding { uuid: UUID, owner: LOG.0, epoch }.start(1)
}

#[test]
fn a_log_goes_on_across_recoveries() {
    let mut log = Log::new(4);
    log.write(4, 0, &mut start(4), &["a", "b"]);
    let (tail, mut cursor) = log.recover(5);
    assert_eq!((tail.block, tail.size), (2, 2));
    log.write(5, tail.block, &mut cursor, &["c"]);
    let (tail, mut cursor) = log.recover(6);
    log.write(6, tail.block, &mut cursor, &["d", "e"]);
    let (found, tail) = log.scan().expect("a scan");
    assert_eq!(found, ["a", "b", "c", "d", "e"]);
    assert_eq!((tail.block, tail.size, tail.epoch), (5, 5, 6));
    assert_eq!(log.record().runs.len(), 3);
}

#[test]
fn what_lay_beyond_a_hole_does_not_come_back_at_the_second_crash() {
    let mut log = Log::new(4);
    let mut cursor = start(4);
    log.write(4, 0, &mut cursor, &["a", "b", "c"]);
    // Of three appends that were never synced, the cut dropped the second.
    log.write(4, 0, &mut start(4), &["a"]);
    log.bytes[BLOCK..2 * BLOCK].fill(0);
    let mut unsynced = Cursor { sequence: 3, chain: cursor.chain };
    let vouches_for_nothing = log.bytes[2 * BLOCK..3 * BLOCK].to_vec();
    assert_ne!(vouches_for_nothing, vec![0; BLOCK]);
    // Written anew with `synced` as an unsynced frame has it.
    let binding = Binding { uuid: UUID, owner: LOG.0, epoch: 4 };
    let mut data = IoBuf::default();
    let head = FrameHead { synced: 1, kind: LOG_FRAME, continues: false };
    encode_frame(&binding, &mut unsynced, head, b"c", &mut data);
    log.bytes[2 * BLOCK..3 * BLOCK].copy_from_slice(&data);

    let (tail, mut cursor) = log.recover(5);
    assert_eq!((tail.block, tail.size), (1, 1));
    // The recovered log goes on exactly up to where the old frame lies, and no further.
    log.write(5, 1, &mut cursor, &["x"]);
    let (found, tail) = log.scan().expect("a scan");
    assert_eq!(found, ["a", "x"], "the old frame is of another epoch");
    assert_eq!(tail.block, 2);
}

#[test]
fn damage_before_the_last_run_is_corruption() {
    let mut log = Log::new(4);
    log.write(4, 0, &mut start(4), &["a", "b"]);
    let (tail, mut cursor) = log.recover(5);
    log.write(5, tail.block, &mut cursor, &["c"]);
    for block in [0, 1] {
        let good = log.bytes.clone();
        log.bytes[block * BLOCK..(block + 1) * BLOCK].fill(0);
        let error = log.scan().expect_err("acknowledged frames are gone");
        assert!(matches!(error, StoreError::Corruption { .. }), "{error}");
        log.bytes = good;
    }
    log.bytes[2 * BLOCK..3 * BLOCK].fill(0);
    assert_eq!(log.scan().expect("a torn tail").0, ["a", "b"]);
}

#[test]
fn a_sealed_log_must_be_whole() {
    let mut log = Log::new(4);
    let end = log.write(4, 0, &mut start(4), &["a", "b"]);
    let extents = vec![extent(3, end)];
    let (kind, annotation) = (FileKind::Log, Arc::<Annotation>::default());
    let seal = Record::Seal { id: LOG, kind, size: 2, extents, epoch: 0, annotation };
    log.catalog.stage(&mut [seal]).expect("a seal");
    log.bytes.truncate(end as usize * BLOCK);
    assert_eq!(log.scan().expect("a whole log").0, ["a", "b"]);
    log.bytes[BLOCK..].fill(0);
    log.scan().expect_err("the last append of a sealed log is not a torn tail");
}

#[test]
fn frames_of_another_store_owner_or_epoch_are_not_read() {
    let mut log = Log::new(4);
    log.write(4, 0, &mut start(4), &["a"]);
    let record = log.record();
    let source = MemorySource { region: "log".into(), bytes: log.bytes.clone(), atomic: BLOCK };
    let other = terrace_env::Uuid([1; 16]);
    for (uuid, owner) in [(other, LOG), (UUID, FileId(10))] {
        let mut scan = LogScan::new(&source, uuid, owner, &record);
        match scan.next_append() {
            Ok(None) | Err(StoreError::Corruption { .. }) => {}
            other => panic!("{owner}: {other:?}"),
        }
    }
    assert!(
        Log { bytes: log.bytes, ..Log::new(5) }.scan().expect("nothing of epoch 5").0.is_empty()
    );
}
