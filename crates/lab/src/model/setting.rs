//! [`Setting`]: where and how a script is played: the drive, sometimes a second drive for journal
//! and logs or for offloaded flushes, how they are formatted, the longest time of a request, and
//! one or more sets of options.
//!
//! The store is first opened with the first set of options. Operations that open it again choose a
//! set by number.
//!
//! [`Setting::metamorphic`] has fixed settings, under all of which a script of kind `Determined`
//! must read back the same. [`Setting::any`] draws a setting from a seed: its drive may be so small
//! that writes are refused for lack of space.

use std::time::Duration;

use terrace::fs::Role;
use terrace::{ByteCount, FormatOptions, GearVariant, LoadRule, Options, Row, System, Throttle};
use terrace_env::random::{Random, Rng};
use terrace_zone::emulator::{RandomLatency, Timing};
use terrace_zone::{Geometry, Tracks};

use terrace::{Compression, KeySpaceOptions, LevelCompression};

/// A drive, and the options that a store on it is opened with.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The drive.
    pub geometry: Geometry,
    /// The second, plain drive, if there is one; `format` tells its role.
    pub second: Option<Geometry>,
    /// How it is formatted.
    pub format: FormatOptions,
    /// How the store is opened; operations that open it again choose by number.
    pub options: Vec<Options>,
    /// Options of key spaces, by turns; at each opening a key space gets the next ones. None: no
    /// key space has options of its own.
    pub spaces: Vec<KeySpaceOptions>,
    /// The longest a request takes; none: requests complete at once.
    pub latency_max: Option<Duration>,
}

/// How many fixed settings the metamorphic run has.
pub const METAMORPHIC_SETTINGS: usize = 22;

/// Options under which a few hundred writes make a tree of several levels.
fn tight() -> Options {
    Options::default()
        .memtable_size(ByteCount::kib(24))
        .block_size(ByteCount(512))
        .system(small())
        .memory(ByteCount::kib(256))
}

/// Small tables and levels.
fn small() -> System {
    System {
        table_size: Some(ByteCount::kib(12)),
        level0_runs: 2,
        level1_size: Some(ByteCount::kib(48)),
        factor: 3,
        ..System::default()
    }
}

/// So long that no entry expires.
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Zones of 96 KiB that hold the smallest store, shrunk and shortened as [`any_geometry`] does.
const SMALLEST: u32 = 27;
/// Short tracks, so that small writes cross them.
const TRACKS: Tracks = Tracks { blocks: 24, overlap: 2 };

fn plain() -> Geometry {
    Geometry::uniform(ByteCount::kib(256), 64)
}

impl Setting {
    fn of(geometry: Geometry, options: Vec<Options>) -> Self {
        let latency_max = Some(Duration::from_micros(400));
        let (format, spaces) = (FormatOptions::default(), Vec::new());
        Self { geometry, second: None, format, options, spaces, latency_max }
    }

    pub(super) fn timing(&self, seed: u64) -> Option<Box<dyn Timing>> {
        let latency = |max| RandomLatency::new(Duration::from_micros(2), max, seed);
        self.latency_max.map(|max| Box::new(latency(max)) as Box<dyn Timing>)
    }

