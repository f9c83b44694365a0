//! Extreme numbers in the journal and the superblocks of a drive with zones.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::store::StoreError;
use terrace_env::{Cause, Store, Uuid, test_seeds};
use terrace_fs::journal::replay;
use terrace_fs::{BLOCK, Fs, MountOptions, ZonePlace, logical_per_block};
use terrace_zone::{Device, Emulator, PowerCut, Snapshot};

use super::life::{Outcome, live};
use super::patch::{Patch, payloads, reseal, reseal_superblock};
use crate::damaged::specimen::End;
use crate::damaged::zones::Zones;

const SOUND: &str = "a medium in memory does not fail";

struct Case {
    snapshot: Snapshot,
    uuid: Uuid,
    /// The blocks of the journal, in order, and those that hold superblocks.
    journal: Vec<ZonePlace>,
    superblocks: Vec<ZonePlace>,
}

fn read(drive: &Emulator, at: ZonePlace) -> Vec<u8> {
    let geometry = drive.geometry();
    let count = logical_per_block(geometry) as u32;
    drive.read(at.lba(geometry), count, Cause::Read).expect(SOUND).to_vec()
}

impl Case {
    fn make(seed: u64, random: &mut Random) -> Self {
        let (zones, _) = Zones::make(seed, End::Closed, random);
        let snapshot = zones.into_snapshot();
        let drive = Arc::new(snapshot.cut(PowerCut::KeepAll, random));
        let found = replay(&(Arc::clone(&drive) as Arc<dyn Device>), false).expect("a journal");
        let uuid = found.superblock.uuid;
        let all = |zones: Vec<_>| -> Vec<ZonePlace> {
            zones.into_iter().flat_map(|zone| Zones::written(&drive, zone)).collect()
        };
        let journal = all(found.journal_zones().collect());
        let marked = |at: &ZonePlace| read(&drive, *at).starts_with(b"TerraceF");
        let superblocks = all(found.superblock_zones()).into_iter().filter(marked).collect();
        Self { snapshot, uuid, journal, superblocks }
    }

    fn drive(&self, random: &mut Random) -> Arc<Emulator> {
        Arc::new(self.snapshot.cut(PowerCut::KeepAll, random))
    }

    fn journal_bytes(&self, drive: &Emulator) -> Vec<u8> {
        self.journal.iter().flat_map(|at| read(drive, *at)).collect()
    }

    /// The life of a drive with these bytes.
    fn judge(drive: Arc<Emulator>) -> Result<Outcome, String> {
        let _ = Fs::check(Arc::clone(&drive) as Arc<dyn Device>);
        let open = |access| -> Result<Arc<dyn Store>, StoreError> {
            let device = Arc::clone(&drive) as Arc<dyn Device>;
            let options = MountOptions { access, background: false, ..MountOptions::default() };
            Ok(Fs::mount(device, &options)?)
        };
        live(&open)
    }

    fn patched_journal(&self, patch: Patch, random: &mut Random) -> Result<Outcome, String> {
        let drive = self.drive(random);
        let mut bytes = self.journal_bytes(&drive);
        patch.apply(&mut bytes);
        reseal(&mut bytes, self.uuid);
        for (at, block) in self.journal.iter().zip(bytes.chunks(BLOCK)) {
            let lba = at.lba(drive.geometry());
            drive.corrupt(lba, |bytes| bytes.copy_from_slice(&block[..bytes.len()])).expect(SOUND);
        }
        Self::judge(drive).map_err(|error| format!("journal, {patch:?}: {error}"))
    }

    fn patched_superblocks(&self, patch: Patch, random: &mut Random) -> Result<Outcome, String> {
        let drive = self.drive(random);
        for at in &self.superblocks {
            let lba = at.lba(drive.geometry());
            let change = |block: &mut [u8]| {
                patch.apply(block);
                reseal_superblock(block);
            };
            drive.corrupt(lba, change).expect(SOUND);
        }
        Self::judge(drive).map_err(|error| format!("superblocks, {patch:?}: {error}"))
    }
}

#[test]
fn a_next_file_id_near_its_end_is_refused_on_zones() {
    let random = &mut Random::seeded(1);
    let case = Case::make(1, random);
    let head = payloads(&case.journal_bytes(&case.drive(random)), case.uuid)[0].start;
    for patch in Patch::all(head + 24, 8) {
        let outcome = case.patched_journal(patch, random).expect("no promise is broken");
        let expected = match patch.value {
            0 => Outcome::Refused,
            value if value < 1 << 61 => Outcome::Writes,
            value if value < 1 << 62 => Outcome::Reads,
            _ => Outcome::Refused,
        };
        assert_eq!(outcome, expected, "{patch:?}");
    }
}

#[test]
fn extreme_numbers_anywhere_on_zones_end_in_an_answer_or_an_error() {
    let mut tally = BTreeMap::new();
    for seed in test_seeds(4) {
        let random = &mut Random::seeded(seed);
        let case = Case::make(seed, random);
        let payloads = payloads(&case.journal_bytes(&case.drive(random)), case.uuid);
        for _ in 0..250 {
            let payload = payloads[random.random_range(0..payloads.len())].clone();
            let patch = Patch::draw(random.random_range(payload), random);
            let outcome = case.patched_journal(patch, random);
            let outcome = outcome.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            *tally.entry((true, outcome)).or_insert(0) += 1;
            let patch = Patch::draw(random.random_range(8..220), random);
            let outcome = case.patched_superblocks(patch, random);
            let outcome = outcome.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            *tally.entry((false, outcome)).or_insert(0) += 1;
        }
    }
    assert!(tally.len() >= 5, "{tally:?}");
}
