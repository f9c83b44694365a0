//! The early flush of a log: the engine asks for it once for each log, when most of the memtable is
//! full, and another actor carries it out.

use std::sync::Arc;

use terrace_env::store::{
    CreateOptions, EarlyFlush, FileKind, FileWriter, Layer, MemoryStore, Store, StoreError,
};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, FileId, runner};
use terrace_lsm::{Durability, Engine, EngineOptions, KeySpaceId};

use crate::model::{self, batch};

/// Logs that were flushed early: the log, its length at that time, and whether the flush was
/// carried out.
type Flushed = Arc<Mutex<Vec<(FileId, u64, bool)>>>;

/// A store that gains by early flushes, and notes them.
struct Gaining(MemoryStore, Flushed);

impl Layer for Gaining {
    fn below(&self) -> &dyn Store {
        &self.0
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        let writer = self.0.create(options)?;
        if options.kind != FileKind::Log {
            return Ok(writer);
        }
        Ok(Box::new(GainingLog(writer, Arc::clone(&self.1))))
    }
}

struct GainingLog(Box<dyn FileWriter>, Flushed);

impl FileWriter for GainingLog {
    fn id(&self) -> FileId {
        self.0.id()
    }

    fn len(&self) -> u64 {
        self.0.len()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.0.append(bytes)
    }

    fn write_out(&mut self) -> Result<(), StoreError> {
        self.0.write_out()
    }

    fn early_flush(&mut self) -> Option<EarlyFlush> {
        let (id, flushed) = (self.id(), Arc::clone(&self.1));
        flushed.lock().push((id, self.len(), false));
        Some(EarlyFlush::new(move || {
            let mut flushed = flushed.lock();
            let one = flushed.iter_mut().find(|(of, ..)| *of == id).expect("a log");
            one.2 = true;
        }))
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.0.sync()
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.0.finish()
    }
}

/// Fills some memtables of 64 KiB; returns the early flushes, and the number of flushed memtables.
fn filled(durability: Durability) -> (Vec<(FileId, u64, bool)>, u64) {
    runner::simulate(1, || {
        let flushed = Flushed::default();
        let store = Gaining(MemoryStore::new(), Arc::clone(&flushed));
        let options = EngineOptions { memtable_size: ByteCount::kib(64), ..model::options() };
        let engine = Engine::open(Arc::new(store), model::decider(), options).expect("an engine");
        for number in 0..1_000_u32 {
            let write = (KeySpaceId(0), number.to_be_bytes().to_vec(), Some(vec![7; 400]));
            engine.write(batch(&[write]), durability).expect("room");
        }
        let flushes = engine.stats().flushes;
        engine.close().expect("a close");
        let flushed = flushed.lock().clone();
        (flushed, flushes)
    })
}

#[test]
fn each_log_is_flushed_once_when_most_of_its_memtable_is_full() {
    let (flushed, flushes) = filled(Durability::Gathered);
    assert!(flushes > 3, "{flushes} flushes");
    assert!((flushes..=flushes + 2).contains(&(flushed.len() as u64)), "{flushed:?} of {flushes}");
    for (at, (log, len, carried_out)) in flushed.iter().enumerate() {
        // A memtable has some overhead for each entry.
        assert!((30_000..64 << 10).contains(len), "log {log}: flushed at {len} bytes");
        assert!(*carried_out || at + 1 == flushed.len(), "log {log}: not carried out");
        assert!(flushed[..at].iter().all(|(before, ..)| before < log), "log {log}: twice");
    }
}

#[test]
fn a_log_whose_writes_are_waited_for_is_not_flushed_early() {
    for durability in [Durability::Written, Durability::Synced] {
        let (flushed, flushes) = filled(durability);
        assert!(flushes > 3 && flushed.is_empty(), "{durability:?}: {flushes}, {flushed:?}");
    }
}
