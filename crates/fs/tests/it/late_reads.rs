//! A drive that begins a client's read late, as if the read stood in a queue: in the meantime files
//! are moved and zones reset. An emulated drive alone reads when a request is submitted.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::sync::Mutex;
use terrace_env::{Cause, runner};
use terrace_zone::{Device, DeviceLayer, Emulator, Op, Request, Ticket};

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

impl DeviceLayer for LateReads {
    fn below(&self) -> &dyn Device {
        &*self.drive
    }

    fn submit(&self, request: Request) -> Ticket {
        if matches!(request.op, Op::Read { .. }) && request.cause == Cause::Read {
            let late = self.random.lock().random_range(Duration::ZERO..LATE_MAX);
            runner::sleep(late);
        }
        self.drive.submit(request)
    }
}
