//! [`FlashParameters`]: the parameters of an SSD, as a drive file states them.
//! [`FlashParameters::settings`] converts them to a scale and to plain units.
//!
//! [`FlashParameters::flaw`] returns the first value that it finds impossible for an SSD: of the
//! dies, the dies of a zone, the page and the program unit, or conventional zones. The model
//! expects that there is none.

use serde::Deserialize;

use crate::Geometry;
use crate::timing::{Rate, Scale, Size, Sourced, Span};

/// The `[flash]` part of a drive file. The model's formulas are in `docs/drives.md`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::timing) struct FlashParameters {
    /// Buses between the controller and the dies.
    channels: Sourced<u32>,
    /// Dies on each of them.
    dies_per_channel: Sourced<u32>,
    /// Dies over which a zone is striped.
    dies_per_zone: Sourced<u32>,
    /// Bytes that one read operation of a die returns, all planes together.
    page: Sourced<Size>,
    /// Bytes that one program operation of a die takes, all planes and bits of a cell together: the
    /// unit of striping.
    program_unit: Sourced<Size>,
    /// A read operation of up to 4 KiB.
    read_4k: Sourced<Span>,
    /// A read operation of a whole page.
    read_page: Sourced<Span>,
    /// A program operation.
    program: Sourced<Span>,
    /// An erase, before the first program of a zone that was written before.
    erase: Sourced<Span>,
    /// The longest wait of a read for a running program or erase, which then is suspended.
    suspend: Sourced<Span>,
    /// Bandwidth of a channel.
    channel_rate: Sourced<Rate>,
    /// Bandwidth between host and drive, each way.
    link_rate: Sourced<Rate>,
    /// The controller's part of the latency of a read.
    read_overhead: Sourced<Span>,
    /// The controller takes one read in so long.
    read_interval: Sourced<Span>,
    /// The latency of a write of 4 KiB that the buffer takes at once.
    write_latency: Sourced<Span>,
    /// The controller takes one write in so long.
    write_interval: Sourced<Span>,
    /// Latency of an append.
    append_latency: Sourced<Span>,
    /// A zone takes one append in so long.
    append_interval: Sourced<Span>,
    /// Bytes of writes that are acknowledged before they are programmed.
    write_buffer: Sourced<Size>,
    /// Whether the buffer survives a power cut, so that flushes and forced writes need not wait.
    buffer_is_safe: Sourced<bool>,
    /// A flush of a safe buffer.
    flush: Sourced<Span>,
    /// An explicit open.
    open: Sourced<Span>,
    /// A close.
    close: Sourced<Span>,
    /// Additional time of the first write to a zone.
    implicit_open: Sourced<Span>,
    /// A reset of an empty zone.
    reset: Sourced<Span>,
    /// Additional time of a reset for a fully written zone; for others in proportion to the written
    /// part.
    reset_written: Sourced<Span>,
    /// A finish, without the time to program the unwritten part of the zone.
    finish: Sourced<Span>,
}

/// The parameters at a scale, in nanoseconds, bytes and bytes per second.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) channels: usize,
    pub(super) dies: usize,
    pub(super) dies_per_zone: usize,
    pub(super) page: u64,
    pub(super) program_unit: u64,
    pub(super) small_read: u64,
    pub(super) read_4k: u64,
    pub(super) read_page: u64,
    pub(super) program: u64,
    pub(super) erase: u64,
    pub(super) suspend: u64,
    pub(super) channel_rate: Rate,
    pub(super) link_rate: Rate,
    pub(super) read_overhead: u64,
    pub(super) read_interval: u64,
    pub(super) write_latency: u64,
    pub(super) write_interval: u64,
    pub(super) append_latency: u64,
    pub(super) append_interval: u64,
    pub(super) write_buffer: u64,
    pub(super) buffer_is_safe: bool,
    pub(super) flush: u64,
    pub(super) open: u64,
    pub(super) close: u64,
    pub(super) implicit_open: u64,
    pub(super) reset: u64,
    pub(super) reset_written: u64,
    pub(super) finish: u64,
}

impl FlashParameters {
    /// How many dies there are.
    pub(in crate::timing) fn dies(&self) -> u64 {
        u64::from(self.channels.value) * u64::from(self.dies_per_channel.value)
    }

