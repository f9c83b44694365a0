//! Large values: puts in random order into a new store, settling, and gets.

use super::line::Round;
use super::load::{Load, Setting};

/// Bytes of all large values of one size, at most and at least.
const BYTES: std::ops::RangeInclusive<u64> = 8 << 20..=256 << 20;

/// Puts and gets values of a size. They take as many bytes in all as the entries of the other
/// loads, within limits.
pub(super) fn run(
    setting: &Setting,
    round: &mut Round,
    title: &str,
    size: usize,
) -> anyhow::Result<()> {
    let bytes = setting.entries * setting.value_size as u64;
    let count = bytes.clamp(*BYTES.start(), *BYTES.end()) / size as u64;
    let dir = setting.new_dir("large")?;
    let load = Load::open(setting, &dir, count, size)?;
    super::writes::fill(&load, round, &format!("put {title}"))?;
    super::reads::random(&load, round, &format!("get {title}"), 1)?;
    load.engine.close()?;
    Ok(std::fs::remove_dir_all(dir)?)
}
