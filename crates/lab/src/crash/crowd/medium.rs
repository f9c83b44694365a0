//! [`Medium`]: where the store of a crash test lies, how it is made to fail, and how its power is
//! cut. A medium is one or two emulated drives, a directory or a store, all in memory.
//!
//! - [`Medium::harm`] makes later operations fail: none with [`Harm::Nothing`], one with
//!   [`Harm::Once`], several with [`Harm::Lasting`]. On drives it draws one drive and one kind of
//!   request. [`Harm::Once`] then fails one request of this kind, [`Harm::Lasting`] this one and,
//!   by chance, one in three of the kind. Fewer fail, or none, if too few operations
//!   or requests follow.
//! - [`Medium::heal`] ends the failures of drives and of stores in memory. A directory is not
//!   healed: its failure may still come, and after a lasting failure it is without power.
//! - [`Medium::cut`] returns a copy as it is found after a power cut. The medium itself goes on.

use std::sync::Arc;
use std::time::Duration;

use terrace::{Db, Fs, MemoryStore, Store};
use terrace_env::random::{Random, Rng};
use terrace_env::store::{CrashMode, Failure, Latency};
use terrace_fs::Access;
use terrace_fs::dir::{DirOptions, DirStore, MemoryFiles};
use terrace_zone::PowerCut;
use terrace_zone::emulator::{Drives, FaultPlan, RandomLatency, RequestKind};

use super::super::life::Setup;

/// Medium under a store. All of it is in memory and knows its durable state.
pub enum Medium {
    /// An emulated drive, or two.
    Drive(Drives),
    /// A directory.
    Directory(MemoryFiles),
    /// The fake of a store.
    Memory(MemoryStore),
}

/// Faults of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// Nothing: the power is cut all the same.
    Nothing,
    /// One operation, after a number of others.
    Once(u64),
    /// In a store in memory one operation and all that write after it, in a directory also those
    /// that read after it. On a drive one request, and by chance one in three of its kind.
    Lasting(u64),
}

/// How long operations take, so that others come in between.
const MICROS_MAX: u64 = 300;

impl Medium {
    /// A new drive with an empty store on it. In a simulation its requests take time.
    #[must_use]
    pub fn drive(setup: &Setup, seed: u64) -> Self {
        let drives = setup.drives(seed);
        Fs::format(&drives, &setup.format).expect("a drive without faults");
        let (least, most) = (Duration::from_micros(5), Duration::from_micros(MICROS_MAX));
        drives.set_timing(|| Some(Box::new(RandomLatency::new(least, most, seed))));
        Self::Drive(drives)
    }

    /// An empty directory.
    #[must_use]
    pub fn directory() -> Self {
        Self::Directory(MemoryFiles::new().with_sync_time(Duration::from_micros(MICROS_MAX)))
    }

    /// An empty store in memory.
    #[must_use]
    pub fn memory(seed: u64) -> Self {
        let micros = Duration::from_micros(MICROS_MAX);
        let latency =
            Latency { append: micros / 10, sync: micros, commit: micros, read: micros / 10 };
        Self::Memory(MemoryStore::new().with_latency(seed, latency))
    }

    /// Opens the store.
    pub fn open(&self, setup: &Setup) -> Result<Db, terrace::Error> {
        let options = setup.options.clone();
        match self {
            Self::Drive(drives) => Db::open_device(drives, options),
            Self::Directory(files) => {
                let access = DirOptions { access: Access::ReadWrite };
                let store: Arc<dyn Store> = DirStore::open_on(Arc::new(files.clone()), access)?;
                Db::open(store, options)
            }
            Self::Memory(store) => Db::open(Arc::new(store.clone()), options),
        }
    }

    /// Makes something fail from now on.
    pub fn harm(&self, harm: Harm, random: &mut Random) {
        let Some((after, lasting)) = (match harm {
            Harm::Nothing => None,
            Harm::Once(after) => Some((after, false)),
            Harm::Lasting(after) => Some((after, true)),
        }) else {
            return;
        };
        match self {
            Self::Drive(drives) => {
                let drive = match drives.all() {
                    [drive] => drive,
                    drives => &drives[random.random_range(0..drives.len())],
                };
                let kinds = [RequestKind::Write, RequestKind::Flush, RequestKind::Write];
                let rare = [RequestKind::Finish, RequestKind::Reset, RequestKind::Open];
                let kind = match random.random_range(0..4) {
                    0 => rare[random.random_range(0..rare.len())],
                    at => kinds[at - 1],
                };
                // There are far fewer flushes than writes.
                let after = if kind == RequestKind::Write { after } else { after / 8 };
                let plan = FaultPlan::new(random.random()).fail(kind, after);
                drive.set_faults(Some(if lasting { plan.fail_by_chance(kind, 3) } else { plan }));
            }
            Self::Directory(files) => {
                files.fail_at(files.operations() + after, std::io::ErrorKind::Other);
                if lasting {
                    files.cut_at(files.operations() + after + 1);
                }
            }
            Self::Memory(store) => {
                let failure = if lasting { Failure::Sticky } else { Failure::Once };
                store.fail_at(store.operations() + after, failure);
            }
        }
    }

    /// Takes back planned failures that have not yet come. A directory without power stays without.
    pub fn heal(&self) {
        match self {
            Self::Drive(drives) => drives.all().iter().for_each(|drive| drive.set_faults(None)),
            Self::Directory(_) => {}
            Self::Memory(store) => store.heal(),
        }
    }

    /// A copy of this medium as it would be found if the power were cut now. This medium lives on,
    /// so that clients that still use it come to an end.
    #[must_use]
    pub fn cut(&self, random: &mut Random) -> Self {
        match self {
            Self::Drive(drives) => {
                let cut = PowerCut::any(random);
                let snapshots = drives.snapshot().expect("drives in memory");
                Self::Drive(snapshots.cut(cut, random))
            }
            Self::Directory(files) => Self::Directory(files.power_cut(random)),
            Self::Memory(store) => {
                let modes = [CrashMode::DropUnsynced, CrashMode::TearUnsynced];
                Self::Memory(store.crash(modes[random.random_range(0..2)], random))
            }
        }
    }

    /// Reads everything and verifies it; returns the faults, in words.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let report = match self {
            Self::Drive(drives) => Fs::check(drives),
            Self::Directory(files) => DirStore::check_on(Arc::new(files.clone()), &mut |_, _| ()),
            Self::Memory(_) => return Vec::new(),
        };
        match report {
            Ok(report) => report.problems.iter().map(ToString::to_string).collect(),
            Err(error) => vec![error.to_string()],
        }
    }
}

impl std::fmt::Debug for Medium {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Drive(drives) if drives.all().len() > 1 => "two drives",
            Self::Drive(_) => "a drive",
            Self::Directory(_) => "a directory",
            Self::Memory(_) => "a store in memory",
        })
    }
}
