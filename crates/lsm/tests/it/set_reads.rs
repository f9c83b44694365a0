//! Merges that read sets: adjacent tables are read by one request, and the result is the same.

use std::ops::Range;
use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::store::{
    FileReader, JointRead, Layer, MemoryStore, PendingRead, ReadBuf, Store, StoreError,
};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Cause, FileId, IoBuf, runner};
use terrace_lsm::{Durability, Engine, KeySpaceId};
use terrace_policy::{Leveled, LeveledOptions};

use crate::model::{self, Contents, batch};

/// Joint reads that a store has carried out.
#[derive(Default)]
struct Notes {
    /// The parts of each.
    parts: Vec<usize>,
    /// One in this number fails; 0: none.
    fails: u64,
    asked: u64,
}

/// A store in which each table lies directly after the one that was created before it.
struct InOrder(MemoryStore, Arc<Mutex<Notes>>);

impl Layer for InOrder {
    fn below(&self) -> &dyn Store {
        &self.0
    }

    fn open(&self, id: FileId) -> Result<Arc<dyn FileReader>, StoreError> {
        Ok(Arc::new(Reader(self.0.open(id)?, self.0.clone(), Arc::clone(&self.1))))
    }
}

struct Reader(Arc<dyn FileReader>, MemoryStore, Arc<Mutex<Notes>>);

impl FileReader for Reader {
    fn id(&self) -> FileId {
        self.0.id()
    }

    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8], cause: Cause) -> Result<(), StoreError> {
        self.0.read_at(offset, into, cause)
    }

    fn submit(&self, offset: u64, into: ReadBuf, cause: Cause) -> PendingRead {
        self.0.submit(offset, into, cause)
    }

    fn read_joint(
        &self,
        part: Range<u64>,
        behind: &[(FileId, Range<u64>)],
        most: ByteCount,
        cause: Cause,
    ) -> Option<JointRead> {
        let mut notes = self.2.lock();
        notes.asked += 1;
        if notes.fails > 0 && notes.asked.is_multiple_of(notes.fails) {
            return None;
        }
        drop(notes);
        let (mut bytes, mut starts, mut last) = (Vec::new(), Vec::new(), self.id());
        let first = (self.id(), part);
        for (id, part) in std::iter::once(&first).chain(behind) {
            let follows = *id == self.id() || id.0 == last.0 + 1;
            let len = (part.end - part.start) as usize;
            if !follows || bytes.len() + len > most.0 as usize {
                break;
            }
            let start = bytes.len();
            bytes.resize(start + len, 0);
            let reader = self.1.open(*id).ok()?;
            reader.read_at(part.start, &mut bytes[start..], cause).ok()?;
            starts.push(start);
            last = *id;
            // The rest of the file.
            bytes.extend([0xa5; 100]);
        }
        self.2.lock().parts.push(starts.len());
        let mut buffer = IoBuf::with_capacity(bytes.len());
        buffer.extend(&bytes);
        (!starts.is_empty()).then_some(JointRead { bytes: buffer, starts })
    }
}

/// Contents of an engine after random writes, of which the jobs read like this.
fn contents(leveled: LeveledOptions, notes: &Arc<Mutex<Notes>>) -> Contents {
    let store = InOrder(MemoryStore::new(), Arc::clone(notes));
    let decider = Arc::new(Leveled::new(leveled));
    let engine = Engine::open(Arc::new(store), decider, model::options()).expect("an engine");
    let mut random = Random::seeded(7);
    for round in 0..15_000_u32 {
        let key = random.random_range(0..3000_u32).to_be_bytes().to_vec();
        let value = (round % 7 > 0).then(|| round.to_be_bytes().repeat(25));
        engine.write(batch(&[(KeySpaceId(0), key, value)]), Durability::Gathered).expect("a write");
    }
    engine.flush().expect("a flush");
    engine.wait_idle().expect("a rest");
    let contents = model::contents(&engine);
    engine.verify().expect("sound tables");
    assert_eq!(engine.stats().memory.jobs, 0, "all memory of jobs is given back");
    engine.close().expect("an end");
    contents
}

#[test]
fn a_set_is_read_by_one_request_unless_that_fails_and_holds_the_same() {
    runner::simulate(1, || {
        let mut all = Vec::new();
        for (set_reads, fails) in [(false, 0), (true, 0), (true, 3), (true, 1)] {
            let notes = Arc::new(Mutex::new(Notes { fails, ..Notes::default() }));
            let leveled = LeveledOptions { sets: true, set_reads, ..model::leveled() };
            all.push(contents(leveled, &notes));
            let notes = notes.lock();
            let several = notes.parts.iter().filter(|parts| **parts > 1).count();
            match (set_reads, fails) {
                (true, 0 | 3) => assert!(several > 20, "{several} of {}", notes.parts.len()),
                (true, _) => assert!(notes.asked > 20 && several == 0),
                (false, _) => assert_eq!(notes.asked, 0),
            }
        }
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
    });
}

#[test]
fn a_row_without_sets_reads_table_by_table() {
    runner::simulate(1, || {
        let notes = Arc::default();
        contents(model::leveled(), &notes);
        assert_eq!(notes.lock().asked, 0);
    });
}

#[test]
fn a_merge_of_level_0_which_has_no_sets_reads_table_by_table() {
    runner::simulate(1, || {
        let notes = Arc::default();
        // All stays in levels 0 and 1.
        let level1_size = ByteCount::mib(64);
        contents(LeveledOptions { sets: true, level1_size, ..model::leveled() }, &notes);
        assert_eq!(notes.lock().asked, 0);
    });
}
