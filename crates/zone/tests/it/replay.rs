//! Replay: one sequence of requests, carried out on an emulated drive and on another device. The
//! sequence is drawn from a seed: reads and writes at and off the pointer, beyond the capacity and
//! across zones, opens, closes, finishes and resets, beyond the limits and in wrong states too.
//!
//! 1. A request goes to both devices. Outcomes must be the same: success, or the same error with
//!    the same fields. Bytes that were read must be the same where they had been written.
//! 2. If both refused it, the request also goes to the device without any check ([`Replay::raw`]).
//!    The device must refuse it as well, or do nothing: see [`Verdict`].
//! 3. The reports of all zones must be the same.
//!
//! Zones can be made to fail on both devices meanwhile ([`Replay::failing`]).
//!
//! Devices have a choice in a few points. A [`Model`] says which of these are allowed, and
//! [`Tally`] counts them. After such a difference the replay brings both devices to one state.

mod draw;
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;

use terrace_env::random::{Random, Rng};
use terrace_env::{Cause, Lba, ZoneId};
use terrace_zone::{
    Completion, Device, DeviceError, Geometry, Op, Request, ZoneReport, ZoneState, ZoneType,
};

use self::draw::Step;

const CAUSE: Cause = Cause::Client;

/// The standard that a device follows where standards or kernels differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// NVMe ZNS. To make room, QEMU closes the zone that the emulator closes; at both limits also
    /// for a request that it then refuses.
    Nvme,
    /// ZBC: the open of a full zone, and the close of one that is not open, do nothing. Any
    /// implicitly open zone may be closed to make room.
    Zbc,
    /// `null_blk`: a finish takes slots for an empty or a closed zone, and fails without them. Any
    /// implicitly open zone may be closed to make room.
    NullBlk,
}

/// Answer of a device to a request that breaks a rule and comes without a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Refused,
    /// It succeeds, and changes nothing.
    Ignored,
}

/// Requests of a replay on a block device: enough to meet every rule.
pub(crate) const GUEST_STEPS: u32 = 2000;

/// Number of occurrences of each event, by its name.
pub(crate) type Tally = BTreeMap<String, u64>;

/// The longest write that is sent without a check, in bytes: the kernel makes one command of it.
const RAW_MAX: u64 = 64 << 10;

type Raw<'a> = &'a dyn Fn(&Op) -> io::Result<()>;
type Fail<'a> = &'a dyn Fn(ZoneId, ZoneState);

/// Two devices of one shape, and their common state so far.
pub(crate) struct Replay<'a> {
    emulator: &'a dyn Device,
    device: &'a dyn Device,
    model: Model,
    /// Carries a request out on the device without any check.
    raw: Option<Raw<'a>>,
    /// Makes a zone of both devices fail.
    fail: Option<Fail<'a>>,
    geometry: Geometry,
    /// The zones that requests go to.
    zones: Vec<ZoneId>,
    reports: Vec<ZoneReport>,
    /// Logical blocks written, by zone; a full zone may have fewer than its capacity.
    written: Vec<u64>,
    random: Random,
    tally: Tally,
    /// How many writes there were: it marks their bytes.
    writes: u64,
}

impl<'a> Replay<'a> {
    /// Both devices must be as new: sequential zones empty, conventional ones zero.
    pub(crate) fn new(
        emulator: &'a dyn Device,
        device: &'a dyn Device,
        model: Model,
        raw: Option<Raw<'a>>,
        seed: u64,
    ) -> Self {
        let geometry = device.geometry().clone();
        assert_eq!(emulator.geometry(), &geometry);
        let shape = &geometry;
        let of =
            |zone_type| shape.zone_ids().filter(move |zone| shape.zone_type(*zone) == zone_type);
        // A few more than can be open or active, so that the limits are met.
        let limit = geometry.max_active.max(geometry.max_open).unwrap_or(8) as usize;
        let mut zones: Vec<ZoneId> = of(ZoneType::Sequential).take(limit + 8).collect();
        zones.extend(of(ZoneType::Sequential).next_back().filter(|last| !zones.contains(last)));
        zones.extend(of(ZoneType::Conventional).take(1));
        let written = vec![0; geometry.zones as usize];
        let (reports, random) = (Vec::new(), Random::seeded(seed));
        let (tally, writes) = (Tally::new(), 0);
        Self {
            emulator,
            device,
            model,
            raw,
            fail: None,
            zones,
            reports,
            written,
            random,
            tally,
            writes,
            geometry: geometry.clone(),
        }
    }

