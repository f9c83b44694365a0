//! [`Streams`]: the placement stream of a body. Bodies of a stream share zones, in the order in
//! which they are written.
//!
//! 1. Buckets are spread over groups by a hash of their name, because objects of a bucket tend to
//!    be deleted together.
//! 2. A group has two streams: for bodies below [`LARGE`] bytes, and for the others. Large bodies
//!    are backups and recordings, which live longer.
//!
//! Each stream may leave a zone partly written, so a small drive has fewer groups.

use terrace::ByteCount;
use terrace::fs::Fs;
use terrace_env::checksum;
use terrace_env::store::PlacementHint;

/// First stream of bodies. The streams of the store's own files are below, and the last number is
/// reclaim's.
const FIRST: u16 = 0x4000;
/// Bytes from which a body is large.
pub(super) const LARGE: u64 = 16 << 20;
/// Most groups of buckets.
const GROUPS_MAX: u64 = 8;
/// Zones of the drive for each group.
const ZONES_A_GROUP: u64 = 128;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct Streams {
    groups: u16,
}

impl Streams {
    /// Streams for this volume; a directory places nothing.
    pub(super) fn on(fs: Option<&Fs>) -> Self {
        let zones = fs.map_or(0, |fs| match fs.zone_capacity() {
            Some(ByteCount(zone)) if zone > 0 => fs.device_capacity().0 / zone,
            _ => 0,
        });
        Self { groups: (zones / ZONES_A_GROUP).clamp(1, GROUPS_MAX) as u16 }
    }

    /// Hint for a body of `size` bytes.
    pub(super) fn hint(self, bucket: &str, size: u64) -> PlacementHint {
        let group = (checksum::crc32c(bucket.as_bytes()) % u32::from(self.groups)) as u16;
        let stream = FIRST + group * 2 + u16::from(size >= LARGE);
        PlacementHint { level: None, stream }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_groups_have_streams_of_their_own() {
        let streams = Streams { groups: 8 };
        let of = |bucket: &str, size| streams.hint(bucket, size).stream;
        assert_ne!(of("a", 1), of("a", LARGE));
        assert_eq!(of("a", 1), of("a", LARGE - 1));
        let names = (0..100).map(|number| of(&format!("bucket-{number}"), 1));
        let different: std::collections::BTreeSet<u16> = names.collect();
        assert_eq!(different.len(), 8);
        assert!(different.iter().all(|stream| (FIRST..FIRST + 16).contains(stream)));
    }
}
