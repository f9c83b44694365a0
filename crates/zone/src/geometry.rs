//! [`Geometry`]: the shape of a device: sizes, limits, zones. Its [`Layout`] says how blocks may be
//! written. Plain values, without I/O.
//!
//! A geometry can be made field by field. [`Geometry::validate`] checks it. Methods that are asked
//! about zones or blocks expect a valid shape, and a zone below [`Geometry::zones`]. Blocks are
//! logical blocks, unless a name says otherwise.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use terrace_env::{ByteCount, Lba, ZoneId};

use crate::{Layout, Tracks};

/// Whether a zone must be written front to back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ZoneType {
    /// Writable anywhere, in any order; it has no write pointer.
    Conventional,
    /// Sequential write required.
    Sequential,
}

/// Sizes, limits and medium of a device. Addresses and sizes are in *logical* blocks; writes to
/// sequential zones start and end on *physical* blocks (ZBC: 512e drives have 512-byte logical and
/// 4 KiB physical blocks).
///
/// Zone `i` starts at block `i * zone_size`; a zone's capacity, from its start, may be smaller than
/// its size (NVMe ZNS), and the last zone may be shorter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// How its blocks may be written.
    #[serde(default)]
    pub layout: Layout,
    /// Bytes in a logical block: 512 or 4096.
    pub logical_block: u32,
    /// Bytes in a physical block: a multiple of the logical block, at most 4096.
    pub physical_block: u32,
    /// Logical blocks from one zone's start to the next one's; any number, not only powers of two.
    pub zone_size: u64,
    /// Writable logical blocks of a sequential zone.
    pub zone_capacity: u64,
    /// Zones, the short last one included.
    pub zones: u32,
    /// Logical blocks of the last zone, where it is shorter than the others.
    pub last_zone_size: Option<u64>,
    /// Runs of conventional zones, ascending and disjoint.
    pub conventional: Vec<Range<u32>>,
    /// The most zones that may be open at once.
    pub max_open: Option<u32>,
    /// The most zones that may be open or closed at once.
    pub max_active: Option<u32>,
    /// The most logical blocks a zone append may carry; `None` if the device has no append.
    pub max_append: Option<u32>,
    /// Whether the medium turns under a head, so that several streams at once cost seeks; in Linux,
    /// `queue/rotational`. A device whose rotation is unknown counts as not rotational.
    pub rotational: bool,
}

/// The shortest track, in physical blocks. Users of a device may need longer ones.
const TRACK_MIN: u64 = 8;
/// The most tracks that a write may destroy. Real writers reach over a few.
const OVERLAP_MAX: u32 = 64;

/// A geometry that no device can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("impossible geometry: {what}: expected {expected}, found {got}")]
pub struct GeometryError {
    /// The field.
    pub what: &'static str,
    /// Value expected.
    pub expected: String,
    /// Value found.
    pub got: String,
}

/// Number of zones of a small drive.
const ZONES_USUAL: u64 = 256;
/// The smallest size of these zones.
const ZONE_SIZE_USUAL_MIN: ByteCount = ByteCount::kib(64);

impl Geometry {
    /// The most zones that a device may have: a petabyte in zones of 256 MiB. The tables of all
    /// zones are kept in memory, [`ZONE_MEMORY`](Self::ZONE_MEMORY) for each, so 1 GiB at most.
    pub const ZONES_MAX: u32 = 4 << 20;

    /// Zone size of a large drive, if the caller names none.
    pub const ZONE_SIZE_USUAL: ByteCount = ByteCount::mib(16);

    /// Largest memory that emulator and file system together hold for each zone. It bounds the
    /// growth of the process when it opens a store of a million zones and reports on all of them.
    pub const ZONE_MEMORY: ByteCount = ByteCount(256);

    /// Largest memory that the tables of all zones take while a store on the device is open.
    #[must_use]
    pub fn table_memory(&self) -> ByteCount {
        ByteCount(Self::ZONE_MEMORY.0 * u64::from(self.zones))
    }

    /// A plain device of this size, in 4 KiB blocks.
    #[must_use]
    pub fn plain(size: ByteCount) -> Self {
        let conventional = std::iter::once(0..1).collect();
        Self { layout: Layout::Plain, conventional, ..Self::uniform(size, 1) }
    }

    /// A device of shingled tracks of this size, in 4 KiB blocks, with a head that seeks.
    #[must_use]
    pub fn tracks(size: ByteCount, tracks: Tracks) -> Self {
        Self::plain(size).with_tracks(tracks)
    }

