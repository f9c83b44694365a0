//! The geometry of a block device: of a zoned one from the kernel's report of all its zones, of
//! another one from its size; and the states of reported zones.

use terrace_env::{Lba, ZoneId};

use super::ioctl::{RawZone, SECTOR};
use super::queue::Queue;
use crate::{Geometry, GeometryError, Layout, ZoneReport, ZoneState, ZoneStatus};

/// Kind of a zone in the kernel's report: conventional.
const CONVENTIONAL: u8 = 1;

/// The geometry of a device without zones. A remainder after the last physical block is not used.
pub(super) fn plain(queue: &Queue, bytes: u64) -> Result<Geometry, GeometryError> {
    let logical_block = queue.logical_block;
    // The unit of tearing; the engine's largest is a page. The logical block of a device may be
    // larger (Linux 6.15): such a device is refused below.
    let physical_block = queue.physical_block.min(4096).max(logical_block);
    let blocks = bytes / u64::from(physical_block) * u64::from(physical_block / logical_block);
    let geometry = Geometry {
        layout: Layout::Plain,
        logical_block,
        physical_block,
        zone_size: blocks,
        zone_capacity: blocks,
        rotational: queue.rotational,
        ..Geometry::plain(terrace_env::ByteCount(bytes))
    };
    geometry.validate()?;
    Ok(geometry)
}

/// The geometry of a zoned device. The limit of an append is set only where there is append.
pub(super) fn zoned(queue: &Queue, zones: &[RawZone]) -> Result<Geometry, GeometryError> {
    let logical_block = queue.logical_block;
    let physical_block = queue.write_granularity.unwrap_or(queue.physical_block).max(logical_block);
    let wrong = |what, expected: &dyn ToString, got: String| {
        Err(GeometryError { what, expected: expected.to_string(), got })
    };
    let Some(first) = zones.first() else { return wrong("zones", &"1 or more", "0".into()) };
    let sectors = first.len;
    for (at, zone) in zones.iter().enumerate() {
        let last = at + 1 == zones.len();
        let expected = at as u64 * sectors;
        if zone.start != expected || zone.len > sectors || (!last && zone.len < sectors) {
            let expected = format!("zone {at} of {sectors} sectors at sector {expected}");
            return wrong("zones", &expected, format!("{} at {}", zone.len, zone.start));
        }
    }
    let sequential = || zones.iter().filter(|zone| zone.kind != CONVENTIONAL);
    let capacity = sequential().next().map_or(sectors, |zone| zone.capacity);
    if let Some(other) = sequential().find(|zone| zone.capacity != capacity.min(zone.len)) {
        let expected = format!("{capacity} sectors in every zone");
        let got = format!("{} in the zone at sector {}", other.capacity, other.start);
        return wrong("zone capacity", &expected, got);
    }
    let blocks = |sectors: u64| sectors * SECTOR / u64::from(logical_block);
    let last = zones[zones.len() - 1].len;
    let zone_count = u32::try_from(zones.len()).unwrap_or(u32::MAX);
    let mut conventional = Vec::new();
    let mut at = 0;
    for run in zones.chunk_by(|one, next| one.kind == next.kind) {
        let end = at + run.len() as u32;
        if run[0].kind == CONVENTIONAL {
            conventional.push(at..end);
        }
        at = end;
    }
    let max_active = queue.max_active;
    let geometry = Geometry {
        layout: Layout::Zoned,
        logical_block,
        physical_block,
        zone_size: blocks(sectors),
        zone_capacity: blocks(capacity),
        zones: zone_count,
        last_zone_size: (last < sectors).then(|| blocks(last)),
        conventional,
        // There are never more open zones than active ones, whatever the device says.
        max_open: queue.max_open.map(|open| open.min(max_active.unwrap_or(open))),
        max_active,
        max_append: None,
        rotational: queue.rotational,
    };
    geometry.validate()?;
    Ok(geometry)
}

/// A reported zone in our words. A pointer is taken over only where it means something.
pub(super) fn report(geometry: &Geometry, zone: ZoneId, raw: &RawZone) -> ZoneReport {
    let state = match raw.condition {
        0 => ZoneState::NotWritePointer,
        1 => ZoneState::Empty,
        2 => ZoneState::ImplicitlyOpen,
        3 => ZoneState::ExplicitlyOpen,
        4 => ZoneState::Closed,
        0xd => ZoneState::ReadOnly,
        0xe => ZoneState::Full,
        // 0xf, and values of later kernels: a zone that cannot be used.
        _ => ZoneState::Offline,
    };
    let (start, capacity) = (geometry.zone_start(zone), geometry.zone_capacity(zone));
    let write_pointer = match state {
        ZoneState::Empty => start,
        state if state.is_active() => {
            let sectors = raw.write_pointer.saturating_sub(raw.start).min(raw.len);
            let written = sectors * SECTOR / u64::from(geometry.logical_block);
            Lba(start.0 + written.min(capacity))
        }
        // Some devices report the largest number there is.
        _ => Lba(u64::MAX),
    };
    ZoneReport { zone, zone_type: geometry.zone_type(zone), state, start, capacity, write_pointer }
}

