//! The sequence of a replay: [`Step`], and how the next one is drawn.

use terrace_env::random::Rng;
use terrace_env::{IoBuf, Lba, ZoneId};
use terrace_zone::{Op, ZoneReport, ZoneState, ZoneType};

use super::Replay;

/// The most zones that fail in one replay.
const FAILURES_MAX: usize = 4;

/// A request as the sequence has it.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Read {
        lba: Lba,
        blocks: u32,
    },
    Write {
        lba: Lba,
        bytes: u64,
        fua: bool,
    },
    Append {
        zone: ZoneId,
        bytes: u64,
    },
    Open(ZoneId),
    Close(ZoneId),
    Finish(ZoneId),
    Reset(ZoneId),
    Flush,
    /// The zone becomes read-only or offline on both devices.
    Fail(ZoneId, ZoneState),
}

impl Step {
    /// Its name in a tally.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Read { .. } => "read",
            Self::Write { .. } => "write",
            Self::Append { .. } => "append",
            Self::Open(_) => "open",
            Self::Close(_) => "close",
            Self::Finish(_) => "finish",
            Self::Reset(_) => "reset",
            Self::Flush => "flush",
            Self::Fail(..) => "fail",
        }
    }
}

impl Replay<'_> {
    /// Requests that reach both limits and go beyond them, on a device that is as new.
    pub(super) fn opening(&self) -> Vec<Step> {
        let sequential = |zone: &&ZoneId| self.geometry.zone_type(**zone) == ZoneType::Sequential;
        let zones: Vec<ZoneId> = self.zones.iter().filter(sequential).copied().collect();
        let bytes = u64::from(self.geometry.physical_block);
        let write = |zone| Step::Write { lba: self.geometry.zone_start(zone), bytes, fua: false };
        let mut steps = Vec::new();
        let open = self.geometry.max_open.unwrap_or(0) as usize;
        steps.extend(zones[..open].iter().map(|zone| Step::Open(*zone)));
        steps.extend([Step::Open(zones[open]), write(zones[open])]);
        for zone in &zones[..open] {
            steps.extend([write(*zone), Step::Close(*zone)]);
        }
        let active = self.geometry.max_active.map_or(open, |active| active as usize);
        steps.extend(zones[open..=active].iter().map(|zone| write(*zone)));
        steps.push(Step::Open(zones[active]));
        steps.extend(zones.iter().map(|zone| Step::Reset(*zone)));
        steps
    }

    /// The next request. A mood has its own weights of operations.
    pub(super) fn draw(&mut self, mood: u32) -> Step {
        let random = &mut self.random;
        let zone = self.zones[random.random_range(0..self.zones.len())];
        let zone = if random.random_range(0..40) == 0 { ZoneId(self.geometry.zones) } else { zone };
        let states = [ZoneState::ReadOnly, ZoneState::Offline];
        let has_failed = |report: &ZoneReport| states.contains(&report.state);
        if self.fail.is_some()
            && random.random_range(0..400) == 0
            && let Some(report) = self.reports.get(zone.0 as usize)
            && report.zone_type == ZoneType::Sequential
            && !has_failed(report)
            // `null_blk` may keep the slot of a closed zone that fails.
            && report.state != ZoneState::Closed
            && self.reports.iter().filter(|report| has_failed(report)).count() < FAILURES_MAX
        {
            return Step::Fail(zone, states[random.random_range(0..2)]);
        }
        // Weights: write, open, close, finish, reset.
        let weights = [
            [60, 8, 8, 1, 15],
            [15, 70, 1, 0, 12],
            [40, 20, 20, 1, 8],
            [30, 5, 15, 15, 30],
            [50, 25, 20, 0, 15],
        ];
        let weights = weights[mood as usize];
        let mut left = random.random_range(0..weights.iter().sum::<u32>() + 30);
        for (kind, weight) in weights.iter().enumerate() {
            if left < *weight {
                return match kind {
                    0 => self.draw_write(zone),
                    1 => Step::Open(zone),
                    2 => Step::Close(zone),
                    3 => Step::Finish(zone),
                    _ => Step::Reset(zone),
                };
            }
            left -= weight;
        }
        match left {
            0..2 => Step::Append { zone, bytes: u64::from(self.geometry.physical_block) },
            2..4 => Step::Flush,
            _ => self.draw_read(zone),
        }
    }

    fn draw_read(&mut self, zone: ZoneId) -> Step {
        let blocks = self.random.random_range(1..=16);
        let end = self.geometry.blocks();
        if zone.0 >= self.geometry.zones {
            return Step::Read { lba: Lba(end), blocks };
        }
        let (start, size) = (self.geometry.zone_start(zone).0, self.geometry.zone_size(zone));
        let written = self.written[zone.0 as usize];
        // Around the pointer, anywhere, or across the zone's end.
        let offset = match self.random.random_range(0..4) {
            0 => self.random.random_range(0..size),
            1 => size - 1,
            _ => written.saturating_sub(self.random.random_range(0..24)).min(size - 1),
        };
        Step::Read { lba: Lba(start + offset), blocks }
    }

    fn draw_write(&mut self, zone: ZoneId) -> Step {
        let geometry = &self.geometry;
        let (step, block) = (geometry.physical_step(), u64::from(geometry.logical_block));
        let random = &mut self.random;
        let mut bytes = random.random_range(1..=4) * step * block;
        let fua = random.random_range(0..8) == 0;
        if zone.0 >= geometry.zones {
            return Step::Write { lba: Lba(geometry.blocks()), bytes, fua };
        }
        let (size, capacity) = (geometry.zone_size(zone), geometry.zone_capacity(zone));
        let written = self.written[zone.0 as usize];
        let mut offset = written.min(size - step);
        match random.random_range(0..40) {
            // Off the pointer, to both sides.
            0 => offset = (offset + step).min(size - step),
            1 => offset = offset.saturating_sub(step),
            2 => offset = 0,
            3 => offset = random.random_range(0..size / step) * step,
            // No whole blocks.
            4 => bytes += random.random_range(1..block),
            // Up to the capacity, beyond it, and up to the zone's end.
            5 => bytes = (capacity - written.min(capacity)).max(step) * block,
            6 => bytes = (capacity - written.min(capacity) + step) * block,
            7 => bytes = (size - offset) * block,
            // Nearly up to the capacity: the next write may go beyond it.
            8 => bytes = capacity.saturating_sub(written + 2 * step).max(step) * block,
            _ => {}
        }
        Step::Write { lba: Lba(geometry.zone_start(zone).0 + offset), bytes, fua }
    }

    /// The request itself. The bytes of a write tell which one it was.
    pub(super) fn op(&self, step: &Step) -> Op {
        let data = |bytes: u64| {
            let mut data = IoBuf::zeroed(bytes as usize);
            let block = self.geometry.logical_block as usize;
            for (index, bytes) in data.chunks_mut(block).enumerate() {
                let mark = ((self.writes << 16) | index as u64).to_le_bytes();
                bytes.chunks_mut(8).for_each(|word| word.copy_from_slice(&mark[..word.len()]));
            }
            data
        };
        match *step {
            Step::Read { lba, blocks } => Op::Read { lba, blocks },
            Step::Write { lba, bytes, fua } => Op::Write { lba, data: data(bytes), fua },
            Step::Append { zone, bytes } => Op::Append { zone, data: data(bytes), fua: false },
            Step::Open(zone) => Op::Open(zone),
            Step::Close(zone) => Op::Close(zone),
            Step::Finish(zone) => Op::Finish(zone),
            Step::Reset(zone) => Op::Reset(zone),
            Step::Flush => Op::Flush,
            Step::Fail(..) => unreachable!("a failure is no request"),
        }
    }
}
