//! Shapes of small devices that tests run over.

use terrace_env::ByteCount;
use terrace_zone::{Geometry, Tracks};

/// Twelve zones of 16 blocks of 4 KiB, without limits.
pub(crate) fn plain() -> Geometry {
    Geometry::uniform(ByteCount::kib(64), 12)
}

/// Everything odd at once: 512e blocks, capacity below size, an odd zone size, a short last zone,
/// conventional zones in front, within and at the end, tight limits, append.
pub(crate) fn odd() -> Geometry {
    Geometry {
        layout: terrace_zone::Layout::Zoned,
        logical_block: 512,
        physical_block: 4096,
        zone_size: 120,
        zone_capacity: 88,
        zones: 14,
        last_zone_size: Some(40),
        conventional: vec![0..2, 6..7, 13..14],
        max_open: Some(2),
        max_active: Some(4),
        max_append: Some(32),
        rotational: true,
    }
}

/// Capacity below size, a short last sequential zone, limits.
pub(crate) fn zns() -> Geometry {
    Geometry {
        zone_size: 16,
        zone_capacity: 12,
        last_zone_size: Some(10),
        max_open: Some(3),
        max_active: Some(3),
        max_append: Some(8),
        ..plain()
    }
}

/// Sixteen shingled tracks of 8 blocks of 4 KiB; a write destroys two.
pub(crate) fn tracks() -> Geometry {
    Geometry::tracks(ByteCount::kib(512), Tracks { blocks: 8, overlap: 2 })
}

pub(crate) fn all() -> [Geometry; 3] {
    [plain(), odd(), zns()]
}
