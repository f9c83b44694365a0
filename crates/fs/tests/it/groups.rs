//! Many actors that commit at once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::runner::{simulate, spawn};
use terrace_env::store::{Annotation, FileKind};
use terrace_env::sync::Mutex;
use terrace_env::{FileId, test_seeds};
use terrace_fs::catalog::{Catalog, Record};
use terrace_fs::journal::{Journal, replay};
use terrace_zone::emulator::RandomLatency;
use terrace_zone::{Device, Emulator, PowerCut, Snapshot};

use crate::journal_world::{make, open, shape};

/// A transaction that makes two files, each naming the other.
fn pair(journal: &Journal, opaque: usize) -> (Vec<Record>, [FileId; 2]) {
    let ids = [journal.new_file(), journal.new_file()];
    let birth = |id: FileId, other: FileId| {
        let mut opaque = vec![3; opaque];
        opaque.extend(other.0.to_le_bytes());
        let annotation = Arc::new(Annotation { opaque, ..Annotation::default() });
        let (kind, extents) = (FileKind::Table, Vec::new());
        Record::Seal { id, kind, size: 0, extents, epoch: 0, annotation }
    };
    (vec![birth(ids[0], ids[1]), birth(ids[1], ids[0])], ids)
}

/// Whether every file's partner is there.
fn is_whole(catalog: &Catalog) -> bool {
    catalog.files().all(|(_, record)| {
        let opaque = &record.annotation.opaque;
        let partner = opaque.last_chunk().map(|bytes| FileId(u64::from_le_bytes(*bytes)));
        partner.is_some_and(|partner| catalog.get(partner).is_some())
    })
}

type Moments = Vec<(Snapshot, BTreeSet<FileId>)>;

/// Eight actors commit at once on a drive whose requests take random times; returns every moment
/// with the commits acknowledged by then, and the state at the end.
fn crowd(seed: u64) -> (Moments, Catalog, u64) {
    simulate(seed, || {
        let emulator = Emulator::in_memory(shape(seed), seed).expect("a possible shape");
        let emulator = Arc::new(emulator);
        let latency = (Duration::from_micros(10), Duration::from_millis(2));
        emulator.set_timing(Some(Box::new(RandomLatency::new(latency.0, latency.1, seed))));
        let device = Arc::clone(&emulator) as Arc<dyn Device>;
        make(&device, seed);
        let journal = Arc::new(open(&device).expect("a mount"));
        let acked = Arc::new(Mutex::new(BTreeSet::new()));
        let moments = Arc::new(Mutex::new(Moments::new()));
        let mut writes = 0;
        let seen = (Arc::clone(&acked), Arc::clone(&moments));
        emulator.set_observer(Some(Arc::new(move |event| {
            let acked = seen.0.lock().clone();
            seen.1.lock().push((event.snapshot().expect("a drive in memory"), acked));
        })));
        let mut actors = Vec::new();
        for actor in 0..8 {
            let (journal, acked) = (Arc::clone(&journal), Arc::clone(&acked));
            actors.push(spawn(&format!("client {actor}"), move || {
                let mut random = Random::seeded(seed * 100 + actor);
                for _ in 0..20 {
                    let (records, ids) = pair(&journal, random.random_range(0..2000));
                    journal.commit(records, random.random_bool(0.2)).expect("a commit");
                    acked.lock().extend(ids);
                }
            }));
        }
        actors.into_iter().for_each(|actor| actor.join());
        emulator.set_observer(None);
        let end = replay(&device, true).expect("a store").catalog;
        assert!(end == journal.read(Clone::clone));
        let moments = std::mem::take(&mut *moments.lock());
        writes += moments.len() as u64;
        (moments, end, writes)
    })
}

#[test]
fn commits_at_once_share_writes_and_are_all_there() {
    let (_, end, writes) = crowd(3);
    assert_eq!(end.len(), 2 * 8 * 20);
    assert!(writes < 8 * 20, "{writes} writes for 160 commits: nothing was shared");
}

#[test]
fn a_cut_under_a_crowd_loses_nothing_acknowledged_and_splits_no_transaction() {
    for seed in test_seeds(6) {
        let (moments, _, _) = crowd(seed);
        let mut random = Random::seeded(seed);
        for (number, (snapshot, acked)) in moments.into_iter().enumerate() {
            let emulator = snapshot.cut(PowerCut::any(&mut random), &mut random);
            let device: Arc<dyn Device> = Arc::new(emulator);
            let found = replay(&device, true).expect("a store").catalog;
            assert!(is_whole(&found), "seed {seed}, moment {number}: a half transaction");
            let lost: Vec<_> = acked.iter().filter(|id| found.get(**id).is_none()).collect();
            assert!(lost.is_empty(), "seed {seed}, moment {number}: lost {lost:?}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let (first, second) = (crowd(5), crowd(5));
    assert!(first.1 == second.1 && first.2 == second.2);
    for ((_, one), (_, other)) in first.0.iter().zip(&second.0) {
        assert_eq!(one, other);
    }
}

#[test]
fn threads_that_commit_at_once_are_all_heard() {
    let emulator = Emulator::in_memory(shape(3), 1).expect("a possible shape");
    let device: Arc<dyn Device> = Arc::new(emulator);
    make(&device, 1);
    let journal = Arc::new(open(&device).expect("a mount"));
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let journal = Arc::clone(&journal);
            spawn(&format!("client {client}"), move || {
                for _ in 0..100 {
                    let (records, _) = pair(&journal, 200);
                    journal.commit(records, false).expect("a commit");
                }
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join());
    let found = replay(&device, true).expect("a store").catalog;
    assert!(found == journal.read(Clone::clone) && found.len() == 800);
}