    /// This plain device as one of shingled tracks, with a head that seeks.
    #[must_use]
    pub fn with_tracks(self, tracks: Tracks) -> Self {
        Self { layout: Layout::Tracks(tracks), rotational: true, ..self }
    }

    /// Zone size of a drive of this size, if the caller names none: a 256th of the drive, rounded
    /// down to a power of two, from 64 KiB to 16 MiB. A store keeps a fixed number of zones for
    /// itself, so a small drive needs small zones. All drives of 4 GiB or more have zones of 16
    /// MiB.
    #[must_use]
    pub fn usual_zone_size(size: ByteCount) -> ByteCount {
        let part = (size.0 / ZONES_USUAL).max(1);
        ByteCount(1 << part.ilog2()).clamp(ZONE_SIZE_USUAL_MIN, Self::ZONE_SIZE_USUAL)
    }

    /// Bytes of a zone; on a device without zones, of a zone that is [usual](Self::usual_zone_size)
    /// on a zoned device of this capacity.
    #[must_use]
    pub fn zone_like_unit(&self) -> ByteCount {
        match self.layout {
            Layout::Zoned => ByteCount(self.zone_size * u64::from(self.logical_block)),
            Layout::Plain | Layout::Tracks(_) => Self::usual_zone_size(self.capacity()),
        }
    }

    /// A zoned device: 4 KiB blocks, all zones sequential and full-size, no limits.
    #[must_use]
    pub fn uniform(zone_size: ByteCount, zones: u32) -> Self {
        let zone_size = zone_size.0 / 4096;
        Self {
            layout: Layout::Zoned,
            logical_block: 4096,
            physical_block: 4096,
            zone_size,
            zone_capacity: zone_size,
            zones,
            last_zone_size: None,
            conventional: Vec::new(),
            max_open: None,
            max_active: None,
            max_append: None,
            rotational: false,
        }
    }

    /// The most bytes after a write that the write may destroy: the rest of its last track, and the
    /// tracks that it overlaps. A writer leaves a guard of this size. 0 without tracks.
    #[must_use]
    pub fn guard_max(&self) -> ByteCount {
        let Some(Tracks { blocks, overlap }) = self.layout.tracks() else { return ByteCount(0) };
        let track = u64::from(blocks) * u64::from(self.logical_block);
        ByteCount(track * (u64::from(overlap) + 1))
    }

