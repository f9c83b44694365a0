//! Many actors at once: on threads, in an arbitrary order, and in simulations, where a seed
//! decides it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::{Random, Rng};
#[cfg(debug_assertions)]
use terrace_env::runner::SimulationOptions;
use terrace_env::store::{
    CreateOptions, FileKind, FileReader, PlacementHint, Rank, Store, StoreError, Transaction,
};
use terrace_env::{ByteCount, Cause, FileId, runner, test_seeds};
use terrace_fs::superblock::Role;
use terrace_fs::{CachePolicy, Devices, Fs, MountOptions};
use terrace_zone::emulator::RandomLatency;
use terrace_zone::{Device, Geometry, Tracks};

use crate::cuts::facts::{note, pattern};
use crate::drive::{formatted, formatted_pair, formatted_with_log, mount};
use crate::late_reads::LateReads;

/// An actor with files of its own.
struct Actor {
    fs: Arc<Fs>,
    random: Random,
    stream: u16,
    /// Sealed files and how much of their start is trimmed.
    files: BTreeMap<FileId, (usize, u64)>,
    readers: Vec<(Arc<dyn FileReader>, u64)>,
}

impl Actor {
    fn run(mut self, steps: u32) -> BTreeMap<FileId, (usize, u64)> {
        for _ in 0..steps {
            let done = match self.random.random_range(0..10) {
                0..4 => self.table(),
                4 => self.log(),
                5 => self.remove(),
                6..8 => self.trim(),
                8 => self.open(),
                _ => self.read(),
            };
            match done {
                Ok(()) => {}
                Err(error) if error.is_space() => drop(self.remove()),
                Err(error) => panic!("an actor: {error}"),
            }
        }
        self.files
    }

    fn seal(&mut self, kind: FileKind, len: usize) -> Result<(), StoreError> {
        let stream = self.stream;
        let options = CreateOptions {
            kind,
            hint: PlacementHint { stream, ..PlacementHint::default() },
            size: None,
            rank: Rank::Flush,
            reservation: None,
            group: None,
            offload: stream.is_multiple_of(2),
            cause: Cause::Client,
        };
        let mut writer = self.fs.create(&options)?;
        let id = writer.id();
        for (index, part) in pattern(id.0, 0, len).chunks(len.div_ceil(3).max(1)).enumerate() {
            writer.append(part)?;
            if index == 1 && kind == FileKind::Log {
                writer.sync()?;
            }
        }
        writer.finish()?;
        let mut transaction = Transaction::new();
        transaction.seal(id, note("crowd"));
        self.fs.commit(transaction)?;
        self.files.insert(id, (len, 0));
        Ok(())
    }

    fn table(&mut self) -> Result<(), StoreError> {
        let len = self.random.random_range(0..200_000);
        self.seal(FileKind::Table, len)
    }

    fn log(&mut self) -> Result<(), StoreError> {
        let len = self.random.random_range(0..20_000);
        self.seal(FileKind::Log, len)
    }

    fn pick(&mut self) -> Option<FileId> {
        let nth = self.random.random_range(0..self.files.len().max(1));
        self.files.keys().nth(nth).copied()
    }

    fn remove(&mut self) -> Result<(), StoreError> {
        let mut transaction = Transaction::new();
        for _ in 0..self.random.random_range(1..3) {
            if let Some(id) = self.pick() {
                self.files.remove(&id);
                transaction.delete(id);
            }
        }
        self.fs.commit(transaction)
    }

    fn trim(&mut self) -> Result<(), StoreError> {
        let Some(id) = self.pick() else { return Ok(()) };
        let info = self.fs.info(id).expect("a file");
        if info.kind == FileKind::Log {
            return Ok(());
        }
        let (len, trimmed) = self.files[&id];
        let end = self.random.random_range(trimmed..=len as u64);
        self.files.insert(id, (len, end));
        let mut transaction = Transaction::new();
        transaction.trim(id, trimmed, end);
        self.fs.commit(transaction)
    }

    fn open(&mut self) -> Result<(), StoreError> {
        if self.readers.len() == 4 {
            self.readers.remove(0);
        }
        if let Some(id) = self.pick() {
            self.readers.push((self.fs.open(id)?, self.files[&id].1));
        }
        Ok(())
    }

