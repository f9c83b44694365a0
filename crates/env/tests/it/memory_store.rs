//! The in-memory fake: the conformance suite, and the faults that are its own.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::Random;
use terrace_env::runner::{self, simulate};
use terrace_env::store::conformance::{self, Subject};
use terrace_env::store::{
    Annotation, CrashMode, CreateOptions, Failure, FileKind, FileWriter, Latency, MemoryStore,
    PlacementHint, Rank, Reservation, StoreError, Transaction,
};
use terrace_env::{ByteCount, Cause, FileId, Store, test_seeds};

const MODES: [CrashMode; 3] =
    [CrashMode::DropUnsynced, CrashMode::KeepUnsynced, CrashMode::TearUnsynced];

struct Memory(MemoryStore);

impl Subject for Memory {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.0.clone())
    }

    fn reopen(&mut self) {
        self.0 = self.0.crash(CrashMode::KeepUnsynced, &mut Random::seeded(0));
    }

    fn end_process(&mut self, seed: u64) {
        self.0 = self.0.crash(CrashMode::EndProcess, &mut Random::seeded(seed));
    }

    fn power_cut(&mut self, seed: u64) {
        self.0 = self.0.crash(MODES[seed as usize % 3], &mut Random::seeded(seed));
    }
}

#[test]
fn the_fake_conforms() {
    conformance::run(&|| Arc::new(MemoryStore::new()));
    conformance::run_durable(&|| Box::new(Memory(MemoryStore::new())), test_seeds(200));
}

#[test]
fn the_fake_conforms_in_a_simulation_with_delays() {
    let latency = Latency::uniform(Duration::from_millis(10));
    simulate(1, || {
        let slow = || MemoryStore::new().with_latency(7, latency);
        conformance::run_durable(&|| Box::new(Memory(slow())), test_seeds(5));
        assert!(runner::now().0 > 0, "operations take time");
    });
}

fn start(
    store: &MemoryStore,
    kind: FileKind,
    rank: Rank,
    reservation: Option<&Reservation>,
) -> Result<Box<dyn FileWriter>, StoreError> {
    let hint = PlacementHint::default();
    store.create(&CreateOptions {
        kind,
        hint,
        size: None,
        rank,
        reservation,
        group: None,
        offload: false,
        cause: Cause::Flush,
    })
}

fn seal(store: &MemoryStore, writer: &mut Box<dyn FileWriter>) -> Result<(), StoreError> {
    writer.finish()?;
    let mut transaction = Transaction::new();
    transaction.seal(writer.id(), Annotation::default());
    store.commit(transaction)
}

#[test]
fn each_way_to_lose_power_loses_what_it_says() {
    let store = MemoryStore::new();
    let mut log = start(&store, FileKind::Log, Rank::Log, None).expect("a file");
    let mut transaction = Transaction::new();
    transaction.create(log.id(), Annotation::default());
    store.commit(transaction).expect("a commit");
    log.append(&[1; 100]).expect("an append");
    log.sync().expect("a sync");
    for _ in 0..3 {
        log.append(&[2; 10]).expect("an append");
    }
    let mut random = Random::seeded(1);
    let mut size = |mode| {
        let survivor = store.crash(mode, &mut random);
        survivor.info(log.id()).expect("a committed file").size
    };
    assert_eq!(size(CrashMode::DropUnsynced), 100);
    assert_eq!(size(CrashMode::KeepUnsynced), 130);
    let torn: std::collections::BTreeSet<u64> =
        (0..100).map(|_| size(CrashMode::TearUnsynced)).collect();
    assert!(torn.into_iter().eq([100, 110, 120, 130]));
}

#[test]
fn an_injected_failure_hits_one_operation_or_all_writes_after_it() {
    for failure in [Failure::Once, Failure::Sticky] {
        for nth in 0..4 {
            let store = MemoryStore::new();
            store.fail_at(nth, failure);
            let mut writer = start(&store, FileKind::Table, Rank::Flush, None).expect("a file");
            let outcome = [
                writer.append(b"bytes"),
                writer.sync(),
                writer.append(b"more"),
                seal(&store, &mut writer),
            ];
            for (n, result) in outcome.into_iter().enumerate() {
                let fails = n as u64 == nth || (n as u64 > nth && failure == Failure::Sticky);
                assert_eq!(result.is_err(), fails, "{failure:?} at {nth}: operation {n}");
                assert!(result.err().is_none_or(|error| matches!(error, StoreError::Io { .. })));
            }
            store.heal();
            assert!(start(&store, FileKind::Log, Rank::Log, None).unwrap().append(b"x").is_ok());
        }
    }
}

#[test]
fn ranks_run_out_of_space_in_order_and_readers_keep_it_busy() {
    let store = MemoryStore::new().with_capacity(ByteCount(1000), ByteCount(100));
    let mut log = start(&store, FileKind::Log, Rank::Log, None).expect("a file");
    log.append(&[0; 500]).expect("an append");
    let full = log.append(&[0; 1]).unwrap_err();
    assert!(matches!(full, StoreError::NoSpace { rank: Rank::Log, .. }), "{full}");
    let reservation = store.reserve(Rank::Flush, ByteCount(100)).expect("the flush's reserve");
    let mut table = start(&store, FileKind::Table, Rank::Flush, Some(&reservation)).unwrap();
    table.append(&[0; 100]).expect("an append within the reservation");
    assert_eq!(reservation.remaining(), ByteCount(0));
    assert!(table.append(&[0; 1]).unwrap_err().is_space());
    seal(&store, &mut table).expect("a seal takes no space");
    let reader = store.open(table.id()).expect("the file opens");
    let mut transaction = Transaction::new();
    transaction.delete(table.id());
    store.commit(transaction).expect("a delete works when the store is full");
    drop(table);
    let busy = store.reserve(Rank::Flush, ByteCount(100)).unwrap_err();
    assert!(matches!(busy, StoreError::Busy { pinned: ByteCount(100), .. }), "{busy}");
    drop(reader);
    store.reserve(Rank::Flush, ByteCount(100)).expect("space as soon as the reader is gone");
}

#[test]
fn actors_interleave_at_slow_operations_and_a_seed_repeats_them() {
    let history = |seed| {
        simulate(seed, || {
            let latency = Latency::uniform(Duration::from_micros(50));
            let store = MemoryStore::new().with_latency(seed, latency);
            let writers: Vec<_> = (0..3)
                .map(|_| {
                    let store = store.clone();
                    runner::spawn("writer", move || {
                        let mut writer = start(&store, FileKind::Table, Rank::Flush, None).unwrap();
                        for _ in 0..5 {
                            writer.append(b"bytes").expect("an append");
                        }
                        seal(&store, &mut writer).expect("a seal");
                        runner::now().0
                    })
                })
                .collect();
            writers.into_iter().map(|writer| writer.join()).collect::<Vec<_>>()
        })
    };
    assert_eq!(history(1), history(1));
    assert_ne!(history(1), history(2));
}

#[test]
fn a_commit_counts_as_one_write_of_the_journal_and_one_flush() {
    let store = MemoryStore::new();
    for number in 1..=3 {
        let mut transaction = Transaction::new();
        transaction.annotate(FileId::STORE, Annotation::default());
        store.commit(transaction).unwrap();
        let io = store.io();
        assert_eq!((io.writes[Cause::Journal as usize], io.flushes), (number, number));
    }
}
