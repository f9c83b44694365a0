//! [`Absent`]: stands for a device of a store that is lost, so that the rest of the store can be
//! mounted.
//!
//! It is a plain device of the capacity that it is made with: the one that the superblock of device
//! 0 records. It reports that it is offline, and each request to it fails. It holds no data, and
//! any thread may use it.

use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::{ByteCount, Users, ZoneId};
use terrace_zone::{
    Completion, Device, DeviceError, Geometry, Request, Ticket, ZoneReport, ZoneState,
};

/// See the [module](self).
pub(crate) struct Absent {
    geometry: Geometry,
    users: Users,
    tickets: AtomicU64,
}

impl Absent {
    /// A plain device of this size.
    pub(crate) fn new(capacity: ByteCount) -> Self {
        let (users, tickets) = (Users::default(), AtomicU64::new(0));
        Self { geometry: Geometry::plain(capacity), users, tickets }
    }
}

impl Device for Absent {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn report(&self, first: ZoneId, count: u32) -> Result<Vec<ZoneReport>, DeviceError> {
        let end = first.0.saturating_add(count).min(self.geometry.zones);
        let report = |zone| ZoneReport {
            zone,
            zone_type: self.geometry.zone_type(zone),
            state: ZoneState::Offline,
            start: self.geometry.zone_start(zone),
            capacity: self.geometry.zone_capacity(zone),
            write_pointer: self.geometry.zone_start(zone),
        };
        Ok((first.0..end).map(|zone| report(ZoneId(zone))).collect())
    }

    fn users(&self) -> &Users {
        &self.users
    }

    fn submit(&self, _request: Request) -> Ticket {
        Ticket(self.tickets.fetch_add(1, Ordering::Relaxed))
    }

    fn wait(&self, _ticket: Ticket) -> Result<Completion, DeviceError> {
        Err(DeviceError::ZoneOffline { zone: ZoneId(0) })
    }
}
