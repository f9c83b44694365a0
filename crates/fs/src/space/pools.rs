//! [`Pools`]: the pools of a store, one for each of its devices.
//!
//! A writer asks for the pool of its kind of file. Logs go to the device of the logs, tables and
//! clients' files to that of the tables; both may be one device. A table may also ask for the
//! [offload device](Role::Offload), where the store has one that is not lost. Freed blocks go back
//! to the pool of their device. The pool of the tables is told how many live blocks are on the
//! offload device, because compactions will write them on its own. If the tables lie on a device
//! with zones, [`zoned`](Pools::zoned) gives that pool for work such as reclaim.

use std::sync::Arc;

use terrace_env::DeviceId;
use terrace_env::store::{FileKind, SpaceInfo, StoreError};
use terrace_policy::{Placement, Reclaim};

use super::plain::PlainPool;
use super::zoned::ZonedPool;
use super::{Pool, Region, Share};
use crate::BLOCK;
use crate::catalog::Extent;
use crate::journal::JournalSpace;
use crate::superblock::Role;

/// The pool of a device, by the kind of the device.
#[derive(Clone)]
pub(crate) enum DevicePool {
    /// The pool of a device with zones.
    Zoned(Arc<ZonedPool>),
    /// Without: plain, or of shingled tracks.
    Plain(Arc<PlainPool>),
}

impl DevicePool {
    fn as_pool(&self) -> Arc<dyn Pool> {
        match self {
            Self::Zoned(pool) => Arc::clone(pool) as _,
            Self::Plain(pool) => Arc::clone(pool) as _,
        }
    }
}

/// See the [module](self).
pub(crate) struct Pools {
    /// Pools by the number of the device.
    devices: Vec<Arc<dyn Pool>>,
    kinds: Vec<DevicePool>,
    /// The role of device 1, if there is one.
    role: Option<Role>,
    /// Device 1 is lost: nothing goes there.
    is_second_lost: bool,
}

impl Pools {
    /// The pool of device 0, which holds the tables; and that of device 1, where there is one.
    pub(crate) fn new(kinds: Vec<DevicePool>, role: Option<Role>, is_second_lost: bool) -> Self {
        assert_eq!(kinds.len(), 1 + usize::from(role.is_some()), "a pool for each device");
        let devices: Vec<_> = kinds.iter().map(DevicePool::as_pool).collect();
        let pools = Self { devices, kinds, role, is_second_lost };
        if role == Some(Role::Offload) {
            pools.owe((pools.devices[1].room().live.0 / BLOCK as u64) as i64);
        }
        pools
    }

    /// Adds `blocks` to the live blocks on the offload device; a negative number takes away.
    fn owe(&self, blocks: i64) {
        match &self.kinds[0] {
            DevicePool::Zoned(pool) => pool.owe(blocks),
            DevicePool::Plain(pool) => pool.owe(blocks),
        }
    }

    /// Notes that extents on a device, which lie together, come to be live or end to be so.
    fn note_offloaded(&self, extents: &[Extent], from: Option<Share>, to: Option<Share>) {
        debug_assert!(
            extents.iter().all(|extent| extent.device() == extents[0].device()),
            "{extents:?} lie on two devices"
        );
        let is_offload = self.role == Some(Role::Offload) && extents[0].device() != DeviceId::FIRST;
        let sign = i64::from(to == Some(Share::Live)) - i64::from(from == Some(Share::Live));
        if is_offload && sign != 0 {
            let blocks: i64 = extents.iter().map(|extent| i64::from(extent.blocks)).sum();
            self.owe(sign * blocks);
        }
    }

    /// The device that files of a kind go to, unless they are offloaded. Nothing else decides that.
    pub(crate) fn device_of(&self, kind: FileKind) -> DeviceId {
        match kind {
            FileKind::Log => self.device_of_logs(),
            FileKind::Table | FileKind::Client => DeviceId::FIRST,
        }
    }

    /// The device of the journal and the logs.
    fn device_of_logs(&self) -> DeviceId {
        DeviceId(u16::from(self.role == Some(Role::Log)))
    }

    /// Where offloaded tables go, if the store has a device for them.
    pub(crate) fn offload(&self) -> Option<&Arc<dyn Pool>> {
        let is_there = self.role == Some(Role::Offload) && !self.is_second_lost;
        is_there.then(|| &self.devices[1])
    }

