//! A client's compaction of a range ends, although a writer goes on there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use terrace_env::runner;
use terrace_env::store::Store;
use terrace_lsm::{Durability, Engine, KeySpaceId};

use crate::model::{self, Change, Model, batch, contents};

const KEYS: u64 = 3_000;

fn overwrite(number: u64, round: u64) -> Vec<Change> {
    let key = (number * 7 % KEYS).to_be_bytes().to_vec();
    vec![Change::Key((KeySpaceId(0), key, Some(vec![round as u8; 100])))]
}

#[test]
fn a_clients_compaction_ends_although_a_writer_never_pauses() {
    for seed in 1..4 {
        runner::simulate(seed, || {
            let store: Arc<dyn Store> = Arc::new(model::slow_store(seed));
            let engine = Engine::open(store, model::decider(), model::options()).unwrap();
            let (engine, mut before) = (Arc::new(engine), Model::default());
            for number in 0..KEYS {
                engine.write(batch(&overwrite(number, 0)), Durability::Gathered).unwrap();
            }
            let (done, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
            let (writing, ends, count) =
                (Arc::clone(&engine), Arc::clone(&done), Arc::clone(&written));
            let writer = runner::spawn("writer", move || {
                let mut model = Model::default();
                for number in 0..20 * KEYS {
                    let write = overwrite(number, number / KEYS);
                    writing.write(batch(&write), Durability::Gathered).unwrap();
                    model.write(write);
                    count.fetch_add(1, Ordering::Relaxed);
                    if ends.load(Ordering::Relaxed) {
                        break;
                    }
                }
                model
            });
            runner::sleep(Duration::from_millis(5));
            for _ in 0..3 {
                let at_first = written.load(Ordering::Relaxed);
                engine.compact_all().unwrap();
                let meanwhile = written.load(Ordering::Relaxed) - at_first;
                assert!(meanwhile < 2 * KEYS, "{meanwhile} writes while a range was compacted");
            }
            done.store(true, Ordering::Relaxed);
            let model = writer.join();
            for number in 0..KEYS {
                before.write(overwrite(number, 0));
            }
            let mut expected = before.now;
            expected.extend(model.now);
            assert_eq!(contents(&engine), expected);
        });
    }
}
