//! [`Flash`]: when the commands of a ZNS SSD complete.
//!
//! - *Layout.* A zone is given to a group of dies and striped over them by program units: unit `u`
//!   of zone `z` lies on die `(u + z) mod dies_per_zone` of the group.
//! - *Write.* It takes the controller and the link, waits for room in the write buffer, and is
//!   acknowledged; this takes longer if the zone is not open. A program unit goes to its die when
//!   the zone has all bytes of it, or is full or finished. If the buffer does not survive power
//!   cuts, a forced write also programs a unit that is not full, and waits until its units are
//!   programmed. A zone takes one append at a time, each for a while.
//! - *Read.* It takes the controller, and then for each page the die, the channel and the link; the
//!   die is not needed for the page that it read last. Pages of a program unit that is not full yet
//!   and has not gone to its die come from the buffer, over the link alone.
//! - *Reset.* Its time grows with the bytes written. Resets go one after the other. They delay
//!   other commands later: each die erases its blocks before the next program of the zone on it.
//! - *Finish.* It takes a fixed time, and the time to program the unwritten part of the zone.
//!   Finishes go one after the other. To program the unwritten part does not delay other commands.
//! - *Flush.* If the buffer survives power cuts, it takes a fixed time. Otherwise units that are
//!   not full are programmed as they are, and the flush waits for all programs, too.
//! - *Open, close, refused commands.* They take a fixed time each, and wait for nothing.
//!
//! The completion of a command is decided when it is submitted; later commands do not change it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use terrace_env::{Cause, Time, ZoneId};

use super::dies::Dies;
use super::parameters::{FlashParameters, Settings};
use crate::Geometry;
use crate::emulator::{Command, Progress, RequestKind, Timing};
use crate::timing::{Scale, Work};

/// State that the controller keeps of a zone.
#[derive(Clone, Copy, Debug, Default)]
struct ZoneState {
    /// Program operations that have been sent to its dies.
    units: u64,
    /// Bytes of these operations.
    programmed: u64,
    /// Bytes that are not a unit yet.
    pending: u64,
    appends_end: u64,
    /// The blocks hold data of an earlier life.
    used: bool,
}

/// A ZNS SSD.
#[derive(Clone, Debug)]
pub struct Flash {
    settings: Settings,
    logical_block: u64,
    zone_blocks: u64,
    zone_capacity: u64,
    dies: Dies,
    zones: BTreeMap<ZoneId, ZoneState>,
    reads_taken: u64,
    writes_taken: u64,
    resets_end: u64,
    finishes_end: u64,
    /// Time at which the last write found room.
    admitted: u64,
    link_in: u64,
    link_out: u64,
    /// Times at which bytes leave the buffer, with their numbers.
    leaving: BinaryHeap<Reverse<(u64, u64)>>,
    buffered: u64,
    work: Work,
}

impl Flash {
    /// An SSD of the given geometry.
    pub(in crate::timing) fn new(
        parameters: &FlashParameters,
        geometry: &Geometry,
        scale: Scale,
    ) -> Self {
        Self::with(parameters.settings(scale), geometry)
    }

    /// The same, with zones that are striped over all its dies.
    pub(super) fn over_all_dies(
        parameters: &FlashParameters,
        geometry: &Geometry,
        scale: Scale,
    ) -> Self {
        let settings = parameters.settings(scale);
        Self::with(Settings { dies_per_zone: settings.dies, ..settings }, geometry)
    }

    fn with(settings: Settings, geometry: &Geometry) -> Self {
        let logical_block = u64::from(geometry.logical_block);
        Self {
            dies: Dies::new(settings.dies, settings.channels, settings.suspend),
            settings,
            logical_block,
            zone_blocks: geometry.zone_size,
            zone_capacity: geometry.zone_capacity * logical_block,
            zones: BTreeMap::new(),
            reads_taken: 0,
            writes_taken: 0,
            resets_end: 0,
            finishes_end: 0,
            admitted: 0,
            link_in: 0,
            link_out: 0,
            leaving: BinaryHeap::new(),
            buffered: 0,
            work: Work::default(),
        }
    }

