//! [`Core`]: the controller of an emulated drive. It takes requests, applies faults, calls the
//! observer, asks the timing model, and counts.
//!
//! A submission goes through these steps. Reads skip steps 2 to 4. A request that a step refuses
//! goes on with step 9.
//!
//! 1. Check the power.
//! 2. Check access and, for an image, whether a sync of the host has failed.
//! 3. Show the request to the observer, even if the rules will refuse it.
//! 4. Let zones fail that are to fail now.
//! 5. Check the rules of the device.
//! 6. Apply faults.
//! 7. Carry out the request.
//! 8. Count it.
//! 9. Ask the timing model, if there is one, for the time at which the request completes.
//!
//! Nothing here waits for a time or for a sync; the caller holds the drive's lock. For an image,
//! the caller syncs the host's file without the lock: up to [`Core::barrier`] before it submits,
//! and up to [`Core::reach`] before it completes.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::store::IoCounts;
use terrace_env::{ByteCount, Cause, Lba, Time, ZoneId};

use super::PowerCut;
use super::drive::{Drive, Effect, Plan};
use super::faults::{FaultPlan, RequestKind};
use super::file::Access;
use super::snapshot::Event;
use super::timing::{Command, Progress, Timing};
use crate::timing::DeviceTime;
use crate::{Completion, DeviceError, Op, Request};

