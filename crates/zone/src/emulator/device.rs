//! [`Emulator`]: an emulated drive as a [`Device`], with further calls, such as those for power
//! cuts, faults, damage, copies of the drive, an observer and a timing model.
//!
//! A submission carries a request out; a flush takes effect when it is waited for. A wait takes the
//! time that the timing model says, and none without a model. For an image, a submission or a wait
//! may also sync the host's file. Waiting for a ticket twice is a panic.
//!
//! The further calls may come from any actor, but not from within the observer or the timing model.
//! For an image, a power cut or the failure of a zone syncs the host's file, so the caller must
//! hold no lock. After [`Emulator::power_cut`] requests and reports fail until
//! [`Emulator::power_on`]. A drive whose image was opened for reading takes reads and reports; it
//! refuses other requests, power cuts, failures of zones and damage to blocks.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use terrace_env::random::Random;
use terrace_env::store::IoCounts;
use terrace_env::sync::{self, Mutex};
use terrace_env::{ByteCount, Lba, Users, Uuid, ZoneId, runner};

use super::PowerCut;
use super::core::{Core, Observer};
use super::drive::Drive;
use super::faults::FaultPlan;
use super::file::{Access, FileMedium};
use super::host::Host;
use super::medium::Medium;
use super::memory::MemoryMedium;
use super::snapshot::Snapshot;
use super::timing::{Progress, Timing};
use crate::state::ZoneTable;
use crate::timing::{DeviceTime, Drive as RealDrive, Scale};
use crate::{
    Completion, Device, DeviceError, Geometry, GeometryError, Request, Ticket, ZoneReport,
    ZoneState,
};

/// Drives in memory up to this capacity remember the bytes of zones from before their reset, so
/// that a power cut can bring them back. Crash tests use small drives; a benchmark's would hold its
/// data twice.
const REMEMBERING_MAX: ByteCount = ByteCount::gib(1);

/// An emulated drive, zoned, plain or of shingled tracks; see the [module](super).
pub struct Emulator {
    geometry: Arc<Geometry>,
    /// The host's side, of an image.
    host: Option<Arc<Host>>,
    core: Mutex<Core>,
    users: Users,
}

impl Emulator {
    /// A new drive in memory. `seed` decides all that is random in it.
    pub fn in_memory(geometry: Geometry, seed: u64) -> Result<Self, GeometryError> {
        geometry.validate()?;
        let mut memory = MemoryMedium::default();
        if geometry.capacity() <= REMEMBERING_MAX {
            memory = memory.remember();
        }
        let table = ZoneTable::new(Arc::new(geometry));
        let drive = Drive::new(table, Medium::Memory(memory));
        Ok(Self::from_core(Core::new(drive, Random::seeded(seed))))
    }

    /// A new drive in memory with the shape and the times of a real one, of the given size; see
    /// [`RealDrive::geometry_of`].
    pub fn modelled(
        drive: &RealDrive,
        scale: Scale,
        size: ByteCount,
        seed: u64,
    ) -> Result<Self, GeometryError> {
        let emulator = Self::in_memory(drive.geometry_of(scale, size)?, seed)?;
        emulator.set_timing(Some(drive.timing(scale)?));
        Ok(emulator)
    }

    /// Makes the image of a new drive in a sparse file, and opens it. There must not be a file of
    /// this name; but a drive without zones can be made on a block device of the host whose start
    /// holds nothing. Durability of the new drive is that of the host's disk; see
    /// [`unsynced`](Self::unsynced).
    pub fn create_image(
        path: impl AsRef<Path>,
        geometry: Geometry,
        uuid: Uuid,
    ) -> Result<Self, DeviceError> {
        let (file, table) = FileMedium::create(path.as_ref(), geometry, uuid)?;
        Ok(Self::from_file(file, table))
    }

    /// The size of the largest plain drive that [`create_image`](Self::create_image) can make on a
    /// block device of the host; `None` if the path is that of none.
    pub fn room_on_block_device(path: impl AsRef<Path>) -> Result<Option<ByteCount>, DeviceError> {
        Ok(FileMedium::room_on_block_device(path.as_ref())?.map(ByteCount))
    }

