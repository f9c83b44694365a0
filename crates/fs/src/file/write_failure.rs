//! Two kinds of write errors. After an error of the zone, another zone may take the bytes. A full
//! disk of the host leaves the zone sound, but without the blocks of the write. On a device without
//! zones, a writer's region takes the place of a zone here.

use terrace_zone::DeviceError;

/// Whether another zone may still take the bytes that this one did not.
pub(crate) fn is_zone_failure(error: &DeviceError) -> bool {
    matches!(
        error,
        DeviceError::Medium { .. }
            | DeviceError::ZoneReadOnly { .. }
            | DeviceError::ZoneOffline { .. }
            | DeviceError::ZoneFull { .. }
            | DeviceError::NotAtWritePointer { .. }
    )
}

/// Whether the zone is sound, and lacks the blocks of a write.
pub(crate) fn is_left_undone(error: &DeviceError) -> bool {
    matches!(error, DeviceError::HostFull { .. })
}
