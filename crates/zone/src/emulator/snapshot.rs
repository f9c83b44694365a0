//! [`Snapshot`]: a copy of an emulated drive in the midst of its work, for crash tests.
//!
//! An observer takes a snapshot from its [`Event`], just before a request is carried out;
//! [`Emulator::snapshot`] takes one between requests. [`Snapshot::cut`] returns the drive as a
//! power cut at that moment leaves it. A snapshot may be cut any number of times.
//!
//! A snapshot of a drive in memory shares its bytes with the drive. A snapshot of an image copies
//! its conventional zones, and the written part of the others. The drive after a cut is in memory
//! and powered on. It has no faults, no observer and no timing model.

use terrace_env::IoBuf;
use terrace_env::random::Random;

use super::device::Emulator;
use super::drive::Drive;
use super::{PowerCut, core::Core};
use crate::{DeviceError, Op, Request};

/// A request that is about to change the drive, as the observer sees it.
#[derive(Debug)]
pub struct Event<'a> {
    /// Counts such requests, from 0 on.
    pub number: u64,
    /// The request. It may still turn out to be against the rules, and change nothing.
    pub request: &'a Request,
    pub(super) drive: &'a Drive,
}

impl Event<'_> {
    /// The drive at this moment, with the request in flight.
    pub fn snapshot(&self) -> Result<Snapshot, DeviceError> {
        let pending = Some(copy_of(self.request));
        Ok(Snapshot { drive: self.drive.fork()?, pending })
    }
}

/// An emulated drive at some moment: its durable and its volatile state, and the request that was
/// in flight.
#[derive(Debug)]
pub struct Snapshot {
    pub(super) drive: Drive,
    pub(super) pending: Option<Request>,
}

impl Snapshot {
    /// The drive, powered on again, after the power was cut at this moment.
    ///
    /// With [`PowerCut::Prefixes`] and [`PowerCut::Blocks`] the request in flight is torn like any
    /// other that had not completed; with the other modes it was not carried out.
    #[must_use]
    pub fn cut(&self, cut: PowerCut, random: &mut Random) -> Emulator {
        const SOUND: &str = "a medium in memory does not fail";
        let mut drive = self.drive.fork().expect(SOUND);
        if let Some(request) = &self.pending
            && cut.carries_out_pending()
        {
            let op = copy_of(request).op;
            // One that is against the rules changes nothing.
            if let Ok(plan) = drive.plan(&op) {
                drive.carry_out(op, plan, u64::MAX).expect(SOUND);
            }
        }
        drive.cut(cut, random).expect(SOUND);
        Emulator::from_core(Core::new(drive, random.fork()))
    }
}

fn copy_of(request: &Request) -> Request {
    let op = match &request.op {
        Op::Read { lba, blocks } => Op::Read { lba: *lba, blocks: *blocks },
        Op::Write { lba, data, fua } => {
            Op::Write { lba: *lba, data: IoBuf::clone(data), fua: *fua }
        }
        Op::Append { zone, data, fua } => {
            Op::Append { zone: *zone, data: IoBuf::clone(data), fua: *fua }
        }
        Op::Open(zone) => Op::Open(*zone),
        Op::Close(zone) => Op::Close(*zone),
        Op::Finish(zone) => Op::Finish(*zone),
        Op::Reset(zone) => Op::Reset(*zone),
        Op::Flush => Op::Flush,
    };
    Request { op, cause: request.cause }
}
