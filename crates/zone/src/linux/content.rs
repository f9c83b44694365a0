//! [`foreign_content`]: tells the data of other programs where no write pointer shows them: on a
//! device without zones, and in conventional zones at its start. It knows the marks of usual file
//! systems, partition tables and volumes. Anything else that is not blank counts as unknown data.

use terrace_env::{Cause, Lba, ZoneId};

use crate::{Device, DeviceError, ZoneType};

/// Bytes at the start that are looked at: the marks of usual file systems lie in them.
const HEAD: u64 = 128 << 10;
/// Bytes at the end: a second partition table, or the mark of a RAID.
const TAIL: u64 = 64 << 10;

/// A mark: its place, its bytes, and the name of the thing that it marks.
type Mark = (usize, &'static [u8], &'static str);

const MARKS: &[Mark] = &[
    (0x438, &[0x53, 0xef], "an ext file system"),
    (0, b"XFSB", "an XFS file system"),
    (0x10040, b"_BHRfS_M", "a btrfs file system"),
    (0x400, &[0x10, 0x20, 0xf5, 0xf2], "an F2FS file system"),
    (0, b"SFOZ", "a zonefs file system"),
    (0, b"LUKS\xba\xbe", "an encrypted volume (LUKS)"),
    (0xff6, b"SWAPSPACE2", "swap space"),
    (0x200, b"LABELONE", "an LVM volume"),
    (0x1000, &[0xfc, 0x4e, 0x2b, 0xa9], "a RAID member"),
    (0x200, b"EFI PART", "a partition table (GPT)"),
    (0x1000, b"EFI PART", "a partition table (GPT)"),
    (0x1fe, &[0x55, 0xaa], "a partition table or boot sector"),
];

/// Contents of a device at its start or end, in words; `None` if these are blank, all zeros or all
/// ones, or lie in zones that have a write pointer. A store counts, too.
pub fn foreign_content(device: &dyn Device) -> Result<Option<String>, DeviceError> {
    let geometry = device.geometry();
    let first = ZoneId(0);
    if geometry.zone_type(first) == ZoneType::Sequential {
        return Ok(None);
    }
    let (size, block) = (geometry.zone_size(first), u64::from(geometry.logical_block));
    let read = |lba: u64, blocks: u64| device.read(Lba(lba), blocks as u32, Cause::Client);
    let head = read(0, (HEAD / block).min(size))?;
    if let Some(kind) = known(&head) {
        return Ok(Some(kind.to_owned()));
    }
    let tail_blocks = (TAIL / block).min(size);
    let ends_here = !geometry.layout.is_zoned();
    let tail = if ends_here { Some(read(size - tail_blocks, tail_blocks)?) } else { None };
    let blank = is_blank(&head) && tail.is_none_or(|tail| is_blank(&tail));
    Ok((!blank).then(|| "data of an unknown kind".to_owned()))
}

fn known(head: &[u8]) -> Option<&'static str> {
    let fits = |(at, mark, _): &&Mark| head.get(*at..at + mark.len()) == Some(*mark);
    MARKS.iter().find(fits).map(|(_, _, kind)| *kind)
}

fn is_blank(bytes: &[u8]) -> bool {
    let all = |value: u8| bytes.iter().all(|byte| *byte == value);
    all(0) || all(0xff)
}

#[cfg(test)]
mod tests {
    use terrace_env::{ByteCount, IoBuf};

    use super::*;
    use crate::{Emulator, Geometry};

    fn with(at: u64, bytes: &[u8]) -> Option<String> {
        let device = Emulator::in_memory(Geometry::plain(ByteCount::mib(1)), 1).unwrap();
        let mut block = IoBuf::zeroed(4096);
        let offset = (at % 4096) as usize;
        block[offset..offset + bytes.len()].copy_from_slice(bytes);
        device.write(Lba(at / 4096), block, false, Cause::Client).unwrap();
        foreign_content(&device).unwrap()
    }

    #[test]
    fn a_blank_device_holds_nothing_and_each_mark_is_known() {
        assert_eq!(with(0, &[]), None);
        assert_eq!(with(500 << 10, b"in the middle"), None);
        for (at, mark, kind) in MARKS {
            assert_eq!(with(*at as u64, mark).as_deref(), Some(*kind));
        }
    }

    #[test]
    fn other_data_at_the_start_or_end_is_found() {
        for at in [0, 100 << 10, (1 << 20) - 8] {
            assert_eq!(with(at, b"data").as_deref(), Some("data of an unknown kind"), "{at}");
        }
    }

    #[test]
    fn zones_with_a_pointer_are_not_looked_at() {
        let device = Emulator::in_memory(Geometry::uniform(ByteCount::mib(1), 4), 1).unwrap();
        device.write(Lba(0), IoBuf::copy_of(&[1; 4096]), false, Cause::Client).unwrap();
        assert_eq!(foreign_content(&device).unwrap(), None);
        let mut geometry = Geometry::uniform(ByteCount::mib(1), 4);
        geometry.conventional = std::iter::once(0..1).collect();
        let device = Emulator::in_memory(geometry, 1).unwrap();
        assert_eq!(foreign_content(&device).unwrap(), None);
        device.write(Lba(0), IoBuf::copy_of(&[1; 4096]), false, Cause::Client).unwrap();
        assert!(foreign_content(&device).unwrap().is_some());
    }
}
