//! [`TerraceParts`]: the uses of the zones of a file system's drive.

use std::mem::MaybeUninit;

use terrace::fs::{SpacePart, SpaceParts};

use crate::TerraceCode;
use crate::failure::{given, guard};
use crate::fs::TerraceFs;

/// Some of a drive's zones, with the uses of their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TerracePart {
    /// Number of zones.
    pub zones: u64,
    /// Bytes of files, and of deleted ones that readers hold.
    pub live: u64,
    /// Bytes that were written and that nothing refers to.
    pub dead: u64,
    /// Bytes that can be written without a reset.
    pub room: u64,
}

/// Zones by their use. Each zone is in one part, except those of the journal and the superblock,
/// and failed ones, which are in none. All is 0 if there are no zones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TerraceParts {
    /// Zones without room and without a writer.
    pub full: TerracePart,
    /// Zones that are being written.
    pub writing: TerracePart,
    /// Zones with room and without a writer.
    pub resting: TerracePart,
    /// Zones that reclaim is emptying.
    pub emptying: TerracePart,
    /// Empty zones.
    pub free: TerracePart,
    /// Not used; 0.
    pub reserved: [TerracePart; 3],
}

impl TerracePart {
    fn of(part: &SpacePart) -> Self {
        let SpacePart { zones, live, dead, room } = *part;
        Self { zones: zones.into(), live: live.0, dead: dead.0, room: room.0 }
    }
}

/// Reads the uses of the zones. The time grows with their number.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_fs_parts(
    fs: Option<&TerraceFs>,
    parts: Option<&mut MaybeUninit<TerraceParts>>,
) -> TerraceCode {
    guard(|| {
        let SpaceParts { full, writing, resting, emptying, free } = given(fs, "fs")?.space_parts();
        given(parts, "parts")?.write(TerraceParts {
            full: TerracePart::of(&full),
            writing: TerracePart::of(&writing),
            resting: TerracePart::of(&resting),
            emptying: TerracePart::of(&emptying),
            free: TerracePart::of(&free),
            reserved: Default::default(),
        });
        Ok(())
    })
}