    /// Lets some zones fail, read-only or offline.
    pub(crate) fn failing(mut self, fail: Fail<'a>) -> Self {
        self.fail = Some(fail);
        self
    }

    /// Carries out `steps` requests; an error tells the first difference.
    pub(crate) fn run(mut self, steps: u32) -> Result<Tally, String> {
        self.compare_reports(None)?;
        let (mut mood, opening) = (0, self.opening());
        for number in 0..steps {
            if number.is_multiple_of(64) {
                mood = self.random.random_range(0..5);
            }
            let planned = opening.get(number as usize).cloned();
            let step = planned.unwrap_or_else(|| self.draw(mood));
            let before = format!("{:?}", self.state_of(&step));
            self.carry_out(&step)
                .map_err(|found| format!("request {number}, {step:?}, zone {before}: {found}"))?;
        }
        Ok(self.tally)
    }

    fn state_of(&self, step: &Step) -> Option<ZoneReport> {
        let zone = match step {
            Step::Read { lba, .. } | Step::Write { lba, .. } => self.geometry.zone_of(*lba)?,
            Step::Open(zone) | Step::Close(zone) | Step::Finish(zone) | Step::Reset(zone) => *zone,
            Step::Append { zone, .. } | Step::Fail(zone, _) => *zone,
            Step::Flush => return None,
        };
        self.reports.get(zone.0 as usize).copied()
    }

    fn count(&mut self, found: impl Into<String>) {
        *self.tally.entry(found.into()).or_default() += 1;
    }

    fn carry_out(&mut self, step: &Step) -> Result<(), String> {
        self.writes += 1;
        if let (Step::Fail(zone, state), Some(fail)) = (step, self.fail) {
            fail(*zone, *state);
            self.count(format!("zone turned {state:?}"));
            return self.compare_reports(Some(step));
        }
        let expected = submit(self.emulator, self.op(step));
        let got = submit(self.device, self.op(step));
        match (expected, got) {
            (Ok(expected), Ok(got)) => {
                self.count(format!("{} done", step.name()));
                if let (Completion::Read(expected), Completion::Read(got)) = (&expected, &got)
                    && let Step::Read { lba, .. } = step
                {
                    self.compare_bytes(*lba, expected, got)?;
                }
                if matches!(step, Step::Finish(_))
                    && self.was(step, |state| state == ZoneState::Full)
                {
                    self.without_check(step, Verdict::Ignored)?;
                }
            }
            (Err(expected), Err(got)) => {
                if format!("{expected:?}") != format!("{got:?}") {
                    return Err(format!("expected {expected:?}, found {got:?}"));
                }
                self.count(format!("{} refused: {}", step.name(), error_name(&expected)));
                if let Some(verdict) = self.verdict(step, &expected) {
                    self.without_check(step, verdict)?;
                }
            }
            (Ok(_), Err(error)) if self.finish_may_fail(step, &error) => {
                self.count(format!("differs: {} fails: {}", step.name(), error_name(&error)));
                self.both(Op::Reset(self.state_of(step).expect("a finish of a zone").zone))?;
            }
            (expected, got) => {
                let [expected, got] = [expected, got].map(|result| match result {
                    Ok(_) => "success".to_owned(),
                    Err(error) => format!("{error:?}"),
                });
                return Err(format!("expected {expected}, found {got}"));
            }
        }
        self.compare_reports(Some(step))
    }

    fn was(&self, step: &Step, is: impl Fn(ZoneState) -> bool) -> bool {
        self.state_of(step).is_some_and(|report| is(report.state))
    }

    /// Whether a finish may fail that succeeds on the emulator.
    fn finish_may_fail(&self, step: &Step, error: &DeviceError) -> bool {
        let count = |is: fn(ZoneState) -> bool| {
            self.reports.iter().filter(|report| is(report.state)).count() as u32
        };
        let is = |wanted| self.was(step, |state| state == wanted);
        self.model == Model::NullBlk
            && matches!(step, Step::Finish(_))
            && match error {
                DeviceError::TooManyActive { limit, .. } => {
                    is(ZoneState::Empty) && count(ZoneState::is_active) == *limit
                }
                DeviceError::TooManyOpen { limit, .. } => {
                    (is(ZoneState::Empty) || is(ZoneState::Closed))
                        && count(ZoneState::is_open) == *limit
                }
                _ => false,
            }
    }