    fn die(&self, zone: ZoneId, unit: u64) -> usize {
        let (zone, width) = (zone.0 as usize, self.settings.dies_per_zone);
        let group = zone % (self.settings.dies / width);
        group * width + (unit as usize + zone) % width
    }

    /// Lets bytes that have been programmed by `now` leave the buffer.
    fn drain(&mut self, now: u64) {
        while let Some(Reverse((at, bytes))) = self.leaving.peek().copied()
            && at <= now
        {
            self.leaving.pop();
            self.buffered -= bytes;
        }
    }

    /// Waits from `now` on until the buffer has room for `bytes`. Units that are not full are never
    /// programmed by waiting, so the buffer is overdrawn when only such units are left.
    fn wait_for_room(&mut self, now: u64, bytes: u64) -> u64 {
        self.drain(now);
        let mut at = self.admitted.max(now);
        while self.buffered + bytes > self.settings.write_buffer
            && let Some(Reverse((next, left))) = self.leaving.pop()
        {
            self.buffered -= left;
            at = at.max(next);
        }
        self.admitted = at;
        at
    }

    /// Sends a unit of a zone to its die; gives when it is programmed.
    fn program(&mut self, zone: ZoneId, now: u64, bytes: u64, cause: Cause) -> u64 {
        let state = self.zones.entry(zone).or_default();
        let (unit, erase) = (state.units, state.used);
        state.units += 1;
        state.programmed += bytes;
        let width = self.settings.dies_per_zone as u64;
        if unit + 1 >= width {
            state.used = false;
        }
        let die = self.die(zone, unit);
        if erase && unit < width {
            self.dies.occupy(die, now, self.settings.erase);
            self.work.add(cause, 0, self.settings.erase);
        }
        let moving = self.settings.channel_rate.nanos(bytes);
        self.work.add(cause, 0, self.settings.program);
        self.dies.program(die, now, self.settings.program, moving)
    }

    fn write(&mut self, zone: ZoneId, now: u64, bytes: u64, command: &Command) -> (u64, u64) {
        let settings = &self.settings;
        let (unit, safe) = (settings.program_unit, settings.buffer_is_safe);
        let start = self.writes_taken.max(now);
        self.writes_taken = start + settings.write_interval;
        let state = self.zones.entry(zone).or_default();
        let (mut ready, mut latency) = (start, settings.write_latency);
        if command.append {
            ready = ready.max(state.appends_end);
            state.appends_end = ready + settings.append_interval;
            latency = settings.append_latency;
        }
        let before = command.zone.map(|(_, before)| before);
        if before.is_some_and(|before| !before.state.is_open()) {
            latency += settings.implicit_open;
        }
        let written = before.map_or(0, |before| before.written) * self.logical_block + bytes;
        self.link_in = self.link_in.max(ready) + settings.link_rate.nanos(bytes);
        let taken = self.wait_for_room(self.link_in, bytes);
        self.buffered += bytes;
        let state = self.zones.entry(zone).or_default();
        state.pending += bytes;
        let whole = state.pending / unit;
        state.pending %= unit;
        let mut end = taken + latency;
        for _ in 0..whole {
            let programmed = self.program(zone, taken, unit, command.cause);
            self.leaving.push(Reverse((programmed, unit)));
            if command.forced && !safe {
                end = end.max(programmed);
            }
        }
        if command.forced && !safe {
            end = end.max(self.program_rest(zone, taken, command.cause));
        } else if written >= self.zone_capacity {
            self.program_rest(zone, taken, command.cause);
        }
        (ready, end)
    }

    /// Programs a unit that is not full, whose rest is lost; gives when that is done.
    fn program_rest(&mut self, zone: ZoneId, now: u64, cause: Cause) -> u64 {
        let state = self.zones.entry(zone).or_default();
        let pending = std::mem::take(&mut state.pending);
        if pending == 0 {
            return now;
        }
        let end = self.program(zone, now, pending, cause);
        self.leaving.push(Reverse((end, pending)));
        end
    }

