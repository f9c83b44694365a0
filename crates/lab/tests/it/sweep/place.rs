//! [`Place`]: the drives or the directory under a life of a sweep, and the [`Fault`]s that it can
//! be given.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use terrace::fs::Role;
use terrace::{Counter, Db, FormatOptions, Fs, Options, Row, Store, System};
use terrace_env::ByteCount;
use terrace_env::random::Random;
use terrace_fs::Access;
use terrace_fs::dir::{DirOptions, DirStore, MemoryFiles};
use terrace_zone::emulator::{Drives, FaultPlan, RandomLatency, RequestKind};
use terrace_zone::{Geometry, PowerCut, Tracks, ZoneState};

/// Kinds of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Zoned,
    LogDevice,
    Offload,
    Plain,
    Tracks,
    Directory,
}

impl Kind {
    /// Number of devices; a directory counts as one.
    pub(super) fn devices(self) -> usize {
        if matches!(self, Self::LogDevice | Self::Offload) { 2 } else { 1 }
    }
}

/// Request that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// One request of a drive.
    Request(RequestKind),
    /// All writes of data, as the host's disk is full, until the drive is healed.
    HostFull,
    /// Some zones become read-only.
    ReadOnlyZones,
    /// One operation of a directory.
    Operation,
    /// One operation of a directory, as the host's disk is full.
    OperationWithoutSpace,
}

impl Fault {
    /// The faults of a kind of place, on its device of this number.
    pub(super) fn of(kind: Kind, device: usize) -> Vec<Self> {
        if kind == Kind::Directory {
            return vec![Self::Operation, Self::OperationWithoutSpace];
        }
        let requests = RequestKind::ALL.map(Self::Request);
        let is_zoned = device == 0 && !matches!(kind, Kind::Plain | Kind::Tracks);
        let of_zones = [RequestKind::Open, RequestKind::Close, RequestKind::Finish];
        let of_zones = of_zones.into_iter().chain([RequestKind::Reset]).map(Self::Request);
        let of_zones: Vec<Self> = of_zones.chain([Self::ReadOnlyZones]).collect();
        let all = requests.into_iter().chain([Self::HostFull, Self::ReadOnlyZones]);
        all.filter(|fault| is_zoned || !of_zones.contains(fault)).collect()
    }
}

/// Zones that [`Fault::ReadOnlyZones`] takes, of the sixty.
const FAILING: std::ops::Range<u32> = 8..14;

/// Medium of one life.
pub(super) enum Place {
    Drives(Drives),
    Directory(MemoryFiles),
}

fn options(kind: Kind) -> Options {
    let system = match kind {
        Kind::Plain => System::of(Row::LeveldbDisk),
        Kind::Tracks => System::of(Row::Sealdb),
        _ => System::default(),
    };
    Options::default()
        .memtable_size(ByteCount::kib(16))
        .block_size(ByteCount(512))
        .merge_operator(Counter)
        .memory(ByteCount::kib(256))
        .file_cache(ByteCount::kib(64))
        .system(System {
            table_size: Some(ByteCount::kib(12)),
            level0_runs: 2,
            level1_size: Some(ByteCount::kib(32)),
            factor: 3,
            ..system
        })
}

impl Place {
    /// An empty place; drives are formatted.
    pub(super) fn new(kind: Kind) -> Self {
        let zoned = || {
            let mut geometry = Geometry::uniform(ByteCount::kib(128), 60);
            (geometry.max_open, geometry.max_active) = (Some(14), Some(14));
            geometry
        };
        let plain = || Geometry::plain(ByteCount::mib(16));
        let tracks = Tracks { blocks: 24, overlap: 2 };
        let (shapes, role) = match kind {
            Kind::Zoned => (vec![zoned()], None),
            Kind::LogDevice => (vec![zoned(), plain()], Some(Role::Log)),
            Kind::Offload => (vec![zoned(), plain()], Some(Role::Offload)),
            Kind::Plain => (vec![plain()], None),
            Kind::Tracks => (vec![Geometry::tracks(ByteCount::mib(24), tracks)], None),
            Kind::Directory => return Self::Directory(MemoryFiles::new()),
        };
        let drives = Drives::in_memory(shapes, 1).expect("shapes of drives");
        let role = role.unwrap_or_default();
        let format = FormatOptions { role, ..FormatOptions::default() };
        Fs::format(&drives, &format).expect("a drive without faults");
        let (least, most) = (Duration::from_micros(5), Duration::from_micros(300));
        drives.set_timing(|| Some(Box::new(RandomLatency::new(least, most, 1))));
        Self::Drives(drives)
    }

