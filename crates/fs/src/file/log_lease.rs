//! [`LogLease`]: the room that a log's next frames go to.
//!
//! - A frame goes after the last one if the lease has room for it, else to the start of another
//!   lease.
//! - If the catalog knows the log, the journal records a lease before the first frame goes there,
//!   so that after a crash the log can be followed from lease to lease. If not, the transaction
//!   that creates the log will record the lease. [`take_early`](LogLease::take_early) takes a lease
//!   in time for that, if there is space to spare and the log is in no placement group.
//! - A lease is recorded with the log's block at which it begins, where the frames before it end.
//!   So no frame may be in flight when a lease is taken.
//!
//! This module writes no frames, and does not know which are durable.
//!
//! # Threads
//! Belongs to the log's one writer. Taking a lease can wait for space, for the device and for a
//! commit. Taking one early can wait for the device.

use std::sync::Arc;

use terrace_env::store::{PlacementHint, Rank, StoreError};

use super::OpenFile;
use crate::BlockAddr;
use crate::block::BLOCK;
use crate::canary::{self, Rule};
use crate::catalog::{Extent, Record};
use crate::frame::blocks_for;
use crate::space::{Ask, Member, Pool, Region, Share};
use crate::volume::Volume;

/// See the [module](self).
pub(super) struct LogLease {
    volume: Arc<Volume>,
    file: Arc<OpenFile>,
    ask: Ask,
    member: Member,
    region: Option<Arc<Region>>,
}

impl LogLease {
    /// A log without a lease; the request for the first one is `ask`.
    pub(super) fn new(
        volume: Arc<Volume>,
        file: Arc<OpenFile>,
        (ask, member): (Ask, Member),
    ) -> Self {
        Self { volume, file, ask, member, region: None }
    }

    fn pool(&self) -> Arc<dyn Pool> {
        Arc::clone(self.volume.pools.of_kind(self.file.kind))
    }

    /// Sets the hint and the rank for the next leases.
    pub(super) fn place_next(&mut self, hint: PlacementHint, rank: Rank) {
        (self.ask.hint, self.ask.rank) = (hint, rank);
    }

    /// Whether `blocks` fit the rest of the lease.
    pub(super) fn has_room(&self, blocks: u32) -> bool {
        let rest = self.region.as_ref().and_then(|region| region.rest());
        rest.is_some_and(|(_, room)| room >= blocks)
    }

    /// Claims the place of a frame of `blocks` blocks. Where it does not [fit](Self::has_room), the
    /// log goes on in another lease from its block `end` on, which is known while no frame is in
    /// flight.
    pub(super) fn place(
        &mut self,
        blocks: u32,
        end: Option<u32>,
    ) -> Result<(Arc<Region>, BlockAddr), StoreError> {
        debug_assert!(blocks > 0, "a frame has a head");
        if !self.has_room(blocks) {
            let end = end.expect("no frame is in flight when a lease is taken");
            self.region = None;
            self.ask.least = blocks;
            let pool = self.pool();
            let region = self.member.lease(&pool, &self.ask)?;
            self.record(&region, end)?;
            self.region = Some(region);
        }
        let claimed = self.region.as_ref().and_then(|region| {
            let (addr, got) = region.claim(blocks)?;
            (got == blocks).then(|| (Arc::clone(region), addr))
        });
        Ok(claimed.unwrap_or_else(|| unreachable!("a log's lease is its own until it is dropped")))
    }

    /// Takes a lease for a log that the catalog does not know yet, so that its creation records the
    /// lease and its first sync need not. Where there is no room to spare, the first frame takes
    /// one. So it does in a group: while another log of it is written, the lease would be a
    /// different one.
    pub(super) fn take_early(&mut self, end: u32) {
        if self.file.lock().committed || self.member.has_group() {
            return;
        }
        // All of it in one zone, where its size is known: another zone is another record.
        let size = self.ask.left.map_or(0, |size| size.0.div_ceil(BLOCK as u64));
        let least = size.clamp(1, u64::from(self.pool().region_blocks())) as u32;
        let ask = Ask { least, ..self.ask.clone() };
        if let Some(region) = self.pool().lease_spare(&ask)
            && self.record(&region, end).is_ok()
        {
            self.region = Some(Arc::new(region));
        }
    }

    /// Notes a region as the log's, and commits that if the log is in the catalog.
    fn record(&self, region: &Region, end: u32) -> Result<(), StoreError> {
        let Some((addr, room)) = region.rest() else { return Ok(()) };
        debug_assert!(room > 0, "a lease that can be written");
        let extent = Extent { first: addr, blocks: room, crc: None };
        let committed = {
            let mut state = self.file.lock();
            state.lease = Some(extent);
            state.committed
        };
        if committed {
            let record = Record::Extend { id: self.file.id, end, extent };
            self.volume.commit_records(vec![record], false)?;
        }
        Ok(())
    }

    /// A frame with `len` bytes of payload was not written: its blocks count as dead.
    pub(super) fn give_back(&self, addr: BlockAddr, len: usize) {
        if canary::is_broken(Rule::FailedWritesGivenBack) {
            return;
        }
        let dead = Extent { first: addr, blocks: blocks_for(len), crc: None };
        debug_assert!(len > 0, "a frame has a payload");
        self.volume.pools.free(&[dead], Share::Unsealed);
    }

    /// Lets other writers write after the last frame. The next one takes another lease.
    pub(super) fn end(&mut self) {
        self.region = None;
        self.member.end_turn();
    }

    /// A frame of `blocks` blocks is written.
    pub(super) fn note_written(&mut self, blocks: u32) {
        self.member.note_written(blocks);
    }
}
