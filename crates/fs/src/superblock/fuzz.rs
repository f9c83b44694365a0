//! Damaged superblocks, of drives and of directories, of one device and of two.

use std::path::Path;

use terrace_env::checksum::crc32c;
use terrace_env::{ByteCount, DeviceId, Uuid};
use terrace_fuzz::{Target, fuzz, specimens_in};
use terrace_zone::{Layout, Tracks};

use super::{Foreign, Member, Placement, Superblock};
use crate::BLOCK;

fn mend(input: &mut Vec<u8>) {
    input.resize(BLOCK, 0);
    let crc = crc32c(&input[..BLOCK - 4]);
    input[BLOCK - 4..].copy_from_slice(&crc.to_le_bytes());
}

#[test]
fn superblocks() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut specimens = specimens_in(&golden, "superblock.bin");
    let one = Superblock::decode(&specimens[0]).unwrap();
    let member = |layout, path: &str| Member {
        id: Uuid([9; 16]),
        layout,
        capacity: ByteCount::mib(64),
        path: path.into(),
    };
    let tracks = Layout::Tracks(Tracks { blocks: 64, overlap: 4 });
    let two = Superblock {
        device: DeviceId(1),
        devices: 2,
        members: vec![member(tracks, "a/drive"), member(Layout::Plain, "")],
        ..one.clone()
    };
    let of_directory = Superblock { placement: Placement::File, ..one };
    specimens.extend([two, of_directory].map(|superblock| superblock.encode().to_vec()));
    let target = Target::recoding("superblock", specimens, |input| {
        if let Some(foreign) = Foreign::read(input) {
            let _ = foreign.refusal();
        }
        let superblock = Superblock::decode(input).ok()?;
        for write in [false, true] {
            let _ = superblock.check("a drive", write);
        }
        let _ = superblock.check_devices();
        let _ = superblock.shape.to_string();
        Some(superblock.encode().to_vec())
    });
    fuzz!(target.mending(mend).with_seeds(10_000));
}
