//! A full store never stays full. It is filled until a put is refused, and then emptied by deletes,
//! again and again, under every row: with memtables whose logs take less than a zone or several,
//! with and without a scan or a snapshot, closed or cut off from power in between. Deletes, flushes
//! and compactions must then succeed, each within a minute; and in the end nearly as much fits in
//! as at first.
//!
//! Some tests run on threads, others are simulated from seeds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use terrace::{ByteCount, Compression, Db, Error, FormatOptions, Options, Row, System};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::{runner, test_seeds};
use terrace_zone::{Emulator, PowerCut};

use crate::devices::{contents, drive, kinds};

/// The longest time of any call to a full store, on the clock of its runner.
const LONGEST: Duration = Duration::from_secs(60);

/// Holder of space while the store is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    Nobody,
    Snapshot,
    Scan,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    row: Row,
    zone: ByteCount,
    zones: u32,
    memtable: ByteCount,
    value: usize,
    rounds: u32,
    holder: Holder,
    /// Whether power is cut where the store would be closed.
    cut: bool,
    seed: u64,
}

impl Case {
    const SMALL: Self = Self {
        row: Row::Bluefs,
        zone: ByteCount::kib(128),
        zones: 80,
        memtable: ByteCount::kib(192),
        value: 800,
        rounds: 2,
        holder: Holder::Nobody,
        cut: false,
        seed: 1,
    };

    fn options(&self) -> Options {
        Options::default()
            .system(System::of(self.row))
            .memtable_size(self.memtable)
            .memory(ByteCount::mib(8))
            .compression(Compression::None)
    }

    fn key(&self, number: u64) -> [u8; 8] {
        let mixed = (number ^ (self.seed << 40)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ (mixed >> 29)).to_be_bytes()
    }
}

/// A store that is filled and emptied, and its expected contents.
struct Full {
    case: Case,
    device: Arc<Emulator>,
    db: Db,
    held: BTreeMap<[u8; 8], Vec<u8>>,
    next: u64,
    random: Random,
}

impl Full {
    fn new(case: Case) -> Self {
        Self::on(drive(case.zone, case.zones, case.seed), case)
    }

    fn on(device: Arc<Emulator>, case: Case) -> Self {
        let format = FormatOptions::default();
        let db = Db::create_device(device.clone(), &format, case.options()).unwrap();
        let random = Random::seeded(case.seed);
        Self { case, device, db, held: BTreeMap::new(), next: 0, random }
    }

    fn put(&mut self, key: [u8; 8]) -> Result<(), Error> {
        let mut value = vec![0; self.case.value];
        self.random.fill_bytes(&mut value);
        self.db.put(&key, &value)?;
        self.held.insert(key, value);
        Ok(())
    }

    /// Carries out work that a full store must do in time.
    fn must(&self, what: &str, work: impl FnOnce(&Db) -> Result<(), Error>) {
        let begun = runner::now();
        let done = work(&self.db);
        let took = runner::now().since(begun);
        // Statistics of a store are much dearer than a delete.
        let state = || format!("{:?}; {:?}", self.case, self.db.stats().space);
        done.unwrap_or_else(|error| panic!("{what}: {error}; {}", state()));
        assert!(took < LONGEST, "{what} took {took:?}; {}", state());
    }

    /// Puts new keys until one is refused; returns their number.
    fn fill(&mut self) -> usize {
        let before = self.held.len();
        loop {
            let key = self.case.key(self.next);
            self.next += 1;
            if let Err(error) = self.put(key) {
                assert!(error.is_space(), "{:?}: {error}", self.case);
                return self.held.len() - before;
            }
        }
    }

    /// Fills the store while a reader may hold overwritten entries.
    fn fill_and_overwrite(&mut self) -> usize {
        let snapshot = (self.case.holder == Holder::Snapshot).then(|| self.db.snapshot());
        let filled = self.fill();
        let scan = (self.case.holder == Holder::Scan).then(|| self.db.scan(..).unwrap());
        for _ in 0..3 {
            let number = self.random.random_range(0..self.next);
            let key = self.case.key(number);
            if let Err(error) = self.put(key) {
                assert!(error.is_space(), "{:?}: {error}", self.case);
            }
        }
        drop((snapshot, scan));
        filled
    }

    /// Ends the store and opens it again.
    fn reopen(&mut self) {
        if self.case.cut {
            self.must("a sync", Db::sync);
            let survivor = self.device.snapshot().unwrap();
            let survivor = survivor.cut(PowerCut::any(&mut self.random), &mut self.random);
            self.device = Arc::new(survivor);
        } else {
            self.must("a close", |db| db.clone().close());
        }
        self.db = Db::open_device(self.device.clone(), self.case.options())
            .unwrap_or_else(|error| panic!("{:?}: opened again: {error}", self.case));
    }

