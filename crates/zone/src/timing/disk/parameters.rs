//! [`DiskParameters`]: the parameters of a disk, as a drive file states them.
//! [`DiskParameters::settings`] converts them to a scale and to plain units.
//!
//! [`DiskParameters::flaw`] returns the first value that it finds impossible for a disk: of the
//! inner rate, the seek times, the revolutions, and the place of conventional zones. The model
//! expects that there is none.

use serde::Deserialize;

use crate::timing::{Rate, Scale, Size, Sourced, Span};

/// The `[disk]` part of a drive file. The model's formulas are in `docs/drives.md`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::timing) struct DiskParameters {
    /// Revolutions a minute.
    rpm: Sourced<u32>,
    /// Surfaces in use: tracks of a cylinder.
    heads: Sourced<u32>,
    /// Sustained bandwidth at the outer diameter.
    outer_rate: Sourced<Rate>,
    /// Sustained bandwidth at the inner diameter.
    inner_rate: Sourced<Rate>,
    /// Zones of constant bytes per track, of equal width.
    recording_zones: Sourced<u32>,
    /// A seek to the next cylinder, settling included.
    track_to_track: Sourced<Span>,
    /// The mean over all pairs of cylinders, settling included.
    average_seek: Sourced<Span>,
    /// Time of a seek from the outermost to the innermost cylinder.
    full_seek: Sourced<Span>,
    /// Time of a switch to another surface of the same cylinder.
    head_switch: Sourced<Span>,
    /// Additional time of a seek before a write.
    write_settle: Sourced<Span>,
    /// Revolutions of writing after which one is lost to a retry; 0 for none.
    write_retry: Sourced<u32>,
    /// Where conventional zones lie, as a share of the head's way inwards; where they are among the
    /// addresses, if it is absent.
    conventional_position: Option<Sourced<f64>>,
    /// Time that the controller spends on a command, one command at a time.
    command_overhead: Sourced<Span>,
    /// Bandwidth of the cable.
    interface_rate: Sourced<Rate>,
    /// Commands that the drive chooses among.
    queue_depth: Sourced<u32>,
    /// How often a command may be passed over for others.
    overtaking_max: Sourced<u32>,
    /// Bytes of writes that are acknowledged before they are on the medium; 0 for none.
    write_cache: Sourced<Size>,
    /// Number of the oldest ranges in the write cache that the head chooses among.
    write_window: Sourced<u32>,
    /// Bytes written from the cache before the head may turn to something else.
    drain_size: Sourced<Size>,
    /// The head waits so long for more reads before it turns to writes that are in no hurry.
    drain_delay: Sourced<Span>,
    /// Segments that the read cache remembers.
    read_segments: Sourced<u32>,
    /// Bytes that the head reads ahead at most; also the most that a range keeps.
    read_segment: Sourced<Size>,
    /// A reset of a zone.
    zone_reset: Sourced<Span>,
    /// A finish of a zone.
    zone_finish: Sourced<Span>,
}

/// The parameters at a scale, in nanoseconds, bytes and bytes per second.
#[derive(Clone, Debug)]
pub(in crate::timing) struct Settings {
    pub(super) revolution: u64,
    pub(super) heads: u64,
    pub(super) outer_rate: Rate,
    pub(super) inner_rate: Rate,
    pub(super) recording_zones: u64,
    pub(super) track_to_track: u64,
    pub(super) average_seek: u64,
    pub(super) full_seek: u64,
    pub(super) head_switch: u64,
    pub(super) write_settle: u64,
    pub(super) write_retry: u64,
    pub(super) conventional_position: Option<f64>,
    pub(super) command_overhead: u64,
    pub(super) interface_rate: Rate,
    pub(super) queue_depth: usize,
    pub(super) overtaking_max: u32,
    pub(super) write_cache: u64,
    pub(super) write_window: usize,
    pub(super) drain_size: u64,
    pub(super) drain_delay: u64,
    pub(super) read_segments: usize,
    pub(super) read_segment: u64,
    pub(super) zone_reset: u64,
    pub(super) zone_finish: u64,
}