    /// Opens an image and powers its drive on: zones that were open are closed.
    pub fn open_image(path: impl AsRef<Path>, access: Access) -> Result<Self, DeviceError> {
        let (file, table) = FileMedium::open(path.as_ref(), access)?;
        Self::power_on_image(file, table, access)
    }

    pub(super) fn power_on_image(
        mut file: FileMedium,
        mut table: ZoneTable,
        access: Access,
    ) -> Result<Self, DeviceError> {
        for zone in table.close_all() {
            if access == Access::ReadWrite {
                file.record(zone, table.status(zone))?;
            }
        }
        let emulator = Self::from_file(file, table);
        emulator.core.lock().access = access;
        Ok(emulator)
    }

    /// The drive of an image whose flushes and forced writes no longer reach the host's disk: after
    /// a power cut of the host the image may hold anything. It is faster, and meant for short-lived
    /// images: benchmarks, tests, demonstrations. A drive in memory stays as it is.
    #[must_use]
    pub fn unsynced(self) -> Self {
        if let Some(host) = &self.host {
            host.leave_unsynced();
        }
        self
    }

    /// Whether flushes and forced writes reach the host's disk; `None` for a drive in memory.
    #[must_use]
    pub fn is_synced(&self) -> Option<bool> {
        self.host.as_ref().map(|host| host.is_synced())
    }

    /// How often the host's file was synced since the drive was made or opened.
    #[must_use]
    pub fn host_syncs(&self) -> u64 {
        self.host.as_ref().map_or(0, |host| host.syncs())
    }

    /// Where the drive's bytes are, and whether they last, for people.
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.host {
            None => "in memory".to_owned(),
            Some(host) => {
                let lasts = if host.is_synced() { "synced" } else { "not synced" };
                format!("image {}, {lasts} to the host's disk", host.path().display())
            }
        }
    }

    /// Chance in a drive of an image depends on nothing but its UUID.
    pub(super) fn from_file(file: FileMedium, table: ZoneTable) -> Self {
        let seed = xor_halves(file.uuid());
        Self::from_core(Core::new(Drive::new(table, Medium::File(file)), Random::seeded(seed)))
    }

    pub(super) fn from_core(core: Core) -> Self {
        let (geometry, host) = (core.drive.geometry.clone(), core.drive.medium.host().cloned());
        Self { geometry, host, core: Mutex::new(core), users: Users::default() }
    }

    /// The drive's identity, from its image; of a drive in memory, all zeros.
    #[must_use]
    pub fn uuid(&self) -> Uuid {
        self.core.lock().drive.medium.uuid()
    }

    /// Gives the drive a model of its times, or takes it away. Without one - and that is how drives
    /// are made and opened - every request completes at once, as real time wants it.
    pub fn set_timing(&self, timing: Option<Box<dyn Timing>>) {
        self.core.lock().set_timing(timing);
    }

    /// Where the device time went until now, by cause, since the timing model was set; all zero
    /// without one.
    #[must_use]
    pub fn device_time(&self) -> DeviceTime {
        self.core.lock().device_time(runner::now)
    }

    /// Shows each request that changes the drive to `observer` before it is carried out.
    pub fn set_observer(&self, observer: Option<Observer>) {
        self.core.lock().observer = observer;
    }

    /// Gives the drive faults to have, or takes them away.
    pub fn set_faults(&self, faults: Option<FaultPlan>) {
        self.core.lock().faults = faults;
    }

    /// Bytes and requests moved since the drive was made or opened, by cause.
    #[must_use]
    pub fn io(&self) -> IoCounts {
        self.core.lock().io.clone()
    }

    /// A copy of the drive as it is, in memory.
    pub fn snapshot(&self) -> Result<Snapshot, DeviceError> {
        Ok(Snapshot { drive: self.core.lock().drive.fork()?, pending: None })
    }

    /// Cuts the power: volatile data is dropped, kept or torn as `cut` says, and every request
    /// fails until [`power_on`](Self::power_on), those that were not waited for included.
    pub fn power_cut(&self, cut: PowerCut, random: &mut Random) -> Result<(), DeviceError> {
        let mut core = self.core.lock();
        core.check_access("cut the power")?;
        core.power_cut(cut, random, runner::now)?;
        drop(core);
        self.sync_host()
    }

    /// Makes everything that has been done to an image durable on the host's disk.
    fn sync_host(&self) -> Result<(), DeviceError> {
        self.host.as_ref().map_or(Ok(()), |host| host.reach(host.changes()))
    }

    /// Switches the drive on again.
    pub fn power_on(&self) {
        self.core.lock().powered = true;
    }

    /// Makes a zone fail: read-only or offline, durably and for ever. The bytes in the zone are
    /// durable from then on. A zone that is offline stays so.
    ///
    /// # Panics
    /// When `state` is any other.
    pub fn set_zone_condition(&self, zone: ZoneId, state: ZoneState) -> Result<(), DeviceError> {
        assert!(matches!(state, ZoneState::ReadOnly | ZoneState::Offline), "{state:?}");
        let mut core = self.core.lock();
        core.check_access("fail a zone")?;
        core.drive.fail_zone(zone, state)?;
        drop(core);
        self.sync_host()
    }

    /// Changes the bytes of a logical block on the medium, unknown to the drive.
    pub fn corrupt(&self, lba: Lba, change: impl FnOnce(&mut [u8])) -> Result<(), DeviceError> {
        let mut core = self.core.lock();
        core.check_access("corrupt a block")?;
        core.drive.corrupt(lba, change)
    }
}