    /// Deletes every fourth key, one by one, and then seven tenths by range.
    fn delete_most(&mut self) {
        let keys: Vec<[u8; 8]> = self.held.keys().copied().collect();
        for (at, key) in keys.iter().enumerate().step_by(4) {
            let what = format!("delete {at} of {}", keys.len());
            self.must(&what, |db| db.delete(key));
            self.held.remove(key);
        }
        let end = keys[keys.len() * 7 / 10];
        self.must("a range delete", |db| db.delete_range(&[][..]..&end[..]));
        self.held = self.held.split_off(&end);
    }

    fn verify(&self) {
        let held: BTreeMap<Vec<u8>, Vec<u8>> =
            self.held.iter().map(|(key, value)| (key.to_vec(), value.clone())).collect();
        assert!(contents(&self.db) == held, "{:?}: other contents", self.case);
    }
}

/// Fills a store and empties it, again and again; returns the number of fills.
fn fill_and_empty(case: Case) -> usize {
    fill_and_empty_again(Full::new(case))
}

fn fill_and_empty_again(mut full: Full) -> usize {
    let case = full.case;
    let mut fills: Vec<usize> = Vec::new();
    for _ in 0..case.rounds {
        fills.push(full.fill_and_overwrite());
        full.must("a flush", Db::flush);
        full.must("a compaction", Db::compact_all);
        full.reopen();
        full.verify();
        full.delete_most();
        full.verify();
    }
    fills.push(full.fill());
    full.must("a range delete of everything", |db| db.delete_range(..));
    full.held.clear();
    full.must("a flush", Db::flush);
    full.must("what is left to do", Db::wait_idle);
    // Almost all of the space is free again: one delete and the blocks of a preallocated log take
    // about a memtable's.
    let space = full.db.stats().space;
    let left = space.live.0 + space.pinned.0;
    let most = case.zone.0 + case.memtable.0;
    assert!(left <= most, "{case:?}: {left} bytes are in use by nothing: {space:?}");
    let again = full.fill();
    // On bands that may overlap, the next log asks for a zone at once, and the first put that finds
    // none is refused: each fill may leave almost a zone unused.
    let is_banded = matches!(case.row, Row::Smrdb | Row::SmrdbLeveled);
    let unused = if is_banded { case.zone.0 + case.memtable.0 } else { 0 };
    let least = (fills[0] * case.value * 9 / 10).saturating_sub(unused as usize);
    assert!(again * case.value >= least, "{case:?}: {fills:?} keys, then {again}");
    full.must("a close", |db| db.clone().close());
    fills.len() + 1
}

/// A separate seed for each row and seed.
fn row_random(row: Row, seed: u64) -> Random {
    let at = Row::ALL.iter().position(|other| *other == row).expect("a row of the crate");
    Random::seeded(seed ^ (at as u64) << 32)
}

/// Memtables whose logs take less than a zone, a zone, and more.
const MEMTABLES: [ByteCount; 3] = [ByteCount::kib(96), ByteCount::kib(192), ByteCount::kib(320)];
const HOLDERS: [Holder; 3] = [Holder::Nobody, Holder::Snapshot, Holder::Scan];

/// Fills and empties a store under each of these rows, on threads.
fn fill_and_empty_on_threads(rows: impl IntoIterator<Item = Row>) {
    let rounds = 2 * (test_seeds(1).count() as u32);
    let begin = |row: Row| {
        let fills = move || -> usize {
            let cases = MEMTABLES.into_iter().zip(HOLDERS);
            let cases = cases.map(|(memtable, holder)| Case {
                row,
                memtable,
                holder,
                rounds,
                ..Case::SMALL
            });
            cases.map(fill_and_empty).sum()
        };
        (row, runner::spawn(row.name(), fills))
    };
    let rows: Vec<_> = rows.into_iter().map(begin).collect();
    for (row, fills) in rows {
        let fills = fills.join();
        assert!(fills as u32 >= 3 * (rounds + 1), "{row:?}: {fills} fills");
    }
}

/// Without the sliced row: a full store of it refuses a delete in some runs on threads
/// (docs/sliced.md).
#[test]
fn a_full_store_is_emptied_by_deletes_under_every_row_on_threads() {
    fill_and_empty_on_threads(Row::ALL.into_iter().filter(|row| *row != Row::Sliced));
}

