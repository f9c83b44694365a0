//! [`Listed`]: the block devices of this machine, as sysfs shows them, each with its users.
//!
//! Nothing is opened, except that the capacity of zones comes from a report of the device, and the
//! lock of a running store is tried. Both need the right to read the device; without it they are
//! not known. Devices without a medium, and those of size 0, are left out.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use serde::Serialize;
use terrace_env::ByteCount;

use super::ioctl::{self, SECTOR};
use super::queue::{self, Queue, ZoneModel};

/// Kind of a zone in the kernel's report: conventional.
const CONVENTIONAL: u8 = 1;

/// A block device of this machine.
#[derive(Clone, Debug, Serialize)]
pub struct Listed {
    /// Path of the device's node.
    pub path: PathBuf,
    /// Names in `/dev/disk/by-id` that lead to it: they stay when nodes are numbered anew.
    pub by_id: Vec<PathBuf>,
    /// Model of the hardware, if there is a name.
    pub model: Option<String>,
    /// Size of the address space.
    pub size: ByteCount,
    /// Limits of the device.
    #[serde(flatten)]
    pub queue: Queue,
    /// Bytes of the first sequential zone that can be written, if the device may be read.
    pub zone_capacity: Option<ByteCount>,
    /// How many of its zones are conventional, if the device may be read.
    pub conventional: Option<u32>,
    /// Users of the device.
    pub usage: Usage,
}

/// The users of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "by")]
pub enum Usage {
    /// No user that can be seen.
    Free,
    /// The kernel: it is mounted, swap space, or part of another device.
    Kernel(Vec<String>),
    /// A program that has locked it, such as a store that is open.
    Program,
}

