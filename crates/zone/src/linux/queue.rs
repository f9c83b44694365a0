//! [`Queue`]: a block device's limits, as sysfs shows them in `queue` of its folder. A value that
//! the kernel does not have there is 0 or `None`; one that is no number is an error.

use std::io;
use std::path::{Path, PathBuf};

/// How a block device is zoned, in the words of `queue/zoned`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ZoneModel {
    /// Not at all.
    None,
    /// Zones may be written anywhere, but are meant to be written in sequence.
    HostAware,
    /// Zones must be written in sequence.
    HostManaged,
}

/// Limits of a block device. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Queue {
    /// How it is zoned.
    pub zoned: ZoneModel,
    /// The unit of addresses.
    pub logical_block: u32,
    /// The unit of the medium.
    pub physical_block: u32,
    /// The unit of writes to sequential zones; `None` on kernels before 5.12, and without zones.
    pub write_granularity: Option<u32>,
    /// Distance from one zone's start to the next one's.
    pub zone_size: Option<u64>,
    /// Number of zones.
    pub zones: u32,
    /// The most zones that may be open; `None` without a limit.
    pub max_open: Option<u32>,
    /// The most zones that may be open or closed; `None` without a limit.
    pub max_active: Option<u32>,
    /// The longest command.
    pub request_max: u64,
    /// The longest zone append of the kernel itself; `None` without zones, and before Linux 5.8.
    pub append_max: Option<u64>,
    /// The most pieces of memory of a command.
    pub segments_max: u64,
    /// Whether the medium turns.
    pub rotational: bool,
    /// Whether the kernel gives forced writes to the device (*force unit access*). It flushes the
    /// cache after each of them otherwise, as with most SATA disks.
    pub forces_writes: bool,
}

impl Queue {
    /// The limits of the device with this folder in sysfs. Those of a partition are its disk's.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let of_partition = folder.join("partition").exists();
        let queue = if of_partition { folder.join("../queue") } else { folder.join("queue") };
        let number = |name| number(&queue, name);
        let narrow = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let limit = |name| Ok::<_, io::Error>(number(name)?.filter(|value| *value > 0));
        let needed = |name: &'static str| {
            number(name)?.ok_or_else(|| {
                let text = format!("{}: expected a number, found no file", name);
                io::Error::new(io::ErrorKind::NotFound, text)
            })
        };
        let zoned = match text(&queue.join("zoned"))?.as_deref() {
            None | Some("none") => ZoneModel::None,
            Some("host-aware") => ZoneModel::HostAware,
            Some("host-managed") => ZoneModel::HostManaged,
            Some(other) => return Err(strange(&queue.join("zoned"), "a model of zones", other)),
        };
        let is_zoned = zoned != ZoneModel::None;
        Ok(Self {
            zoned,
            logical_block: narrow(needed("logical_block_size")?),
            physical_block: narrow(needed("physical_block_size")?),
            write_granularity: limit("zone_write_granularity")?.map(narrow),
            zone_size: limit("chunk_sectors")?.filter(|_| is_zoned).map(|sectors| sectors * 512),
            zones: narrow(number("nr_zones")?.unwrap_or(0)),
            max_open: limit("max_open_zones")?.map(narrow),
            max_active: limit("max_active_zones")?.map(narrow),
            request_max: needed("max_sectors_kb")? * 1024,
            append_max: limit("zone_append_max_bytes")?,
            segments_max: number("max_segments")?.unwrap_or(1),
            rotational: number("rotational")? == Some(1),
            forces_writes: number("fua")? == Some(1),
        })
    }

    /// The longest zone append, in logical blocks: a multiple of `step`. The kernel does not split
    /// the command of a program, and each page of the buffer may be a piece of memory of it.
    pub(super) fn append_blocks(&self, logical_block: u32, step: u64) -> Option<u32> {
        let bytes = self.append_max?.min(self.segments_max.saturating_mul(4096));
        // A command names the number of blocks with 16 bits.
        let most = (bytes / u64::from(logical_block)).min(1 << 15);
        let most = u32::try_from(most / step * step).ok()?;
        (most > 0).then_some(most)
    }

    /// The longest write, in bytes, of which the kernel makes one command wherever the pages of
    /// memory lie: a multiple of 4096.
    #[must_use]
    pub fn piece(&self) -> usize {
        let most = self.request_max.min(self.segments_max.saturating_mul(4096));
        (most / 4096 * 4096).max(4096) as usize
    }
}

/// The folder of a device in sysfs, by its number.
pub(super) fn folder(device: u64) -> PathBuf {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    PathBuf::from(format!("/sys/dev/block/{major}:{minor}"))
}

/// The text of a file without the space around it; `None` if there is no such file, or if it is
/// empty.
pub(super) fn text(path: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The number in a file of a folder; `None` if there is no such file.
pub(super) fn number(folder: &Path, name: &str) -> io::Result<Option<u64>> {
    let path = folder.join(name);
    let Some(text) = text(&path)? else { return Ok(None) };
    text.parse().map(Some).map_err(|_| strange(&path, "a number", &text))
}

fn strange(path: &Path, expected: &str, found: &str) -> io::Error {
    let text = format!("{}: expected {expected}, found `{found}`", path.display());
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(files: &[(&str, &str)]) -> io::Result<Queue> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("queue")).unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join("queue").join(name), format!("{text}\n")).unwrap();
        }
        Queue::read(folder.path())
    }

    const DISK: [(&str, &str); 4] = [
        ("logical_block_size", "512"),
        ("physical_block_size", "4096"),
        ("max_sectors_kb", "1280"),
        ("rotational", "1"),
    ];

    #[test]
    fn an_ordinary_disk_has_no_zones() {
        let disk = queue(&DISK).unwrap();
        assert_eq!((disk.zoned, disk.zone_size, disk.zones), (ZoneModel::None, None, 0));
        assert!(disk.rotational && !disk.forces_writes);
        assert_eq!(disk.piece(), 4096, "one segment of memory is a page at least");
    }

    #[test]
    fn a_limit_of_zero_is_none() {
        let zoned = [
            ("zoned", "host-managed"),
            ("chunk_sectors", "32768"),
            ("max_open_zones", "8"),
            ("max_active_zones", "0"),
            ("max_segments", "128"),
            ("fua", "1"),
        ];
        let disk = queue(&[&DISK[..], &zoned].concat()).unwrap();
        assert_eq!((disk.max_open, disk.max_active), (Some(8), None));
        assert_eq!(disk.zone_size, Some(16 << 20));
        assert!(disk.forces_writes);
        assert_eq!(disk.piece(), 512 << 10);
    }

    #[test]
    fn an_append_has_whole_blocks_and_no_more_pages_than_a_command_has_pieces_of_memory() {
        let append = |bytes: &str, segments: &str| {
            let limits = [("zone_append_max_bytes", bytes), ("max_segments", segments)];
            queue(&[&DISK[..], &limits].concat()).unwrap().append_blocks(512, 8)
        };
        assert_eq!((append("131072", "128"), append("135000", "128")), (Some(256), Some(256)));
        assert_eq!((append("131072", "32"), append("131072", "31")), (Some(256), Some(248)));
        assert_eq!(append("1073741824", "65535"), Some(1 << 15));
        assert_eq!((append("0", "128"), append("4095", "128")), (None, None));
    }

    #[test]
    fn what_is_no_number_is_an_error() {
        let error = queue(&[&DISK[..], &[("nr_zones", "many")]].concat()).unwrap_err();
        assert!(error.to_string().ends_with("expected a number, found `many`"), "{error}");
        assert!(queue(&DISK[1..]).is_err());
    }
}
