//! [`JournalSpace`] of a pool of zones: gives the journal free zones, prepared for writing, and
//! takes them back.
//!
//! A zone that cannot be prepared is retired, and the next one is tried. If no zone is free, the
//! journal gets `NoSpace` at once. It must not wait for reclaim, because reclaim needs the journal.
//!
//! # Threads
//! Calls may wait for the device, without the pool's lock. Meanwhile the zone counts as the
//! journal's.

use terrace_env::store::{Rank, StoreError};
use terrace_env::{Cause, ZoneId};

use super::ZonedPool;
use crate::journal::JournalSpace;

impl JournalSpace for ZonedPool {
    fn take(&self) -> Result<ZoneId, StoreError> {
        loop {
            let mut state = self.lock_for_zone();
            let Some(zone) = state.table.next_free(true, 1) else {
                return Err(state.no_space(Rank::Journal, u64::from(self.zone_blocks())));
            };
            state.table.give_to_journal(zone);
            drop(state);
            if self.prepare(zone, Cause::Journal) {
                return Ok(zone);
            }
            self.retire_zone(zone);
        }
    }

    fn release(&self, zone: ZoneId) {
        // The slot was the journal's, which goes on with another zone.
        let active = !self.end_slot(zone, Cause::Journal);
        let mut state = self.state.lock();
        state.table.take_from_journal(zone, active);
        state.deaths += 1;
        self.changed.notify_all();
    }

    fn give_up(&self, zone: ZoneId) {
        self.retire_zone(zone);
    }
}