impl Listed {
    /// All block devices, by name.
    pub fn all() -> io::Result<Vec<Self>> {
        let folder = Path::new("/sys/block");
        let mut folders: Vec<PathBuf> = match std::fs::read_dir(folder) {
            Ok(entries) => {
                entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        folders.sort();
        let links = links(Path::new("/dev/disk/by-id"));
        let read = |folder: &PathBuf| present(folder, Self::read(folder, &links));
        let devices: io::Result<Vec<_>> = folders.iter().map(read).collect();
        Ok(devices?.into_iter().flatten().collect())
    }

    /// The device with this folder in sysfs; `None` if it has no medium. `links` are names of
    /// devices, each with the node that it leads to.
    fn read(folder: &Path, links: &[(PathBuf, PathBuf)]) -> io::Result<Option<Self>> {
        let sectors = queue::number(folder, "size")?.unwrap_or(0);
        let name = folder.file_name().unwrap_or_default().to_string_lossy().replace('!', "/");
        let Some(number) = device_number(folder) else { return Ok(None) };
        if sectors == 0 || !folder.join("queue").exists() {
            return Ok(None);
        }
        let queue = Queue::read(folder)?;
        let path = Path::new("/dev").join(name);
        let (mut zone_capacity, mut conventional) = (None, None);
        if queue.zoned != ZoneModel::None
            && let Ok(zones) =
                File::open(&path).and_then(|node| ioctl::report(&node, 0, usize::MAX))
        {
            let sequential = zones.iter().find(|zone| zone.kind != CONVENTIONAL);
            zone_capacity = sequential.map(|zone| ByteCount(zone.capacity * SECTOR));
            let count = zones.iter().filter(|zone| zone.kind == CONVENTIONAL).count();
            conventional = Some(count as u32);
        }
        let by_kernel = kernel_users(number);
        let usage = match by_kernel.is_empty() {
            false => Usage::Kernel(by_kernel),
            true if is_locked(&path) => Usage::Program,
            true => Usage::Free,
        };
        let model = match queue::text(&folder.join("device/model"))? {
            Some(model) => Some(model),
            None => queue::text(&folder.join("loop/backing_file"))?,
        };
        let size = ByteCount(sectors * SECTOR);
        let leads_here = links.iter().filter(|(_, node)| *node == path);
        let by_id = leads_here.map(|(link, _)| link.clone()).collect();
        Ok(Some(Self { path, by_id, model, size, queue, zone_capacity, conventional, usage }))
    }
}

/// The device that was read from a folder in sysfs; `None` if it has been removed meanwhile.
fn present<T>(folder: &Path, read: io::Result<Option<T>>) -> io::Result<Option<T>> {
    match read {
        Err(_) if !folder.exists() => Ok(None),
        read => read,
    }
}

/// The links of a folder with their targets, by name; none if there is no such folder, as where no
/// `udev` runs.
fn links(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let with_target = |link: PathBuf| Some((link.clone(), link.canonicalize().ok()?));
    let mut links: Vec<_> = entries.filter_map(|entry| with_target(entry.path())).collect();
    links.sort();
    links
}

/// Whether a program has locked the node. Without the right to read it, this is not known.
fn is_locked(path: &Path) -> bool {
    let Ok(node) = File::open(path) else { return false };
    let tried = rustix::fs::flock(&node, FlockOperation::NonBlockingLockShared);
    matches!(tried, Err(Errno::WOULDBLOCK))
}

/// Number of the device with this folder in sysfs.
fn device_number(folder: &Path) -> Option<u64> {
    let text = queue::text(&folder.join("dev")).ok().flatten()?;
    let (major, minor) = text.split_once(':')?;
    Some(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
}

/// Uses that the kernel makes of a device or its partitions, in words. An unreadable entry counts
/// as no use: an open with `O_EXCL` decides.
pub(super) fn kernel_users(number: u64) -> Vec<String> {
    let folder = queue::folder(number);
    let mut parts = vec![(number, folder.clone())];
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.join("partition").exists()
            && let Some(number) = device_number(&path)
        {
            parts.push((number, path));
        }
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    let mut users = Vec::new();
    for (number, folder) in parts {
        let name = std::fs::canonicalize(&folder).unwrap_or(folder.clone());
        let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
        users.extend(mounted(&mounts, number, &name));
        if swaps.lines().any(|line| line.split(' ').next() == Some(&format!("/dev/{name}"))) {
            users.push("swap space".to_owned());
        }
        for holder in std::fs::read_dir(folder.join("holders")).into_iter().flatten().flatten() {
            users.push(format!("part of {}", holder.file_name().to_string_lossy()));
        }
    }
    users.sort();
    users.dedup();
    users
}

/// Where a device is mounted, by the lines of `mountinfo`. Some file systems (btrfs) have device
/// numbers of their own, so the name of the source counts as well.
fn mounted(mounts: &str, number: u64, name: &str) -> Vec<String> {
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let (number, source) = (format!("{major}:{minor}"), format!("/dev/{name}"));
    let points = mounts.lines().filter_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let fields: Vec<&str> = mount.split(' ').collect();
        let by_name = kind.split(' ').nth(1) == Some(&source);
        (fields.get(2) == Some(&number.as_str()) || by_name).then(|| fields.get(4).copied())?
    });
    points.take(1).map(|point| format!("mounted on {point}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw
23 22 0:21 / /data rw - btrfs /dev/sdb rw
24 22 8:2 /var /srv rw,relatime shared:1 - ext4 /dev/sda2 rw
";

    #[test]
    fn a_mount_is_found_by_number_and_by_source() {
        let number = rustix::fs::makedev(8, 2);
        assert_eq!(mounted(MOUNTS, number, "sda2"), ["mounted on /"]);
        assert_eq!(mounted(MOUNTS, rustix::fs::makedev(8, 16), "sdb"), ["mounted on /data"]);
        assert!(mounted(MOUNTS, rustix::fs::makedev(8, 32), "sdc").is_empty());
    }

    #[test]
    fn names_of_devices_lead_to_their_nodes() {
        let folder = tempfile::tempdir().unwrap();
        let by_id = folder.path().join("by-id");
        std::fs::create_dir(&by_id).unwrap();
        let node = folder.path().canonicalize().unwrap().join("sdx");
        std::fs::write(&node, "").unwrap();
        for name in ["wwn-0x5000", "ata-model_serial"] {
            std::os::unix::fs::symlink("../sdx", by_id.join(name)).unwrap();
        }
        std::os::unix::fs::symlink("../gone", by_id.join("ata-gone")).unwrap();
        let expected = ["ata-model_serial", "wwn-0x5000"];
        assert_eq!(links(&by_id), expected.map(|name| (by_id.join(name), node.clone())));
        assert!(links(&folder.path().join("none")).is_empty());
    }

    #[test]
    fn a_device_that_is_removed_while_it_is_read_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let removed = || Err::<Option<()>, _>(io::Error::from(Errno::NODEV));
        assert!(present(&folder.path().join("gone"), removed()).unwrap().is_none());
        assert!(present(folder.path(), removed()).is_err());
    }

    #[test]
    fn the_devices_of_this_machine_can_be_listed() {
        for device in Listed::all().unwrap() {
            assert!(device.size.0 > 0 && device.path.starts_with("/dev"), "{device:?}");
        }
    }
}
