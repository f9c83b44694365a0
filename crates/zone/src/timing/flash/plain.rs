//! [`PlainFlash`]: the timing model of an SSD without zones, which is written anywhere, on the dies
//! of a [`Flash`].
//!
//! All writes go into one stream over all dies, in the order of their arrival. There are always
//! erased blocks, and no garbage is collected: so it stands for a drive that is far from full, such
//! as one for logs. A read goes to a die by its address; the write buffer does not answer reads.
//! Writes and flushes take the same times as those of an open zone. Operations on zones are not
//! expected.

use terrace_env::{Time, ZoneId};

use super::Flash;
use super::parameters::FlashParameters;
use crate::emulator::{Command, Progress, RequestKind, Timing};
use crate::timing::{Scale, Work};
use crate::{Geometry, ZoneState, ZoneStatus};

/// The zone of the model that takes all writes.
const STREAM: ZoneId = ZoneId(0);
/// A zone of the model that is never written, for reads.
const STORED: ZoneId = ZoneId(1);

/// See the [module](self).
#[derive(Clone, Debug)]
pub(in crate::timing) struct PlainFlash(Flash);

impl PlainFlash {
    /// An SSD of the given geometry, which is that of a plain device.
    pub(in crate::timing) fn new(
        parameters: &FlashParameters,
        geometry: &Geometry,
        scale: Scale,
    ) -> Self {
        Self(Flash::over_all_dies(parameters, geometry, scale))
    }
}

impl Timing for PlainFlash {
    fn submit(&mut self, now: Time, ticket: u64, command: &Command) -> Progress {
        let zone = if command.kind == RequestKind::Read { STORED } else { STREAM };
        // Open, and never full: the stream has no end.
        let status = ZoneStatus { state: ZoneState::ImplicitlyOpen, written: 0 };
        let zone = command.zone.map(|_| (zone, status));
        self.0.submit(now, ticket, &Command { zone, ..*command })
    }

    fn power_cut(&mut self, now: Time) {
        self.0.power_cut(now);
    }

    fn work(&mut self, now: Time) -> Work {
        self.0.work(now)
    }
}
