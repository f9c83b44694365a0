//! One life of a store: it is formatted if it is new, opened, works under a seeded workload, and is
//! closed. One writer writes batches of puts and deletes, and now and then flushes, syncs or
//! compacts. One reader reads at the same time.
//!
//! Before each request to a drive other than a read, a [`CutPoint`] is recorded: copies of all
//! drives, the request itself, and how many batches had been acknowledged as durable, and handed
//! over, by then. Formatting is not recorded: there is no store yet.
//!
//! Must run inside a simulation.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use terrace::fs::Role;
use terrace::{
    Batch, Bounds, Db, Durability, FormatOptions, LoadRule, Options, Row, System, Throttle,
};
use terrace_env::random::{Random, Rng};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Cause, runner};
use terrace_zone::emulator::{Drives, RandomLatency, Snapshots};
use terrace_zone::{Geometry, Layout, Tracks};

use super::history::{Change, History, KEYS, What};

/// Kind of drive, and kind of store on it.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The drive.
    pub geometry: Geometry,
    /// The second, plain drive, if there is one; `format` tells its role.
    pub second: Option<Geometry>,
    /// How it is formatted.
    pub format: FormatOptions,
    /// How the store is opened.
    pub options: Options,
}

impl Setup {
    /// A small drive and a store that flushes, compacts, reclaims and rolls its journal all the
    /// time; under which system and on which geometry, the seed decides.
    #[must_use]
    pub fn small(seed: u64) -> Self {
        let options = Options::default()
            .memtable_size(ByteCount::kib(24))
            .system(System {
                table_size: Some(ByteCount::kib(32)),
                level0_runs: 2,
                level1_size: Some(ByteCount::kib(64)),
                factor: 4,
                ..System::of(Row::ALL[(seed / 2) as usize % Row::ALL.len()])
            })
            .memory(ByteCount::kib(256))
            .file_cache(ByteCount::kib(if seed.is_multiple_of(3) { 0 } else { 96 }));
        let mut geometry = Geometry::uniform(ByteCount::kib(128), 40);
        match seed % 4 {
            0 => {}
            1 => geometry.zone_capacity = 29,
            2 => geometry.conventional.push(0..2),
            _ => {
                geometry.zone_size = 35;
                geometry.zone_capacity = 31;
                geometry.last_zone_size = Some(7);
                geometry.max_active = Some(14);
                geometry.max_open = Some(12);
            }
        }
        match seed % 8 {
            5 => geometry = plain_drive(),
            7 => geometry = shingled_drive(),
            _ => {}
        }
        let role = match seed % 6 {
            4 => Some(Role::Log),
            1 => Some(Role::Offload),
            _ => None,
        };
        let second = role.map(|_| Geometry::plain(ByteCount::mib(8)));
        let format = FormatOptions { role: role.unwrap_or_default(), ..FormatOptions::default() };
        Self { geometry, second, format, options }
    }

    /// This set-up on a drive of the kind that the system is made for, if such drives have no
    /// zones.
    #[must_use]
    pub fn at_home(mut self) -> Self {
        match self.options.system.map(|system| system.row) {
            Some(Row::LeveldbDisk | Row::LeveldbSets) => self.geometry = plain_drive(),
            Some(Row::Sealdb) => self.geometry = shingled_drive(),
            _ => {}
        }
        self
    }

    /// New drives for it.
    pub(super) fn drives(&self, seed: u64) -> Drives {
        let shapes = [Some(self.geometry.clone()), self.second.clone()];
        Drives::in_memory(shapes.into_iter().flatten(), seed)
            .unwrap_or_else(|error| panic!("the drive: {error}"))
    }

    /// This set-up with `jobs` compactions at once.
    #[must_use]
    pub fn with_jobs(mut self, jobs: u16) -> Self {
        self.options.system = self.options.system.map(|system| System { jobs, ..system });
        self
    }

    /// This set-up with the thesis's buffers, smaller: three levels over a last one, writers that
    /// are never held back, and a checker that compacts at rest.
    #[must_use]
    pub fn with_buffers(mut self) -> Self {
        self.options.system = self.options.system.map(|system| System {
            levels: 4,
            throttle: Some(Throttle::Off),
            load: LoadRule::Idle,
            ..system
        });
        self
    }

    /// This set-up under another system.
    #[must_use]
    pub fn under(mut self, row: Row) -> Self {
        self.options.system = self.options.system.map(|system| System {
            table_size: system.table_size,
            level0_runs: system.level0_runs,
            level1_size: system.level1_size,
            factor: system.factor,
            ..System::of(row)
        });
        self
    }
}

