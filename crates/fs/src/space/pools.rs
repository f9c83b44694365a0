//! [`Pools`]: the pools of a store, one for each of its devices.
//!
//! A writer asks for the pool where a file of its kind goes: logs go to the device of the logs,
//! tables and clients' files to that of the tables. Where both are one device, so is the pool.
//! Freed blocks go back to the pool of the device that they lie on.
//!
//! For work that only a pool of zones has, such as reclaim, [`zoned`](Pools::zoned) gives that
//! pool.

use std::sync::Arc;

use terrace_env::DeviceId;
use terrace_env::store::{FileKind, SpaceInfo, StoreError};

use super::plain::PlainPool;
use super::zoned::ZonedPool;
use super::{Pool, Share};
use crate::catalog::Extent;
use crate::journal::JournalSpace;

/// See the [module](self).
pub(crate) struct Pools {
    /// By the number of the device.
    devices: Vec<Arc<dyn Pool>>,
    zoned: Arc<ZonedPool>,
    plain: Option<Arc<PlainPool>>,
}

impl Pools {
    /// The pool of device 0, which has zones; and that of device 1, which holds the journal and all
    /// logs.
    pub(crate) fn new(zoned: Arc<ZonedPool>, plain: Option<Arc<PlainPool>>) -> Self {
        let mut devices = vec![Arc::clone(&zoned) as Arc<dyn Pool>];
        devices.extend(plain.clone().map(|plain| plain as Arc<dyn Pool>));
        Self { devices, zoned, plain }
    }

    /// The device that files of a kind go to. Nothing else decides that.
    pub(crate) fn device_of(&self, kind: FileKind) -> DeviceId {
        match kind {
            FileKind::Log => DeviceId(self.devices.len() as u16 - 1),
            FileKind::Table | FileKind::Client => DeviceId::FIRST,
        }
    }

    /// Where files of a kind go.
    pub(crate) fn of_kind(&self, kind: FileKind) -> &Arc<dyn Pool> {
        self.of(self.device_of(kind))
    }

    /// Where tables and clients' files go.
    pub(crate) fn tables(&self) -> &Arc<dyn Pool> {
        self.of_kind(FileKind::Table)
    }

    /// The pool of the device with zones.
    pub(crate) fn zoned(&self) -> &Arc<ZonedPool> {
        &self.zoned
    }

    /// The pool of the plain device, where there is one.
    pub(crate) fn plain(&self) -> Option<&Arc<PlainPool>> {
        self.plain.as_ref()
    }

    /// Where the journal gets its zones, or stretches.
    pub(crate) fn journal(&self) -> Arc<dyn JournalSpace> {
        match &self.plain {
            Some(plain) => Arc::clone(plain) as _,
            None => Arc::clone(&self.zoned) as _,
        }
    }

    /// Keeps enough for a journal whose snapshot has this many bytes.
    pub(crate) fn set_snapshot(&self, bytes: u64) {
        match &self.plain {
            Some(plain) => plain.set_snapshot(bytes),
            None => self.zoned.set_snapshot(bytes),
        }
    }

    fn of(&self, device: DeviceId) -> &Arc<dyn Pool> {
        &self.devices[usize::from(device.0)]
    }

    /// Counts blocks of files as `to` instead of as `from`.
    pub(crate) fn turn(&self, extents: &[Extent], from: Share, to: Share) {
        for part in extents.chunk_by(|one, next| one.device() == next.device()) {
            self.of(part[0].device()).turn(part, from, to);
        }
    }

    /// Counts blocks of files, which were `share`, as dead.
    pub(crate) fn free(&self, extents: &[Extent], share: Share) {
        for part in extents.chunk_by(|one, next| one.device() == next.device()) {
            self.of(part[0].device()).free(part, share);
        }
    }

    /// The journal has failed: nothing is given out any more, and nobody waits.
    pub(crate) fn stop(&self, error: &StoreError) {
        self.devices.iter().for_each(|pool| pool.stop(error));
    }

    /// How the space of each device is used, by number.
    pub(crate) fn rooms(&self) -> impl Iterator<Item = SpaceInfo> + '_ {
        self.devices.iter().map(|pool| pool.room())
    }
}