/// Sees each request that is about to change the drive. It runs inside the drive: it must not use
/// the drive but through the event.
pub type Observer = Arc<dyn Fn(&Event<'_>) + Send + Sync>;

struct Submitted {
    /// Answer of the timing model, if there is one.
    progress: Option<Progress>,
    cause: Cause,
    at: Time,
    result: Result<Completion, DeviceError>,
    effect: Effect,
    /// The change of the host that has to be on its disk before this is complete.
    reach: Option<u64>,
}

pub(super) struct Core {
    pub(super) drive: Drive,
    timing: Option<Box<dyn Timing>>,
    device_time: DeviceTime,
    pub(super) observer: Option<Observer>,
    pub(super) io: IoCounts,
    pub(super) powered: bool,
    pub(super) access: Access,
    pub(super) faults: Option<FaultPlan>,
    /// Zones with a failed write that was not waited for, and its ticket.
    aborting: BTreeMap<ZoneId, u64>,
    random: Random,
    submitted: BTreeMap<u64, Submitted>,
    next_ticket: u64,
    next_event: u64,
}

impl Core {
    pub(super) fn new(drive: Drive, random: Random) -> Self {
        Self {
            drive,
            timing: None,
            device_time: DeviceTime::default(),
            observer: None,
            io: IoCounts::default(),
            powered: true,
            access: Access::ReadWrite,
            faults: None,
            aborting: BTreeMap::new(),
            random,
            submitted: BTreeMap::new(),
            next_ticket: 0,
            next_event: 0,
        }
    }

    pub(super) fn submit(&mut self, request: Request, now: impl FnOnce() -> Time) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let (kind, cause) = (RequestKind::of(&request.op), request.cause);
        let lasts = match &request.op {
            Op::Write { fua, .. } | Op::Append { fua, .. } => *fua,
            Op::Flush => true,
            _ => false,
        };
        let planned = self.admit(&request, kind);
        let mut command = self.command(&request, kind, planned.as_ref().ok());
        let carried_out = planned.and_then(|plan| self.carry_out(request, kind, plan, ticket));
        let (result, effect) = carried_out.unwrap_or_else(|error| (Err(error), Effect::None));
        command.refused = result.is_err();
        let (mut progress, mut at) = (None, Time::default());
        if let Some(timing) = &mut self.timing {
            at = now();
            progress = Some(timing.submit(at, ticket, &command));
        }
        let host = self.drive.medium.host().filter(|_| lasts && result.is_ok());
        let reach = host.map(|host| host.changes());
        self.submitted.insert(ticket, Submitted { progress, cause, at, result, effect, reach });
        self.account(ticket);
        ticket
    }

    /// The change of the host that has to be on its disk before this request is submitted.
    pub(super) fn barrier(&self, op: &Op) -> Option<u64> {
        let host = self.drive.medium.host()?;
        if !host.is_synced() || !self.powered || matches!(op, Op::Read { .. } | Op::Flush) {
            return None;
        }
        match self.drive.plan(op) {
            Ok(Plan::Change(transition)) => {
                let writes = matches!(op, Op::Write { .. } | Op::Append { .. });
                self.drive.barrier(&transition, writes)
            }
            _ => None,
        }
    }

    /// The change of the host that has to be on its disk before a submitted request is complete.
    pub(super) fn reach(&self, ticket: u64) -> Option<u64> {
        self.submitted.get(&ticket)?.reach
    }

    /// A submitted request has failed after all, because the host did not make it durable.
    pub(super) fn fail_submitted(&mut self, ticket: u64, error: DeviceError) {
        if let Some(submitted) = self.submitted.get_mut(&ticket) {
            (submitted.result, submitted.effect) = (Err(error), Effect::None);
        }
    }

    /// A request as the timing model sees it, before it is carried out.
    fn command(&self, request: &Request, kind: RequestKind, plan: Option<&Plan>) -> Command {
        let (zone, offset) = match plan {
            Some(Plan::Read { zone, offset, .. }) => (Some(*zone), *offset),
            Some(Plan::Change(transition)) => (Some(transition.zone), transition.offset),
            Some(Plan::Flush) | None => (None, 0),
        };
        let (bytes, append, forced) = match &request.op {
            Op::Read { blocks, .. } => (self.drive.bytes(u64::from(*blocks)), false, false),
            Op::Write { data, fua, .. } => (data.len() as u64, false, *fua),
            Op::Append { data, fua, .. } => (data.len() as u64, true, *fua),
            _ => (0, false, false),
        };
        Command {
            kind,
            cause: request.cause,
            lba: zone.map_or(Lba(0), |zone| self.drive.block(zone, offset)),
            blocks: bytes / u64::from(self.drive.geometry.logical_block),
            zone: zone.map(|zone| (zone, self.drive.table.status(zone))),
            append,
            forced,
            refused: false,
        }
    }

    /// Counts the times of a request once they are decided.
    fn account(&mut self, ticket: u64) {
        let submitted = &self.submitted[&ticket];
        if let Some(Progress::Decided { start, end }) = submitted.progress {
            self.device_time.add(submitted.cause, submitted.at, start, end);
        }
    }

    fn carry_out(
        &mut self,
        request: Request,
        kind: RequestKind,
        plan: Plan,
        ticket: u64,
    ) -> Result<(Result<Completion, DeviceError>, Effect), DeviceError> {
        let begins = matches!(plan, Plan::Change(to) if to.offset == 0);
        let drive = &self.drive;
        let faults = self.faults.as_mut();
        if faults.is_some_and(|faults| {
            faults.is_host_full(kind, request.cause, begins, || drive.written_zones())
        }) {
            let (path, full) = ("as planned".to_owned(), std::io::ErrorKind::StorageFull.into());
            return Err(DeviceError::HostFull { path, source: Arc::new(full) });
        }
        if self.fault_strikes(&request.op, kind, plan)? {
            return self.fail(request.op, kind, plan, ticket);
        }
        let (completion, effect) = self.drive.carry_out(request.op, plan, ticket)?;
        self.heal(&completion);
        self.count(kind, &completion, request.cause);
        Ok((Ok(completion), effect))
    }

    /// Bytes that the host has left by the plan of faults, if it limits them.
    pub(super) fn planned_room(&self) -> Option<ByteCount> {
        let left = self.faults.as_ref()?.host_zones_left(self.drive.written_zones())?;
        let zone = self.drive.bytes(self.drive.geometry.zone_size);
        Some(ByteCount(u64::from(left) * zone))
    }

    /// Checks that the drive may be changed at all.
    pub(super) fn check_access(&self, operation: &'static str) -> Result<(), DeviceError> {
        match self.access {
            Access::ReadWrite => Ok(()),
            Access::ReadOnly | Access::Beside => Err(DeviceError::ReadOnlyDevice { operation }),
        }
    }

    /// Makes the checks that come before faults, and shows the request to the observer.
    fn admit(&mut self, request: &Request, kind: RequestKind) -> Result<Plan, DeviceError> {
        if !self.powered {
            return Err(DeviceError::PowerLost);
        }
        if kind != RequestKind::Read {
            self.check_access(kind.name())?;
            if let Some(host) = self.drive.medium.host() {
                host.check()?;
            }
            if let Some(observer) = &self.observer {
                observer(&Event { number: self.next_event, request, drive: &self.drive });
            }
            self.next_event += 1;
            for (zones, state) in self.faults.iter_mut().flat_map(FaultPlan::failing_zones) {
                for zone in zones {
                    self.drive.fail_zone(ZoneId(zone), state)?;
                }
            }
        }
        if let (Access::Beside, Op::Read { lba, .. }) = (self.access, &request.op)
            && let Some(zone) = self.drive.geometry.zone_of(*lba)
        {
            self.drive.look_again(zone)?;
        }
        self.drive.plan(&request.op)
    }

    fn fault_strikes(
        &mut self,
        op: &Op,
        kind: RequestKind,
        plan: Plan,
    ) -> Result<bool, DeviceError> {
        if let Some(zone) = plan.zone()
            && kind != RequestKind::Read
            && self.aborting.contains_key(&zone)
        {
            let lba = self.drive.block(zone, self.drive.table.status(zone).written);
            return Err(DeviceError::Medium { zone, lba, operation: kind.name() });
        }
        let Some(faults) = &mut self.faults else { return Ok(false) };
        if let (Op::Read { lba, blocks }, Plan::Read { zone, .. }) = (op, plan)
            && let Some(lba) = faults.bad_block_in(*lba, u64::from(*blocks))
        {
            return Err(DeviceError::Medium { zone, lba, operation: kind.name() });
        }
        Ok(faults.strikes(kind, plan.zone()))
    }

    /// Fails a request that keeps the rules.
    fn fail(
        &mut self,
        op: Op,
        kind: RequestKind,
        plan: Plan,
        ticket: u64,
    ) -> Result<(Result<Completion, DeviceError>, Effect), DeviceError> {
        let operation = kind.name();
        let (zone, offset) = match plan {
            Plan::Flush => {
                self.take_back()?;
                return Err(DeviceError::FlushFailed);
            }
            Plan::Read { zone, offset, .. } => (zone, offset),
            Plan::Change(transition) => (transition.zone, transition.offset),
        };
        let lba = self.drive.block(zone, offset);
        let (Op::Write { data, .. } | Op::Append { data, .. }, Plan::Change(transition)) =
            (&op, plan)
        else {
            return Err(DeviceError::Medium { zone, lba, operation });
        };
        let unit = u64::from(self.drive.geometry.physical_block);
        let steps = self.random.random_range(0..(data.len() as u64).div_ceil(unit));
        if steps > 0 {
            self.drive.write_part(transition, data, ticket, steps)?;
        }
        self.aborting.insert(zone, ticket);
        let lba = Lba(lba.0 + steps * self.drive.geometry.physical_step());
        Ok((Err(DeviceError::Medium { zone, lba, operation }), Effect::Zone(zone)))
    }

    /// A flush has failed: volatile changes are lost, kept or torn.
    fn take_back(&mut self) -> Result<(), DeviceError> {
        for submitted in self.submitted.values_mut().filter(|one| one.effect != Effect::None) {
            submitted.result = Err(DeviceError::FlushFailed);
            submitted.effect = Effect::None;
        }
        self.aborting.clear();
        let cut = PowerCut::any(&mut self.random);
        self.drive.cut(cut, &mut self.random)
    }

    fn heal(&mut self, completion: &Completion) {
        if let (Some(faults), Completion::Written { lba, data }) = (&mut self.faults, completion) {
            faults.heal(*lba, data.len() as u64 / u64::from(self.drive.geometry.logical_block));
        }
    }

    fn count(&mut self, kind: RequestKind, completion: &Completion, cause: Cause) {
        let io = &mut self.io;
        match (kind, completion) {
            (_, Completion::Read(data)) => {
                io.reads[cause as usize] += 1;
                io.read_bytes[cause as usize] += data.len() as u64;
            }
            (_, Completion::Written { data, .. }) => {
                io.writes[cause as usize] += 1;
                io.written_bytes[cause as usize] += data.len() as u64;
            }
            (RequestKind::Reset, Completion::Done) => io.zones_reset += 1,
            (RequestKind::Finish, Completion::Done) => io.zones_finished += 1,
            (RequestKind::Flush, Completion::Done) => io.flushes += 1,
            (_, Completion::Done) => {}
        }
    }

    /// Progress of a submitted request according to the timing model; `None` without a model.
    ///
    /// # Panics
    /// When it was waited for already.
    pub(super) fn progress(&mut self, ticket: u64, now: impl FnOnce() -> Time) -> Option<Progress> {
        const WAITED: &str = "a ticket that was not waited for";
        let submitted = self.submitted.get_mut(&ticket).expect(WAITED);
        if let (Some(Progress::Undecided { .. }), Some(timing)) =
            (submitted.progress, &mut self.timing)
        {
            submitted.progress = Some(timing.poll(now(), ticket));
            self.account(ticket);
        }
        self.submitted[&ticket].progress
    }

    /// Changes the model of the times. Requests that the old model has left undecided complete at
    /// once.
    pub(super) fn set_timing(&mut self, timing: Option<Box<dyn Timing>>) {
        self.forget_undecided();
        self.device_time = DeviceTime::default();
        self.timing = timing;
    }

    fn forget_undecided(&mut self) {
        for submitted in self.submitted.values_mut() {
            if let Some(Progress::Undecided { .. }) = submitted.progress {
                submitted.progress = None;
            }
        }
    }

    /// Where the device time went, since the model was set.
    pub(super) fn device_time(&mut self, now: impl FnOnce() -> Time) -> DeviceTime {
        let work = self.timing.as_mut().map(|timing| timing.work(now())).unwrap_or_default();
        self.device_time.clone().with_work(work)
    }

    /// Ends a request that an actor has waited for.
    pub(super) fn complete(&mut self, ticket: u64) -> Result<Completion, DeviceError> {
        let submitted = self.submitted.remove(&ticket).expect("a ticket that was not waited for");
        self.aborting.retain(|_, failed| *failed != ticket);
        self.drive.complete(submitted.effect, ticket)?;
        submitted.result
    }

    /// Cuts the power. All requests that were not waited for fail.
    pub(super) fn power_cut(
        &mut self,
        cut: PowerCut,
        random: &mut Random,
        now: impl FnOnce() -> Time,
    ) -> Result<(), DeviceError> {
        self.powered = false;
        if let Some(timing) = &mut self.timing {
            timing.power_cut(now());
        }
        self.forget_undecided();
        for submitted in self.submitted.values_mut() {
            submitted.result = Err(DeviceError::PowerLost);
            submitted.effect = Effect::None;
        }
        self.aborting.clear();
        self.drive.cut(cut, random)
    }
}