fn plain_drive() -> Geometry {
    Geometry::plain(ByteCount::mib(16))
}

/// Raw tracks of 96 KiB, of which a write destroys two.
fn shingled_drive() -> Geometry {
    Geometry::tracks(ByteCount::mib(24), Tracks { blocks: 24, overlap: 2 })
}

/// The drives at some moment, and the promises made by then.
#[derive(Debug)]
pub struct CutPoint {
    /// Counts the requests to all drives other than reads.
    pub number: u64,
    /// The drives, with the request in flight.
    pub snapshots: Snapshots,
    /// Batches whose durability had been acknowledged.
    pub least: usize,
    /// Batches that had been handed to the store.
    pub most: usize,
}

/// How much of each kind of work a life did: a cut proves nothing about work that was never done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Memtables flushed.
    pub flushes: u64,
    /// Bytes that flushes wrote to an offload drive.
    pub offloaded_bytes: u64,
    /// Compactions that merged.
    pub compactions: u64,
    /// Bytes moved by reclaim.
    pub reclaimed_bytes: u64,
    /// Zones reset.
    pub zones_reset: u64,
    /// Journal rolls.
    pub journal_rolls: u64,
    /// Compactions whose tables are on a plain drive.
    pub compactions_on_plain: u64,
    /// Compactions whose tables are on raw shingled tracks.
    pub compactions_on_tracks: u64,
}

impl Activity {
    fn of(db: &Db) -> Self {
        let stats = db.stats();
        let devices = db.fs().map(|fs| fs.devices()).unwrap_or_default();
        let layout = devices.iter().find(|device| device.holds_tables).map(|it| it.layout);
        let compactions_if = |is_there: bool| if is_there { stats.compactions } else { 0 };
        let offloaded = devices.iter().filter(|device| device.holds_offloaded);
        Self {
            flushes: stats.flushes,
            offloaded_bytes: offloaded.map(|device| device.io.written(Cause::Flush).0).sum(),
            compactions: stats.compactions,
            reclaimed_bytes: stats.io.written(Cause::Reclaim).0,
            zones_reset: stats.io.zones_reset,
            journal_rolls: stats.io.journal_rolls,
            compactions_on_plain: compactions_if(layout.is_some_and(Layout::is_plain)),
            compactions_on_tracks: compactions_if(layout.and_then(Layout::tracks).is_some()),
        }
    }

    /// The sums of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            flushes: self.flushes + other.flushes,
            offloaded_bytes: self.offloaded_bytes + other.offloaded_bytes,
            compactions: self.compactions + other.compactions,
            reclaimed_bytes: self.reclaimed_bytes + other.reclaimed_bytes,
            zones_reset: self.zones_reset + other.zones_reset,
            journal_rolls: self.journal_rolls + other.journal_rolls,
            compactions_on_plain: self.compactions_on_plain + other.compactions_on_plain,
            compactions_on_tracks: self.compactions_on_tracks + other.compactions_on_tracks,
        }
    }

    /// Whether every kind of work was done at all, on drives of any kind.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.flushes > 0
            && self.offloaded_bytes > 0
            && self.compactions > 0
            && self.reclaimed_bytes > 0
            && self.zones_reset > 0
            && self.journal_rolls > 0
    }
}

/// A life that has been lived.
#[derive(Debug)]
pub struct Life {
    /// Work done in it.
    pub activity: Activity,
    /// All that was written, in earlier lives too.
    pub history: History,
    /// Points at which the life can be cut.
    pub cuts: Vec<CutPoint>,
    /// The drives after the store was closed.
    pub drives: Drives,
}

/// Promises of the workload so far; read by the observer inside the drive.
#[derive(Default)]
pub(super) struct Promises {
    synced: AtomicUsize,
    issued: AtomicUsize,
}

/// How a life begins.
pub(super) struct Birth {
    pub(super) drives: Drives,
    pub(super) history: History,
    /// Batches that must survive from before.
    pub(super) least: usize,
    /// Whether the drive is formatted first.
    pub(super) format: bool,
    pub(super) life: u32,
}

/// Formats a new drive and writes `batches` batches to it. Must run inside a simulation.
///
/// # Panics
/// When the store fails: nothing is cut yet, so nothing may fail.
#[must_use]
pub fn live(setup: &Setup, batches: usize, random: &mut Random) -> Life {
    let drives = setup.drives(random.random());
    let birth = Birth { drives, history: History::default(), least: 0, format: true, life: 0 };
    live_on(setup, birth, batches, random)
        .unwrap_or_else(|(error, _)| panic!("a life without a cut failed: {error}"))
}