fn xor_halves(uuid: Uuid) -> u64 {
    let value = u128::from_le_bytes(uuid.0);
    (value >> 64) as u64 ^ value as u64
}

impl Device for Emulator {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn report(&self, first: ZoneId, count: u32) -> Result<Vec<ZoneReport>, DeviceError> {
        sync::assert_no_lock_held("a zone report");
        let mut core = self.core.lock();
        if !core.powered {
            return Err(DeviceError::PowerLost);
        }
        core.drive.table.check_zone(first)?;
        let end = first.0.saturating_add(count).min(self.geometry.zones);
        if core.access == Access::Beside {
            for zone in first.0..end {
                core.drive.look_again(ZoneId(zone))?;
            }
        }
        let table = &core.drive.table;
        Ok((first.0..end).map(|zone| table.report(ZoneId(zone))).collect())
    }

    fn users(&self) -> &Users {
        &self.users
    }

    /// An image syncs the file of the host after each forced write.
    fn forces_writes(&self) -> bool {
        self.is_synced() != Some(true)
    }

    fn host_room(&self) -> Option<ByteCount> {
        sync::assert_no_lock_held("a question to the host");
        match &self.host {
            Some(host) => host.room(),
            None => self.core.lock().planned_room(),
        }
    }

    fn submit(&self, request: Request) -> Ticket {
        sync::assert_no_lock_held("a device request");
        loop {
            let mut core = self.core.lock();
            let (Some(number), Some(host)) = (core.barrier(&request.op), &self.host) else {
                return Ticket(core.submit(request, runner::now));
            };
            drop(core);
            if host.reach(number).is_err() {
                // The request is refused by the same error.
                return Ticket(self.core.lock().submit(request, runner::now));
            }
        }
    }

    fn wait(&self, ticket: Ticket) -> Result<Completion, DeviceError> {
        sync::assert_no_lock_held("waiting for a device");
        loop {
            let progress = self.core.lock().progress(ticket.0, runner::now);
            match progress {
                Some(Progress::Undecided { ask }) => runner::sleep_until(ask),
                Some(Progress::Decided { end, .. }) => break runner::sleep_until(end),
                None => break,
            }
        }
        let reach = self.core.lock().reach(ticket.0);
        if let (Some(number), Some(host)) = (reach, &self.host)
            && let Err(error) = host.reach(number)
        {
            self.core.lock().fail_submitted(ticket.0, error);
        }
        self.core.lock().complete(ticket.0)
    }
}

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Emulator");
        out.field("geometry", &self.geometry).field("bytes", &self.describe());
        out.finish_non_exhaustive()
    }
}
