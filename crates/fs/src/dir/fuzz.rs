//! Damaged files of a directory: the journal, with mended frames, and the tail of a log.

use std::path::Path;
use std::sync::Arc;

use terrace_env::{Cause, FileId, Store, Uuid};
use terrace_fuzz::{Target, fuzz, specimens_in};

use super::tail::{Records, Tail};
use super::{DirOptions, DirStore, Files, MemoryFiles, names};
use crate::Access;
use crate::frame::{Binding, mend_frames};
use crate::superblock::Superblock;

const UUID: Uuid = Uuid([7; 16]);

/// The store opens for reading, and all its files can be listed and read; or there is an error.
#[test]
fn journals_of_a_directory() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/directory");
    let files = MemoryFiles::new();
    for name in ["CURRENT", "JOURNAL-000002", "000001.log", "000257.table"] {
        files.create(name).unwrap();
        files.overwrite(name, specimens_in(&golden, name).remove(0));
    }
    let journals = specimens_in(&golden, "JOURNAL-000002");
    let superblock = Superblock::decode(&files.bytes(names::CURRENT).unwrap()).unwrap();
    let head = superblock.head;
    let binding = Binding { uuid: superblock.uuid, owner: 0, epoch: head.epoch };
    let target = Target::decoding("journal of a directory", journals, move |input| {
        let copy = files.copy();
        copy.overwrite("JOURNAL-000002", input.to_vec());
        let options = DirOptions { access: Access::ReadOnly };
        let Ok(store) = DirStore::open_on(Arc::new(copy), options) else { return false };
        for info in store.list() {
            let Ok(reader) = store.open(info.id) else { continue };
            let mut front = vec![0; reader.len().min(100) as usize];
            let _ = reader.read_at(0, &mut front, Cause::Read);
        }
        true
    });
    let target = target.mending(move |input| mend_frames(&binding, head.sequence, input));
    fuzz!(target.memory(4 << 20, 256).with_seeds(3_000));
}

/// A tail of two records that join, and one of another log.
fn tail() -> Vec<u8> {
    let files = MemoryFiles::new();
    let mut tail = Tail::map(&files).unwrap().unwrap();
    let binding = |owner| Binding { uuid: UUID, owner, epoch: 9 };
    for (owner, offset, bytes) in [(3, 100, &b"first"[..]), (3, 105, &[8; 50]), (4, 0, b"other")] {
        assert!(tail.put(&binding(owner), offset, bytes));
    }
    let mut bytes = files.bytes(names::TAIL).unwrap();
    bytes.truncate(256);
    bytes
}

/// Corrects the checksum of each record.
fn mend_tail(input: &mut [u8]) {
    let mut at = 0;
    while let Some(head) = input.get(at..).and_then(<[u8]>::first_chunk::<32>) {
        let word = |at: usize| u32::from_le_bytes(*head[at..].first_chunk().expect("4 bytes"));
        let owner = u64::from_le_bytes(*head[8..].first_chunk().expect("8 bytes"));
        let binding = Binding { uuid: UUID, owner, epoch: word(24) };
        let end = at + 32 + word(4) as usize;
        if end > input.len() {
            break;
        }
        input[at + 28..at + 32].copy_from_slice(&binding.tag().to_le_bytes());
        let crc = binding.checksum_of(&input[at + 4..end], &[]);
        input[at..at + 4].copy_from_slice(&crc.to_le_bytes());
        at = end.next_multiple_of(8);
    }
}

#[test]
fn tails_of_a_log() {
    let target = Target::decoding("tail of a log", vec![tail()], |input| {
        let Some(records) = Records::decode(input, UUID) else { return false };
        for size in [0, 100, 104, 155, u64::MAX] {
            assert!(records.after(FileId(3), 9, size).len() <= input.len());
        }
        true
    });
    fuzz!(target.mending(|input| mend_tail(input)));
}