/// Goes on living on a drive. On an error the history up to there comes back with it.
pub(super) fn live_on(
    setup: &Setup,
    birth: Birth,
    batches: usize,
    random: &mut Random,
) -> Result<Life, (terrace::Error, History)> {
    let Birth { drives, mut history, least, format, life } = birth;
    let promises = Arc::new(Promises::default());
    promises.synced.store(least, Ordering::Relaxed);
    promises.issued.store(history.len(), Ordering::Relaxed);
    let cuts = Arc::new(Mutex::new(Vec::new()));
    let latency =
        RandomLatency::new(Duration::from_micros(5), Duration::from_micros(900), life.into());
    drives.set_timing(|| Some(Box::new(latency.clone())));
    observe(&drives, &promises, &cuts, format);
    let mut activity = Activity::default();
    let outcome = (|| {
        if format {
            terrace::Fs::format(&drives, &setup.format)?;
            observe(&drives, &promises, &cuts, false);
        }
        let db = Db::open_device(&drives, setup.options.clone())?;
        promises.synced.store(history.len(), Ordering::Relaxed);
        work(&db, &mut history, &promises, life, batches, random)?;
        activity = Activity::of(&db);
        db.close()?;
        promises.synced.store(history.len(), Ordering::Relaxed);
        Ok(())
    })();
    drives.set_observer(None);
    drives.set_timing(|| None);
    let cuts = std::mem::take(&mut *cuts.lock());
    match outcome {
        Ok(()) => Ok(Life { activity, history, cuts, drives }),
        Err(error) => Err((error, history)),
    }
}

/// Takes cut points from now on; while the drive is being formatted there is no store to recover.
fn observe(
    drives: &Drives,
    promises: &Arc<Promises>,
    cuts: &Arc<Mutex<Vec<CutPoint>>>,
    formatting: bool,
) {
    if formatting {
        return;
    }
    let (promises, cuts) = (promises.clone(), cuts.clone());
    drives.set_observer(Some(Arc::new(move |number, snapshots| {
        let point = CutPoint {
            number,
            snapshots,
            least: promises.synced.load(Ordering::Relaxed),
            most: promises.issued.load(Ordering::Relaxed),
        };
        cuts.lock().push(point);
    })));
}

pub(super) fn work(
    db: &Db,
    history: &mut History,
    promises: &Arc<Promises>,
    life: u32,
    batches: usize,
    random: &mut Random,
) -> Result<(), terrace::Error> {
    let (default, other) = (db.create_key_space("default")?, db.create_key_space("other")?);
    let reader = spawn_reader(db.clone(), random.fork());
    for _ in 0..batches {
        let mut batch = Batch::new();
        let changes = history.draw(life, random);
        for Change { space, key, what } in &changes {
            let mut space = batch.key_space(if *space == 0 { &default } else { &other });
            match what {
                What::Put(value) => space.put(key, value),
                What::Delete => space.delete(key),
                What::DeleteUntil(end) => space.delete_range(key..end),
            };
        }
        promises.issued.store(history.len(), Ordering::Relaxed);
        let synced = random.random_bool(0.3);
        let durability = if synced { Durability::Synced } else { Durability::Gathered };
        db.write_with(batch, durability)?;
        if synced {
            promises.synced.store(history.len(), Ordering::Relaxed);
        }
        match random.random_range(0..100) {
            0 => db.flush()?,
            1 => {
                db.sync()?;
                promises.synced.store(history.len(), Ordering::Relaxed);
            }
            2 if random.random_bool(0.3) => db.compact(..)?,
            3..8 => runner::sleep(Duration::from_micros(random.random_range(1..3_000))),
            _ => {}
        }
    }
    reader.join()
}

/// Reads along, so that files are pinned and reads interleave with everything else.
fn spawn_reader(db: Db, mut random: Random) -> runner::JoinHandle<Result<(), terrace::Error>> {
    runner::spawn("reader", move || {
        for _ in 0..20 {
            runner::sleep(Duration::from_micros(random.random_range(1..5_000)));
            let first = format!("key{:03}", random.random_range(0..KEYS));
            db.get(first.as_bytes())?;
            for entry in db.scan(Bounds::starting_at(first.as_bytes()))?.take(10) {
                entry?;
            }
        }
        Ok(())
    })
}