    /// The fixed setting of this number: each stands for something that must not be seen from
    /// outside.
    ///
    /// # Panics
    /// When there is none of this number.
    #[must_use]
    pub fn metamorphic(number: usize) -> Self {
        let (mut geometry, mut options) = (plain(), vec![tight()]);
        let first = &mut options[0];
        let (mut latency_max, mut second) = (Some(Duration::from_micros(400)), None);
        let mut spaces = Vec::new();
        let mut format = FormatOptions::default();
        match number {
            // The default options: everything stays in memtables and logs.
            0 => *first = Options::default(),
            1 => {}
            2 => first.compression = Some(Compression::Lz4.into()),
            3 => first.filter_bits = Some(0),
            4 => first.block_size = Some(ByteCount(1)),
            5 => (first.block_size, first.filter_bits) = (Some(ByteCount::kib(64)), Some(3)),
            6 => first.memtable_size = Some(ByteCount::kib(4)),
            7 => first.memtables_max = 1,
            8 => {
                let table_size = Some(ByteCount::kib(2));
                first.system = Some(System { table_size, factor: 2, ..small() });
            }
            9 => first.system = Some(System { level0_runs: 9, ..small() }),
            10 => first.memory = ByteCount::kib(64),
            // Zones that are no power of two and not writable to their end, and few slots.
            11 => {
                (geometry.zone_size, geometry.zone_capacity) = (61, 53);
                (geometry.max_active, geometry.max_open) = (Some(14), Some(12));
                geometry.zones = 80;
            }
            12 => geometry.conventional.push(0..2),
            // 512-byte blocks; zones larger than all that is written.
            13 => {
                (geometry.logical_block, geometry.physical_block) = (512, 4096);
                (geometry.zone_size, geometry.zone_capacity) = (8 << 9, 8 << 9);
                geometry.zones = 40;
            }
            14 => (latency_max, first.file_cache) = (None, ByteCount::kib(100)),
            // Another form at each opening.
            15 => {
                options.push(tight().compression(Compression::Zstd));
                options.push(tight().first_keys(true));
                let table_size = Some(ByteCount::kib(40));
                let large = System { level0_runs: 5, table_size, ..small() };
                options.push(tight().system(large));
                let others = Row::ALL.map(|row| Some(System { row, ..small() }));
                options.extend(others.map(|system| tight().system(system)));
                options.push(Options::default());
            }
            // Journal and logs on a drive of their own.
            16 => second = Some(Geometry::plain(ByteCount::mib(16))),
            // Everything on a drive without zones.
            17 => geometry = Geometry::plain(ByteCount::mib(32)),
            18 => geometry = Geometry::tracks(ByteCount::mib(32), TRACKS),
            // Tables of the first level on a drive of their own, now and then.
            19 => {
                second = Some(Geometry::plain(ByteCount::mib(8)));
                format.role = Role::Offload;
            }
            20 => first.first_keys = Some(true),
            // Each key space in a form of its own, and another one after each opening.
            21 => {
                let own = KeySpaceOptions::default();
                spaces.push(own.compression(Compression::Lz4).filter_bits(0).ttl(CENTURY));
                spaces.push(own.block_size(ByteCount(1)).filter_bits(3));
                spaces.push(own.compression(LevelCompression::MIXED).filter_bits(20));
                options.push(tight().first_keys(true));
            }
            _ => panic!("settings 0 to {}, not {number}", METAMORPHIC_SETTINGS - 1),
        }
        Self { latency_max, second, format, spaces, ..Self::of(geometry, options) }
    }

    /// A setting by chance: odd shapes, small drives and strange options among them.
    #[must_use]
    pub fn any(seed: u64) -> Self {
        let random = &mut Random::seeded(seed);
        let mut options: Vec<_> =
            (0..random.random_range(1..4)).map(|_| any_options(random)).collect();
        for (at, options) in (0..).zip(&mut options) {
            options.first_keys = Some((seed + at).is_multiple_of(3));
        }
        let geometry = any_geometry(random);
        // The smallest that a store can live with, and larger ones.
        let second = random.random_ratio(1, 6).then(|| {
            let size = ByteCount::mib(random.random_range(8..13));
            Geometry::plain(size)
        });
        let role = if seed.is_multiple_of(2) { Role::Log } else { Role::Offload };
        let format = FormatOptions { role, ..FormatOptions::default() };
        let spaces = (0..seed % 4).map(|_| any_space(random)).collect();
        Self { second, format, spaces, ..Self::of(geometry, options) }
    }
}

fn any_codec(random: &mut Random) -> Compression {
    [Compression::None, Compression::Lz4, Compression::Zstd][random.random_range(0..3)]
}

fn any_space(random: &mut Random) -> KeySpaceOptions {
    let mut options = KeySpaceOptions::default();
    if random.random() {
        options = options
            .compression(LevelCompression { upper: any_codec(random), last: any_codec(random) });
    }
    options.filter_bits = random.random::<bool>().then(|| random.random_range(0..20));
    options.block_size =
        random.random::<bool>().then(|| ByteCount(1 << random.random_range(0..15)));
    options.ttl = random.random_ratio(1, 4).then_some(CENTURY);
    options
}