/// The status that the zone table keeps of a reported zone. The length written to a zone that is
/// full or has failed is not known, and nothing needs it: such a zone takes no write.
pub(super) fn status(report: &ZoneReport) -> ZoneStatus {
    let written = match report.state {
        ZoneState::Full | ZoneState::ReadOnly | ZoneState::Offline => report.capacity,
        state if state.has_pointer() => report.write_pointer.0 - report.start.0,
        _ => 0,
    };
    ZoneStatus { state: report.state, written }
}

#[cfg(test)]
mod tests {
    use super::super::queue::ZoneModel;
    use super::*;

    fn queue() -> Queue {
        Queue {
            zoned: ZoneModel::HostManaged,
            logical_block: 512,
            physical_block: 4096,
            write_granularity: Some(4096),
            zone_size: Some(8192 * 512),
            zones: 4,
            max_open: Some(9),
            max_active: Some(7),
            request_max: 1 << 20,
            append_max: None,
            segments_max: 128,
            rotational: true,
            forces_writes: false,
        }
    }

    fn raw(start: u64, len: u64, capacity: u64, kind: u8) -> RawZone {
        RawZone { start, len, capacity, kind, ..RawZone::default() }
    }

    #[test]
    fn the_report_of_all_zones_gives_the_geometry() {
        let zones = [
            raw(0, 8192, 8192, 1),
            raw(8192, 8192, 6000, 2),
            raw(16384, 8192, 6000, 2),
            raw(24576, 4096, 4096, 2),
        ];
        let geometry = zoned(&queue(), &zones).unwrap();
        assert_eq!((geometry.zones, geometry.zone_size, geometry.zone_capacity), (4, 8192, 6000));
        assert_eq!(geometry.last_zone_size, Some(4096));
        assert_eq!(geometry.conventional, std::slice::from_ref(&(0..1)));
        assert_eq!((geometry.max_open, geometry.max_active), (Some(7), Some(7)));
        assert_eq!((geometry.logical_block, geometry.physical_block), (512, 4096));
    }

    #[test]
    fn zones_of_different_sizes_or_capacities_are_refused() {
        let gap = [raw(0, 8192, 8192, 2), raw(9000, 8192, 8192, 2)];
        assert_eq!(zoned(&queue(), &gap).unwrap_err().what, "zones");
        let short = [raw(0, 8192, 8192, 2), raw(8192, 8192, 8000, 2), raw(16384, 8192, 8192, 2)];
        assert_eq!(zoned(&queue(), &short).unwrap_err().what, "zone capacity");
        assert!(zoned(&queue(), &[]).is_err());
    }

    #[test]
    fn a_pointer_is_trusted_in_empty_open_and_closed_zones_only() {
        let zones = [raw(0, 8192, 8192, 2), raw(8192, 8192, 8192, 2)];
        let geometry = zoned(&queue(), &zones).unwrap();
        for (condition, state, pointer) in [
            (1, ZoneState::Empty, Some(8192)),
            (2, ZoneState::ImplicitlyOpen, Some(8200)),
            (3, ZoneState::ExplicitlyOpen, Some(8200)),
            (4, ZoneState::Closed, Some(8200)),
            (0xd, ZoneState::ReadOnly, None),
            (0xe, ZoneState::Full, None),
            (0xf, ZoneState::Offline, None),
            (0x77, ZoneState::Offline, None),
        ] {
            let raw = RawZone { condition, write_pointer: 8200, ..zones[1] };
            let found = report(&geometry, ZoneId(1), &raw);
            let expected = Lba(pointer.unwrap_or(u64::MAX));
            assert_eq!((found.state, found.write_pointer), (state, expected));
            // A pointer that means nothing may be anything.
            let strange = report(&geometry, ZoneId(1), &RawZone { write_pointer: u64::MAX, ..raw });
            assert_eq!(strange.state, state);
            assert!(status(&strange).written <= strange.capacity);
        }
    }

    #[test]
    fn a_plain_device_ends_with_its_last_physical_block() {
        let geometry = plain(&queue(), 4096 * 10 + 512).unwrap();
        assert_eq!((geometry.blocks(), geometry.layout), (80, Layout::Plain));
    }

    #[test]
    fn a_device_with_blocks_larger_than_a_page_is_refused() {
        let large = Queue { logical_block: 16384, physical_block: 16384, ..queue() };
        assert_eq!(plain(&large, 1 << 30).unwrap_err().what, "logical block");
        assert!(zoned(&large, &[raw(0, 8192, 8192, 2)]).is_err());
    }
}
