//! [`Conditions`] of a measurement, which are part of its result: medium, size of zones, offload
//! drive, entries and their sizes, clients, arrivals, seed, options of the store, whether the image
//! was synced to the host's disk, system, and whether the program was built with debug assertions.
//!
//! The options are those that were asked for; the store may use less, such as smaller memtables.
//! [`Medium`], [`Compress`] and [`LogMode`] are the words of the command line for three of them.

use clap::ValueEnum;
use serde::Serialize;
use terrace::{ByteCount, Compression, Durability, LevelCompression};
use terrace_lab::workload::Sizes;

use super::sizes;

/// Medium of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Medium {
    /// An emulated drive in memory
    Memory,
    /// An emulated drive in a sparse file
    Image,
    /// A drive that is there, which `--device` names
    #[value(skip)]
    Device,
    /// Plain files
    Directory,
}

/// How blocks are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Compress {
    /// Not at all
    None,
    /// By LZ4
    Lz4,
    /// By Zstandard
    Zstd,
    /// By LZ4, the last level by Zstandard
    Mixed,
}

/// When writes of the log reach the operating system or the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LogMode {
    /// Each before it returns: RocksDB's default
    Written,
    /// When enough has gathered, or after 100 ms: RocksDB's `manual_wal_flush`
    Gathered,
}

impl LogMode {
    pub(super) const ALL: [Self; 2] = [Self::Written, Self::Gathered];
}

impl From<LogMode> for Durability {
    fn from(mode: LogMode) -> Self {
        match mode {
            LogMode::Written => Self::Written,
            LogMode::Gathered => Self::Gathered,
        }
    }
}

/// An offload drive.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Offload {
    /// Path of the drive's image, as it was typed.
    pub(super) image: String,
    pub(super) size: ByteCount,
}

/// Conditions of a measurement.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Conditions {
    pub(super) on: Medium,
    /// Size of the zones of an emulated drive.
    pub(super) zone_size: Option<ByteCount>,
    /// The offload drive and its size, if the store had one.
    pub(super) offload: Option<Offload>,
    pub(super) count: u64,
    #[serde(serialize_with = "sizes::serialize")]
    pub(super) key_size: Sizes,
    #[serde(serialize_with = "sizes::serialize")]
    pub(super) value_size: Sizes,
    pub(super) clients: usize,
    /// When the operations of workloads arrived, if not as soon as a client was free.
    pub(super) arrivals: Option<String>,
    pub(super) seed: u64,
    pub(super) memtable_size: ByteCount,
    pub(super) memory: ByteCount,
    pub(super) compression: Compress,
    /// How the log was written, but by synced writes.
    pub(super) log: Durability,
    /// Whether durable data of the drive are on the host's disk, too; of images only.
    pub(super) image_synced: Option<bool>,
    /// Whether level 0 was merged down when writers rested.
    pub(super) compact_at_rest: bool,
    /// Whether reads take blocks from mapped tables; of directories only.
    pub(super) tables_mapped: Option<bool>,
    pub(super) system: String,
    /// Whether the program was built with assertions, which cost more than the measured work.
    pub(super) debug_assertions: bool,
}

impl From<Compress> for LevelCompression {
    fn from(compress: Compress) -> Self {
        match compress {
            Compress::None => Compression::None.into(),
            Compress::Lz4 => Compression::Lz4.into(),
            Compress::Zstd => Compression::Zstd.into(),
            Compress::Mixed => Self { upper: Compression::Lz4, last: Compression::Zstd },
        }
    }
}
