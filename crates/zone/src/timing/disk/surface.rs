//! [`Surface`]: where a byte lies on the platters of a disk, and how long head and platters take to
//! get to it.
//!
//! # Layout
//! Tracks are numbered from the outside inwards, all heads of a cylinder before the next cylinder.
//! The radius is cut into recording zones with equally many tracks. The bandwidth falls in equal
//! steps from the outermost recording zone to the innermost, and the bytes of a track with it. The
//! first byte of a track is skewed against that of the track before, by the time the head takes to
//! get there. So a sequential stream loses that time at each change of tracks, and no more.
//!
//! Conventional zones have the lowest addresses. If the drive file gives them a place further in,
//! the sequential zones lie on both sides of it. An *address* is a byte of the drive, a *byte* is
//! one of the platters: [`Surface::physical`] converts.
//!
//! # Time
//! The angle of the platters is `now mod revolution`, whatever the head does. Angles and times are
//! in nanoseconds.

use super::parameters::Settings;
use super::seek::SeekCurve;

/// Tracks hold whole sectors of this many bytes.
const SECTOR: u64 = 512;

#[derive(Clone, Debug)]
struct RecordingZone {
    first_byte: u64,
    first_track: u64,
    track_bytes: u64,
}

/// A byte's place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) track: u64,
    /// Distance from the track's first byte.
    offset: u64,
    track_bytes: u64,
    /// Time in a revolution at which the byte passes the head.
    angle: u64,
}

/// The platters and the actuator.
#[derive(Clone, Debug)]
pub(super) struct Surface {
    zones: Vec<RecordingZone>,
    tracks: u64,
    heads: u64,
    revolution: u64,
    head_switch: u64,
    track_to_track: u64,
    write_settle: u64,
    seek: SeekCurve,
    /// Bytes of conventional zones, and the first byte on the platters that they take.
    conventional: (u64, u64),
}

impl Surface {
    /// The surface of a disk of `capacity` bytes, of which the first `conventional` belong to
    /// conventional zones; `zone` bytes are kept together.
    pub(super) fn new(settings: &Settings, capacity: u64, conventional: u64, zone: u64) -> Self {
        let heads = settings.heads;
        // A revolution and a switch move one track.
        let switches = (heads - 1) * settings.head_switch + settings.track_to_track;
        let turn = settings.revolution + switches / heads;
        let steps = (settings.recording_zones - 1).max(1);
        let (outer, inner) = (settings.outer_rate.0, settings.inner_rate.0);
        let track_bytes = |step: u64| {
            let rate = u128::from(outer - (outer - inner) * step / steps);
            let bytes = rate * u128::from(turn) / 1_000_000_000;
            (bytes as u64 / SECTOR * SECTOR).max(SECTOR)
        };
        let sizes: Vec<u64> = (0..settings.recording_zones).map(track_bytes).collect();
        let tracks = capacity.div_ceil(sizes.iter().sum()).next_multiple_of(heads);
        let (mut zones, mut first_byte, mut first_track) = (Vec::new(), 0, 0);
        for track_bytes in sizes {
            zones.push(RecordingZone { first_byte, first_track, track_bytes });
            first_byte += track_bytes * tracks;
            first_track += tracks;
        }
        let mut surface = Self {
            zones,
            tracks: first_track,
            heads,
            revolution: settings.revolution,
            head_switch: settings.head_switch,
            track_to_track: settings.track_to_track,
            write_settle: settings.write_settle,
            seek: SeekCurve::new(
                settings.track_to_track,
                settings.average_seek,
                settings.full_seek,
            ),
            conventional: (conventional, 0),
        };
        if let Some(position) = settings.conventional_position {
            let track = (surface.tracks as f64 * position) as u64;
            let at = surface.first_byte_of(track) / zone.max(1) * zone.max(1);
            surface.conventional.1 = at.min(capacity - conventional);
        }
        surface
    }

    fn first_byte_of(&self, track: u64) -> u64 {
        let index = self.zones.partition_point(|zone| zone.first_track <= track) - 1;
        let zone = &self.zones[index];
        zone.first_byte + (track - zone.first_track) * zone.track_bytes
    }

    /// The byte on the platters for an address.
    pub(super) fn physical(&self, address: u64) -> u64 {
        let (len, at) = self.conventional;
        match address.checked_sub(len) {
            None => at + address,
            Some(sequential) if sequential < at => sequential,
            Some(_) => address,
        }
    }

    /// Where a byte of the platters lies.
    pub(super) fn place(&self, byte: u64) -> Place {
        let index = self.zones.partition_point(|zone| zone.first_byte <= byte) - 1;
        let zone = &self.zones[index];
        let track = zone.first_track + (byte - zone.first_byte) / zone.track_bytes;
        let offset = (byte - zone.first_byte) % zone.track_bytes;
        let (cylinder, head) = (track / self.heads, track % self.heads);
        let switches = (self.heads - 1) * self.head_switch + self.track_to_track;
        let skew = cylinder * switches + head * self.head_switch;
        let angle = (skew + offset * self.revolution / zone.track_bytes) % self.revolution;
        Place { track, offset, track_bytes: zone.track_bytes, angle }
    }

