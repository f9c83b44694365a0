//! [`FileMedium`]: the bytes of an emulated drive in an image: a sparse file, or, for a drive
//! without zones, a block device of the host. `docs/format/image.md` has the layout.
//!
//! Zone states are written to the file as they change, so the image survives the process. A lock on
//! the file admits one writer or any number of readers; an open that does not get the lock fails
//! with [`DeviceError::InUse`]. The host may refuse to open a block device before that, with
//! [`DeviceError::Host`]. An open with [`Access::Beside`] takes no lock.
//!
//! # Power cuts of the host
//! Bytes that the host has not synced may or may not be on its disk, in any order. After a cut, the
//! image must be in a state that a power cut of the drive could leave, unless the drive is
//! unsynced. In addition to the syncs of flushes and forced writes, two rules serve this:
//! - A zone with a pending reset is not written again before the reset is on the host's disk.
//!   Otherwise the zone could be found full, without its durable bytes.
//! - A zone becomes active only if the active limit would hold even if all zone states were lost
//!   that have not reached the host's disk.
//!
//! There are two exceptions. A failed flush, or a power cut that a test asks for, may break the
//! first rule. On shingled tracks, blocks may be found destroyed although nothing is found of the
//! volatile write that destroyed them.
//!
//! [`FileMedium::barrier`] says which syncs the two rules want before a request. The
//! caller syncs it without the drive's lock.
//!
//! # A full disk of the host
//! After forced writes in a sequential zone some space is kept allocated, where the host's file
//! system can do that, so that such writes go on for a while on a full disk. A request without room
//! fails with [`DeviceError::HostFull`], and may be tried again. A sync that finds no room fails
//! for good.
//!
//! # Threads
//! The caller holds the drive's lock, except where it makes or opens an image. Of the calls here,
//! those that make an image wait for a sync.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::OFlags;
use terrace_env::regular_file::in_words;
use terrace_env::{ByteCount, IoBuf, LockedFile, Uuid, ZoneId, lock_holders_in_words};

use super::destroyed;
use super::host::{Host, host_error};
use super::host_file::HostFile;
use super::image::{ENTRY, Flaw, HEADER, Header, RUNS_MAX};
use crate::state::{ZoneStatus, ZoneTable};
use crate::{DeviceError, Geometry, GeometryError};

/// Bytes that stay allocated ahead of the forced writes of a zone: room for the commits of jobs
/// that run when the host's disk becomes full, a block or a few each.
const AHEAD: u64 = 256 << 10;
/// How much is looked at, and destroyed, at once: a usual track or less.
const DESTROY_STEP: u64 = 64 << 10;
/// The smallest hole of a host's file system.
const PAGE: usize = 4096;
/// How often zone states are read that another process may be writing at that moment.
const TORN_TRIES: u32 = 8;

/// Whether an image is opened to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Access of one process alone.
    ReadWrite,
    /// Access of any number of processes at once. The drive takes reads and reports, and nothing
    /// else.
    ReadOnly,
    /// The same, without a lock: another process may be writing. Each read and report takes the
    /// state of its zone anew.
    Beside,
}

#[derive(Debug)]
pub(super) struct FileMedium {
    host: Arc<Host>,
    header: Header,
    blocks_offset: u64,
    /// Bytes of a zone, from start to start.
    zone_len: u64,
    /// Zones that are active or have changed since the image was opened, by their last recorded
    /// status, with the number of the host's change.
    recorded: BTreeMap<ZoneId, Recorded>,
    /// How far zones with forced writes have room on the host's disk, in bytes from their start.
    ahead: BTreeMap<ZoneId, u64>,
}

/// Recorded state of a zone.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    /// Whether it is active.
    active: bool,
    /// The change that recorded it.
    number: u64,
}

