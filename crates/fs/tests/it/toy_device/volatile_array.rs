//! [`VolatileArray`]: a device in one array of bytes, which is gone with the process.
//!
//! It has any geometry: zones, plain blocks or shingled tracks. A request is carried out when it is
//! submitted, and is durable then. [`ZoneTable`] knows the rules of zones; a plain device and one
//! of tracks are one conventional zone to it. A power cut loses nothing:
//! [`VolatileArray::cycle`] only closes open zones, as power-on does.
//!
//! Threads: any. One lock, which is not held over a wait.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::sync::Mutex;
use terrace_env::{IoBuf, Lba, Users, ZoneId};
use terrace_zone::{
    Completion, Device, DeviceError, Geometry, Op, Request, Ticket, Transition, ZoneReport,
    ZoneTable,
};

/// See the [module](self).
pub(super) struct VolatileArray {
    geometry: Arc<Geometry>,
    users: Users,
    state: Mutex<State>,
}

struct State {
    zones: ZoneTable,
    bytes: Vec<u8>,
    /// Answers to requests that have not been waited for.
    answers: BTreeMap<u64, Result<Completion, DeviceError>>,
    next: u64,
}

impl VolatileArray {
    /// An empty device of a valid geometry.
    pub(super) fn new(geometry: Geometry) -> Self {
        let geometry = Arc::new(geometry);
        let len = geometry.blocks() * u64::from(geometry.logical_block);
        let (zones, bytes) = (ZoneTable::new(Arc::clone(&geometry)), vec![0; len as usize]);
        let state = Mutex::new(State { zones, bytes, answers: BTreeMap::new(), next: 0 });
        Self { geometry, users: Users::default(), state }
    }

    /// Turns the power off and on.
    pub(super) fn cycle(&self) {
        self.state.lock().zones.close_all();
    }

    fn perform(&self, op: Op, state: &mut State) -> Result<Completion, DeviceError> {
        let plan = match op {
            Op::Flush => return Ok(Completion::Done),
            Op::Read { lba, blocks } => {
                state.zones.plan_read(lba, blocks.into())?;
                let bytes = self.bytes(lba.0..lba.0 + u64::from(blocks));
                return Ok(Completion::Read(IoBuf::copy_of(&state.bytes[bytes])));
            }
            Op::Write { lba, data, .. } => {
                let plan = state.zones.plan_write(lba, data.len() as u64)?;
                return Ok(self.write(plan, data, state));
            }
            Op::Append { zone, data, .. } => {
                let plan = state.zones.plan_append(zone, data.len() as u64)?;
                return Ok(self.write(plan, data, state));
            }
            Op::Open(zone) => state.zones.plan_open(zone)?,
            Op::Close(zone) => state.zones.plan_close(zone)?,
            Op::Finish(zone) => state.zones.plan_finish(zone)?,
            Op::Reset(zone) => {
                let plan = state.zones.plan_reset(zone)?;
                let start = self.geometry.zone_start(zone).0;
                let bytes = self.bytes(start..start + self.geometry.zone_size(zone));
                state.bytes[bytes].fill(0);
                plan
            }
        };
        state.zones.apply(plan);
        Ok(Completion::Done)
    }

    fn write(&self, plan: Transition, data: IoBuf, state: &mut State) -> Completion {
        let lba = Lba(self.geometry.zone_start(plan.zone).0 + plan.offset);
        let end = lba.0 + data.len() as u64 / u64::from(self.geometry.logical_block);
        state.zones.apply(plan);
        state.bytes[self.bytes(lba.0..end)].copy_from_slice(&data);
        if let Some(tracks) = self.geometry.layout.tracks() {
            let harmed = tracks.harmed(lba.0..end);
            let blocks = self.geometry.blocks();
            let harmed = harmed.start.min(blocks)..harmed.end.min(blocks);
            state.bytes[self.bytes(harmed)].fill(0);
        }
        Completion::Written { lba, data }
    }

    /// The bytes of blocks.
    fn bytes(&self, blocks: std::ops::Range<u64>) -> std::ops::Range<usize> {
        let byte = |block| (block * u64::from(self.geometry.logical_block)) as usize;
        byte(blocks.start)..byte(blocks.end)
    }
}

impl Device for VolatileArray {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn report(&self, first: ZoneId, count: u32) -> Result<Vec<ZoneReport>, DeviceError> {
        let state = self.state.lock();
        state.zones.check_zone(first)?;
        let end = first.0.saturating_add(count).min(self.geometry.zones);
        Ok((first.0..end).map(|zone| state.zones.report(ZoneId(zone))).collect())
    }

    fn users(&self) -> &Users {
        &self.users
    }

    fn submit(&self, request: Request) -> Ticket {
        let mut state = self.state.lock();
        let answer = self.perform(request.op, &mut state);
        let ticket = state.next;
        state.next += 1;
        state.answers.insert(ticket, answer);
        Ticket(ticket)
    }

    fn wait(&self, ticket: Ticket) -> Result<Completion, DeviceError> {
        let answer = self.state.lock().answers.remove(&ticket.0);
        answer.expect("a ticket that has not been waited for")
    }
}
