//! Extreme numbers in the engine's metadata, with right checksums: opening, reading, writing and
//! compacting end in an answer or an error, and an acknowledged write is never lost. Simulated, so
//! that an endless loop is a failure.

use std::ops::Range;
use std::sync::Arc;

use terrace::{Db, Options};
use terrace_env::checksum::{crc32c, crc32c_append};
use terrace_env::random::{Random, Rng};
use terrace_env::{runner, test_seeds};
use terrace_fs::dir::{DirOptions, DirStore, Files, MemoryFiles};
use terrace_fs::{Access, BLOCK};

/// Entries of the specimen: their number is the last sequence of its tables.
const ENTRIES: u64 = 1_201;

const EXTREMES: [u64; 14] = [
    0,
    1,
    255,
    (1 << 32) - 1,
    (1 << 44) - 1,
    (1 << 55) - 1,
    1 << 55,
    (1 << 56) - 2,
    (1 << 56) - 1,
    1 << 56,
    (1 << 62) - 1,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

fn open(files: &MemoryFiles, read_only: bool) -> Result<Db, terrace::Error> {
    let access = if read_only { Access::ReadOnly } else { Access::ReadWrite };
    let store = DirStore::open_on(Arc::new(files.clone()), DirOptions { access })?;
    Db::open(store, Options::default().read_only(read_only))
}

/// A store with tables in two levels and a log.
fn specimen() -> MemoryFiles {
    let files = MemoryFiles::new();
    let db = open(&files, false).expect("an empty store");
    for n in 0..ENTRIES - 1 {
        db.put(format!("key{:05}", n * 7 % 500).as_bytes(), &[n as u8; 30]).expect("a put");
        if n == 600 {
            db.flush().expect("a flush");
            db.compact_all().expect("a compaction");
        }
    }
    db.delete_range("key00100".."key00120").expect("a range delete");
    db.flush().expect("a flush");
    db.put(b"logged", b"in the log").expect("a put");
    db.close().expect("a close");
    files
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The journal of a directory; its frames are corrected after a change.
struct Journal {
    name: String,
    bytes: Vec<u8>,
    tag: u32,
}

impl Journal {
    fn of(files: &MemoryFiles) -> Self {
        let names = files.list().expect("a list");
        let name = names.into_iter().find(|name| name.starts_with("JOURNAL")).expect("one");
        let bytes = files.bytes(&name).expect("the journal");
        let current = files.bytes("CURRENT").expect("a superblock");
        Self { name, bytes, tag: crc32c(&current[12..28]) }
    }

    fn payloads(&self) -> Vec<Range<usize>> {
        let (mut found, mut at) = (Vec::new(), 0);
        while at + 40 <= self.bytes.len() && number(&self.bytes, at + 32) == self.tag {
            let len = number(&self.bytes, at + 4) as usize;
            found.push(at + 40..at + 40 + len);
            at += (40 + len).next_multiple_of(BLOCK);
        }
        found
    }

    fn reseal(&mut self) {
        let (seed, mut chain) = (crc32c_append(self.tag, &[0; 8]), None);
        for payload in self.payloads() {
            let start = payload.start - 40;
            if let Some(chain) = chain {
                self.bytes[start + 28..start + 32].copy_from_slice(&u32::to_le_bytes(chain));
            }
            let crc = crc32c_append(seed, &self.bytes[start + 4..payload.end]);
            self.bytes[start..start + 4].copy_from_slice(&crc.to_le_bytes());
            chain = Some(crc);
        }
    }
}

/// A copy of a store with an extreme number in its journal.
fn patched(files: &MemoryFiles, at: usize, width: usize, value: u64) -> MemoryFiles {
    let mut journal = Journal::of(files);
    let end = journal.bytes.len().min(at + width);
    journal.bytes[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
    journal.reseal();
    let files = files.copy();
    files.overwrite(&journal.name, journal.bytes);
    files
}

/// Reads, writes and compacts. Returns whether a write was acknowledged.
fn live(files: &MemoryFiles) -> Result<bool, String> {
    if let Ok(db) = open(files, true) {
        if let Ok(scan) = db.scan(..) {
            let _ = scan.take(5_000).count();
        }
        let _ = (db.get(b"key00007"), db.stats(), db.verify());
    }
    let Ok(db) = open(files, false) else { return Ok(false) };
    let acknowledged = db.put(b"new", b"value").and_then(|()| db.sync()).is_ok();
    let _ = (db.create_key_space("space"), db.flush(), db.compact_all());
    let again = acknowledged && db.put(b"again", b"value").and_then(|()| db.sync()).is_ok();
    let _ = db.close();
    let expected = [(&b"new"[..], acknowledged), (b"again", again)];
    if !acknowledged {
        return Ok(false);
    }
    let db = open(files, true).map_err(|error| format!("took writes, and now: {error}"))?;
    for (key, _) in expected.into_iter().filter(|(_, is_there)| *is_there) {
        let found = db.get(key).map_err(|error| format!("{key:?}: {error}"))?;
        if found.as_deref() != Some(b"value") {
            return Err(format!("{key:?}: acknowledged, and not there"));
        }
    }
    Ok(true)
}

/// The outcome of each extreme number at each of these places.
fn check(files: &MemoryFiles, at: usize, width: usize, value: u64) -> bool {
    let files = patched(files, at, width, value);
    let outcome = runner::simulate(1, || live(&files));
    outcome.unwrap_or_else(|error| panic!("{value:#x} in {width} bytes at {at}: {error}"))
}

#[test]
fn a_last_sequence_near_its_end_panics_no_reader_and_no_writer() {
    let files = runner::simulate(1, specimen);
    let journal = Journal::of(&files);
    let mut places = Vec::new();
    for last in ENTRIES - 1..=ENTRIES {
        let windows = journal.bytes.windows(8).enumerate();
        places.extend(windows.filter(|(_, w)| **w == last.to_le_bytes()).map(|(at, _)| at));
    }
    assert!(places.len() >= 2, "{places:?}");
    let mut refused = 0;
    for at in places {
        for value in EXTREMES {
            refused += u32::from(!check(&files, at, 8, value));
        }
    }
    assert!(refused > 0);
}

#[test]
fn extreme_numbers_in_the_engines_metadata_end_in_an_answer_or_an_error() {
    let files = runner::simulate(1, specimen);
    let payloads = Journal::of(&files).payloads();
    let (mut writes, mut cases) = (0, 0);
    for seed in test_seeds(4) {
        let random = &mut Random::seeded(seed);
        for _ in 0..150 {
            let payload = payloads[random.random_range(0..payloads.len())].clone();
            let width = [1, 2, 4, 8][random.random_range(0..4)];
            let value = EXTREMES[random.random_range(0..EXTREMES.len())];
            writes += u32::from(check(&files, random.random_range(payload), width, value));
            cases += 1;
        }
    }
    assert!(writes > 0 && writes < cases, "{writes} of {cases} took writes");
}