    /// The answer that is expected of the device itself. `None` for requests that cannot be sent to
    /// a kernel, and for those that it changes: it cuts a request at the device's end, and splits
    /// one that crosses a zone's end or is long.
    fn verdict(&self, step: &Step, error: &DeviceError) -> Option<Verdict> {
        let end = Lba(self.geometry.blocks());
        match (step, error) {
            (Step::Read { .. } | Step::Append { .. }, _) => None,
            (_, DeviceError::NoSuchZone { .. } | DeviceError::CrossesZone { .. }) => None,
            (Step::Write { lba, .. }, DeviceError::OutOfRange { .. }) if *lba < end => None,
            (Step::Write { bytes, .. }, _) if *bytes > RAW_MAX => None,
            (Step::Open(_) | Step::Close(_), DeviceError::WrongState { state, .. })
                if self.model == Model::Zbc && *state != ZoneState::NotWritePointer =>
            {
                Some(Verdict::Ignored)
            }
            _ => Some(Verdict::Refused),
        }
    }

    fn without_check(&mut self, step: &Step, verdict: Verdict) -> Result<(), String> {
        let Some(raw) = self.raw else { return Ok(()) };
        let before = self.report(self.device)?;
        let got = raw(&self.op(step));
        let expected = verdict == Verdict::Ignored;
        if got.is_ok() != expected {
            return Err(format!("without a check: expected {verdict:?}, found {got:?}"));
        }
        let what = if expected { "ignored" } else { "refused" };
        self.count(format!("{} {what} by the device itself", step.name()));
        let after = self.report(self.device)?;
        for (before, after) in before.iter().zip(&after).filter(|(before, after)| before != after) {
            if !self.refusal_may_close(step, before, after) {
                return Err(format!(
                    "without a check: expected {before:?} as before, found {after:?}"
                ));
            }
            self.count("differs: a refused request closed another zone");
            self.both(Op::Close(before.zone))?;
        }
        Ok(())
    }

    /// Whether the device may close an implicitly open zone for a request that it then refuses.
    fn refusal_may_close(&self, step: &Step, before: &ZoneReport, after: &ZoneReport) -> bool {
        let count = |is: fn(ZoneState) -> bool| {
            self.reports.iter().filter(|report| is(report.state)).count() as u32
        };
        self.model == Model::Nvme
            && matches!(step, Step::Write { .. } | Step::Open(_))
            && self.geometry.max_open == Some(count(ZoneState::is_open))
            && self.geometry.max_active == Some(count(ZoneState::is_active))
            && (before.state, after.state) == (ZoneState::ImplicitlyOpen, ZoneState::Closed)
            && before.write_pointer == after.write_pointer
    }

    fn report(&self, device: &dyn Device) -> Result<Vec<ZoneReport>, String> {
        device.report(ZoneId(0), self.geometry.zones).map_err(|error| format!("report: {error:?}"))
    }

    /// Compares the reports of all zones, after the two devices were brought to one state where
    /// they may differ.
    fn compare_reports(&mut self, step: Option<&Step>) -> Result<(), String> {
        let (mut expected, mut got) = (self.report(self.emulator)?, self.report(self.device)?);
        let other_victims = self.other_victims(step, &expected, &got);
        if !other_victims.is_empty() {
            self.count("differs: another zone was closed to make room");
            for zone in other_victims {
                self.both(Op::Close(zone))?;
            }
            (expected, got) = (self.report(self.emulator)?, self.report(self.device)?);
        }
        if expected != got {
            let mut text = "zones differ:".to_owned();
            let pairs = expected.iter().zip(&got).filter(|(expected, got)| expected != got);
            for (expected, got) in pairs {
                let _ = write!(text, " expected {expected:?}, found {got:?};");
            }
            return Err(text);
        }
        for (report, written) in expected.iter().zip(&mut self.written) {
            if report.state.has_pointer() {
                *written = report.write_pointer.0 - report.start.0;
            }
        }
        let zone = match step {
            Some(Step::Write { lba, .. }) => self.geometry.zone_of(*lba),
            Some(Step::Append { zone, .. }) if zone.0 < self.geometry.zones => Some(*zone),
            _ => None,
        };
        if let Some(zone) = zone
            && self.reports[zone.0 as usize].state.has_pointer()
            && expected[zone.0 as usize].state == ZoneState::Full
        {
            self.written[zone.0 as usize] = self.geometry.zone_capacity(zone);
        }
        self.reports = expected;
        Ok(())
    }

