//! [`BlockDevice`]: a block device of Linux. The head of [`linux`](super) has the rules by which
//! requests are carried out.
//!
//! Here are the functions that open a device, and the calls of [`Device`]. Reads, writes, appends
//! and flushes are carried on in `requests`, zone operations and reports in `zone_operations`.
//!
//! A zone table has the state of each zone. At the open limit the device may close another zone
//! than the table expects. The numbers of open and of active zones are the same, and the device is
//! asked when a caller wants a report.
//!
//! # Threads
//! Any number. The submission of a zone operation waits for the device, and with
//! [`IoEngine::Blocking`] each submission does. So no lock of `env` may be held over it.

use std::fmt;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use terrace_env::sync::{self, Mutex};
use terrace_env::{Lba, Users, ZoneId};

use super::append_node::AppendNode;
use super::engine::{Engine, IoEngine};
use super::failure::Failed;
use super::ioctl::{self, SECTOR};
use super::queue::{self, Queue, ZoneModel};
use super::requests::State;
use super::{node, shape};
use crate::{
    Access, Completion, Device, DeviceError, Geometry, Op, Request, Ticket, ZoneReport, ZoneTable,
    ZoneType,
};

/// A block device of Linux, zoned or not.
pub struct BlockDevice {
    pub(super) path: PathBuf,
    /// The engine of requests. The field stands before the node, so that the engine's files are
    /// closed before the node is unlocked.
    pub(super) engine: Engine,
    pub(super) node: File,
    pub(super) geometry: Arc<Geometry>,
    /// Longest write that goes out as one command, in bytes.
    pub(super) piece: usize,
    /// See [`Device::forces_writes`].
    forces_writes: bool,
    pub(super) access: Access,
    pub(super) state: Mutex<State>,
    users: Users,
}

impl BlockDevice {
    /// Whether there is a block device at a path, and if so, whether it has zones. `None` if there
    /// is something else, or nothing.
    pub fn probe(path: impl AsRef<Path>) -> Result<Option<ZoneModel>, DeviceError> {
        let path = path.as_ref();
        if !path.exists() {
            return Ok(None);
        }
        let Some(number) = node::number(path)? else { return Ok(None) };
        Ok(Some(read_queue(path, number)?.zoned))
    }

    /// Opens a block device, with [`IoEngine::IoUring`] where the kernel permits it. A device that
    /// is opened for writing has its open zones closed.
    ///
    /// # Errors
    /// [`NotABlockDevice`](DeviceError::NotABlockDevice) if something else is there,
    /// [`InUse`](DeviceError::InUse) if it is mounted or has another user,
    /// [`Geometry`](DeviceError::Geometry) if its zones have different capacities, and
    /// [`Host`](DeviceError::Host) if the kernel refuses.
    pub fn open(path: impl AsRef<Path>, access: Access) -> Result<Self, DeviceError> {
        Self::open_as(path.as_ref(), access, None)
    }

    /// Like [`open`](Self::open), with this engine.
    ///
    /// # Errors
    /// Those of `open`, and [`Host`](DeviceError::Host) if the kernel does not permit the engine.
    pub fn open_with(
        path: impl AsRef<Path>,
        access: Access,
        engine: IoEngine,
    ) -> Result<Self, DeviceError> {
        Self::open_as(path.as_ref(), access, Some(engine))
    }

    fn open_as(path: &Path, access: Access, engine: Option<IoEngine>) -> Result<Self, DeviceError> {
        let not_a_device = |found: &str| DeviceError::NotABlockDevice {
            path: path.display().to_string(),
            expected: "a block device",
            found: found.to_owned(),
        };
        let number = node::number(path)?.ok_or_else(|| not_a_device("something else"))?;
        let queue = read_queue(path, number)?;
        if queue.zoned != ZoneModel::None && queue::folder(number).join("partition").exists() {
            let (path, found) = (path.display().to_string(), "a partition of one".to_owned());
            let expected = "a whole zoned device";
            return Err(DeviceError::NotABlockDevice { path, expected, found });
        }
        let mut node = node::open(path, number, access)?;
        let failed = |operation: &str, error| {
            DeviceError::host(format!("cannot {operation} {}", path.display()), error)
        };
        let (mut geometry, zones) = if queue.zoned == ZoneModel::None {
            let bytes = node.seek(SeekFrom::End(0)).map_err(|error| failed("measure", error))?;
            (shape::plain(&queue, bytes)?, Vec::new())
        } else {
            let zones = ioctl::report(&node, 0, usize::MAX);
            let zones = zones.map_err(|error| failed("report the zones of", error))?;
            (shape::zoned(&queue, &zones)?, zones)
        };
        let append_max = queue.append_blocks(geometry.logical_block, geometry.physical_step());
        let append_max = append_max.filter(|_| access == Access::ReadWrite);
        let append = || {
            let _: u32 = append_max?;
            AppendNode::find(&queue::folder(number), geometry.logical_block)
        };
        let engine = Engine::new(&node, append, engine);
        let engine = engine.map_err(|error| failed("use io_uring for", error))?;
        geometry.max_append = append_max.filter(|_| engine.appends());
        let geometry = Arc::new(geometry);
        let mut table = ZoneTable::new(Arc::clone(&geometry));
        for (zone, raw) in geometry.zone_ids().zip(&zones) {
            if geometry.zone_type(zone) == ZoneType::Sequential {
                table.set(zone, shape::status(&shape::report(&geometry, zone, raw)));
            }
        }
        let device = Self {
            path: path.to_owned(),
            node,
            geometry,
            piece: queue.piece(),
            forces_writes: queue.forces_writes,
            access,
            engine,
            state: Mutex::new(State::new(table)),
            users: Users::default(),
        };
        if access == Access::ReadWrite {
            device.close_open_zones()?;
        }
        Ok(device)
    }

