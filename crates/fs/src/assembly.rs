//! Finds a store on its devices: reads the superblock of each device, checks that the devices
//! belong to one store, and replays the journal. An offload device that is lost is left out.
//!
//! A store has one or two devices. Device 0 holds the clients' files and the tables, but for
//! offloaded ones. A device 1 holds the journal and the logs, or offloaded tables: that is its
//! [`Role`]. A superblock records the UUID of the store and the number of the device that it lies
//! on; with two devices, it describes both of them.
//!
//! [`assemble`] refuses devices of different stores, a wrong number of devices, and devices in each
//! other's place. It refuses a pair of which one is an older copy, where the marks of [`pairing`]
//! tell. It also refuses a store that needs features which this version does not know, and a device
//! whose shape is not the recorded one. These checks come before the journal is read. For a mount
//! that writes, the devices are flushed first.
//!
//! Nothing here keeps writers away: the caller has to.

use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_env::{Cause, DeviceId, ZoneId};
use terrace_zone::Device;

use crate::Devices;
use crate::journal::{Replayed, replay_from};
use crate::media::Media;
use crate::pairing;
use crate::superblock::{Member, Placement, Role, Superblock, SuperblockArea, survey};
use crate::volume::as_device;

/// A store that was found on its devices.
pub(crate) struct Assembled {
    pub(crate) replayed: Replayed,
    /// Zones of superblocks on the device of the tables, and the one of them that is not written.
    pub(crate) of_superblock: Vec<ZoneId>,
    pub(crate) idle: Option<ZoneId>,
    /// Whether superblocks are appended there, and take an active zone.
    pub(crate) in_log: bool,
    /// The superblocks of the device that does not hold the journal, if there are two.
    pub(crate) other: Option<(SuperblockArea, Superblock)>,
}

/// Finds the store on these devices and reads its journal. With `write`, writes that an earlier
/// process left in the devices' caches are made durable first, so that nothing that is read can be
/// lost any more; without, nothing at all is changed.
pub(crate) fn assemble(media: &Media, write: bool) -> Result<Assembled, StoreError> {
    if write {
        for medium in media.present() {
            let flush = medium.flush(Cause::Recovery);
            flush.map_err(|error| StoreError::io("flush before mount", error))?;
        }
    }
    let mut found = find(media, write)?;
    let tables = &found[0].0;
    let (of_superblock, idle) = (tables.zones(), tables.idle_zone());
    let in_log = matches!(tables.placement(), Placement::Log(_));
    let (area, superblock) = found.remove(usize::from(media.logs().id().0));
    let other = found.pop();
    if let Some((_, other)) = &other {
        pairing::check(other, &superblock)?;
    }
    let replayed = replay_from(&**media.logs(), media.space().clone(), area, superblock, write)?;
    Ok(Assembled { replayed, of_superblock, idle, in_log, other })
}

/// Finds the superblock of each device, and from that of device 0 the role of device 1. An error if
/// this version must not use the store, or the devices do not belong together.
pub(crate) fn find(
    media: &Media,
    write: bool,
) -> Result<Vec<(SuperblockArea, Superblock)>, StoreError> {
    let mut found = Vec::new();
    for medium in media.present() {
        let (area, superblock) = SuperblockArea::find(as_device(medium))
            .map_err(|error| of_device(media, medium.id(), error))?;
        superblock.check("superblock", write)?;
        superblock.check_devices()?;
        found.push((area, superblock));
    }
    let superblocks: Vec<&Superblock> = found.iter().map(|(_, superblock)| superblock).collect();
    if !media.is_offload_lost() {
        check_together(&superblocks)?;
    }
    if let Some(role) = superblocks[0].role() {
        media.set_role(role);
    }
    for (medium, superblock) in media.iter().zip(&superblocks) {
        superblock.shape.check(medium.geometry())?;
        medium.grid().check_size()?;
    }
    Ok(found)
}

/// An error of a device without a store, with the device's number where there are several.
fn of_device(media: &Media, device: DeviceId, error: StoreError) -> StoreError {
    match error {
        StoreError::Invalid(text) if media.are_several() => {
            StoreError::Invalid(format!("device {device}: {text}"))
        }
        other => other,
    }
}

/// Refuses devices that are not those of one store, in the order of their numbers.
fn check_together(found: &[&Superblock]) -> Result<(), StoreError> {
    let first = found[0];
    let refuse = |text: String| Err(StoreError::Invalid(text));
    let store = first.uuid;
    if first.device != DeviceId::FIRST {
        let hint = match found.len() {
            1 => format!("name it as the {}", name_of(first)),
            _ => "exchange the two".to_owned(),
        };
        return refuse(format!(
            "expected device 0 of a store, found device {} of store {store}; {hint}",
            first.device
        ));
    }
    match found {
        [_] if first.devices == 1 => Ok(()),
        [_] => {
            let second = first.members.last().map(describe).unwrap_or_default();
            let has = match first.role() {
                Some(Role::Offload) => "has offloaded tables",
                _ => "has its journal and logs",
            };
            refuse(format!(
                "store {store} {has} on device 1: expected {second}, found none; name it as the {}",
                name_of(first)
            ))
        }
        [_, second] if first.devices == 1 => refuse(format!(
            "store {store} is on one device: expected no other device, found device {} of store {}",
            second.device, second.uuid
        )),
        [_, second, ..] => {
            let (wanted, got) = (first.members.get(1), second.members.get(1));
            let same = second.uuid == store && second.device == DeviceId(1) && wanted == got;
            if same {
                return Ok(());
            }
            let wanted = wanted.map(describe).unwrap_or_default();
            let of = |superblock: &Superblock| {
                let member = superblock.members.get(usize::from(superblock.device.0));
                member.map_or(String::new(), |member| format!(", which is {}", describe(member)))
            };
            refuse(format!(
                "expected device 1 of store {store}, {wanted}; found device {} of store {}{}",
                second.device,
                second.uuid,
                of(second)
            ))
        }
        [] => Ok(()),
    }
}

/// The name of device 1 of a store, by its role.
fn name_of(superblock: &Superblock) -> &'static str {
    match superblock.role() {
        Some(Role::Offload) => "offload device",
        Some(Role::Log) | None => "log device",
    }
}

/// A device, for people.
fn describe(member: &Member) -> String {
    let Member { id, capacity, path, .. } = member;
    let named = if path.is_empty() { String::new() } else { format!(", made as {path}") };
    format!("the plain device {id} of {capacity}{named}")
}

/// Whether a block where superblocks may lie is marked as one, of any version, damaged or not.
pub fn holds_store(device: &dyn Device) -> Result<bool, StoreError> {
    Ok(!survey(device)?.is_empty())
}

/// The number of a device in its store, as its superblock records it.
pub fn device_number(device: &Arc<dyn Device>) -> Result<DeviceId, StoreError> {
    let media = Media::new(&Devices::from(Arc::clone(device)));
    let (_, superblock) = SuperblockArea::find(as_device(media.tables()))?;
    Ok(superblock.device)
}

/// Device 1 of a store and its role, as the superblock of device 0 records it; `None` if the
/// store has one device. With this record a program finds device 1.
pub fn second_device(first: &Arc<dyn Device>) -> Result<Option<(Role, Member)>, StoreError> {
    let media = Media::new(&Devices::from(Arc::clone(first)));
    let (_, superblock) = SuperblockArea::find(as_device(media.tables()))?;
    let is_first = superblock.device == DeviceId::FIRST;
    let member = superblock.members.get(1).filter(|_| is_first).cloned();
    Ok(superblock.role().zip(member))
}