    pub(super) fn open(&self, kind: Kind) -> Result<Db, terrace::Error> {
        match self {
            Self::Drives(drives) => Db::open_device(drives, options(kind)),
            Self::Directory(files) => {
                let access = DirOptions { access: Access::ReadWrite };
                let store: Arc<dyn Store> = DirStore::open_on(Arc::new(files.clone()), access)?;
                Db::open(store, options(kind))
            }
        }
    }

    /// Requests, so far, of the kind that a fault strikes.
    pub(super) fn count(&self, fault: Fault, device: usize) -> u64 {
        let drives = match self {
            Self::Drives(drives) => drives,
            Self::Directory(files) => return files.operations(),
        };
        let io = drives.all()[device].io();
        let writes: u64 = io.writes.iter().sum();
        match fault {
            Fault::Request(RequestKind::Read) => io.reads.iter().sum(),
            Fault::Request(RequestKind::Write) | Fault::HostFull => writes,
            Fault::Request(RequestKind::Flush) => io.flushes,
            Fault::Request(RequestKind::Reset) => io.zones_reset,
            // They are not counted by the drive: at most one for each reset, and for each zone.
            Fault::Request(RequestKind::Open | RequestKind::Close | RequestKind::Finish) => {
                io.zones_reset + 60
            }
            _ => writes + io.flushes + io.zones_reset,
        }
    }

    /// Makes the place have a fault, after this number of requests that it could strike.
    pub(super) fn arm(&self, fault: Fault, device: usize, spared: u64) {
        let drives = match self {
            Self::Drives(drives) => drives,
            Self::Directory(files) => {
                let space = fault == Fault::OperationWithoutSpace;
                let kind = if space { ErrorKind::StorageFull } else { ErrorKind::Other };
                files.fail_at(files.operations() + spared, kind);
                return;
            }
        };
        let plan = FaultPlan::new(1);
        let plan = match fault {
            Fault::Request(kind) => plan.fail(kind, spared),
            Fault::HostFull => plan.host_fills(spared),
            _ => plan.zones_fail(spared, FAILING, ZoneState::ReadOnly),
        };
        drives.all()[device].set_faults(Some(plan));
    }

    /// Ends the faults that have not come yet, and those that last.
    pub(super) fn heal(&self) {
        match self {
            Self::Drives(drives) => drives.all().iter().for_each(|drive| drive.set_faults(None)),
            Self::Directory(files) => files.fail_at(u64::MAX, ErrorKind::Other),
        }
    }

    /// A copy as it is found after a power cut that takes all volatile changes.
    pub(super) fn cut(&self) -> Self {
        let random = &mut Random::seeded(1);
        match self {
            Self::Drives(drives) => {
                let snapshots = drives.snapshot().expect("drives in memory");
                Self::Drives(snapshots.cut(PowerCut::DropUnflushed, random))
            }
            Self::Directory(files) => Self::Directory(files.power_cut(random)),
        }
    }

    /// Problems that the check of a closed store finds.
    pub(super) fn problems(&self) -> Vec<String> {
        let checked = match self {
            Self::Drives(drives) => Fs::check(drives),
            Self::Directory(files) => DirStore::check_on(Arc::new(files.clone()), &mut |_, _| ()),
        };
        match checked {
            Ok(checked) => checked.problems.iter().map(ToString::to_string).collect(),
            Err(error) => vec![error.to_string()],
        }
    }
}