fn any_options(random: &mut Random) -> Options {
    let bytes = |random: &mut Random, from: u64, to: u64| {
        ByteCount(from << random.random_range(0..=(to / from).ilog2()))
    };
    Options::default()
        .memtable_size(bytes(random, 4 << 10, 128 << 10))
        .memtables_max(random.random_range(1..4))
        .block_size(bytes(random, 128, 16 << 10))
        .compression(LevelCompression { upper: any_codec(random), last: any_codec(random) })
        .filter_bits(random.random_range(0..16))
        .system(any_system(random))
        .memory(bytes(random, 64 << 10, 16 << 20))
        .file_cache(match random.random_range(0..3) {
            0 => ByteCount(0),
            _ => bytes(random, 4 << 10, 16 << 20),
        })
}

/// A system with parameters of its own, with those that fit the drive, or the one that the store
/// remembers.
fn any_system(random: &mut Random) -> Option<System> {
    let bytes = |random: &mut Random, from: u64, to: u64| {
        Some(ByteCount(from << random.random_range(0..=(to / from).ilog2())))
    };
    let system = System::of(Row::ALL[random.random_range(0..Row::ALL.len())]);
    match random.random_range(0..8) {
        0 => None,
        1 => Some(system),
        _ => Some(System {
            table_size: bytes(random, 2 << 10, 128 << 10),
            level0_runs: random.random_range(1..6),
            level1_size: bytes(random, 8 << 10, 256 << 10),
            factor: random.random_range(2..11),
            ..system
        })
        // Rows without these parameters ignore them.
        .map(|system| System {
            jobs: [1, 2, 4][usize::from(system.level0_runs) % 3],
            throttle: [None, Some(Throttle::Paced), Some(Throttle::Leveldb), Some(Throttle::Off)]
                [usize::from(system.factor) / 2 % 4],
            growth: [None, Some(5), Some(25)][usize::from(system.level0_runs) % 3],
            check_moves: system.factor > 5,
            // Small trees hardly come to the overlaps that a store of many bands allows.
            overlap_bands: [None, Some(1), Some(2)][usize::from(system.factor) % 3],
            along_max: [0, 3, 30][usize::from(system.factor) % 3],
            load: LoadRule::ALL[usize::from(system.factor + system.level0_runs) % 4],
            flush_level: [0, 2, 6][usize::from(system.factor) % 3],
            levels: [4, 3, 7][usize::from(system.factor) % 3],
            variant: [GearVariant::Repaired, GearVariant::Code, GearVariant::Algorithm1]
                [usize::from(system.factor + system.level0_runs) % 3],
            ..system
        }),
    }
}

fn any_geometry(random: &mut Random) -> Geometry {
    match random.random_range(0..16) {
        0 => return Geometry::plain(ByteCount::mib(random.random_range(16..40))),
        1 => return Geometry::tracks(ByteCount::mib(random.random_range(24..40)), TRACKS),
        _ => {}
    }
    let mut geometry = match random.random_range(0..5) {
        0 => Geometry::uniform(ByteCount::mib(2), 24),
        1 => Geometry::uniform(ByteCount::kib(96), random.random_range(60..200)),
        // The fewest zones that a store can live with, and few more: it will be full at times.
        2 => Geometry::uniform(ByteCount::kib(96), SMALLEST + random.random_range(0..4)),
        _ => Geometry::uniform(ByteCount::kib(256), random.random_range(30..64)),
    };
    if random.random_bool(0.3) {
        geometry.zone_capacity -= random.random_range(1..geometry.zone_capacity / 4);
    }
    if random.random_bool(0.2) {
        geometry.zone_size += random.random_range(1..9);
    }
    if random.random_bool(0.3) {
        geometry.conventional.push(0..random.random_range(1..4));
    }
    if random.random_bool(0.2) {
        geometry.last_zone_size = Some(random.random_range(1..geometry.zone_size));
    }
    if random.random_bool(0.4) {
        // The fewest that a store can live with, and more.
        let open = terrace_fs::OPEN_ZONES_MIN + 1 + random.random_range(0..4);
        (geometry.max_open, geometry.max_active) = (Some(open), Some(open));
    }
    geometry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_possible_drive() {
        for number in 0..METAMORPHIC_SETTINGS {
            Setting::metamorphic(number).geometry.validate().unwrap();
        }
        for seed in 0..500 {
            Setting::any(seed).geometry.validate().unwrap();
        }
    }
}
