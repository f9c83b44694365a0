//! [`Name`]: the engines by name, each with the way in which it writes its log, and their openings.
//!
//! The libraries of RocksDB and LevelDB are loaded when they are asked for. So a missing one is a
//! message, and the others are measured without it.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::{Engine, fjall, leveldb, redb, rocksdb, terrace};

/// An engine and the way in which its log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Name {
    /// Terrace in a directory, log written
    Terrace,
    /// Terrace in a directory, log gathered
    TerraceGathered,
    /// Terrace in the image of a zoned drive, log gathered
    TerraceDrive,
    /// RocksDB
    Rocksdb,
    /// RocksDB with `manual_wal_flush`
    RocksdbGathered,
    /// LevelDB, with checksums verified
    Leveldb,
    /// LevelDB as it comes, without checksums on reads
    LeveldbUnchecked,
    /// fjall
    Fjall,
    /// fjall with `manual_journal_persist`
    FjallGathered,
    /// redb, a transaction for each write, durable every 10,000
    Redb,
}

/// When a write reaches the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Log {
    /// Before it returns.
    Written,
    /// Later.
    Gathered,
}

impl Name {
    /// The engines that are measured unless others are named.
    pub(crate) const USUAL: [Self; 9] = [
        Self::Terrace,
        Self::Rocksdb,
        Self::Leveldb,
        Self::Fjall,
        Self::Redb,
        Self::TerraceGathered,
        Self::TerraceDrive,
        Self::RocksdbGathered,
        Self::FjallGathered,
    ];

    pub(crate) fn is_own(self) -> bool {
        matches!(self, Self::Terrace | Self::TerraceGathered | Self::TerraceDrive)
    }

    pub(crate) fn log(self) -> Log {
        match self {
            Self::Terrace
            | Self::Rocksdb
            | Self::Leveldb
            | Self::LeveldbUnchecked
            | Self::Fjall => Log::Written,
            Self::TerraceGathered
            | Self::TerraceDrive
            | Self::RocksdbGathered
            | Self::FjallGathered
            | Self::Redb => Log::Gathered,
        }
    }

    /// The name on the page.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Terrace | Self::TerraceGathered => "Terrace",
            Self::TerraceDrive => "Terrace, drive",
            Self::Rocksdb | Self::RocksdbGathered => "RocksDB",
            Self::Leveldb => "LevelDB",
            Self::LeveldbUnchecked => "LevelDB, unchecked",
            Self::Fjall | Self::FjallGathered => "fjall",
            Self::Redb => "redb",
        }
    }

    /// The word on the command line.
    pub(crate) fn word(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether it can be had; if not, an error that tells how.
    pub(crate) fn probe(self, libraries: &Libraries) -> anyhow::Result<()> {
        match self {
            Self::Rocksdb | Self::RocksdbGathered => rocksdb::probe(&libraries.rocksdb),
            Self::Leveldb | Self::LeveldbUnchecked => leveldb::probe(&libraries.leveldb),
            _ => Ok(()),
        }
    }

    /// Opens a store in a directory, and makes it if there is none.
    pub(crate) fn open(self, dir: &Path, libraries: &Libraries) -> anyhow::Result<Box<dyn Engine>> {
        let log = self.log();
        match self {
            Self::Terrace | Self::TerraceGathered => terrace::open_directory(dir, log),
            Self::TerraceDrive => terrace::open_drive(dir, log),
            Self::Rocksdb | Self::RocksdbGathered => rocksdb::open(dir, log, &libraries.rocksdb),
            Self::Leveldb => leveldb::open(dir, true, &libraries.leveldb),
            Self::LeveldbUnchecked => leveldb::open(dir, false, &libraries.leveldb),
            Self::Fjall | Self::FjallGathered => fjall::open(dir, log),
            Self::Redb => redb::open(dir),
        }
    }
}

/// Shared libraries, as a path or as a name that the loader finds.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Libraries {
    /// Shared library of RocksDB with its C interface
    #[arg(long, value_name = "FILE", default_value = "librocksdb.so")]
    pub(crate) rocksdb: PathBuf,
    /// Shared library of LevelDB with its C interface
    #[arg(long, value_name = "FILE", default_value = "libleveldb.so")]
    pub(crate) leveldb: PathBuf,
}