    /// The parameters at a scale.
    pub(super) fn settings(&self, scale: Scale) -> Settings {
        let link_rate = scale.rate(self.link_rate.value);
        // A latency is published for 4 KiB, whose way over the link is counted apart.
        let latency = |span: Span| scale.span(span).saturating_sub(link_rate.nanos(4096));
        Settings {
            channels: self.channels.value as usize,
            dies: (self.channels.value * self.dies_per_channel.value) as usize,
            dies_per_zone: self.dies_per_zone.value as usize,
            page: scale.bytes(self.page.value.0).max(512),
            program_unit: scale.bytes(self.program_unit.value.0).max(512),
            small_read: scale.bytes(4096).max(512),
            read_4k: scale.span(self.read_4k.value),
            read_page: scale.span(self.read_page.value),
            program: scale.span(self.program.value),
            erase: scale.span(self.erase.value),
            suspend: scale.span(self.suspend.value),
            channel_rate: scale.rate(self.channel_rate.value),
            link_rate,
            read_overhead: scale.span(self.read_overhead.value),
            read_interval: scale.span(self.read_interval.value),
            write_latency: latency(self.write_latency.value),
            write_interval: scale.span(self.write_interval.value),
            append_latency: latency(self.append_latency.value),
            append_interval: scale.span(self.append_interval.value),
            write_buffer: scale.bytes(self.write_buffer.value.0),
            buffer_is_safe: self.buffer_is_safe.value,
            flush: scale.span(self.flush.value),
            open: scale.span(self.open.value),
            close: scale.span(self.close.value),
            implicit_open: scale.span(self.implicit_open.value),
            reset: scale.span(self.reset.value),
            reset_written: scale.span(self.reset_written.value),
            finish: scale.span(self.finish.value),
        }
    }

    /// First reason why no SSD can have these parameters, if there is one: parameter, expected,
    /// found.
    pub(in crate::timing) fn flaw(
        &self,
        geometry: &Geometry,
    ) -> Option<(&'static str, &'static str, String)> {
        let dies = self.channels.value.saturating_mul(self.dies_per_channel.value);
        if !(1..=4096).contains(&dies) {
            return Some(("dies", "1 to 4096 in all", dies.to_string()));
        }
        let per_zone = self.dies_per_zone.value;
        if per_zone == 0 || !dies.is_multiple_of(per_zone) {
            return Some(("dies_per_zone", "a divisor of the dies", per_zone.to_string()));
        }
        let (page, unit) = (self.page.value.0, self.program_unit.value.0);
        if page == 0 || unit < page {
            return Some(("program_unit", "at least a page", unit.to_string()));
        }
        (!geometry.conventional.is_empty()).then(|| {
            let found = format!("{:?}", geometry.conventional);
            ("conventional", "none on flash", found)
        })
    }

    /// The source of each parameter.
    pub(in crate::timing) fn sources(&self) -> Vec<(&'static str, &str)> {
        vec![
            ("channels", self.channels.source.as_str()),
            ("dies_per_channel", &self.dies_per_channel.source),
            ("dies_per_zone", &self.dies_per_zone.source),
            ("page", &self.page.source),
            ("program_unit", &self.program_unit.source),
            ("read_4k", &self.read_4k.source),
            ("read_page", &self.read_page.source),
            ("program", &self.program.source),
            ("erase", &self.erase.source),
            ("suspend", &self.suspend.source),
            ("channel_rate", &self.channel_rate.source),
            ("link_rate", &self.link_rate.source),
            ("read_overhead", &self.read_overhead.source),
            ("read_interval", &self.read_interval.source),
            ("write_latency", &self.write_latency.source),
            ("write_interval", &self.write_interval.source),
            ("append_latency", &self.append_latency.source),
            ("append_interval", &self.append_interval.source),
            ("write_buffer", &self.write_buffer.source),
            ("buffer_is_safe", &self.buffer_is_safe.source),
            ("flush", &self.flush.source),
            ("open", &self.open.source),
            ("close", &self.close.source),
            ("implicit_open", &self.implicit_open.source),
            ("reset", &self.reset.source),
            ("reset_written", &self.reset_written.source),
            ("finish", &self.finish.source),
        ]
    }
}
