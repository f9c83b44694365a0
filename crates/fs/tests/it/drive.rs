//! Drives and stores for the tests: odd shapes, made and mounted alike.

use std::sync::Arc;

use terrace_env::random::Random;
use terrace_env::store::Store;
use terrace_env::store::conformance::Subject;
use terrace_env::{ByteCount, Uuid};
use terrace_fs::superblock::Role;
use terrace_fs::{
    CachePolicy, Devices, FormatOptions, Fs, MountOptions, OPEN_ZONES_MIN, data_zones_min,
};
use terrace_zone::emulator::Drives;
use terrace_zone::{Emulator, Geometry, PowerCut, Tracks};

/// The shapes that tests run on, by name.
pub(crate) fn shapes() -> Vec<(&'static str, Geometry)> {
    let plain = Geometry::uniform(ByteCount::kib(512), 64);
    vec![
        ("plain", plain.clone()),
        (
            "512-byte blocks, capacity below size, a short last zone, few open zones",
            Geometry {
                logical_block: 512,
                physical_block: 4096,
                zone_size: 1544,
                zone_capacity: 1096,
                zones: 61,
                last_zone_size: Some(800),
                max_open: Some(OPEN_ZONES_MIN + 1),
                max_active: Some(OPEN_ZONES_MIN + 1),
                ..plain.clone()
            },
        ),
        (
            "conventional zones",
            Geometry {
                physical_block: 512,
                logical_block: 512,
                zone_size: 1024,
                zone_capacity: 1024,
                zones: 70,
                conventional: vec![0..2, 20..23],
                ..plain
            },
        ),
        ("fewest zones", fewest()),
    ]
}

/// Drives without zones that tests run on, by name.
pub(crate) fn shapes_without_zones() -> Vec<(&'static str, Geometry)> {
    let tracks = Tracks { blocks: 24, overlap: 2 };
    vec![
        ("a plain drive", plain(64)),
        ("a plain drive of 512-byte blocks", in_sectors(plain(64))),
        ("the smallest plain drive", plain(16)),
        ("shingled tracks", Geometry::tracks(ByteCount::mib(64), tracks)),
        ("long shingled tracks", {
            Geometry::tracks(ByteCount::mib(96), Tracks { blocks: 200, overlap: 3 })
        }),
    ]
}

fn plain(mib: u64) -> Geometry {
    Geometry::plain(ByteCount::mib(mib))
}

/// The same size in blocks of 512 bytes; a track has the same number of blocks.
pub(crate) fn in_sectors(geometry: Geometry) -> Geometry {
    let blocks = geometry.zone_size * 8;
    let (logical_block, physical_block) = (512, 512);
    Geometry { zone_size: blocks, zone_capacity: blocks, logical_block, physical_block, ..geometry }
}

/// The smallest drive that `format` accepts.
pub(crate) fn fewest() -> Geometry {
    Geometry {
        max_open: Some(OPEN_ZONES_MIN + 1),
        max_active: Some(OPEN_ZONES_MIN + 1),
        ..Geometry::uniform(ByteCount::mib(1), data_zones_min(256) + 2)
    }
}

/// A store's identity that a seed gives.
pub(crate) fn uuid(seed: u64) -> Uuid {
    Random::seeded(seed).uuid()
}

/// An empty store on a drive in memory.
pub(crate) fn formatted(geometry: Geometry, seed: u64) -> Arc<Emulator> {
    let drive = Arc::new(Emulator::in_memory(geometry, seed).expect("a possible shape"));
    format(&drive, seed);
    drive
}

/// Makes a drive an empty store.
pub(crate) fn format(drives: impl Into<Devices>, seed: u64) {
    format_as(drives, Role::Log, seed);
}

/// The same, where the second drive has this role.
pub(crate) fn format_as(drives: impl Into<Devices>, role: Role, seed: u64) {
    let options = FormatOptions { uuid: Some(uuid(seed)), role, ..FormatOptions::default() };
    Fs::format(drives, &options).expect("a store");
}

/// An empty store on a zoned drive in memory, with a plain one of this size for the journal and the
/// logs.
pub(crate) fn formatted_with_log(geometry: Geometry, log: ByteCount, seed: u64) -> Drives {
    formatted_pair(geometry, (Role::Log, log), seed)
}

/// An empty store on a drive in memory, with a plain one of this role and size.
pub(crate) fn formatted_pair(
    geometry: Geometry,
    (role, size): (Role, ByteCount),
    seed: u64,
) -> Drives {
    let make = |geometry| Emulator::in_memory(geometry, seed).expect("a possible shape");
    let drives = Drives::from(vec![make(geometry), make(Geometry::plain(size))]);
    format_as(&drives, role, seed);
    drives
}

/// Mounts a store for reading and writing.
pub(crate) fn mount(devices: impl Into<Devices>) -> Arc<Fs> {
    Fs::mount(devices, &MountOptions::default()).expect("a mounted store")
}

/// Unmounts a store that may have failed, and counts all its blocks anew: failed requests must leak
/// nothing. A journal that has stopped may have staged more than it told of.
pub(crate) fn audit(fs: &Fs, stopped: bool) {
    fs.unmount();
    if !stopped {
        assert_eq!(fs.audit(), Vec::<String>::new());
    }
}

/// A store that can be closed and found again.
pub(crate) struct Mounted {
    pub(crate) drives: Drives,
    pub(crate) fs: Option<Arc<Fs>>,
    cache: (ByteCount, CachePolicy),
}

impl Mounted {
    pub(crate) fn new(geometry: Geometry, seed: u64) -> Self {
        Self::with_cache(geometry, seed, ByteCount(0), CachePolicy::default())
    }

    pub(crate) fn with_cache(
        geometry: Geometry,
        seed: u64,
        size: ByteCount,
        policy: CachePolicy,
    ) -> Self {
        let drives = Emulator::in_memory(geometry, seed).expect("a possible shape").into();
        format(&drives, seed);
        Self::on(drives, size, policy)
    }

    /// With a plain drive of this role and size.
    pub(crate) fn with_second(geometry: Geometry, second: (Role, ByteCount), seed: u64) -> Self {
        let drives = formatted_pair(geometry, second, seed);
        Self::on(drives, ByteCount(0), CachePolicy::default())
    }

    /// On drives that hold a store.
    pub(crate) fn on(drives: Drives, size: ByteCount, policy: CachePolicy) -> Self {
        let mut made = Self { drives, fs: None, cache: (size, policy) };
        made.mount();
        made
    }

    fn mount(&mut self) {
        let fs = mount(&self.drives);
        fs.set_cache(self.cache.0, self.cache.1);
        self.fs = Some(fs);
    }

    fn close(&mut self) {
        if let Some(fs) = self.fs.take() {
            fs.unmount();
            assert_eq!(fs.audit(), Vec::<String>::new());
        }
    }
}

impl Subject for Mounted {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(self.fs.as_ref().expect("mounted")) as Arc<dyn Store>
    }

    fn reopen(&mut self) {
        self.close();
        self.mount();
    }

    fn end_process(&mut self, _seed: u64) {
        // Closing writes nothing that the process has gathered.
        self.reopen();
    }

    fn power_cut(&mut self, seed: u64) {
        self.close();
        let mut random = Random::seeded(seed);
        let cut = PowerCut::any(&mut random);
        for drive in self.drives.all() {
            drive.power_cut(cut, &mut random).expect("a medium in memory");
            drive.power_on();
        }
        self.mount();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(fs) = self.fs.take() {
            fs.unmount();
        }
    }
}
