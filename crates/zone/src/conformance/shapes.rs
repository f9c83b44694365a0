//! The shapes of devices on which the conformance rules are tried. Each has less than 1 MiB,
//! because rules fill the device.

use terrace_env::ByteCount;

use crate::{Geometry, Tracks};

/// The shapes that [`run`](super::run) tries, each with its peculiarity.
#[must_use]
pub fn geometries() -> Vec<(&'static str, Geometry)> {
    let uniform = Geometry::uniform(ByteCount::kib(64), 12);
    let emulated_512 = Geometry { logical_block: 512, ..uniform.clone() };
    vec![
        ("4 KiB blocks, no limits", uniform.clone()),
        (
            "512-byte logical and 4 KiB physical blocks, append",
            Geometry {
                zone_size: 128,
                zone_capacity: 128,
                max_append: Some(32),
                ..emulated_512.clone()
            },
        ),
        (
            "512-byte blocks",
            Geometry {
                physical_block: 512,
                zone_size: 37,
                zone_capacity: 37,
                max_append: Some(5),
                ..emulated_512.clone()
            },
        ),
        (
            "capacity below size, equal limits, a short last zone",
            Geometry {
                zone_capacity: 12,
                last_zone_size: Some(14),
                max_open: Some(3),
                max_active: Some(3),
                max_append: Some(4),
                ..uniform.clone()
            },
        ),
        (
            "an odd zone size, a last zone shorter than the capacity, more active than open",
            Geometry {
                zone_size: 13,
                zone_capacity: 11,
                last_zone_size: Some(3),
                max_open: Some(2),
                max_active: Some(5),
                ..uniform.clone()
            },
        ),
        (
            "conventional zones in front, one open zone",
            Geometry { conventional: vec![0..2, 2..3], max_open: Some(1), ..uniform.clone() },
        ),
        (
            "conventional zones in the middle, an active limit alone",
            Geometry { conventional: vec![4..6, 7..8], max_active: Some(2), ..uniform },
        ),
        (
            "everything odd at once, conventional zones in front, in the middle and at the end",
            Geometry {
                zone_size: 120,
                zone_capacity: 88,
                zones: 14,
                last_zone_size: Some(40),
                conventional: vec![0..2, 6..7, 13..14],
                max_open: Some(2),
                max_active: Some(4),
                max_append: Some(16),
                ..emulated_512
            },
        ),
        ("a plain device of 4 KiB blocks", Geometry::plain(ByteCount::kib(96))),
        (
            "a plain device of 512-byte blocks on 4 KiB physical ones",
            Geometry {
                logical_block: 512,
                zone_size: 200,
                zone_capacity: 200,
                ..Geometry::plain(ByteCount::kib(100))
            },
        ),
        (
            "tracks of 8 blocks of 4 KiB, of which a write destroys two",
            Geometry::tracks(ByteCount::kib(256), Tracks { blocks: 8, overlap: 2 }),
        ),
        (
            "tracks of 512-byte blocks on 4 KiB physical ones, three destroyed, a short last track",
            Geometry {
                logical_block: 512,
                zone_size: 560,
                zone_capacity: 560,
                ..Geometry::tracks(ByteCount::kib(280), Tracks { blocks: 72, overlap: 3 })
            },
        ),
    ]
}
