//! [`Load`]: a store with the generation of each of its numbers, and threads that carry out
//! operations on it.
//!
//! A number has one writer at a time. Its generation is raised after the put has returned, so a
//! reader next to the writer finds the generation of before, or the next one.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, ensure};

use super::line::{Line, Round};
use crate::engines::{Engine, Libraries, Name};
use crate::generator::{Key, Random, Values, absent_key, key};
use crate::measure::{Latencies, Start, Worker};

/// An engine, and the sizes of its load.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Setting {
    #[arg(long)]
    pub(crate) engine: Name,
    #[arg(long)]
    pub(crate) entries: u64,
    #[arg(long)]
    pub(crate) value_size: usize,
    #[arg(long)]
    pub(crate) seed: u64,
    /// A directory that is empty.
    #[arg(long)]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) libraries: Libraries,
}

impl Setting {
    /// A new directory of the name.
    pub(super) fn new_dir(&self, name: &str) -> anyhow::Result<PathBuf> {
        let dir = self.dir.join(name);
        std::fs::create_dir(&dir).with_context(|| dir.display().to_string())?;
        Ok(dir)
    }

    pub(super) fn open(&self, dir: &Path) -> anyhow::Result<Box<dyn Engine>> {
        let opened = self.engine.open(dir, &self.libraries);
        opened.with_context(|| format!("opening {}", self.engine.title()))
    }
}

/// A store, and its contents.
pub(super) struct Load {
    pub(super) engine: Box<dyn Engine>,
    pub(super) values: Values,
    pub(super) entries: u64,
    pub(super) seed: u64,
    generations: Vec<AtomicU32>,
}

impl Load {
    /// An empty store, for `entries` values of `value_size` bytes.
    pub(super) fn open(
        setting: &Setting,
        dir: &Path,
        entries: u64,
        value_size: usize,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            engine: setting.open(dir)?,
            values: Values::new(value_size, setting.seed),
            entries,
            seed: setting.seed,
            generations: (0..entries).map(|_| AtomicU32::new(0)).collect(),
        })
    }

    pub(super) fn random(&self, stream: u64) -> Random {
        Random::new(self.seed, stream)
    }

    pub(super) fn generation(&self, number: u64) -> u32 {
        self.generations[number as usize].load(Ordering::Acquire)
    }

    /// Puts the next generation of a number.
    pub(super) fn put(
        &self,
        worker: &mut Worker,
        number: u64,
        value: &mut Vec<u8>,
    ) -> anyhow::Result<()> {
        let generation = self.generation(number) + 1;
        self.values.make(number, generation, value);
        worker.run(|| self.engine.put(&key(number), value))?;
        self.generations[number as usize].store(generation, Ordering::Release);
        Ok(())
    }

    /// Adds the next generation of a number to a batch, which is to be written before a read of it.
    pub(super) fn add(&self, number: u64, entry: &mut (Key, Vec<u8>)) {
        let generation = self.generation(number) + 1;
        entry.0 = key(number);
        self.values.make(number, generation, &mut entry.1);
        self.generations[number as usize].store(generation, Ordering::Release);
    }

    /// Gets a number, and returns whether the answer was wrong. Its writer may be at work.
    pub(super) fn get(&self, worker: &mut Worker, number: u64) -> anyhow::Result<u64> {
        let (before, mut wrong) = (self.generation(number), 1);
        worker.run(|| {
            self.engine.get(&key(number), &mut |found| {
                let generations = before..=self.generation(number) + 1;
                let right =
                    found.is_some_and(|found| self.values.check(number, generations, found));
                wrong = u64::from(!right);
            })
        })?;
        Ok(wrong)
    }

    /// Gets an absent key, and returns whether there was an answer.
    pub(super) fn get_absent(&self, worker: &mut Worker, number: u64) -> anyhow::Result<u64> {
        let mut wrong = 1;
        worker.run(|| {
            self.engine.get(&absent_key(number), &mut |found| wrong = u64::from(found.is_some()))
        })?;
        Ok(wrong)
    }

    /// Whether an answer is the current value of a number.
    pub(super) fn is_right(&self, number: u64, found: &[u8]) -> bool {
        let generation = self.generation(number);
        self.values.check(number, generation..=generation, found)
    }

    /// Measures `operations` in a number of threads and adds their line, and one with the settling
    /// after them if it is asked for. A thread returns how many answers were wrong; none may be.
    pub(super) fn measure(
        &self,
        round: &mut Round,
        name: &str,
        threads: usize,
        operations: u64,
        settle: bool,
        work: impl Fn(usize, &mut Worker) -> anyhow::Result<u64> + Sync,
    ) -> anyhow::Result<()> {
        let one = |thread| -> anyhow::Result<_> {
            let mut worker = Worker::begin();
            let wrong = work(thread, &mut worker)?;
            ensure!(wrong == 0, "{name}: expected right answers, found {wrong} wrong ones");
            Ok(worker.close())
        };
        let start = Start::now();
        let done: Vec<anyhow::Result<_>> = if threads == 1 {
            vec![one(0)]
        } else {
            std::thread::scope(|scope| {
                let one = &one;
                let spawned: Vec<_> =
                    (0..threads).map(|thread| scope.spawn(move || one(thread))).collect();
                let joined = spawned.into_iter().map(|thread| thread.join());
                joined.map(|done| done.expect("a thread of the load does not panic")).collect()
            })
        };
        let mut foreground = std::time::Duration::ZERO;
        let mut samples = Vec::new();
        for done in done {
            let (time, latencies) = done.with_context(|| name.to_owned())?;
            foreground += time;
            samples.extend(latencies);
        }
        let cost = start.cost(operations, foreground);
        round.lines.push(Line { name: name.to_owned(), cost, latencies: Latencies::of(samples) });
        if settle {
            self.engine.wait_idle().with_context(|| format!("{name}: settling"))?;
            let cost = start.cost(operations, foreground);
            round.lines.push(Line { name: format!("{name} + settle"), cost, latencies: None });
        }
        Ok(())
    }
}
