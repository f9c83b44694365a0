//! [`Medium`]: keeps the bytes of an emulated drive, in memory or in an image.
//!
//! A medium does not check requests. Bytes are addressed by zone, and by their offset in the zone.
//! Bytes that were erased, or never written nor destroyed, read as zeros, with two exceptions. On a
//! file system that cannot punch holes, an erased zone keeps its bytes; the drive does not read
//! them. On a block device of the host, bytes that were never written are those that were there
//! before.
//!
//! A medium does not know which bytes a power cut may take back. The caller holds the drive's lock.
//! Reads, writes and erasures do not wait for the host's disk to sync.

use std::sync::Arc;

use terrace_env::{IoBuf, Uuid, ZoneId};

use super::file::FileMedium;
use super::host::Host;
use super::memory::MemoryMedium;
use crate::state::ZoneStatus;
use crate::{DeviceError, Geometry};

#[derive(Debug)]
pub(super) enum Medium {
    Memory(MemoryMedium),
    File(FileMedium),
}

impl Medium {
    pub(super) fn uuid(&self) -> Uuid {
        match self {
            Self::Memory(_) => Uuid::default(),
            Self::File(file) => file.uuid(),
        }
    }

    /// The host's side, of an image.
    pub(super) fn host(&self) -> Option<&Arc<Host>> {
        match self {
            Self::Memory(_) => None,
            Self::File(file) => Some(file.host()),
        }
    }

    /// The change of the host that has to be on its disk before a request; see
    /// [`FileMedium::barrier`].
    pub(super) fn barrier(&self, zone: ZoneId, reset: bool, activates: bool) -> Option<u64> {
        match self {
            Self::Memory(_) => None,
            Self::File(file) => file.barrier(zone, reset, activates),
        }
    }

    /// Appends `len` bytes from `offset` on to `into`.
    pub(super) fn read(
        &self,
        zone: ZoneId,
        offset: u64,
        len: usize,
        into: &mut IoBuf,
    ) -> Result<(), DeviceError> {
        match self {
            Self::Memory(memory) => memory.read(zone, offset, len, into),
            Self::File(file) => return file.read(zone, offset, len, into),
        }
        Ok(())
    }

    pub(super) fn write(
        &mut self,
        zone: ZoneId,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        match self {
            Self::Memory(memory) => memory.write(zone, offset, bytes),
            Self::File(file) => return file.write(zone, offset, bytes),
        }
        Ok(())
    }

    /// A forced write to a sequential zone ends here: more of them should find room.
    pub(super) fn reserve_ahead(&mut self, zone: ZoneId, end: u64) {
        if let Self::File(file) = self {
            file.reserve_ahead(zone, end);
        }
    }

    /// Makes bytes read as destroyed ones. In a file, bytes that are zeros may stay.
    pub(super) fn destroy(
        &mut self,
        zone: ZoneId,
        offset: u64,
        len: u64,
    ) -> Result<(), DeviceError> {
        match self {
            Self::Memory(memory) => memory.destroy(zone, offset, len),
            Self::File(file) => return file.destroy(zone, offset, len),
        }
        Ok(())
    }

    /// Makes a whole zone read as zeros and gives its space back.
    pub(super) fn erase(&mut self, zone: ZoneId) -> Result<(), DeviceError> {
        match self {
            Self::Memory(memory) => memory.erase(zone),
            Self::File(file) => return file.erase(zone),
        }
        Ok(())
    }

    /// Gives back the space of a zone that is no longer read, on media where that may be done at
    /// any time.
    pub(super) fn give_up(&mut self, zone: ZoneId) -> Result<(), DeviceError> {
        match self {
            Self::Memory(memory) => memory.erase(zone),
            // Its state may not be on the host's disk yet.
            Self::File(_) => {}
        }
        Ok(())
    }

    /// Bytes at an offset before the zone was last erased, as far as the medium remembers; zeros
    /// otherwise.
    pub(super) fn earlier(&self, zone: ZoneId, offset: u64, len: usize, into: &mut IoBuf) {
        match self {
            Self::Memory(memory) => memory.earlier(zone, offset, len, into),
            Self::File(_) => into.resize(into.len() + len),
        }
    }

    /// Notes a zone's status where the next process finds it.
    pub(super) fn record(&mut self, zone: ZoneId, status: ZoneStatus) -> Result<(), DeviceError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(file) => file.record(zone, status),
        }
    }

    /// The status of a zone as the last process has noted it; `None` if there is no note.
    pub(super) fn status_now(&self, zone: ZoneId) -> Result<Option<ZoneStatus>, DeviceError> {
        match self {
            Self::Memory(_) => Ok(None),
            Self::File(file) => file.status_now(zone),
        }
    }

    /// A copy in memory: in constant time of a medium in memory, else by reading the first bytes of
    /// each zone, up to the length in `written`.
    pub(super) fn copy(
        &self,
        geometry: &Geometry,
        written: impl Fn(ZoneId) -> u64,
    ) -> Result<MemoryMedium, DeviceError> {
        const STEP: u64 = 1 << 20;
        let file = match self {
            Self::Memory(memory) => return Ok(memory.clone()),
            Self::File(file) => file,
        };
        let mut memory = MemoryMedium::default();
        let mut buffer = IoBuf::with_capacity(STEP as usize);
        for zone in geometry.zone_ids() {
            let mut offset = 0;
            while offset < written(zone) {
                let len = STEP.min(written(zone) - offset) as usize;
                buffer.clear();
                file.read(zone, offset, len, &mut buffer)?;
                memory.write(zone, offset, &buffer);
                offset += len as u64;
            }
        }
        Ok(memory)
    }
}
