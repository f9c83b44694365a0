//! Options by keyword, and the bounds of ranges.

use pyo3::prelude::*;
use terrace::{Append, Bounds, ByteCount, Counter, Durability, LevelCompression, Options, System};

use crate::error::invalid;

/// Keywords of `open`.
#[derive(Default)]
pub(crate) struct Keywords {
    pub(crate) read_only: bool,
    pub(crate) system: Option<String>,
    pub(crate) durability: Option<String>,
    pub(crate) memory: Option<u64>,
    pub(crate) memtable_size: Option<u64>,
    pub(crate) block_size: Option<u64>,
    pub(crate) compression: Option<String>,
    pub(crate) filter_bits: Option<u8>,
    pub(crate) first_keys: Option<bool>,
    pub(crate) compaction_rate: Option<u64>,
    pub(crate) map_tables: Option<bool>,
    /// Whether operands are numbers that are added.
    pub(crate) counters: bool,
    /// The separator, where operands are appended.
    pub(crate) append: Option<Vec<u8>>,
}

impl Keywords {
    /// The options; names are checked here, numbers when the store is opened.
    pub(crate) fn options(&self) -> PyResult<Options> {
        let mut options = Options::default().read_only(self.read_only);
        if let Some(name) = &self.system {
            let system =
                System::asked(name).map_err(|error| invalid(format!("system: {error}")))?;
            options = options.system(system);
        }
        if let Some(name) = &self.durability {
            options = options.durability(durability(name)?);
        }
        if let Some(memory) = self.memory {
            options = options.memory(ByteCount(memory));
        }
        if let Some(name) = &self.compression {
            options = options.compression(level_compression(name)?);
        }
        match (self.counters, &self.append) {
            (true, Some(_)) => {
                return Err(invalid("append: expected one operator, found counters"));
            }
            (true, None) => options = options.merge_operator(Counter),
            (false, Some(separator)) => {
                options = options.merge_operator(Append::new(separator));
            }
            // A store that has counters already is read without being told so.
            (false, None) => options = options.shipped_merge_operators(true),
        }
        if let Some(rate) = self.compaction_rate {
            options = options.compaction_rate(ByteCount(rate));
        }
        if let Some(map_tables) = self.map_tables {
            options = options.map_tables(map_tables);
        }
        Ok(options
            .first_keys(self.first_keys)
            .memtable_size(self.memtable_size.map(ByteCount))
            .block_size(self.block_size.map(ByteCount))
            .filter_bits(self.filter_bits))
    }
}

/// A compression by name: of all levels, or of the upper ones and the last one.
pub(crate) fn level_compression(name: &str) -> PyResult<LevelCompression> {
    name.parse().map_err(|error| invalid(format!("compression: {error}")))
}

/// A durability by name.
pub(crate) fn durability(name: &str) -> PyResult<Durability> {
    match name {
        "unlogged" => Ok(Durability::Unlogged),
        "gathered" => Ok(Durability::Gathered),
        "written" => Ok(Durability::Written),
        "synced" => Ok(Durability::Synced),
        _ => Err(invalid(format!(
            "durability: expected \"unlogged\", \"gathered\", \"written\" or \"synced\", found \
             {name:?}"
        ))),
    }
}

/// A range of keys, from keywords.
pub(crate) fn bounds(
    start: Option<&[u8]>,
    stop: Option<&[u8]>,
    (include_start, include_stop): (bool, bool),
    prefix: Option<&[u8]>,
) -> PyResult<Bounds> {
    if let Some(prefix) = prefix {
        if start.is_some() || stop.is_some() {
            return Err(invalid("prefix: expected neither start nor stop with it, found one"));
        }
        return Ok(Bounds::prefix(prefix));
    }
    // The next key in the order of keys after `key` is `key` and a zero byte.
    let after = |key: &[u8]| [key, &[0]].concat();
    let bounds = match start {
        None => Bounds::all(),
        Some(key) if include_start => Bounds::starting_at(key),
        Some(key) => Bounds::starting_at(&after(key)),
    };
    Ok(match stop {
        None => bounds,
        Some(key) if include_stop => bounds.until(&after(key)),
        Some(key) => bounds.until(key),
    })
}