    /// Whether a region is on the offload device.
    pub(crate) fn is_offloaded(&self, region: &Region) -> bool {
        self.offload().is_some_and(|pool| region.is_in(pool))
    }

    /// Where files of a kind go, unless they are offloaded.
    pub(crate) fn of_kind(&self, kind: FileKind) -> &Arc<dyn Pool> {
        self.of(self.device_of(kind))
    }

    /// Where tables and clients' files go.
    pub(crate) fn tables(&self) -> &Arc<dyn Pool> {
        self.of_kind(FileKind::Table)
    }

    /// The pool of the tables, if their device has zones.
    pub(crate) fn zoned(&self) -> Option<&Arc<ZonedPool>> {
        match &self.kinds[0] {
            DevicePool::Zoned(pool) => Some(pool),
            DevicePool::Plain(_) => None,
        }
    }

    /// The pool of the tables, if their device has no zones.
    pub(crate) fn tables_without_zones(&self) -> Option<&Arc<PlainPool>> {
        match &self.kinds[0] {
            DevicePool::Zoned(_) => None,
            DevicePool::Plain(pool) => Some(pool),
        }
    }

    /// The pools of devices without zones, with the numbers of their devices.
    pub(crate) fn plain(&self) -> impl Iterator<Item = (DeviceId, &Arc<PlainPool>)> {
        (0..).map(DeviceId).zip(&self.kinds).filter_map(|(device, kind)| match kind {
            DevicePool::Zoned(_) => None,
            DevicePool::Plain(pool) => Some((device, pool)),
        })
    }

    /// Where files go from now on, and which zones are emptied if there are zones.
    pub(crate) fn decide_by(&self, placement: Arc<dyn Placement>, reclaim: Arc<dyn Reclaim>) {
        match &self.kinds[0] {
            DevicePool::Zoned(pool) => pool.decide_by(placement, reclaim),
            DevicePool::Plain(pool) => pool.set_fit(placement.fit()),
        }
    }

    /// Where the journal gets its zones, or stretches.
    pub(crate) fn journal(&self) -> Arc<dyn JournalSpace> {
        match self.of_logs() {
            DevicePool::Zoned(pool) => Arc::clone(pool) as _,
            DevicePool::Plain(pool) => Arc::clone(pool) as _,
        }
    }

    /// Keeps enough for a journal whose snapshot has this many bytes.
    pub(crate) fn set_snapshot(&self, bytes: u64) {
        match self.of_logs() {
            DevicePool::Zoned(pool) => pool.set_snapshot(bytes),
            DevicePool::Plain(pool) => pool.set_snapshot(bytes),
        }
    }

    /// The pool of the device of the journal and the logs.
    fn of_logs(&self) -> &DevicePool {
        &self.kinds[usize::from(self.device_of_logs().0)]
    }

    fn of(&self, device: DeviceId) -> &Arc<dyn Pool> {
        &self.devices[usize::from(device.0)]
    }

    /// Counts blocks of files as `to` instead of as `from`.
    pub(crate) fn turn(&self, extents: &[Extent], from: Share, to: Share) {
        for part in extents.chunk_by(|one, next| one.device() == next.device()) {
            self.of(part[0].device()).turn(part, from, to);
            self.note_offloaded(part, Some(from), Some(to));
        }
    }

    /// Counts blocks of files, which were `share`, as dead.
    pub(crate) fn free(&self, extents: &[Extent], share: Share) {
        for part in extents.chunk_by(|one, next| one.device() == next.device()) {
            self.of(part[0].device()).free(part, share);
            self.note_offloaded(part, Some(share), None);
        }
    }

    /// Ends reclaim, if there is any.
    pub(crate) fn stop_reclaim(&self) {
        match &self.kinds[0] {
            DevicePool::Zoned(pool) => pool.stop_reclaim(),
            DevicePool::Plain(pool) => pool.stop_gathering(),
        }
    }

    /// The journal has failed: nothing is given out any more, and no writer waits.
    pub(crate) fn stop(&self, error: &StoreError) {
        self.devices.iter().for_each(|pool| pool.stop(error));
    }

    /// How the space of each device is used, by number.
    pub(crate) fn rooms(&self) -> impl Iterator<Item = SpaceInfo> + '_ {
        self.devices.iter().map(|pool| pool.room())
    }
}
