//! [`SpaceWait`]: how long a writer waits for space. It keeps time; the pool waits.
//!
//! | waits for | how long |
//! |---|---|
//! | reclaim, a lease or an active slot | up to [`WAIT_MAX`] |
//! | reclaim, while no zone comes free | up to [`IDLE_MAX`] |
//! | readers that pin blocks | until [`PIN_WAIT_MAX`] after the wait began |
//!
//! If readers hold everything that reclaim gives back, for example, no zone comes free, and the
//! writer gets an error after 15 s.
//!
//! A wait makes progress when a look finds more free zones than the look before it. The pool
//! decides when it looks, so a wait can last a little longer than the table says. A zone that comes
//! free and is taken between two looks is not noticed.

use std::time::Duration;

use terrace_env::wait::{WaitClock, WaitCounts};
use terrace_env::{Time, runner};

/// The longest wait for reclaim or for an open zone. Emptying a full 256 MiB zone on a disk takes
/// about five seconds.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(60);
/// The longest wait while not a single zone comes free: three times the time to empty one.
const IDLE_MAX: Duration = Duration::from_secs(15);
/// The longest wait for readers to let go of deleted files.
pub(super) const PIN_WAIT_MAX: Duration = Duration::from_millis(100);

/// One writer's wait for space.
pub(super) struct SpaceWait<'a> {
    pub(super) clock: WaitClock<'a>,
    started: Time,
    /// Free zones at the last look.
    free: u32,
    /// When a look last found more free zones than the look before it.
    progress: Time,
}

impl<'a> SpaceWait<'a> {
    pub(super) fn new(waits: &'a WaitCounts) -> Self {
        let started = runner::now();
        Self { clock: waits.clock(), started, free: 0, progress: started }
    }

    pub(super) fn lasted(&self) -> Duration {
        runner::now().since(self.started)
    }

    /// How long ago a look found more free zones than the look before. `free`: how many there are
    /// now.
    fn idle(&mut self, free: u32) -> Duration {
        if free > self.free {
            self.progress = runner::now();
        }
        self.free = free;
        runner::now().since(self.progress)
    }

    /// Whether to wait further, with `free` zones free now.
    pub(super) fn goes_on(&mut self, free: u32) -> bool {
        self.idle(free) < IDLE_MAX && self.lasted() < WAIT_MAX
    }
}
