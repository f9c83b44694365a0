//! The error of a [`Device`](crate::Device) for an error number of the kernel.
//!
//! | number | meaning |
//! |---|---|
//! | `EOVERFLOW` | too many active zones |
//! | `ETOOMANYREFS` | too many open zones |
//! | `EFBIG` of an append | it does not fit, in the zone or after the appends in flight |
//! | `EACCES` of an append | the program may not append: the message names the missing right |
//! | `EIO`, `EREMOTEIO` | the device refused the command: the zone's report tells why |
//! | `ENODATA`, `EILSEQ`, `EBADE`, `ETIMEDOUT` | the medium failed |
//! | others | the host failed: the device or the way to it is gone, no memory, no permission |
//!
//! The same number can mean a zone that has failed, a pointer that is elsewhere, or a bad medium.
//! So the zone is reported after an error, and [`Failed::error`] gets the report.

use std::io;
use std::path::Path;

use rustix::io::Errno;
use terrace_env::{Lba, ZoneId};

use crate::{DeviceError, Geometry, ZoneReport, ZoneState};

const NO_RIGHT_TO_APPEND: &str = ": the kernel permits zone append with CAP_SYS_ADMIN, or since \
    Linux 6.2 if the drive lists the command in its log of commands supported and effects";

/// A request that the kernel has failed.
pub(super) struct Failed<'a> {
    pub(super) path: &'a Path,
    pub(super) geometry: &'a Geometry,
    pub(super) zone: ZoneId,
    /// Where the request began.
    pub(super) lba: Lba,
    /// Blocks of a write; `None` for other requests.
    pub(super) written: Option<u64>,
    pub(super) operation: &'static str,
}

impl Failed<'_> {
    /// The error. `after` is the zone as it is reported after the failure, if it could be.
    pub(super) fn error(&self, error: io::Error, after: Option<&ZoneReport>) -> DeviceError {
        let Self { zone, lba, operation, .. } = *self;
        let limit = |limit: Option<u32>| limit.unwrap_or(0);
        let number = error.raw_os_error().map(Errno::from_raw_os_error);
        match number {
            Some(Errno::OVERFLOW) => {
                return DeviceError::TooManyActive { zone, limit: limit(self.geometry.max_active) };
            }
            Some(Errno::TOOMANYREFS) => {
                return DeviceError::TooManyOpen { zone, limit: limit(self.geometry.max_open) };
            }
            _ => {}
        }
        let reads = operation == "read";
        match after.map(|after| after.state) {
            Some(ZoneState::Offline) => return DeviceError::ZoneOffline { zone },
            Some(ZoneState::ReadOnly) if !reads => return DeviceError::ZoneReadOnly { zone },
            _ => {}
        }
        if operation == "append to" && number == Some(Errno::FBIG) {
            return DeviceError::ZoneFull { zone };
        }
        let of_medium =
            [Errno::IO, Errno::REMOTEIO, Errno::NODATA, Errno::ILSEQ, Errno::BADE, Errno::TIMEDOUT];
        if !number.is_some_and(|number| of_medium.contains(&number)) {
            let mut text = format!("{operation} at block {lba} of {}", self.path.display());
            if operation == "append to" && number == Some(Errno::ACCESS) {
                text.push_str(NO_RIGHT_TO_APPEND);
            }
            return DeviceError::host(text, error);
        }
        if let (Some(blocks), Some(after)) = (self.written, after) {
            let moved = lba.0..=lba.0 + blocks;
            if after.state.has_pointer() && !moved.contains(&after.write_pointer.0) {
                let expected = after.write_pointer;
                return DeviceError::NotAtWritePointer { zone, expected, got: lba };
            }
        }
        DeviceError::Medium { zone, lba, operation }
    }
}

#[cfg(test)]
mod tests {
    use terrace_env::ByteCount;

    use super::*;
    use crate::ZoneType;

    fn error(number: Errno, operation: &'static str, after: Option<(ZoneState, u64)>) -> String {
        let mut geometry = Geometry::uniform(ByteCount::mib(1), 8);
        (geometry.max_open, geometry.max_active) = (Some(3), Some(5));
        let (zone, lba) = (ZoneId(1), Lba(260));
        let written = (operation == "write").then_some(4);
        let path = Path::new("/dev/x");
        let failed = Failed { path, geometry: &geometry, zone, lba, written, operation };
        let after = after.map(|(state, pointer)| ZoneReport {
            zone,
            zone_type: ZoneType::Sequential,
            state,
            start: Lba(256),
            capacity: 256,
            write_pointer: Lba(pointer),
        });
        format!("{:?}", failed.error(number.into(), after.as_ref()))
    }

    #[test]
    fn each_number_has_its_error() {
        let open = Some((ZoneState::ImplicitlyOpen, 262));
        for (number, operation, after, expected) in [
            (Errno::OVERFLOW, "write", open, "TooManyActive { zone: ZoneId(1), limit: 5 }"),
            (Errno::TOOMANYREFS, "open", open, "TooManyOpen { zone: ZoneId(1), limit: 3 }"),
            (Errno::IO, "write", open, "Medium"),
            (Errno::REMOTEIO, "write", None, "Medium"),
            (Errno::IO, "write", Some((ZoneState::Closed, 300)), "NotAtWritePointer"),
            (Errno::REMOTEIO, "write", Some((ZoneState::Closed, 259)), "NotAtWritePointer"),
            (Errno::IO, "write", Some((ZoneState::ReadOnly, 0)), "ZoneReadOnly"),
            (Errno::IO, "reset", Some((ZoneState::ReadOnly, 0)), "ZoneReadOnly"),
            (Errno::IO, "read", Some((ZoneState::ReadOnly, 0)), "Medium"),
            (Errno::IO, "read", Some((ZoneState::Offline, 0)), "ZoneOffline"),
            (Errno::NODATA, "read", open, "Medium"),
            (Errno::IO, "append to", open, "Medium"),
            (Errno::FBIG, "append to", open, "ZoneFull"),
            (Errno::NOSPC, "append to", open, "Host"),
            (Errno::NOLINK, "append to", open, "Host"),
            (Errno::OPNOTSUPP, "append to", open, "Host"),
            (Errno::INVAL, "append to", open, "Host"),
            (Errno::NOSPC, "write", open, "Host"),
            (Errno::NODEV, "write", None, "Host"),
            (Errno::PERM, "open", open, "Host"),
        ] {
            let found = error(number, operation, after);
            assert!(found.starts_with(expected), "{number:?} of {operation}: {found}");
        }
    }

    #[test]
    fn an_append_without_the_right_to_it_says_what_is_missing() {
        let refused = |operation| error(Errno::ACCESS, operation, None);
        assert!(refused("append to").starts_with("Host"), "{}", refused("append to"));
        assert!(refused("append to").contains("CAP_SYS_ADMIN"), "{}", refused("append to"));
        assert!(!refused("write").contains("CAP_SYS_ADMIN"), "{}", refused("write"));
    }
}
