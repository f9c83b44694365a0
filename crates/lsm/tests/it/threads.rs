//! Real threads: effects that the simulation, with one actor at a time, cannot show. One writer
//! overwrites all keys by one batch after the other; readers never see an older state than before,
//! a part of a batch, or a state older than the acknowledged one at their begin. The outcome
//! depends on the machine's timing and cannot be repeated from a seed; `schedules` can.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use terrace_env::runner;
use terrace_env::store::MemoryStore;
use terrace_lsm::{Batch, Bounds, Durability, KeySpaceId};

use crate::model::open_with;

const KEYS: u64 = 64;
const ROUNDS: u64 = 400;
const SPACE: KeySpaceId = KeySpaceId::DEFAULT;

fn number(value: &[u8]) -> u64 {
    u64::from_le_bytes(*value.first_chunk().expect("a value with a number"))
}

#[test]
fn readers_never_see_a_key_go_back_while_memtables_and_tables_change_under_them() {
    for jobs in [1, 2, 4] {
        read_while_written(jobs);
    }
}

fn read_while_written(jobs: usize) {
    let engine = Arc::new(open_with(&MemoryStore::new(), jobs));
    let (written, ended) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let write = |round: u64| {
        let mut batch = Batch::new();
        let mut value = vec![b'v'; 100];
        value[..8].copy_from_slice(&round.to_le_bytes());
        for key in 0..KEYS {
            batch.put(SPACE, &key.to_be_bytes(), &value);
        }
        engine.write(batch, Durability::Gathered).unwrap();
    };
    write(0);
    let readers = (0..2).map(|_| {
        let (engine, written, ended) = (engine.clone(), written.clone(), ended.clone());
        runner::spawn("reader", move || {
            let mut reads = 0;
            while !ended.load(Ordering::Acquire) {
                let least = written.load(Ordering::Acquire);
                let key = (reads % KEYS).to_be_bytes();
                let found = engine.get(SPACE, &key).unwrap().expect("a key that is never deleted");
                assert!(number(&found) >= least, "{} after {least}", number(&found));
                if reads % 32 == 0 {
                    let scan = engine.scan(SPACE, &Bounds::all()).unwrap();
                    let all: Vec<u64> = scan.map(|entry| number(&entry.unwrap().1)).collect();
                    assert_eq!(all, vec![all[0]; KEYS as usize], "a batch in part");
                    assert!(all[0] >= least, "{} after {least}", all[0]);
                }
                reads += 1;
            }
            reads
        })
    });
    let readers: Vec<_> = readers.collect();
    for round in 1..=ROUNDS {
        write(round);
        written.store(round, Ordering::Release);
    }
    ended.store(true, Ordering::Release);
    for reader in readers {
        assert!(reader.join() > 0);
    }
    let stats = engine.stats();
    assert!(stats.flushes > 20 && stats.compactions > 5, "{stats:?}");
}
