//! What was measured under.

use clap::ValueEnum;
use serde::Serialize;
use terrace::{Compression, LevelCompression};
use terrace_env::ByteCount;
use terrace_lab::workload::Sizes;

use super::sizes;

/// What the store is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Medium {
    /// An emulated drive in memory
    Memory,
    /// An emulated drive in a sparse file
    Image,
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

/// What was measured under.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Conditions {
    pub(super) on: Medium,
    pub(super) count: u64,
    #[serde(serialize_with = "sizes::serialize")]
    pub(super) key_size: Sizes,
    #[serde(serialize_with = "sizes::serialize")]
    pub(super) value_size: Sizes,
    pub(super) clients: usize,
    pub(super) seed: u64,
    pub(super) memtable_size: ByteCount,
    pub(super) memory: ByteCount,
    pub(super) compression: Compress,
    pub(super) system: String,
    /// Whether the program was built with assertions, which cost more than what is measured.
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
