//! A drive that begins a client's read late, as if the read stood in a queue: in the meantime files
//! are moved and zones reset. An emulated drive alone reads when a request is submitted.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::sync::Mutex;
use terrace_env::{Cause, Users, ZoneId, runner};
use terrace_zone::{
    Completion, Device, DeviceError, Emulator, Geometry, Op, Request, Ticket, ZoneReport,
};

/// A read begins within this time.
const LATE_MAX: Duration = Duration::from_millis(20);

pub(crate) struct LateReads {
    drive: Arc<Emulator>,
    random: Mutex<Random>,
}

impl LateReads {
    pub(crate) fn new(drive: &Arc<Emulator>, seed: u64) -> Self {
        Self { drive: Arc::clone(drive), random: Mutex::new(Random::seeded(seed)) }
    }
}

impl Device for LateReads {
    fn geometry(&self) -> &Geometry {
        self.drive.geometry()
    }

    fn report(&self, first: ZoneId, count: u32) -> Result<Vec<ZoneReport>, DeviceError> {
        self.drive.report(first, count)
    }

    fn users(&self) -> &Users {
        self.drive.users()
    }

    fn submit(&self, request: Request) -> Ticket {
        if matches!(request.op, Op::Read { .. }) && request.cause == Cause::Read {
            let late = self.random.lock().random_range(Duration::ZERO..LATE_MAX);
            runner::sleep(late);
        }
        self.drive.submit(request)
    }

    fn wait(&self, ticket: Ticket) -> Result<Completion, DeviceError> {
        self.drive.wait(ticket)
    }
}
