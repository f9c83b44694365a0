//! The kernel's calls for zones of block devices (`linux/blkzoned.h`): report, open, close, finish
//! and reset. Addresses are in sectors of 512 bytes.
//!
//! The unsafe code is sound for these reasons. Each call has a number that contains the
//! size of its argument, and the argument has the layout of the header (`#[repr(C)]`; the sizes are
//! checked when this is compiled). The kernel reads and writes within the argument only: a report
//! gets the number of zones that its array has room for.

use std::fs::File;
use std::io;

use rustix::ioctl::{Opcode, Setter, Updater, opcode};

/// Bytes of a sector, the unit of these calls whatever the device's block.
pub(super) const SECTOR: u64 = 512;

/// The group of numbers of the block layer.
const GROUP: u8 = 0x12;
/// Zones that one report asks for.
const BATCH: usize = 512;
/// Flag of a report: the kernel gives capacities.
const HAS_CAPACITY: u32 = 1;

/// An operation on a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ZoneOperation {
    Reset,
    Open,
    Close,
    Finish,
}

/// A zone as the kernel reports it: `struct blk_zone`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RawZone {
    pub(super) start: u64,
    pub(super) len: u64,
    pub(super) write_pointer: u64,
    pub(super) kind: u8,
    pub(super) condition: u8,
    pub(super) non_sequential: u8,
    pub(super) reset_recommended: u8,
    pub(super) padding: [u8; 4],
    pub(super) capacity: u64,
    pub(super) reserved: [u8; 24],
}

/// `struct blk_zone_report`, without its array.
#[repr(C)]
#[derive(Clone, Copy)]
struct Head {
    sector: u64,
    zones: u32,
    flags: u32,
}

#[repr(C)]
struct Report {
    head: Head,
    zones: [RawZone; BATCH],
}

/// `struct blk_zone_range`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Range {
    sector: u64,
    sectors: u64,
}

const _: () = assert!(size_of::<RawZone>() == 64 && size_of::<Head>() == 16);
const _: () = assert!(size_of::<Range>() == 16 && size_of::<Report>() == 16 + 64 * BATCH);

const REPORT: Opcode = opcode::read_write::<Head>(GROUP, 130);
const RESET: Opcode = opcode::write::<Range>(GROUP, 131);
const OPEN: Opcode = opcode::write::<Range>(GROUP, 134);
const CLOSE: Opcode = opcode::write::<Range>(GROUP, 135);
const FINISH: Opcode = opcode::write::<Range>(GROUP, 136);

/// Up to `count` zones from that of a sector on; fewer at the end of the device.
pub(super) fn report(node: &File, sector: u64, count: usize) -> io::Result<Vec<RawZone>> {
    let mut found: Vec<RawZone> = Vec::new();
    let mut sector = sector;
    while found.len() < count {
        let zones = (count - found.len()).min(BATCH) as u32;
        let head = Head { sector, zones, flags: 0 };
        let mut report = Box::new(Report { head, zones: [RawZone::default(); BATCH] });
        // SAFETY: the call takes a pointer to a head and an array of the number of zones that the
        // head says, at most the array's `BATCH`. All fields are integers, so that any bytes that
        // the kernel writes are a value of their types.
        unsafe { rustix::ioctl::ioctl(node, Updater::<REPORT, Report>::new(&mut report))? };
        let got = (report.head.zones as usize).min(zones as usize);
        let zones = report.zones[..got].iter().map(|zone| {
            let has_capacity = report.head.flags & HAS_CAPACITY != 0;
            RawZone { capacity: if has_capacity { zone.capacity } else { zone.len }, ..*zone }
        });
        found.extend(zones);
        match found.last() {
            Some(last) if got > 0 && last.len > 0 => sector = last.start + last.len,
            _ => break,
        }
        if got < BATCH {
            break;
        }
    }
    Ok(found)
}

/// Carries out an operation on the zone that has these sectors.
pub(super) fn operate(
    node: &File,
    operation: ZoneOperation,
    sector: u64,
    sectors: u64,
) -> io::Result<()> {
    let range = Range { sector, sectors };
    // SAFETY: each of the four calls reads a range, and writes nothing to memory.
    let done = unsafe {
        match operation {
            ZoneOperation::Reset => rustix::ioctl::ioctl(node, Setter::<RESET, Range>::new(range)),
            ZoneOperation::Open => rustix::ioctl::ioctl(node, Setter::<OPEN, Range>::new(range)),
            ZoneOperation::Close => rustix::ioctl::ioctl(node, Setter::<CLOSE, Range>::new(range)),
            ZoneOperation::Finish => {
                rustix::ioctl::ioctl(node, Setter::<FINISH, Range>::new(range))
            }
        }
    };
    Ok(done?)
}