    /// Zones that one device has closed, and the other one has left implicitly open, if the request
    /// needed room among the open zones and the device has the choice.
    fn other_victims(
        &self,
        step: Option<&Step>,
        expected: &[ZoneReport],
        got: &[ZoneReport],
    ) -> Vec<ZoneId> {
        let needs_room = match step {
            Some(Step::Write { .. } | Step::Open(_)) => true,
            // A zone that fails is finished before.
            Some(Step::Finish(_) | Step::Fail(..)) => self.model == Model::NullBlk,
            _ => false,
        };
        let open = self.reports.iter().filter(|report| report.state.is_open()).count();
        let at_limit = self.geometry.max_open.is_some_and(|limit| open == limit as usize);
        if self.model == Model::Nvme || !needs_room || !at_limit {
            return Vec::new();
        }
        let differs = |(expected, got): (&ZoneReport, &ZoneReport)| {
            let states = (expected.state, got.state);
            let choice = matches!(
                states,
                (ZoneState::ImplicitlyOpen, ZoneState::Closed)
                    | (ZoneState::Closed, ZoneState::ImplicitlyOpen)
            );
            (choice && expected.write_pointer == got.write_pointer).then_some(expected.zone)
        };
        expected.iter().zip(got).filter_map(differs).collect()
    }

    /// Carries out a request that must succeed on both devices.
    fn both(&mut self, op: Op) -> Result<(), String> {
        let again = match op {
            Op::Close(zone) => Op::Close(zone),
            Op::Reset(zone) => Op::Reset(zone),
            other => unreachable!("{other:?} brings no zone to one state"),
        };
        for (device, op) in [(self.emulator, op), (self.device, again)] {
            submit(device, op)
                .map_err(|error| format!("bringing zones to one state: {error:?}"))?;
        }
        Ok(())
    }

    fn compare_bytes(&self, lba: Lba, expected: &[u8], got: &[u8]) -> Result<(), String> {
        let zone = self.geometry.zone_of(lba).expect("a read within the device");
        let offset = lba.0 - self.geometry.zone_start(zone).0;
        let all = self.geometry.zone_type(zone) == ZoneType::Conventional;
        let block = self.geometry.logical_block as usize;
        if expected.len() != got.len() {
            return Err(format!("expected {} bytes, found {}", expected.len(), got.len()));
        }
        for (index, (expected, got)) in expected.chunks(block).zip(got.chunks(block)).enumerate() {
            let at = offset + index as u64;
            let unwritten = [0, 0xff].iter().any(|clean| got.iter().all(|byte| byte == clean));
            let right =
                if all || at < self.written[zone.0 as usize] { expected == got } else { unwritten };
            if !right {
                let [expected, got] = [expected, got].map(|bytes| &bytes[..8]);
                return Err(format!(
                    "block {at} of the zone: expected {expected:?}, found {got:?}"
                ));
            }
        }
        Ok(())
    }
}

fn submit(device: &dyn Device, op: Op) -> Result<Completion, DeviceError> {
    device.wait(device.submit(Request { op, cause: CAUSE }))
}

fn error_name(error: &DeviceError) -> String {
    format!("{error:?}").split([' ', '{']).next().unwrap_or_default().to_owned()
}

/// Checks that a replay has met the events that it is made for.
pub(crate) fn assert_met(tally: &Tally, geometry: &Geometry) {
    let mut wanted = vec![
        "write done",
        "read done",
        "open done",
        "close done",
        "finish done",
        "reset done",
        "flush done",
        "write refused: NotAtWritePointer",
        "write refused: ZoneFull",
        "write refused: Misaligned",
        "write refused: OutOfRange",
        "read refused: OutOfRange",
        "read refused: CrossesZone",
        "open refused: WrongState",
        "close refused: WrongState",
        "reset refused: NoSuchZone",
    ];
    if geometry.max_open.is_some() && geometry.max_open != geometry.max_active {
        wanted.extend(["open refused: TooManyOpen", "write refused: TooManyOpen"]);
    }
    if geometry.max_active.is_some() {
        wanted.extend(["open refused: TooManyActive", "write refused: TooManyActive"]);
    }
    let sequential = |zone: &ZoneId| geometry.zone_type(*zone) == ZoneType::Sequential;
    let zone = geometry.zone_ids().find(sequential).expect("a sequential zone");
    wanted.push(match geometry.zone_capacity(zone) < geometry.zone_size(zone) {
        true => "write refused: BeyondCapacity",
        false => "write refused: CrossesZone",
    });
    let missing: Vec<_> =
        wanted.into_iter().filter(|wanted| !tally.contains_key(*wanted)).collect();
    assert!(missing.is_empty(), "expected {missing:?} among {tally:#?}");
}
