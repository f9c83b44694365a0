//! The judge of a reader: writes that are numbered, and a reader that compares each of its views
//! with them.

use std::sync::Arc;
use std::time::Duration;

use terrace::{Batch, Db, ErrorKind, Reader};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::runner;
use terrace_env::sync::Mutex;

use crate::devices::Contents;

/// The first key: under it lies the number of the last write.
pub(super) const AT: &[u8] = b"\0at";
pub(super) const KEYS: u32 = 300;

/// The writes so far.
#[derive(Default)]
pub(super) struct Story {
    /// Each with its key, and its value unless it is a delete.
    pub(super) writes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// The number of writes that have returned.
    pub(super) done: u64,
    pub(super) is_over: bool,
}

impl Story {
    pub(super) fn begun(&self) -> u64 {
        self.writes.len() as u64
    }

    /// Contents after the first `number` writes, from those after the first `of`.
    pub(super) fn advance(&self, held: &mut Contents, of: u64, number: u64) {
        for (key, value) in &self.writes[of as usize..number as usize] {
            match value {
                Some(value) => held.insert(key.clone(), value.clone()),
                None => held.remove(key),
            };
        }
    }
}

pub(super) type Shared = Arc<Mutex<Story>>;

/// Load of a writer: the number of its writes, and the longest pause after one.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub(super) writes: u32,
    pub(super) pause: Duration,
}

pub(super) const STEADY: Load = Load { writes: 3000, pause: Duration::from_millis(3) };

/// Writes at random.
pub(super) fn write(db: &Db, story: &Shared, load: Load, seed: u64) {
    let mut random = Random::seeded(seed);
    for _ in 0..load.writes {
        let key = random.random_range(0..KEYS).to_be_bytes().to_vec();
        let value = random.random_bool(0.8).then(|| {
            let mut value = vec![0; random.random_range(8..2000)];
            random.fill_bytes(&mut value);
            value
        });
        write_one(db, story, &key, value);
        runner::sleep(load.pause.mul_f64(random.random_range(0.0..1.0)));
        if random.random_bool(0.001) {
            db.compact_all().unwrap();
        }
    }
    story.lock().is_over = true;
}

/// Writes a key, with the number of the write.
pub(super) fn write_one(db: &Db, story: &Shared, key: &[u8], value: Option<Vec<u8>>) {
    let number = {
        let mut story = story.lock();
        story.writes.push((key.to_vec(), value.clone()));
        story.begun()
    };
    let mut batch = Batch::new();
    batch.put(AT, &number.to_le_bytes());
    match &value {
        Some(value) => batch.put(key, value),
        None => batch.delete(key),
    };
    db.write(batch).unwrap();
    story.lock().done = number;
}

pub(super) fn number(value: &[u8]) -> u64 {
    u64::from_le_bytes(value.try_into().expect("a number"))
}

/// Counts of a reader: views, looks without a change, slow scans, and those that ended early.
#[derive(Debug, Default)]
pub(super) struct Met {
    pub(super) views: u64,
    pub(super) unchanged: u64,
    pub(super) held_scans: u64,
    pub(super) moved: u64,
}

/// A reader that compares its views with the story.
pub(super) struct Judge {
    pub(super) reader: Reader,
    pub(super) story: Shared,
    pub(super) random: Random,
    /// The writes that the last view had, and the contents after them.
    pub(super) at: u64,
    pub(super) held: Contents,
    pub(super) met: Met,
}

impl Judge {
    pub(super) fn new(reader: Reader, story: &Shared, seed: u64) -> Self {
        let (at, held, met) = (0, Contents::new(), Met::default());
        Self { reader, story: Arc::clone(story), random: Random::seeded(seed), at, held, met }
    }

    /// Reads until the writer has ended, and once more.
    pub(super) fn run(mut self) -> Met {
        loop {
            let is_over = self.story.lock().is_over;
            self.look();
            self.read_old_views();
            if is_over {
                return self.met;
            }
            runner::sleep(Duration::from_micros(self.random.random_range(1..20_000)));
        }
    }

    /// Refreshes, and compares all contents.
    pub(super) fn look(&mut self) {
        let done = self.story.lock().done;
        if self.reader.refresh().unwrap() {
            self.met.views += 1;
        } else {
            self.met.unchanged += 1;
        }
        self.compare_view(done);
    }

    /// Compares all contents of the view, which has at least this number of writes.
    pub(super) fn compare_view(&mut self, least: u64) {
        let seen: Contents = self
            .reader
            .read(|db| {
                db.scan(..)?.map(|entry| entry.map(|(k, v)| (k.to_vec(), v.to_vec()))).collect()
            })
            .unwrap();
        self.compare(seen, least);
    }

    pub(super) fn compare(&mut self, mut seen: Contents, least: u64) {
        let at = seen.remove(AT).map_or(0, |value| number(&value));
        let story = self.story.lock();
        assert!(at >= least, "{least} writes had returned, {at} are seen");
        assert!(at >= self.at, "back from {} writes to {at}", self.at);
        assert!(at <= story.begun());
        story.advance(&mut self.held, self.at, at);
        self.at = at;
        assert!(seen == self.held, "other contents than after {at} writes");
    }

    /// Reads single keys without a refresh, and scans slowly.
    pub(super) fn read_old_views(&mut self) {
        let mut scan = self.reader.scan(..).unwrap();
        let keys: Vec<_> =
            (0..5).map(|_| self.random.random_range(0..KEYS).to_be_bytes().to_vec()).collect();
        for _ in 0..3 {
            runner::sleep(Duration::from_micros(self.random.random_range(1..20_000)));
            let (at, values) = self
                .reader
                .read(|db| {
                    let values = db.multi_get(&keys)?;
                    for (key, value) in keys.iter().zip(&values) {
                        assert_eq!(&db.get(key)?, value);
                    }
                    Ok((db.get(AT)?.map_or(0, |value| number(&value)), values))
                })
                .unwrap();
            assert!(at >= self.at, "back from {} writes to {at}", self.at);
            self.story.lock().advance(&mut self.held, self.at, at);
            self.at = at;
            for (key, value) in keys.iter().zip(values) {
                assert_eq!(value.as_deref(), self.held.get(key).map(|value| &value[..]));
            }
        }
        // The scan has its own view, which may be an older one by now.
        self.met.held_scans += 1;
        let (mut seen, mut moved) = (Contents::new(), false);
        let backward = self.random.random_bool(0.5);
        let mut next = || if backward { scan.next_back() } else { scan.next() };
        while let Some(entry) = next() {
            match entry {
                Ok((key, value)) => drop(seen.insert(key.to_vec(), value.to_vec())),
                Err(error) => {
                    assert!(error.kind() == ErrorKind::Moved, "{error}");
                    moved = true;
                }
            }
        }
        self.met.moved += u64::from(moved);
        if !moved && let Some(at) = seen.remove(AT).map(|value| number(&value)) {
            let mut then = Contents::new();
            self.story.lock().advance(&mut then, 0, at);
            assert!(seen == then, "other contents than after {at} writes");
        }
    }
}
