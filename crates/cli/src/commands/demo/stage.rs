//! The stage of `terrace demo`: the emulated drive, and options of a store that fit the amount of
//! data.
//!
//! - A zoned drive has room for one and a half times the data in zones of 16 MiB, and
//!   [`ZONES_BESIDE`] zones more. A drive of bands has likewise, in bands. A drive without zones
//!   has the size of the zoned one.
//! - A drive that is there already takes as much of the data as it has room for by this rule.
//! - The image is made where `--keep` says, or in a temporary directory that is deleted at once.
//! - A memtable has a 64th of the bytes of the data, but at least 64 KiB and at most 8 MiB. The
//!   system's `factor`, by which levels grow, is [`FACTOR`], so that little data makes many levels.
//!   But a system whose parameters are not its defaults keeps its factor.

use std::path::Path;
use std::sync::Arc;

use terrace::device::Random;
use terrace::device::{Emulator, Geometry};
use terrace::{ByteCount, Options, System};

use super::place::Place;
use crate::commands::device::DeviceKind;
use crate::escape::shown;
use crate::failure::Failure;
use crate::scratch::Scratch;

/// Zones for any amount of data: superblock, journal, logs, reserves, and room for the burst.
const ZONES_BESIDE: u64 = 20;

/// Conventional zones: real drives have about one in a hundred, at the front.
const CONVENTIONAL: u32 = 1;

/// Zones that may be open at once: few, to show that few are enough. Real drives allow 128.
const OPEN_MAX: u32 = 12;

/// How much larger each level is than the one above it, unless a system is given with its
/// parameters.
const FACTOR: u16 = 4;

/// Makes the drive: large enough for one and a half times the data, small enough that its space
/// must be used again and again.
pub(super) fn make_drive(
    kind: DeviceKind,
    data: ByteCount,
    keep: Option<&Path>,
    random: &mut Random,
) -> Result<Arc<Emulator>, Failure> {
    let zone_size = kind.usual_zone();
    let zones = (data.0 + data.0 / 2).div_ceil(zone_size.0) + ZONES_BESIDE;
    let geometry = match kind {
        DeviceKind::Zoned => Geometry {
            conventional: std::iter::once(0..CONVENTIONAL).collect(),
            max_open: Some(OPEN_MAX),
            ..Geometry::uniform(zone_size, u32::try_from(zones).unwrap_or(u32::MAX))
        },
        other => other.usual(ByteCount(zones * zone_size.0))?,
    };
    let drive = match keep {
        Some(path) => Emulator::create_image(path, geometry, random.uuid())?,
        None => {
            let place = Scratch::make(&std::env::temp_dir(), "terrace-demo-")?;
            // The image loses its name with the directory, and its space when it is closed.
            let path = place.path().join("drive.img");
            Emulator::create_image(path, geometry, random.uuid())?.unsynced()
        }
    };
    Ok(Arc::new(drive))
}

/// The most data for an existing drive: the amount for which [`make_drive`] would make a drive of
/// this size, but at least a quarter of the drive.
pub(super) fn data_max(geometry: &Geometry) -> ByteCount {
    let capacity = geometry.capacity();
    let room = capacity.0.saturating_sub((ZONES_BESIDE + 1) * geometry.zone_like_unit().0);
    ByteCount((room / 3 * 2).max(capacity.0 / 4))
}

/// The drive in words.
pub(super) fn describe(place: &Place) -> String {
    let geometry = place.geometry();
    let drive = if geometry.layout.is_zoned() {
        format!("a drive of {} zones of {}", geometry.zones, geometry.zone_like_unit())
    } else {
        geometry.layout.phrase(&format!("drive of {}", geometry.capacity()))
    };
    match place {
        Place::Emulated(_) => drive + ", emulated in a sparse file",
        Place::Device { path, .. } => format!("{drive}: {}", shown(path)),
    }
}

/// Options in proportion to the data, as they would be for a large store: so there are as many
/// levels, however little is loaded.
pub(super) fn options(data: ByteCount, system: Option<System>) -> Options {
    let system = system.unwrap_or_default();
    let factor = if system == System::of(system.row) { FACTOR } else { system.factor };
    let memtable_size = Some(ByteCount((data.0 / 64).clamp(64 << 10, 8 << 20)));
    Options::default().memtable_size(memtable_size).system(System { factor, ..system })
}

#[cfg(test)]
mod tests {
    use terrace::device::Device as _;

    use super::*;

    #[test]
    fn a_drive_that_is_there_takes_as_much_as_one_that_is_made() {
        for gib in [1, 20] {
            let data = ByteCount::gib(gib);
            let drive = make_drive(DeviceKind::Zoned, data, None, &mut Random::seeded(1)).unwrap();
            let most = data_max(drive.geometry());
            let zone = DeviceKind::Zoned.usual_zone();
            assert!((data.0 - 2 * zone.0..=data.0).contains(&most.0), "{most}");
        }
        let small = Geometry::uniform(ByteCount::mib(1), 16);
        assert_eq!(data_max(&small), ByteCount::mib(4));
    }

    #[test]
    fn a_drive_of_any_kind_has_room_for_half_as_much_again_as_the_data_and_little_more() {
        let kinds = [DeviceKind::Zoned, DeviceKind::Bands, DeviceKind::Plain, DeviceKind::Tracks];
        for (kind, gib) in kinds.into_iter().flat_map(|kind| [(kind, 1), (kind, 20)]) {
            let data = ByteCount::gib(gib);
            let drive = make_drive(kind, data, None, &mut Random::seeded(1)).unwrap();
            let capacity = drive.geometry().capacity().0;
            let beside = (ZONES_BESIDE + 1) * kind.usual_zone().0;
            let wanted = data.0 + data.0 / 2;
            assert!((wanted..=wanted + beside).contains(&capacity), "{kind:?}: {capacity}");
        }
    }
}
