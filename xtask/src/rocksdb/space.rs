//! `cargo xtask bench rocksdb --space`: space efficiency of RocksDB on an emulated drive, by the
//! program `bindings/rocksdb/bench/space.cc`, whose head defines the measurement.
//!
//! RocksDB's tables of 64 MB, zones of 256 MiB, and the space kept free, at most 1 GiB, are divided
//! by the scale. So a drive of 128 zones is 32 GiB at scale 1, and 2 GiB at scale 16.

use crate::plugin::Plugin;
use crate::step;
use crate::workspace::Workspace;

/// Size of a zone at scale 1.
const ZONE_KIB: u64 = 256 << 10;
/// Bytes that new data leaves at scale 1: the most that the plug-in keeps unless it is told.
const RESERVE: u64 = 1 << 30;

/// The drive and its load.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct Space {
    /// With `--space`: zones, tables and memtables are smaller by this factor, a power of two
    #[arg(long, default_value_t = 16)]
    scale: u64,
    /// With `--space`: zones of the drive
    #[arg(long, default_value_t = 128)]
    zones: u64,
    /// With `--space`: the newest versions of all entries, in percent of what files can occupy
    #[arg(long, default_value_t = 56)]
    full: u64,
    /// With `--space`: how many times the entries are overwritten
    #[arg(long, default_value_t = 2)]
    overwrites: u64,
    /// With `--space`: RocksDB's `level_compaction_dynamic_level_bytes`
    #[arg(long)]
    dynamic: bool,
}

/// Measures, and prints a table.
pub(super) fn run(workspace: &Workspace, space: Space) -> anyhow::Result<()> {
    let Space { scale, zones, full, overwrites, dynamic } = space;
    let plugin = Plugin::release(workspace, "rocksdb");
    plugin.build(&["all", "bench"])?;
    let zone = ZONE_KIB / scale;
    let uri = plugin.drive("space.img", &format!("{}KiB", zone * zones), &format!("{zone}KiB"))?;
    let mut program = plugin.program("space");
    program.arg(format!("--scale={scale}")).arg(format!("--full={full}"));
    program.arg(format!("--overwrites={overwrites}"));
    program.arg(format!("--dynamic={}", u8::from(dynamic)));
    step::command(program.arg(format!("{uri}?unsynced&reserve={}", RESERVE / scale)))
}
