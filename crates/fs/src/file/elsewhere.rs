//! Failed writes of a [`DataWriter`]: the writer gives the place up and writes the bytes to others.
//!
//! - A zone that fails is retired. After eight failures for one write, the writer ends.
//! - After any failed write to the offload device, the region there is retired, and the rest of the
//!   file goes to the device of the tables.
//! - On another error, or if there is no other place, the writer ends.
//! - On a device without zones, the writer's region takes the place of a zone here.
//!
//! Blocks that were claimed for a write that failed are given back to their pool: they count as
//! dead. The thread of the writer calls.

use terrace_env::IoBuf;
use terrace_env::store::StoreError;
use terrace_zone::DeviceError;

use super::data_writer::{DataWriter, blocks_of};
use super::tail::{Chunk, Place};
use super::write_failure::{is_left_undone, is_zone_failure};
use crate::block::BLOCK;
use crate::canary::{self, Rule};
use crate::catalog::Extent;
use crate::space::{Region, Share};

/// Zones that may fail under one write before the writer gives up.
const FAILURES_MAX: u32 = 8;

impl DataWriter {
    /// Writes the bytes of a failed write to other zones, and says where they are.
    pub(super) fn write_elsewhere(
        &mut self,
        region: &Region,
        chunk: &Chunk,
        error: DeviceError,
    ) -> Result<Vec<Place>, StoreError> {
        let mut places = Vec::new();
        let given_up = self.give_up(region, error);
        self.give_back(&[(chunk.addr, chunk.blocks())]);
        let written = given_up.and_then(|error| self.rewrite(error, &chunk.bytes, &mut places));
        if let Err(error) = written {
            self.give_back(&places);
            self.file.lock().tail().in_flight.pop_front();
            self.failed = Some(error.clone());
            return Err(error);
        }
        Ok(places)
    }

    fn rewrite(
        &mut self,
        mut error: DeviceError,
        bytes: &IoBuf,
        places: &mut Vec<Place>,
    ) -> Result<(), StoreError> {
        let (mut done, mut failures) = (0, 1);
        while done < bytes.len() {
            if failures == FAILURES_MAX {
                return Err(self.describe(error));
            }
            let (region, addr, blocks) = self.claim(blocks_of(&bytes[done..]), false)?;
            let end = done + blocks as usize * BLOCK;
            let data = IoBuf::copy_of(&bytes[done..end]);
            let ticket = self.volume.media.submit_blocks(addr, data, false, self.ask.cause);
            if let Err(again) = self.volume.media.wait(ticket) {
                let given_up = self.give_up(&region, again);
                self.give_back(&[(addr, blocks)]);
                error = given_up?;
                failures += 1;
                continue;
            }
            region.settle(true);
            debug_assert!(end <= bytes.len(), "{end} of {} bytes", bytes.len());
            places.push((addr, blocks));
            done = end;
        }
        Ok(())
    }

    /// Retires the zone of a failed write; hands an error on if it is not the zone's own. A write
    /// to the offload device can be made elsewhere after any error.
    pub(super) fn give_up(
        &mut self,
        region: &Region,
        error: DeviceError,
    ) -> Result<DeviceError, StoreError> {
        let offloaded = self.volume.pools.is_offloaded(region);
        if offloaded {
            self.offload = None;
        }
        if !is_zone_failure(&error) && !offloaded {
            if is_left_undone(&error) {
                region.abandon();
            }
            return Err(self.describe(error));
        }
        region.retire();
        if self.region.as_ref().is_some_and(|own| own.is_of(region)) {
            self.region = None;
        }
        Ok(error)
    }

    /// Counts blocks that were claimed and hold nothing of the file as dead.
    pub(super) fn give_back(&self, places: &[Place]) {
        if canary::is_broken(Rule::FailedWritesGivenBack) {
            return;
        }
        let dead: Vec<Extent> = places
            .iter()
            .map(|(addr, blocks)| Extent { first: *addr, blocks: *blocks, crc: None })
            .collect();
        self.volume.pools.free(&dead, Share::Unsealed);
    }
}