    /// A device over an ordinary file. It has no zone operations and no reports of zones.
    #[cfg(test)]
    pub(super) fn over(node: File, geometry: Geometry, piece: usize, engine: IoEngine) -> Self {
        let geometry = Arc::new(geometry);
        let table = ZoneTable::new(Arc::clone(&geometry));
        Self {
            path: PathBuf::from("a file"),
            engine: Engine::new(&node, || None, Some(engine)).expect("a permitted engine"),
            node,
            geometry,
            piece,
            forces_writes: false,
            access: Access::ReadWrite,
            state: Mutex::new(State::new(table)),
            users: Users::default(),
        }
    }

    /// The node it was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How its requests are carried out.
    #[must_use]
    pub fn engine(&self) -> IoEngine {
        self.engine.kind()
    }

    /// The most reads, writes, appends and flushes that have been in flight at once.
    #[must_use]
    pub fn depth_max(&self) -> usize {
        self.state.lock().under_way_max()
    }

    pub(super) fn failed(
        &self,
        zone: ZoneId,
        lba: Lba,
        written: Option<u64>,
        operation: &'static str,
    ) -> Failed<'_> {
        let (path, geometry) = (self.path.as_path(), &*self.geometry);
        Failed { path, geometry, zone, lba, written, operation }
    }

    pub(super) fn host_error(&self, operation: &str, error: io::Error) -> DeviceError {
        DeviceError::host(format!("cannot {operation} {}", self.path.display()), error)
    }

    pub(super) fn offset(&self, lba: Lba) -> u64 {
        lba.0.saturating_mul(u64::from(self.geometry.logical_block))
    }

    pub(super) fn sector(&self, blocks: u64) -> u64 {
        blocks * u64::from(self.geometry.logical_block) / SECTOR
    }
}

fn read_queue(path: &Path, number: u64) -> Result<Queue, DeviceError> {
    Queue::read(&queue::folder(number)).map_err(|error| {
        DeviceError::host(format!("cannot read the limits of {}", path.display()), error)
    })
}

impl Device for BlockDevice {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn report(&self, first: ZoneId, count: u32) -> Result<Vec<ZoneReport>, DeviceError> {
        sync::assert_no_lock_held("a zone report");
        let first = self.state.lock().table.check_zone(first)?;
        let count = count.min(self.geometry.zones - first.0);
        self.settle(first..ZoneId(first.0 + count));
        self.report_now(first, count)
    }

    fn users(&self) -> &Users {
        &self.users
    }

    fn forces_writes(&self) -> bool {
        self.forces_writes
    }

    fn submit(&self, request: Request) -> Ticket {
        sync::assert_no_lock_held("a device request");
        let is_write = matches!(request.op, Op::Write { .. });
        match request.op {
            op @ (Op::Read { .. } | Op::Flush) => Ticket(self.submit_transfer(op)),
            op @ Op::Write { .. } if self.access == Access::ReadWrite => {
                Ticket(self.submit_transfer(op))
            }
            Op::Append { zone, data, fua }
                if self.access == Access::ReadWrite
                    && self.engine.appends()
                    && zone.0 < self.geometry.zones =>
            {
                Ticket(self.submit_transfer(Op::Append { zone, data, fua }))
            }
            op => {
                let result = if is_write {
                    Err(DeviceError::ReadOnlyDevice { operation: "write" })
                } else {
                    self.operate_on_zone(&op).map(|()| Completion::Done)
                };
                let mut state = self.state.lock();
                let id = state.new_id();
                state.finish(id, result);
                Ticket(id)
            }
        }
    }

    fn wait(&self, ticket: Ticket) -> Result<Completion, DeviceError> {
        sync::assert_no_lock_held("waiting for a device");
        self.wait_for(ticket.0)
    }
}

impl Drop for BlockDevice {
    fn drop(&mut self) {
        self.drain();
    }
}

impl fmt::Debug for BlockDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("BlockDevice");
        out.field("path", &self.path).field("engine", &self.engine());
        out.field("geometry", &self.geometry).finish_non_exhaustive()
    }
}