impl FileMedium {
    /// Makes the image of a new drive. There must not be a file of this name; but a drive without
    /// zones can be made on a block device whose start holds nothing. With an error, no file is
    /// left.
    pub(super) fn create(
        path: &Path,
        geometry: Geometry,
        uuid: Uuid,
    ) -> Result<(Self, ZoneTable), DeviceError> {
        geometry.validate()?;
        if geometry.conventional.len() > RUNS_MAX {
            return Err(DeviceError::Geometry(GeometryError {
                what: "runs of conventional zones",
                expected: format!("at most {RUNS_MAX}"),
                got: geometry.conventional.len().to_string(),
            }));
        }
        let failed = |error| host_error("create", path, error);
        let header = Header::new(uuid, geometry);
        if is_block_device(path) && !header.geometry.layout.is_zoned() {
            return Self::create_on_block_device(path, header);
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(path).map_err(failed)?;
        // A file without a header is no image, and would be in the way of the next try.
        Self::make_in_file(file, path, header).inspect_err(|_| drop(std::fs::remove_file(path)))
    }

    fn make_in_file(
        file: File,
        path: &Path,
        header: Header,
    ) -> Result<(Self, ZoneTable), DeviceError> {
        let failed = |error| host_error("create", path, error);
        let file = lock(file, path, Access::ReadWrite)?;
        file.set_len(header.image_len()).map_err(failed)?;
        let made = Self::make(Arc::new(file), path, header)?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = File::open(parent.unwrap_or(Path::new("."))).map_err(failed)?;
        parent.sync_all().map_err(failed)?;
        Ok(made)
    }

    /// The bytes that a plain drive on a block device can have; `None` if the path is none.
    pub(super) fn room_on_block_device(path: &Path) -> Result<Option<u64>, DeviceError> {
        if !is_block_device(path) {
            return Ok(None);
        }
        let failed = |error| host_error("open", path, error);
        let mut file = File::open(path).map_err(failed)?;
        // Its metadata have no length.
        let size = file.seek(SeekFrom::End(0)).map_err(failed)?;
        let header = Header::new(Uuid::default(), Geometry::plain(ByteCount(size)));
        Ok(Some(size.saturating_sub(header.blocks_offset())))
    }

    /// Makes an image on a block device. The first blocks of the device must be empty: data there
    /// may be a foreign file system.
    fn create_on_block_device(
        path: &Path,
        header: Header,
    ) -> Result<(Self, ZoneTable), DeviceError> {
        let failed = |error| host_error("create", path, error);
        let file = open_block_device(path).map_err(failed)?;
        let file = lock(file, path, Access::ReadWrite)?;
        let name = || path.display().to_string();
        let size = HostFile::size(&file).map_err(failed)?;
        if size < header.image_len() {
            return Err(DeviceError::Geometry(GeometryError {
                what: "size",
                expected: format!("at most the {size} bytes of {}", name()),
                got: format!("{} bytes with header and table", header.image_len()),
            }));
        }
        let mut start = vec![0; header.blocks_offset() as usize];
        HostFile::read_at(&file, 0, &mut start).map_err(failed)?;
        if start.iter().any(|byte| *byte != 0) {
            let found = "something else at its start; clear it with `blkdiscard` or `wipefs`";
            return Err(DeviceError::NotAnImage { path: name(), found: found.to_owned() });
        }
        Self::make(Arc::new(file), path, header)
    }

    /// Makes the image of a new drive in a file of the right length.
    pub(super) fn make(
        file: Arc<dyn HostFile>,
        path: &Path,
        header: Header,
    ) -> Result<(Self, ZoneTable), DeviceError> {
        let host = Host::new(file, path);
        let table = ZoneTable::new(Arc::new(header.geometry.clone()));
        let entry = |zone| header.encode_entry(zone, table.status(zone));
        let entries: Vec<u8> = header.geometry.zone_ids().flat_map(entry).collect();
        // The header goes last: without it the file is no image.
        host.reach(host.write(HEADER, &entries)?)?;
        let number = host.write(0, &header.encode())?;
        host.reach(number)?;
        Ok((Self::new(host, header), table))
    }

    /// Opens an image and reads its zone table, as it was left.
    pub(super) fn open(path: &Path, access: Access) -> Result<(Self, ZoneTable), DeviceError> {
        // Before the open: the open of a pipe would wait for a process at its other end.
        check_kind(path)?;
        let file = match access {
            Access::ReadWrite if is_block_device(path) => open_block_device(path),
            _ => OpenOptions::new().read(true).write(access == Access::ReadWrite).open(path),
        };
        let file = file.map_err(|error| host_error("open", path, error))?;
        if access != Access::Beside {
            return Self::read_from(Arc::new(lock(file, path, access)?), path);
        }
        let file: Arc<dyn HostFile> = Arc::new(file);
        let mut tries = TORN_TRIES;
        loop {
            match Self::read_from(Arc::clone(&file), path) {
                Err(DeviceError::BadImage { .. }) if tries > 1 => tries -= 1,
                opened => return opened,
            }
        }
    }

    /// The status of a zone as another process has recorded it by now; `None` as in
    /// [`Header::decode_entry`].
    pub(super) fn status_now(&self, zone: ZoneId) -> Result<Option<ZoneStatus>, DeviceError> {
        let mut entry = [0; ENTRY as usize];
        let mut tries = TORN_TRIES;
        loop {
            self.host.read(HEADER + ENTRY * u64::from(zone.0), &mut entry)?;
            match self.header.decode_entry(zone, &entry) {
                Ok(status) => return Ok(status),
                Err(_) if tries > 1 => tries -= 1,
                Err(flaw) => {
                    let Flaw { what, expected, got } = flaw;
                    let path = self.host.path().display().to_string();
                    return Err(DeviceError::BadImage { path, what, expected, got });
                }
            }
        }
    }

    /// Reads the image of a file.
    pub(super) fn read_from(
        file: Arc<dyn HostFile>,
        path: &Path,
    ) -> Result<(Self, ZoneTable), DeviceError> {
        let name = path.display().to_string();
        let bad = |flaw: Flaw| DeviceError::BadImage {
            path: name.clone(),
            what: flaw.what,
            expected: flaw.expected,
            got: flaw.got,
        };
        let host = Host::new(file, path);
        let len = host.size()?;
        let mut bytes = vec![0; HEADER.min(len) as usize];
        host.read(0, &mut bytes)?;
        if !Header::is_meant(&bytes) {
            let empty = len == 0;
            let found = if empty { "an empty file" } else { "a file that does not begin like one" };
            return Err(DeviceError::NotAnImage { path: name, found: found.to_owned() });
        }
        let header = Header::decode(&bytes).map_err(bad)?;
        let image_len = header.image_len();
        let used = if host.is_block_device()? { len.min(image_len) } else { len };
        Flaw::unless_equal("file length", image_len, used).map_err(bad)?;

        let mut entries = vec![0; header.geometry.zones as usize * ENTRY as usize];
        host.read(HEADER, &mut entries)?;
        let mut table = ZoneTable::new(Arc::new(header.geometry.clone()));
        let mut recorded = BTreeMap::new();
        let (entries, _) = entries.as_chunks();
        for (zone, entry) in header.geometry.zone_ids().zip(entries) {
            if let Some(status) = header.decode_entry(zone, entry).map_err(bad)? {
                table.set(zone, status);
                // One that is not active, and on the host's disk, keeps nothing waiting.
                if status.state.is_active() {
                    recorded.insert(zone, Recorded { active: true, number: 0 });
                }
            }
        }
        Self::check_limits(&table).map_err(bad)?;
        Ok((Self { recorded, ..Self::new(host, header) }, table))
    }

    fn check_limits(table: &ZoneTable) -> Result<(), Flaw> {
        let (limit, active) = (table.geometry().max_active, table.active());
        match limit {
            Some(limit) if active > limit as usize => {
                let expected = format!("at most {limit}");
                Err(Flaw { what: "active zones", expected, got: active.to_string() })
            }
            _ => Ok(()),
        }
    }

    fn new(host: Host, header: Header) -> Self {
        let blocks_offset = header.blocks_offset();
        let zone_len = header.geometry.zone_size * u64::from(header.geometry.logical_block);
        let (host, recorded, ahead) = (Arc::new(host), BTreeMap::new(), BTreeMap::new());
        Self { host, header, blocks_offset, zone_len, recorded, ahead }
    }

    pub(super) fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// The change of the host that has to be on its disk before a zone may be written, finished or
    /// opened. `reset`: the zone has a reset that a power cut may take back; `activates`: it is not
    /// active, and will be.
    pub(super) fn barrier(&self, zone: ZoneId, reset: bool, activates: bool) -> Option<u64> {
        let reached = self.host.reached();
        let recorded = |zone| self.recorded.get(zone).map_or(0, |one: &Recorded| one.number);
        let for_reset = reset.then(|| recorded(&zone)).filter(|number| *number > reached);
        let limit = self.header.geometry.max_active.filter(|_| activates);
        let for_limit = limit.and_then(|limit| {
            let others = || self.recorded.iter().filter(|(other, _)| **other != zone);
            let ended = || others().filter(|(_, one)| !one.active && one.number > reached);
            let active = others().filter(|(_, one)| one.active).count();
            let may_be = active + ended().count();
            (may_be >= limit as usize).then(|| ended().map(|(_, one)| one.number).max()).flatten()
        });
        for_reset.max(for_limit)
    }

    pub(super) fn uuid(&self) -> Uuid {
        self.header.uuid
    }

    fn place(&self, zone: ZoneId, offset: u64) -> u64 {
        self.blocks_offset + u64::from(zone.0) * self.zone_len + offset
    }

    pub(super) fn read(
        &self,
        zone: ZoneId,
        offset: u64,
        len: usize,
        into: &mut IoBuf,
    ) -> Result<(), DeviceError> {
        let start = into.len();
        into.resize(start + len);
        self.host.read(self.place(zone, offset), &mut into[start..])
    }

    pub(super) fn write(&self, zone: ZoneId, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.host.write(self.place(zone, offset), bytes).map(drop)
    }

    /// Allocates space of the host ahead of a forced write to a sequential zone that ends here.
    /// Forced writes belong to a journal or a log, and a journal that cannot be written ends all
    /// writing for as long as the store is mounted; so data should meet a full disk first.
    pub(super) fn reserve_ahead(&mut self, zone: ZoneId, end: u64) {
        let until = self.ahead.get(&zone).copied().unwrap_or(0).max(end);
        let most = self.header.geometry.zone_capacity(zone)
            * u64::from(self.header.geometry.logical_block);
        let wanted = (end + AHEAD).min(most);
        if wanted > until && (until - end < AHEAD / 2 || wanted == most) {
            self.host.allocate(self.place(zone, until), wanted - until);
            self.ahead.insert(zone, wanted);
        }
    }

    /// Writes destroyed bytes over pages that hold something. Pages of zeros stay, as holes do.
    pub(super) fn destroy(&self, zone: ZoneId, offset: u64, len: u64) -> Result<(), DeviceError> {
        let mut bytes = vec![0; DESTROY_STEP.min(len) as usize];
        for at in (0..len).step_by(DESTROY_STEP as usize) {
            let bytes = &mut bytes[..DESTROY_STEP.min(len - at) as usize];
            self.host.read(self.place(zone, offset + at), bytes)?;
            let pages = bytes.chunks(PAGE).map(|page| page.iter().any(|byte| *byte != 0));
            let pages: Vec<(usize, bool)> = pages.enumerate().collect();
            for run in pages.chunk_by(|one, next| one.1 == next.1).filter(|run| run[0].1) {
                let start = run[0].0 * PAGE;
                let end = (start + run.len() * PAGE).min(bytes.len());
                let from = offset + at + start as u64;
                destroyed(from, &mut bytes[start..end]);
                self.host.write(self.place(zone, from), &bytes[start..end])?;
            }
        }
        Ok(())
    }

    /// Punches a zone out of the file.
    pub(super) fn erase(&mut self, zone: ZoneId) -> Result<(), DeviceError> {
        self.ahead.remove(&zone);
        let len =
            self.header.geometry.zone_size(zone) * u64::from(self.header.geometry.logical_block);
        self.host.punch(self.place(zone, 0), len)
    }

    pub(super) fn record(&mut self, zone: ZoneId, status: ZoneStatus) -> Result<(), DeviceError> {
        let entry = self.header.encode_entry(zone, status);
        let number = self.host.write(HEADER + ENTRY * u64::from(zone.0), &entry)?;
        self.recorded.insert(zone, Recorded { active: status.state.is_active(), number });
        Ok(())
    }
}

/// Refuses files that cannot be an image, by their kind alone.
fn check_kind(path: &Path) -> Result<(), DeviceError> {
    let found = std::fs::metadata(path).map_err(|error| host_error("open", path, error))?;
    let kind = found.file_type();
    if kind.is_file() || kind.is_block_device() {
        return Ok(());
    }
    let found = in_words(kind).to_owned();
    Err(DeviceError::NotAnImage { path: path.display().to_string(), found })
}

fn is_block_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device())
}

/// Opens a block device alone: one that the host has mounted, or uses otherwise, is refused.
fn open_block_device(path: &Path) -> std::io::Result<File> {
    let alone = OFlags::EXCL.bits().cast_signed();
    OpenOptions::new().read(true).write(true).custom_flags(alone).open(path)
}

fn lock(file: File, path: &Path, access: Access) -> Result<LockedFile, DeviceError> {
    let locked = match access {
        Access::ReadWrite => LockedFile::alone(file),
        Access::ReadOnly | Access::Beside => LockedFile::shared(file),
    };
    locked.map_err(|error| host_error("lock", path, error))?.ok_or_else(|| {
        let path = format!("{}{}", path.display(), lock_holders_in_words(path));
        DeviceError::InUse { path }
    })
}
