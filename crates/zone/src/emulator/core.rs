//! The drive's controller: takes requests, lets faults happen, tells observers, counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::random::Random;
use terrace_env::store::IoCounts;
use terrace_env::{Cause, Time};

use super::PowerCut;
use super::drive::{Drive, Effect};
use super::snapshot::Event;
use super::timing::Timing;
use crate::{Completion, DeviceError, Op, Request};

/// Sees each request that is about to change the drive. It runs inside the drive: it must not use
/// the drive but through the event.
pub type Observer = Arc<dyn Fn(&Event<'_>) + Send + Sync>;

struct Submitted {
    ready: Option<Time>,
    result: Result<Completion, DeviceError>,
    effect: Effect,
}

pub(super) struct Core {
    pub(super) drive: Drive,
    pub(super) timing: Option<Box<dyn Timing>>,
    pub(super) observer: Option<Observer>,
    pub(super) io: IoCounts,
    pub(super) powered: bool,
    #[expect(dead_code, reason = "faults draw from it")]
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
            observer: None,
            io: IoCounts::default(),
            powered: true,
            random,
            submitted: BTreeMap::new(),
            next_ticket: 0,
            next_event: 0,
        }
    }

    pub(super) fn submit(&mut self, request: Request, now: impl FnOnce() -> Time) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let ready = self.timing.as_mut().map(|timing| timing.schedule(now(), &request));
        let (result, effect) = match self.carry_out(request, ticket) {
            Ok((completion, effect)) => (Ok(completion), effect),
            Err(error) => (Err(error), Effect::None),
        };
        self.submitted.insert(ticket, Submitted { ready, result, effect });
        ticket
    }

    fn carry_out(
        &mut self,
        request: Request,
        ticket: u64,
    ) -> Result<(Completion, Effect), DeviceError> {
        if !self.powered {
            return Err(DeviceError::PowerLost);
        }
        if !matches!(request.op, Op::Read { .. }) {
            if let Some(observer) = &self.observer {
                observer(&Event { number: self.next_event, request: &request, drive: &self.drive });
            }
            self.next_event += 1;
        }
        let Request { op, cause } = request;
        let moved = Moved::by(&op);
        let outcome = self.drive.carry_out(op, ticket)?;
        self.count(moved, &outcome.0, cause);
        Ok(outcome)
    }

    fn count(&mut self, moved: Moved, completion: &Completion, cause: Cause) {
        let io = &mut self.io;
        match (moved, completion) {
            (_, Completion::Read(data)) => {
                io.reads[cause as usize] += 1;
                io.read_bytes[cause as usize] += data.len() as u64;
            }
            (_, Completion::Written { data, .. }) => {
                io.writes[cause as usize] += 1;
                io.written_bytes[cause as usize] += data.len() as u64;
            }
            (Moved::Reset, Completion::Done) => io.zones_reset += 1,
            (Moved::Finish, Completion::Done) => io.zones_finished += 1,
            (Moved::Flush, Completion::Done) => io.flushes += 1,
            (Moved::Other, Completion::Done) => {}
        }
    }

    /// When a submitted request completes.
    ///
    /// # Panics
    /// When it was waited for already.
    pub(super) fn ready(&self, ticket: u64) -> Option<Time> {
        self.submitted.get(&ticket).expect("a ticket that was not waited for").ready
    }

    /// Ends a request that somebody has waited for.
    pub(super) fn complete(&mut self, ticket: u64) -> Result<Completion, DeviceError> {
        let submitted = self.submitted.remove(&ticket).expect("a ticket that was not waited for");
        let completion = submitted.result?;
        self.drive.complete(submitted.effect, ticket)?;
        Ok(completion)
    }

    /// Cuts the power. All requests that nobody has waited for fail.
    pub(super) fn power_cut(
        &mut self,
        cut: PowerCut,
        random: &mut Random,
    ) -> Result<(), DeviceError> {
        self.powered = false;
        for submitted in self.submitted.values_mut() {
            submitted.result = Err(DeviceError::PowerLost);
            submitted.effect = Effect::None;
        }
        self.drive.cut(cut, random)
    }
}

/// What a request without data is counted as.
#[derive(Clone, Copy)]
enum Moved {
    Reset,
    Finish,
    Flush,
    Other,
}

impl Moved {
    fn by(op: &Op) -> Self {
        match op {
            Op::Reset(_) => Self::Reset,
            Op::Finish(_) => Self::Finish,
            Op::Flush => Self::Flush,
            _ => Self::Other,
        }
    }
}