    fn read(&mut self, zone: ZoneId, now: u64, bytes: u64, command: &Command) -> (u64, u64) {
        let start = self.reads_taken.max(now);
        self.reads_taken = start + self.settings.read_interval;
        let ready = start + self.settings.read_overhead;
        let settings = self.settings.clone();
        let offset = (command.lba.0 % self.zone_blocks) * self.logical_block;
        let state = self.zones.get(&zone).copied().unwrap_or_default();
        let buffered = state.programmed..state.programmed + state.pending;
        let (mut at, mut end) = (offset, ready);
        while at < offset + bytes {
            let next = (at / settings.page + 1) * settings.page;
            let part = next.min(offset + bytes) - at;
            let mut arrived = ready;
            if !buffered.contains(&at) {
                let small = part <= settings.small_read;
                let nanos = if small { settings.read_4k } else { settings.read_page };
                let die = self.die(zone, at / settings.program_unit);
                let page = (u64::from(zone.0) << 32) | (at / settings.page);
                let moving = settings.channel_rate.nanos(part);
                arrived = self.dies.read((die, page), ready, nanos, moving, settings.program);
                self.work.add(command.cause, 0, nanos);
            }
            self.link_out = self.link_out.max(arrived) + settings.link_rate.nanos(part);
            end = end.max(self.link_out);
            at += part;
        }
        (start, end)
    }

    fn reset(&mut self, zone: ZoneId, now: u64, written: u64) -> (u64, u64) {
        let start = self.resets_end.max(now);
        let share = u128::from(self.settings.reset_written) * u128::from(written)
            / u128::from(self.zone_capacity.max(1));
        self.resets_end = start + self.settings.reset + share as u64;
        let state = self.zones.entry(zone).or_default();
        let used = state.used || state.units > 0;
        self.buffered -= state.pending.min(self.buffered);
        *state = ZoneState { used, ..ZoneState::default() };
        (start, self.resets_end)
    }

    fn finish(&mut self, zone: ZoneId, now: u64, written: u64, cause: Cause) -> (u64, u64) {
        let programmed = self.program_rest(zone, now, cause);
        let rest = self.zone_capacity.saturating_sub(written) / self.settings.program_unit;
        let nanos = rest * self.settings.program;
        self.work.add(cause, 0, nanos);
        let start = self.finishes_end.max(now);
        let width = self.settings.dies_per_zone as u64;
        self.finishes_end = start.max(programmed) + nanos / width + self.settings.finish;
        (start, self.finishes_end)
    }

    fn flush(&mut self, now: u64, cause: Cause) -> (u64, u64) {
        if self.settings.buffer_is_safe {
            return (now, now + self.settings.flush);
        }
        let zones: Vec<ZoneId> = self.zones.keys().copied().collect();
        for zone in zones {
            self.program_rest(zone, now, cause);
        }
        (now, self.dies.programs_end().max(now) + self.settings.flush)
    }
}

impl Timing for Flash {
    fn submit(&mut self, now: Time, _: u64, command: &Command) -> Progress {
        let bytes = command.blocks * self.logical_block;
        let now = now.0;
        let (start, end) = match (command.kind, command.zone) {
            _ if command.refused => (now, now + self.settings.open),
            (RequestKind::Read, Some((zone, _))) => self.read(zone, now, bytes, command),
            (RequestKind::Write, Some((zone, _))) => self.write(zone, now, bytes, command),
            (RequestKind::Open, _) => (now, now + self.settings.open),
            (RequestKind::Close, _) => (now, now + self.settings.close),
            (RequestKind::Reset, Some((zone, before))) => {
                self.reset(zone, now, before.written * self.logical_block)
            }
            (RequestKind::Finish, Some((zone, before))) => {
                self.finish(zone, now, before.written * self.logical_block, command.cause)
            }
            _ => self.flush(now, command.cause),
        };
        Progress::Decided { start: Time(start), end: Time(end) }
    }

    fn power_cut(&mut self, now: Time) {
        self.dies.stop(now.0);
        self.leaving.clear();
        self.buffered = 0;
        self.zones.values_mut().for_each(|zone| zone.pending = 0);
        for time in [
            &mut self.reads_taken,
            &mut self.writes_taken,
            &mut self.resets_end,
            &mut self.finishes_end,
            &mut self.admitted,
            &mut self.link_in,
            &mut self.link_out,
        ] {
            *time = now.0;
        }
    }

    /// Reaches a little beyond `now`: the work of the dies on accepted requests is known ahead.
    fn work(&mut self, _: Time) -> Work {
        self.work.clone()
    }
}
