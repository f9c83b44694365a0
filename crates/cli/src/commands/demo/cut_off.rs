//! [`CutOff`]: a device that can be cut off from its host. From then on every request fails, and so
//! does the wait for each that was submitted before, as after a power cut of the host. Commands in
//! flight reach the device, and the device loses nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use terrace::device::{Completion, Device, DeviceError, Request, Ticket, ZoneReport};
use terrace_env::ZoneId;
use terrace_zone::DeviceLayer;

/// The ticket of each request that came too late.
const REFUSED: Ticket = Ticket(u64::MAX);

/// See the [module](self).
pub(super) struct CutOff {
    below: Arc<dyn Device>,
    is_off: AtomicBool,
}

impl CutOff {
    pub(super) fn new(below: Arc<dyn Device>) -> Self {
        Self { below, is_off: AtomicBool::new(false) }
    }

    /// Cuts the device off, for good.
    pub(super) fn cut(&self) {
        self.is_off.store(true, Ordering::SeqCst);
    }

    fn is_off(&self) -> bool {
        self.is_off.load(Ordering::SeqCst)
    }
}

impl DeviceLayer for CutOff {
    fn below(&self) -> &dyn Device {
        &*self.below
    }

    fn report(&self, first: ZoneId, count: u32) -> Result<Vec<ZoneReport>, DeviceError> {
        if self.is_off() {
            return Err(DeviceError::PowerLost);
        }
        self.below.report(first, count)
    }

    fn submit(&self, request: Request) -> Ticket {
        if self.is_off() { REFUSED } else { self.below.submit(request) }
    }

    fn wait(&self, ticket: Ticket) -> Result<Completion, DeviceError> {
        if ticket == REFUSED {
            return Err(DeviceError::PowerLost);
        }
        let completion = self.below.wait(ticket);
        if self.is_off() { Err(DeviceError::PowerLost) } else { completion }
    }
}

#[cfg(test)]
mod tests {
    use terrace::device::{Emulator, Geometry, Op};
    use terrace_env::{ByteCount, Cause, IoBuf, Lba};

    use super::*;

    #[test]
    fn nothing_is_answered_after_the_cut_and_what_was_under_way_is_on_the_device() {
        let geometry = Geometry::uniform(ByteCount::mib(1), 4);
        let below: Arc<dyn Device> = Arc::new(Emulator::in_memory(geometry, 1).unwrap());
        let cut_off = CutOff::new(Arc::clone(&below));
        let device: &dyn Device = &cut_off;
        let write = |lba| {
            let data = IoBuf::copy_of(&[7; 4096]);
            let op = Op::Write { lba: Lba(lba), data, fua: false };
            device.submit(Request { op, cause: Cause::Client })
        };
        device.wait(write(0)).unwrap();
        let (before, flush) = (write(1), Op::Flush);
        cut_off.cut();
        let late = [write(2), device.submit(Request { op: flush, cause: Cause::Client })];
        for ticket in std::iter::once(before).chain(late) {
            let answer = device.wait(ticket);
            assert!(matches!(answer, Err(DeviceError::PowerLost)), "{answer:?}");
        }
        assert!(matches!(device.report(ZoneId(0), 1), Err(DeviceError::PowerLost)));
        assert_eq!(below.report(ZoneId(0), 1).unwrap()[0].write_pointer, Lba(2));
    }
}
