//! Emulated drives in files, and formatting: [`terrace_image_create`], [`terrace_format`].
//!
//! A path may also be that of a block device of Linux. The program `terrace format` formats it, and
//! checks its contents first.
//!
//! A formatted drive, or a directory, becomes a key-value store when `terrace_store_open` opens it
//! first, and a file system when `terrace_fs_create` makes a file in it. The two do not mix.

use std::path::Path;
use std::sync::Arc;

use terrace::device::{Access, Device, DriveAt, Tracks};
use terrace::{ByteCount, Devices, Emulator, FormatOptions, Fs, Geometry};
use terrace_env::runner;

use crate::TerraceCode;
use crate::failure::{Failure, given, guard, unused};
use crate::slice::TerraceSlice;

/// The size of a shingled track where none is given.
const TRACK_USUAL: ByteCount = ByteCount::mib(1);
/// How many tracks a write destroys.
const OVERLAP_USUAL: u32 = 2;

/// Kind of an emulated drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum TerraceKind {
    /// Zones that are written front to back and erased whole.
    Zoned = 0,
    /// No zones, an ordinary disk: written anywhere, in place.
    Plain = 1,
    /// No zones, but shingled tracks: a write destroys the next two tracks.
    Tracks = 2,
}

/// Shape of an emulated drive. Set all fields to 0 first: 0 means the default everywhere, except
/// for `size`, which must be given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TerraceShape {
    /// The size of the drive in bytes.
    pub size: u64,
    /// The size of a zone, or of a track, in bytes; 0 for the usual one of a drive of this size.
    pub unit_size: u64,
    /// Bytes of each zone that can be written; 0 for all.
    pub zone_capacity: u64,
    /// A `TerraceKind`.
    pub kind: u32,
    /// The most zones that may be open at once; 0 for no limit.
    pub max_open: u32,
    /// The most zones that may be open or closed at once; 0 for no limit.
    pub max_active: u32,
    /// Not used; 0.
    pub reserved: [u32; 7],
}

/// Makes the image of an empty drive in a sparse file of this name, which must not exist yet.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_image_create(
    path: TerraceSlice<'_>,
    shape: Option<&TerraceShape>,
) -> TerraceCode {
    guard(|| {
        let geometry = geometry(given(shape, "shape")?)?;
        let uuid = runner::fork_random().uuid();
        Emulator::create_image(path.text("path")?, geometry, uuid)?;
        Ok(())
    })
}

/// Makes the drive of an image empty, for a store or a file system. All data on it is lost.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_format(path: TerraceSlice<'_>) -> TerraceCode {
    guard(|| {
        let path = Path::new(path.text("path")?);
        let drive: Arc<dyn Device> = match DriveAt::open(path, Access::ReadWrite)? {
            DriveAt::Image(drive) => Arc::new(*drive),
            DriveAt::BlockDevice(_) => {
                let path = path.display();
                return Err(Failure::invalid(format_args!(
                    "expected an image, found the block device {path}: format it by \
                     `terrace format --files {path}`"
                )));
            }
        };
        Ok(Fs::format(Devices::from(drive), &FormatOptions::default())?)
    })
}

/// Opens an image or a block device. `unsynced`: flushes of the image do not reach the host's disk.
pub(crate) fn open(
    path: &Path,
    access: Access,
    unsynced: bool,
) -> Result<Arc<dyn Device>, Failure> {
    DriveAt::open(path, access)?.into_device(unsynced).ok_or_else(|| {
        let path = path.display();
        let expected = format_args!("unsynced: expected an image, found the block device {path}");
        Failure::invalid(expected)
    })
}

fn geometry(shape: &TerraceShape) -> Result<Geometry, Failure> {
    let size = ByteCount(shape.size);
    let of_zones = [shape.zone_capacity, shape.max_open.into(), shape.max_active.into()];
    let is_zoned = shape.kind == TerraceKind::Zoned as u32;
    unused(&shape.reserved, "shape")?;
    if !is_zoned && of_zones.iter().any(|limit| *limit != 0) {
        return Err(Failure::invalid(
            "shape: expected 0 in limits of zones on a drive without zones, found another number",
        ));
    }
    let blocks = |size: ByteCount, what: &str| match size.0 {
        bytes if bytes.is_multiple_of(BLOCK) => Ok(bytes / BLOCK),
        bytes => Err(Failure::invalid(format_args!(
            "{what}: expected a multiple of {BLOCK} bytes, found {bytes}"
        ))),
    };
    let size_in_blocks = blocks(size, "size")?;
    let unit = (shape.unit_size > 0).then_some(ByteCount(shape.unit_size));
    if shape.kind == TerraceKind::Plain as u32 {
        return Ok(Geometry::plain(size));
    }
    if shape.kind == TerraceKind::Tracks as u32 {
        let track = blocks(unit.unwrap_or(TRACK_USUAL), "unit_size")?;
        let track = u32::try_from(track).map_err(|_| Failure::invalid("unit_size: too large"))?;
        return Ok(Geometry::tracks(size, Tracks { blocks: track, overlap: OVERLAP_USUAL }));
    }
    if !is_zoned {
        let kind = shape.kind;
        return Err(Failure::invalid(format_args!("kind: expected 0, 1 or 2, found {kind}")));
    }
    let zone = unit.unwrap_or_else(|| Geometry::usual_zone_size(size));
    let zone_blocks = blocks(zone, "unit_size")?;
    let rest = size_in_blocks % zone_blocks;
    let zones = u32::try_from(size_in_blocks.div_ceil(zone_blocks)).unwrap_or(u32::MAX);
    let limit = |limit: u32| (limit > 0).then_some(limit);
    let capacity = blocks(ByteCount(shape.zone_capacity), "zone_capacity")?;
    Ok(Geometry {
        zone_capacity: if capacity == 0 { zone_blocks } else { capacity },
        last_zone_size: (rest > 0).then_some(rest),
        max_open: limit(shape.max_open),
        max_active: limit(shape.max_active),
        ..Geometry::uniform(zone, zones)
    })
}

/// The block of an emulated drive that is made here.
const BLOCK: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_becomes_a_geometry_or_is_refused_with_a_reason() {
        let shape = TerraceShape { size: 1 << 30, ..TerraceShape::default() };
        let made = geometry(&shape).unwrap();
        assert_eq!((made.zones, made.zone_size), (256, 1024));
        let odd = TerraceShape { size: 10 << 20, unit_size: 4 << 20, ..shape };
        let made = geometry(&odd).unwrap();
        assert_eq!((made.zones, made.last_zone_size), (3, Some(512)));
        made.validate().unwrap();
        for (wrong, what) in [
            (TerraceShape { kind: 3, ..shape }, "kind: expected 0, 1 or 2, found 3"),
            (TerraceShape { size: 4097, ..shape }, "size: expected a multiple of 4096 bytes"),
            (TerraceShape { kind: 1, max_open: 3, ..shape }, "shape: expected 0 in"),
        ] {
            let text = format!("{:?}", geometry(&wrong).unwrap_err());
            assert!(text.contains(what), "{text}");
        }
    }
}
