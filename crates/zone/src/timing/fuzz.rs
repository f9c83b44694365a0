//! Damaged files of drives.

use std::path::Path;

use terrace_fuzz::{Target, fuzz, specimens_in};

use super::{Drive, Scale};

/// An accepted drive has a shape that a device can have, or none at a scale.
#[test]
fn files_of_drives() {
    let files = specimens_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/timing/drives"), "");
    let target = Target::decoding("file of a drive", files, |input| {
        let Ok(text) = std::str::from_utf8(input) else { return false };
        let Ok(drive) = Drive::parse("drive", text) else { return false };
        for scale in [Scale::FULL, "1/64".parse().expect("a scale")] {
            let geometry = drive.geometry(scale);
            assert!(geometry.is_err() || geometry.is_ok_and(|shape| shape.validate().is_ok()));
        }
        let _ = (drive.sources(), drive.mechanisms(), drive.published().len());
        true
    });
    fuzz!(target.memory(1 << 20, 256).with_seeds(4_000));
}