impl DiskParameters {
    /// The parameters at a scale.
    pub(in crate::timing) fn settings(&self, scale: Scale) -> Settings {
        let revolution = Span(60_000_000_000 / u64::from(self.rpm.value.max(1)));
        Settings {
            revolution: scale.span(revolution).max(1),
            heads: u64::from(self.heads.value.max(1)),
            outer_rate: scale.rate(self.outer_rate.value),
            inner_rate: scale.rate(self.inner_rate.value),
            recording_zones: u64::from(self.recording_zones.value.max(1)),
            track_to_track: scale.span(self.track_to_track.value),
            average_seek: scale.span(self.average_seek.value),
            full_seek: scale.span(self.full_seek.value),
            head_switch: scale.span(self.head_switch.value),
            write_settle: scale.span(self.write_settle.value),
            write_retry: u64::from(self.write_retry.value),
            conventional_position: self.conventional_position.as_ref().map(|at| at.value),
            command_overhead: scale.span(self.command_overhead.value),
            interface_rate: scale.rate(self.interface_rate.value),
            queue_depth: self.queue_depth.value.max(1) as usize,
            overtaking_max: self.overtaking_max.value,
            write_cache: scale.bytes(self.write_cache.value.0),
            write_window: self.write_window.value.max(1) as usize,
            drain_size: scale.bytes(self.drain_size.value.0).max(4096),
            drain_delay: scale.span(self.drain_delay.value),
            read_segments: self.read_segments.value as usize,
            read_segment: scale.bytes(self.read_segment.value.0),
            zone_reset: scale.span(self.zone_reset.value),
            zone_finish: scale.span(self.zone_finish.value),
        }
    }

    /// First reason why no disk can have these parameters, if there is one: parameter, expected,
    /// found.
    pub(in crate::timing) fn flaw(&self) -> Option<(&'static str, &'static str, String)> {
        let (track, mean) = (self.track_to_track.value, self.average_seek.value);
        let full = self.full_seek.value;
        let share = |part: f64| track.0 as f64 + part * full.0.saturating_sub(track.0) as f64;
        // The curve's two forms, straight and square root, have these means.
        let means = share(1.0 / 3.0)..=share(8.0 / 15.0);
        if self.inner_rate.value > self.outer_rate.value || self.inner_rate.value.0 == 0 {
            let found = self.inner_rate.value.to_string();
            return Some(("inner_rate", "more than nothing, at most the outer rate", found));
        }
        if track >= full || !means.contains(&(mean.0 as f64)) {
            let expected = "between a third and 8/15 of the way from track-to-track to full seek";
            return Some(("average_seek", expected, mean.to_string()));
        }
        if !(300..=30_000).contains(&self.rpm.value) {
            return Some(("rpm", "300 to 30000", self.rpm.value.to_string()));
        }
        let position = self.conventional_position.as_ref().map_or(0.5, |at| at.value);
        if !(0.0..1.0).contains(&position) {
            return Some(("conventional_position", "from 0 to less than 1", position.to_string()));
        }
        None
    }

    /// The source of each parameter.
    pub(in crate::timing) fn sources(&self) -> Vec<(&'static str, &str)> {
        let position = self.conventional_position.as_ref().map(|at| at.source.as_str());
        let mut sources = vec![
            ("rpm", self.rpm.source.as_str()),
            ("heads", &self.heads.source),
            ("outer_rate", &self.outer_rate.source),
            ("inner_rate", &self.inner_rate.source),
            ("recording_zones", &self.recording_zones.source),
            ("track_to_track", &self.track_to_track.source),
            ("average_seek", &self.average_seek.source),
            ("full_seek", &self.full_seek.source),
            ("head_switch", &self.head_switch.source),
            ("write_settle", &self.write_settle.source),
            ("write_retry", &self.write_retry.source),
            ("command_overhead", &self.command_overhead.source),
            ("interface_rate", &self.interface_rate.source),
            ("queue_depth", &self.queue_depth.source),
            ("overtaking_max", &self.overtaking_max.source),
            ("write_cache", &self.write_cache.source),
            ("write_window", &self.write_window.source),
            ("drain_size", &self.drain_size.source),
            ("drain_delay", &self.drain_delay.source),
            ("read_segments", &self.read_segments.source),
            ("read_segment", &self.read_segment.source),
            ("zone_reset", &self.zone_reset.source),
            ("zone_finish", &self.zone_finish.source),
        ];
        sources.extend(position.map(|source| ("conventional_position", source)));
        sources
    }
}
