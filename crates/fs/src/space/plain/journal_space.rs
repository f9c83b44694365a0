//! [`JournalSpace`] of a device without zones: gives the journal the first whole stretch that is
//! free, and takes stretches back. On shingled tracks it takes a *unit* of stretches instead. The
//! journal writes the first of them, and the rest is its guard.
//!
//! A stretch still shows its old bytes. If no stretch or unit is wholly free, the journal gets
//! `NoSpace`. No call waits for space or the device. A stretch that the journal gives up is not
//! given out again before the next mount.

use terrace_env::ZoneId;
use terrace_env::store::{Rank, StoreError};

use super::PlainPool;
use crate::journal::JournalSpace;
use crate::medium::STRETCH;

impl JournalSpace for PlainPool {
    fn take(&self) -> Result<ZoneId, StoreError> {
        let mut state = self.state.lock();
        let Some(stretch) = state.free.first_stretch() else {
            return Err(state.no_space(Rank::Journal, u64::from(STRETCH)));
        };
        let run = state.free.stretch(stretch);
        state.free.take(run);
        state.journal += 1;
        Ok(ZoneId(stretch as u32 * self.unit))
    }

    fn release(&self, zone: ZoneId) {
        let mut state = self.state.lock();
        state.journal -= 1;
        let run = state.free.stretch((zone.0 / self.unit).into());
        state.release(run);
        self.changed.notify_all();
    }

    fn give_up(&self, zone: ZoneId) {
        let mut state = self.state.lock();
        state.journal -= 1;
        let run = state.free.stretch((zone.0 / self.unit).into());
        state.shun(run.clone());
        state.release(run);
    }
}
