//! Extreme numbers in the journal and the superblock of a directory.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::store::StoreError;
use terrace_env::{Store, Uuid, test_seeds};
use terrace_fs::dir::{DirOptions, DirStore, Files, MemoryFiles};
use terrace_fs::{Access, BLOCK};

use super::life::{Outcome, live};
use super::patch::{Patch, payloads, reseal, reseal_superblock};
use crate::damaged::specimen::{End, first_life, second_life};

/// More changes of files than a case makes. A store that loops makes more.
const OPERATIONS_MAX: u64 = 2_000;

struct Case {
    files: MemoryFiles,
    uuid: Uuid,
    journal: String,
}

fn open(files: &MemoryFiles, access: Access) -> Result<Arc<dyn Store>, StoreError> {
    Ok(DirStore::open_on(Arc::new(files.clone()), DirOptions { access })?)
}

impl Case {
    fn make(random: &mut Random) -> Self {
        let files = MemoryFiles::new();
        let store = open(&files, Access::ReadWrite).expect("an empty store");
        let known = first_life(&store, random);
        drop(store);
        let store = open(&files, Access::ReadWrite).expect("the store opens");
        second_life(&store, known, End::Closed, random, || {});
        drop(store);
        let names = files.list().expect("a list");
        let journal = names.into_iter().find(|name| name.starts_with("JOURNAL")).expect("one");
        let current = files.bytes("CURRENT").expect("a superblock");
        let uuid = Uuid(current[12..28].try_into().expect("16 bytes"));
        Self { files, uuid, journal }
    }

    fn journal(&self) -> Vec<u8> {
        self.files.bytes(&self.journal).expect("the journal")
    }

    /// Lives of the store with other bytes in a file.
    fn judge(&self, name: &str, bytes: Vec<u8>) -> Result<Outcome, String> {
        let files = self.files.copy();
        files.overwrite(name, bytes);
        files.cut_at(files.operations() + OPERATIONS_MAX);
        let _ = DirStore::check_on(Arc::new(files.clone()), &mut |_, _| {});
        let outcome = live(&|access| open(&files, access))?;
        if !files.has_power() {
            return Err(format!("more than {OPERATIONS_MAX} operations"));
        }
        Ok(outcome)
    }

    fn patched_journal(&self, patch: Patch) -> Result<Outcome, String> {
        let mut bytes = self.journal();
        patch.apply(&mut bytes);
        reseal(&mut bytes, self.uuid);
        self.judge(&self.journal, bytes).map_err(|error| format!("journal, {patch:?}: {error}"))
    }

    fn patched_superblock(&self, patch: Patch) -> Result<Outcome, String> {
        let mut bytes = self.files.bytes("CURRENT").expect("a superblock");
        patch.apply(&mut bytes);
        reseal_superblock(&mut bytes);
        self.judge("CURRENT", bytes).map_err(|error| format!("superblock, {patch:?}: {error}"))
    }
}

fn case(seed: u64) -> Case {
    Case::make(&mut Random::seeded(seed))
}

/// Bytes in the payload of a snapshot's head.
const NEXT_FILE: usize = 24;
const NEXT_EPOCH: usize = 32;
const FEATURES: [usize; 3] = [0, 8, 16];

#[test]
fn a_next_file_id_near_its_end_makes_no_writer_loop() {
    let case = case(1);
    let head = payloads(&case.journal(), case.uuid)[0].start;
    let mut tally = BTreeMap::new();
    for patch in Patch::all(head + NEXT_FILE, 8) {
        let outcome = case.patched_journal(patch).expect("no promise is broken");
        *tally.entry(outcome).or_insert(0) += 1;
        let expected = match patch.value {
            0 => Outcome::Refused,
            value if value < 1 << 61 => Outcome::Writes,
            value if value < 1 << 62 => Outcome::Reads,
            _ => Outcome::Refused,
        };
        // The snapshot is followed by a record that sets more ids aside.
        assert!(outcome == expected, "{patch:?}: {outcome:?}");
    }
    assert_eq!(tally.len(), 3, "{tally:?}");
}

#[test]
fn an_epoch_near_its_end_is_refused_and_no_epoch_is_used_twice() {
    let case = case(1);
    let head = payloads(&case.journal(), case.uuid)[0].start;
    for patch in Patch::all(head + NEXT_EPOCH, 4) {
        let outcome = case.patched_journal(patch).expect("no promise is broken");
        let value = patch.value as u32;
        let expected = match value {
            // Older than the epoch of the frames.
            0 | 1 => Outcome::Refused,
            _ if value < 1 << 30 => Outcome::Writes,
            _ if value < 1 << 31 => Outcome::Reads,
            _ => Outcome::Refused,
        };
        assert_eq!(outcome, expected, "{patch:?}");
    }
}

#[test]
fn unknown_features_in_the_journals_head_are_refused() {
    let case = case(1);
    let head = payloads(&case.journal(), case.uuid)[0].start;
    let expected = [Outcome::Writes, Outcome::Reads, Outcome::Refused];
    for (field, expected) in FEATURES.into_iter().zip(expected) {
        for bit in [2, 17, 63] {
            let patch = Patch { at: head + field, width: 8, value: 1 << bit };
            let outcome = case.patched_journal(patch).expect("no promise is broken");
            assert_eq!(outcome, expected, "{patch:?}");
        }
    }
    let mut bytes = case.journal();
    Patch { at: head + 16, width: 8, value: 1 << 40 }.apply(&mut bytes);
    reseal(&mut bytes, case.uuid);
    let files = case.files.copy();
    files.overwrite(&case.journal, bytes);
    let error = open(&files, Access::ReadOnly).err().expect("an unknown feature");
    assert!(error.to_string().contains("use a newer version"), "{error}");
}

#[test]
fn extreme_numbers_anywhere_in_a_directory_end_in_an_answer_or_an_error() {
    let mut tally = BTreeMap::new();
    for seed in test_seeds(4) {
        let random = &mut Random::seeded(seed);
        let case = Case::make(random);
        let payloads = payloads(&case.journal(), case.uuid);
        for _ in 0..700 {
            let payload = payloads[random.random_range(0..payloads.len())].clone();
            let patch = Patch::draw(random.random_range(payload), random);
            let outcome = case.patched_journal(patch);
            let outcome = outcome.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            *tally.entry((true, outcome)).or_insert(0) += 1;
            // The fields of a superblock on one device end there.
            let patch = Patch::draw(random.random_range(8..220), random);
            let outcome = case.patched_superblock(patch);
            let outcome = outcome.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            *tally.entry((false, outcome)).or_insert(0) += 1;
        }
    }
    assert!(tally.len() >= 5, "{tally:?}");
    const { assert!(BLOCK == 4096, "the fields above are those of this block size") };
}
