//! Bits that flip on an emulated drive, in the zones of tables.
//!
//! The layout of the image is that of `docs/format/image.md`: the field at offset 80 has the place
//! of the first block of the drive.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::random::mixed;

/// Where the header of an image says where blocks begin.
const BLOCKS_FIELD: u64 = 80;
/// One bit flips in each stretch of this size, so that some blocks of tables stay whole.
const STRETCH: u64 = 16 << 10;

/// The written parts of a drive's zones that have tables.
pub(super) struct Damage {
    image: PathBuf,
    /// Offset in the image, and length.
    parts: Vec<(u64, u64)>,
}

impl Damage {
    /// The tables of a drive, from the answer of `terrace zones --json`.
    pub(super) fn of_tables(image: &Path, zones: &str) -> anyhow::Result<Self> {
        let mut field = [0; 8];
        File::open(image)?.read_exact_at(&mut field, BLOCKS_FIELD)?;
        let parts = tables(zones, u64::from_le_bytes(field))?;
        ensure!(!parts.is_empty(), "{}: expected zones with tables, found none", image.display());
        Ok(Self { image: image.to_owned(), parts })
    }

    /// Flips the bits, of which the seed decides the places; their number.
    pub(super) fn flip(&self, seed: u64) -> anyhow::Result<u64> {
        let file = File::options().read(true).write(true).open(&self.image)?;
        let mut flipped = 0;
        for (start, len) in &self.parts {
            for stretch in 0..len.div_ceil(STRETCH) {
                let chosen = mixed(seed, flipped);
                let length = STRETCH.min(len - stretch * STRETCH);
                let at = start + stretch * STRETCH + chosen % length;
                let mut byte = [0];
                file.read_exact_at(&mut byte, at)?;
                byte[0] ^= 1 << (chosen >> 61);
                file.write_all_at(&byte, at)?;
                flipped += 1;
            }
        }
        Ok(flipped)
    }
}

fn tables(zones: &str, blocks: u64) -> anyhow::Result<Vec<(u64, u64)>> {
    let answer: Value = serde_json::from_str(zones.trim()).context("zones: expected JSON")?;
    let zones = answer["zones"].as_array().context("zones: expected a list of zones")?;
    let mut start = blocks;
    let mut parts = Vec::new();
    for zone in zones {
        let number =
            |name: &str| zone[name].as_u64().with_context(|| format!("zone: expected {name}"));
        if zone["used_for"] == "data" && number("pointer")? > 0 {
            parts.push((start, number("pointer")?));
        }
        // These drives have zones that can be written whole.
        start += number("capacity")?;
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZONES: &str = r#"{"zones": [
        {"used_for": "superblock", "pointer": 8, "capacity": 65536},
        {"used_for": "data", "pointer": 20000, "capacity": 65536},
        {"used_for": "data", "pointer": 0, "capacity": 65536}]}"#;

    #[test]
    fn zones_with_tables_are_found() {
        assert_eq!(tables(ZONES, 100).unwrap(), [(65636, 20000)]);
        assert!(tables("{}", 0).is_err());
    }

    #[test]
    fn one_bit_of_each_stretch_flips() {
        let place = tempfile::tempdir().unwrap();
        let image = place.path().join("image");
        let mut bytes = vec![0; 200_000];
        bytes[80..88].copy_from_slice(&100u64.to_le_bytes());
        std::fs::write(&image, &bytes).unwrap();
        let damage = Damage::of_tables(&image, ZONES).unwrap();
        assert_eq!(damage.flip(1).unwrap(), 2);
        let found = std::fs::read(&image).unwrap();
        let changed: Vec<_> = (0..found.len()).filter(|at| found[*at] != bytes[*at]).collect();
        assert_eq!(changed.len(), 2);
        assert!(changed.iter().all(|at| (65636..85636).contains(at)));
        assert!(changed.iter().all(|at| (found[*at] ^ bytes[*at]).count_ones() == 1));
    }
}