    /// Checks that a device can have this shape.
    pub fn validate(&self) -> Result<(), GeometryError> {
        let check = |good: bool, what, expected: String, got: String| {
            if good { Ok(()) } else { Err(GeometryError { what, expected, got }) }
        };
        let logical = self.logical_block;
        check(
            matches!(logical, 512 | 4096),
            "logical block",
            "512 or 4096 bytes".into(),
            logical.to_string(),
        )?;
        let physical = self.physical_block;
        check(
            physical.is_power_of_two() && physical >= logical && physical <= 4096,
            "physical block",
            format!("a power of two from {logical} to 4096 bytes"),
            physical.to_string(),
        )?;
        check(
            (1..=Self::ZONES_MAX).contains(&self.zones),
            "zones",
            format!("1 to {}, for a table of them is kept in memory", Self::ZONES_MAX),
            self.zones.to_string(),
        )?;
        let step = u64::from(physical / logical);
        let aligned = |blocks: u64| blocks > 0 && blocks.is_multiple_of(step);
        let whole = format!("a positive multiple of {step} logical blocks");
        check(aligned(self.zone_size), "zone size", whole.clone(), self.zone_size.to_string())?;
        check(
            aligned(self.zone_capacity) && self.zone_capacity <= self.zone_size,
            "zone capacity",
            format!("{whole}, at most the zone size {}", self.zone_size),
            self.zone_capacity.to_string(),
        )?;
        if let Some(last) = self.last_zone_size {
            check(
                aligned(last) && last < self.zone_size,
                "last zone size",
                format!("{whole}, less than the zone size {}", self.zone_size),
                last.to_string(),
            )?;
        }
        let blocks = u128::from(self.zone_size) * u128::from(self.zones);
        check(
            blocks * u128::from(logical) <= u128::from(u64::MAX / 2),
            "capacity",
            "less than 8 EiB".into(),
            format!("{blocks} blocks"),
        )?;
        let mut next = 0;
        for run in &self.conventional {
            check(
                run.start >= next && run.start < run.end && run.end <= self.zones,
                "conventional zones",
                format!("ascending non-empty ranges within 0..{}", self.zones),
                format!("{}..{}", run.start, run.end),
            )?;
            next = run.end;
        }
        for (what, limit) in [("open limit", self.max_open), ("active limit", self.max_active)] {
            check(limit != Some(0), what, "at least 1, or none".into(), "0".into())?;
        }
        if let (Some(open), Some(active)) = (self.max_open, self.max_active) {
            check(
                open <= active,
                "open limit",
                format!("at most the active limit {active}"),
                open.to_string(),
            )?;
        }
        let append = u64::from(self.max_append.unwrap_or(step as u32));
        check(aligned(append), "append limit", whole.clone(), append.to_string())?;
        let whole_device = std::slice::from_ref(&(0..1));
        check(
            self.layout.is_zoned()
                || (self.conventional == whole_device && self.zones == 1)
                    && self.max_open.or(self.max_active).or(self.max_append).is_none(),
            "layout",
            "zones; or a device that is one conventional zone without limits".into(),
            {
                let limits = self.max_open.or(self.max_active).or(self.max_append);
                let limits = if limits.is_some() { ", with limits" } else { "" };
                let conventional = self.conventional.len();
                format!("{} zones, {conventional} runs of them conventional{limits}", self.zones)
            },
        )?;
        let Some(tracks) = self.layout.tracks() else { return Ok(()) };
        check(
            aligned(tracks.blocks.into()) && u64::from(tracks.blocks) >= TRACK_MIN * step,
            "track",
            format!("{whole}, at least {}", TRACK_MIN * step),
            tracks.blocks.to_string(),
        )?;
        check(
            (1..=OVERLAP_MAX).contains(&tracks.overlap),
            "overlap",
            format!("1 to {OVERLAP_MAX} tracks"),
            tracks.overlap.to_string(),
        )
    }

    /// All zones.
    pub fn zone_ids(&self) -> impl DoubleEndedIterator<Item = ZoneId> + use<> {
        (0..self.zones).map(ZoneId)
    }

    /// Whether a zone must be written sequentially.
    #[must_use]
    pub fn zone_type(&self, zone: ZoneId) -> ZoneType {
        let run = self.conventional.partition_point(|run| run.end <= zone.0);
        if self.conventional.get(run).is_some_and(|run| run.start <= zone.0) {
            ZoneType::Conventional
        } else {
            ZoneType::Sequential
        }
    }

    /// A zone's first block.
    #[must_use]
    pub fn zone_start(&self, zone: ZoneId) -> Lba {
        Lba(u64::from(zone.0) * self.zone_size)
    }

    /// Logical blocks from a zone's start to its end.
    #[must_use]
    pub fn zone_size(&self, zone: ZoneId) -> u64 {
        match self.last_zone_size {
            Some(last) if zone.0 + 1 == self.zones => last,
            _ => self.zone_size,
        }
    }

    /// Logical blocks of a zone that can be written.
    #[must_use]
    pub fn zone_capacity(&self, zone: ZoneId) -> u64 {
        match self.zone_type(zone) {
            ZoneType::Conventional => self.zone_size(zone),
            ZoneType::Sequential => self.zone_capacity.min(self.zone_size(zone)),
        }
    }

    /// The zone of a block; `None` beyond the end of the device.
    #[must_use]
    pub fn zone_of(&self, lba: Lba) -> Option<ZoneId> {
        let zone = ZoneId(u32::try_from(lba.0 / self.zone_size).ok()?);
        (zone.0 < self.zones && lba.0 - self.zone_start(zone).0 < self.zone_size(zone))
            .then_some(zone)
    }

    /// Logical blocks of the whole address space.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        let last = ZoneId(self.zones - 1);
        self.zone_start(last).0 + self.zone_size(last)
    }

    /// Bytes that can be written in all zones together.
    #[must_use]
    pub fn capacity(&self) -> ByteCount {
        let blocks: u64 = self.zone_ids().map(|zone| self.zone_capacity(zone)).sum();
        ByteCount(blocks * u64::from(self.logical_block))
    }

    /// Logical blocks in a physical block.
    #[must_use]
    pub fn physical_step(&self) -> u64 {
        u64::from(self.physical_block / self.logical_block)
    }
}
