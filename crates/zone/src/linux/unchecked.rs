//! Requests that no table has checked: the answer of the kernel and the device alone. For
//! comparisons of devices and their rules.
//!
//! The zone table does not take part. Here a request is expected that the device refuses, or that
//! changes nothing. After one that changed a zone the table is out of step, as if another program
//! had written: ask for a report of the device before the next request.

use std::io::{self, IoSlice};

use rustix::io::ReadWriteFlags;

use super::BlockDevice;
use super::ioctl::ZoneOperation;
use crate::Op;

impl BlockDevice {
    /// Sends a request to the kernel as it is, in one call. A write must be short enough for one
    /// command. Reads, appends and flushes are not sent: no table refuses requests that a kernel
    /// would not.
    ///
    /// # Errors
    /// The kernel's. A write of which only a part was done is
    /// [`WriteZero`](io::ErrorKind::WriteZero).
    pub fn unchecked(&self, op: &Op) -> io::Result<()> {
        match op {
            Op::Write { lba, data, .. } => {
                let (at, flags) = (self.offset(*lba), ReadWriteFlags::empty());
                let done = rustix::io::pwritev2(&self.node, &[IoSlice::new(data)], at, flags)?;
                if done == data.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
            }
            Op::Open(zone) => self.operate(ZoneOperation::Open, *zone),
            Op::Close(zone) => self.operate(ZoneOperation::Close, *zone),
            Op::Finish(zone) => self.operate(ZoneOperation::Finish, *zone),
            Op::Reset(zone) => self.operate(ZoneOperation::Reset, *zone),
            Op::Read { .. } | Op::Append { .. } | Op::Flush => {
                Err(io::ErrorKind::Unsupported.into())
            }
        }
    }
}