    fn read(&mut self) -> Result<(), StoreError> {
        for (reader, from) in &self.readers {
            let mut bytes = vec![0; (reader.len() - from) as usize];
            reader.read_at(*from, &mut bytes, Cause::Read)?;
            assert!(bytes == pattern(reader.id().0, *from, bytes.len()), "file {}", reader.id());
        }
        Ok(())
    }
}

/// Lets actors work on a store that is nearly full, so that reclaim is always at work; then counts
/// and reads everything.
pub(crate) fn crowd(seed: u64, actors: u16, steps: u32) {
    let geometry = Geometry::uniform(ByteCount::kib(256), 48);
    let tracks = Tracks { blocks: 24, overlap: 2 };
    let drives = match seed % 8 {
        7 => formatted_pair(geometry, (Role::Offload, ByteCount::mib(8)), seed),
        5 => vec![formatted(Geometry::tracks(ByteCount::mib(32), tracks), seed)].into(),
        6 => vec![formatted(Geometry::plain(ByteCount::mib(18)), seed)].into(),
        4 => formatted_with_log(geometry, ByteCount::mib(8), seed),
        _ => vec![formatted(geometry, seed)].into(),
    };
    if runner::is_simulated() {
        // Requests take time, so that files are deleted and moved under reads.
        let (least, most) = (Duration::from_micros(5), Duration::from_micros(500));
        for drive in drives.all() {
            drive.set_timing(Some(Box::new(RandomLatency::new(least, most, seed))));
        }
    }
    let fs = if runner::is_simulated() {
        let late = |drive| Arc::new(LateReads::new(drive, seed)) as Arc<dyn Device>;
        let devices = match drives.all() {
            [drive] => late(drive).into(),
            [drive, log, ..] => Devices::pair(late(drive), late(log)),
            [] => unreachable!("a store has a drive"),
        };
        Fs::mount(devices, &MountOptions::default()).expect("a store")
    } else {
        mount(&drives)
    };
    if seed % 2 == 1 {
        fs.set_cache(ByteCount::kib(512), CachePolicy::default());
    }
    let mut random = Random::seeded(seed);
    let handles: Vec<_> = (0..actors)
        .map(|stream| {
            let (fs, random) = (Arc::clone(&fs), random.fork());
            let (files, readers) = (BTreeMap::new(), Vec::new());
            let actor = Actor { fs, random, stream, files, readers };
            runner::spawn("actor", move || actor.run(steps))
        })
        .collect();
    let files: Vec<_> = handles.into_iter().flat_map(runner::JoinHandle::join).collect();
    fs.unmount();
    assert_eq!(fs.audit(), Vec::<String>::new());
    assert_eq!(fs.space().pinned, ByteCount(0));
    drop(fs);
    drives.all().iter().for_each(|drive| drive.set_timing(None));
    let fs = mount(&drives);
    assert_eq!(fs.list().len(), files.len());
    for (id, (len, trimmed)) in files {
        let reader = fs.open(id).expect("a file");
        let mut bytes = vec![0; len - trimmed as usize];
        reader.read_at(trimmed, &mut bytes, Cause::Read).expect("a read");
        assert!(bytes == pattern(id.0, trimmed, bytes.len()), "file {id}");
    }
    fs.unmount();
    let report = Fs::check(&drives).expect("a check");
    assert!(report.is_clean(), "{:?}", report.problems);
}

#[test]
fn a_crowd_of_actors_leaves_a_sound_store_in_simulations() {
    for seed in test_seeds(20) {
        runner::simulate(seed, || crowd(seed, 5, 120));
    }
}

/// The same under any order that threads could take.
#[cfg(debug_assertions)]
pub(crate) fn explored(seed: u64) {
    SimulationOptions::seeded(seed).explore().run(|| crowd(seed, 5, 120));
}

#[test]
#[cfg(debug_assertions)]
fn a_crowd_of_actors_leaves_a_sound_store_under_any_schedule() {
    test_seeds(20).for_each(explored);
}

#[test]
fn a_crowd_of_threads_leaves_a_sound_store() {
    for seed in 0..3 {
        crowd(seed, 4, 400);
    }
}