#[test]
fn a_full_store_is_emptied_by_deletes_under_every_row_though_power_is_cut() {
    for seed in test_seeds(1) {
        let begin = |row: Row| {
            runner::spawn(row.name(), move || {
                let mut random = row_random(row, seed);
                let zone = ByteCount::kib(64 << random.random_range(0..3));
                let case = Case {
                    row,
                    zone,
                    zones: random.random_range(48..128),
                    memtable: ByteCount(zone.0 * random.random_range(2..16) / 4),
                    value: random.random_range(100..2000),
                    holder: HOLDERS[random.random_range(0..3)],
                    cut: random.random_bool(0.7),
                    seed,
                    ..Case::SMALL
                };
                runner::simulate(seed, || fill_and_empty(case));
            })
        };
        let rows: Vec<_> = Row::ALL.into_iter().map(begin).collect();
        rows.into_iter().for_each(runner::JoinHandle::join);
    }
}

#[test]
fn a_full_store_is_emptied_by_deletes_on_bands_on_plain_devices_and_on_tracks() {
    // Guards leave less of a device of tracks.
    let [bands, plain, _] = kinds(ByteCount::mib(20));
    let [_, _, tracks] = kinds(ByteCount::mib(28));
    for seed in test_seeds(1) {
        for (kind, geometry, rows) in [&bands, &plain, &tracks] {
            for &row in rows {
                let mut random = row_random(row, seed);
                let case = Case {
                    row,
                    zone: ByteCount::mib(1),
                    memtable: ByteCount::kib(random.random_range(96..400)),
                    value: random.random_range(500..2000),
                    rounds: 1,
                    holder: HOLDERS[random.random_range(0..3)],
                    cut: random.random_bool(0.7),
                    seed,
                    ..Case::SMALL
                };
                runner::simulate(seed, || {
                    let device = Emulator::in_memory(geometry.clone(), seed).expect(kind);
                    fill_and_empty_again(Full::on(Arc::new(device), case));
                });
            }
        }
    }
}

#[test]
fn instalments_of_tiered_give_back_the_blocks_that_they_end_in() {
    // Trims began where earlier ones had ended, within a block. With instalments of a zone, the
    // blocks at their ends were six zones, which no file needed and nothing freed.
    fill_and_empty(Case { row: Row::Tiered, zones: 128, rounds: 1, ..Case::SMALL });
}

#[test]
fn rests_of_zones_that_hold_nothing_dead_become_free_zones_under_bluefs() {
    // Tables leave the last blocks of their zones. Eight zones' worth of such remainders was all
    // that was left to compaction, which could use none of it.
    let memtable = ByteCount::mib(3);
    let zone = ByteCount::mib(2);
    fill_and_empty(Case { zone, zones: 64, memtable, rounds: 1, ..Case::SMALL });
}

#[test]
fn deletes_go_on_in_a_full_store_while_a_scan_or_a_snapshot_is_held() {
    // Each row with one of the two, and with the other one under the next seed.
    for seed in test_seeds(1) {
        for (turn, row) in (seed..).zip(Row::ALL) {
            let holder = if turn % 2 == 0 { Holder::Scan } else { Holder::Snapshot };
            runner::simulate(seed, || delete_under(Case { row, holder, seed, ..Case::SMALL }));
        }
    }
}

/// Fills a store. While a reader holds all of it, deletes keys one by one and then everything by
/// range; closes it under the reader, and opens it again. A snapshot holds no files, and every
/// fourth key is deleted; a scan holds all files, and only the space kept for deletes remains.
fn delete_under(case: Case) {
    let mut full = Full::new(case);
    full.fill();
    let snapshot = (case.holder == Holder::Snapshot).then(|| full.db.snapshot());
    let scan = (case.holder == Holder::Scan).then(|| full.db.scan(..).unwrap());
    let keys: Vec<[u8; 8]> = full.held.keys().copied().collect();
    let step = if case.holder == Holder::Snapshot { 4 } else { keys.len() / 20 };
    for key in keys.iter().step_by(step) {
        full.must("a delete", |db| db.delete(key));
        full.held.remove(key);
    }
    full.verify();
    full.must("a range delete of everything", |db| db.delete_range(..));
    full.held.clear();
    full.must("a flush", Db::flush);
    full.verify();
    // The reader still sees the old entries; after a close, it holds none.
    let seen = scan.unwrap_or_else(|| snapshot.as_ref().unwrap().scan(..).unwrap());
    assert_eq!(seen.count(), keys.len(), "{case:?}");
    full.reopen();
    full.verify();
    assert!(full.fill() * 10 >= keys.len() * 9, "{case:?}: less than before");
}