    fn switch(&self, from: u64, to: u64) -> u64 {
        let (here, there) = (from / self.heads, to / self.heads);
        match here.abs_diff(there) {
            0 if from == to => 0,
            0 => self.head_switch,
            1 => self.track_to_track,
            distance => {
                let stroke = (self.tracks / self.heads).max(1);
                self.seek.time(distance as f64 / stroke as f64).max(self.track_to_track)
            }
        }
    }

    /// How long it takes from `now` until `place` is under the head, which is on track `from`.
    /// Going on to the next track is part of a stream, for which a write needs no more than a read.
    pub(super) fn reach(&self, from: u64, place: &Place, now: u64, write: bool) -> u64 {
        let mut moving = self.switch(from, place.track);
        if write && place.track != from && place.track != from + 1 {
            moving += self.write_settle;
        }
        let angle = (now + moving) % self.revolution;
        moving + (place.angle + self.revolution - angle) % self.revolution
    }

    /// How long the head takes over `len` bytes from `byte` on, switches between tracks included.
    pub(super) fn pass(&self, byte: u64, len: u64) -> u64 {
        let (mut nanos, mut left) = (0, len);
        let mut place = self.place(byte);
        loop {
            let part = left.min(place.track_bytes - place.offset);
            nanos += self.turn(&place, place.offset + part);
            left -= part;
            if left == 0 {
                return nanos;
            }
            let next = self.place(byte + len - left);
            nanos += self.switch(place.track, next.track);
            place = next;
        }
    }

    /// Time of a turn from a place to an offset further on the same track.
    fn turn(&self, place: &Place, to: u64) -> u64 {
        let at = |offset: u64| offset * self.revolution / place.track_bytes;
        at(to) - at(place.offset)
    }

    /// The byte that the head reaches by reading on from `byte` for so long, at most `limit`.
    pub(super) fn read_on(&self, byte: u64, mut nanos: u64, limit: u64) -> u64 {
        let mut at = byte;
        while at < limit {
            let place = self.place(at);
            let rest = self.turn(&place, place.track_bytes);
            if nanos < rest {
                let bytes = nanos * place.track_bytes / self.revolution / SECTOR * SECTOR;
                return (at + bytes).min(limit);
            }
            at += place.track_bytes - place.offset;
            nanos -= rest;
            let switch = self.switch(place.track, self.place(at).track);
            if nanos < switch {
                return at.min(limit);
            }
            nanos -= switch;
        }
        limit
    }

    /// The time of a revolution.
    pub(super) fn revolution(&self) -> u64 {
        self.revolution
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::{Drive, Scale};

    /// The surface of the drive with conventional zones at its middle, and its capacity, those of
    /// conventional zones, and of a zone.
    fn surface() -> (Surface, u64, u64, u64) {
        let drive = Drive::find("hgst-hsh721414al").unwrap();
        let geometry = drive.geometry(Scale::FULL).unwrap();
        let zone = geometry.zone_size * u64::from(geometry.logical_block);
        let (capacity, conventional) = (zone * 52_156, zone * 524);
        let surface = Surface::new(&drive.disk_settings(Scale::FULL), capacity, conventional, zone);
        (surface, capacity, conventional, zone)
    }

    #[test]
    fn every_zone_has_a_range_of_its_own_on_the_platters() {
        let (surface, capacity, conventional, zone) = surface();
        let mut ranges = Vec::new();
        for index in 0..capacity / zone {
            let start = surface.physical(index * zone);
            assert_eq!(surface.physical((index + 1) * zone - 1), start + zone - 1, "zone {index}");
            ranges.push(start);
        }
        assert!(ranges[0] > capacity / 2 && ranges[conventional as usize / zone as usize] == 0);
        ranges.sort_unstable();
        let every: Vec<u64> = (0..capacity / zone).map(|index| index * zone).collect();
        assert_eq!(ranges, every);
    }

    #[test]
    fn a_stream_never_waits_for_the_platters_and_reads_on_as_far_as_it_passes() {
        let (surface, capacity, ..) = surface();
        for start in [0, 4096, 123 << 20, capacity / 3, capacity - (64 << 20)] {
            let (mut at, mut now) = (start, 0);
            now += surface.reach(surface.place(start).track, &surface.place(start), now, false);
            for len in [4096, 512, 1 << 20, 65536, 3 << 20, 4096] {
                let last = surface.place(at.saturating_sub(1)).track;
                let reach = surface.reach(last, &surface.place(at), now, true);
                let switch = surface.switch(last, surface.place(at).track);
                assert!(at == start || reach == switch, "{at}: {reach} {switch}");
                let pass = surface.pass(at, len);
                assert_eq!(surface.read_on(at, pass, u64::MAX >> 1).max(at + len), at + len);
                assert!(surface.read_on(at, pass + 1, capacity) + 2 * SECTOR > at + len);
                now += reach + pass;
                at += len;
            }
        }
    }

    #[test]
    fn rotation_adds_up_to_a_revolution_and_no_more() {
        let (surface, ..) = surface();
        let place = surface.place(5 << 30);
        for now in (0..20_000_000).step_by(777_777) {
            let reach = surface.reach(place.track, &place, now, false);
            assert!(reach < surface.revolution());
            assert_eq!(surface.reach(place.track, &place, now + reach, false), 0);
        }
    }
}
