//! [`run`]: the chosen loads in their order, in one process.
//!
//! 1. `fillseq` has a store of its own.
//! 2. The filled store: `fillrandom`, `overwrite`, both settled, whether they are chosen or not;
//!    then the reads, so that these find the same store whatever else is chosen; then the other
//!    writes, and deletes at the end.
//! 3. Large values and the opening have stores of their own.

use super::line::Round;
use super::load::{Load, Setting};
use super::{Work, large, opening, reads, writes};
use crate::measure::{self, Memory, Written};

/// Carries out the chosen loads.
pub(crate) fn run(setting: &Setting, works: &[Work]) -> anyhow::Result<Round> {
    let mut round = Round::default();
    let has = |work| works.contains(&work);
    if has(Work::Fillseq) {
        let dir = setting.new_dir("in-order")?;
        let load = Load::open(setting, &dir, setting.entries, setting.value_size)?;
        round.version = load.engine.version();
        writes::fill_in_order(&load, &mut round)?;
        load.engine.close()?;
        std::fs::remove_dir_all(dir)?;
    }
    if works.iter().any(|work| work.is_on_filled()) {
        filled(setting, works, &mut round)?;
    }
    if has(Work::Large64k) {
        large::run(setting, &mut round, "64 KiB", 64 << 10)?;
    }
    if has(Work::Large1m) {
        large::run(setting, &mut round, "1 MiB", 1 << 20)?;
    }
    if has(Work::Open) {
        opening::run(setting, &mut round)?;
    }
    Ok(round)
}

fn filled(setting: &Setting, works: &[Work], round: &mut Round) -> anyhow::Result<()> {
    let dir = setting.new_dir("filled")?;
    let load = Load::open(setting, &dir, setting.entries, setting.value_size)?;
    round.version = load.engine.version();
    let has = |work| works.contains(&work);
    let user_bytes = (load.entries * (16 + load.values.size() as u64)) as f64;
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);

    // The lines of loads that are not chosen.
    let mut unchosen = Round::default();
    measure::forget_peak();
    let before = Written::now()?;
    writes::fill(&load, if has(Work::Fillrandom) { round } else { &mut unchosen }, "fillrandom")?;
    if has(Work::Fillrandom) {
        let after = Written::now()?;
        let calls = (after.calls - before.calls) as f64 / user_bytes;
        let device = (after.device - before.device) as f64 / user_bytes;
        round.figure("fillrandom + settle: bytes written for one, by calls", calls);
        round.figure("fillrandom + settle: bytes written for one, to the device", device);
        let space = measure::space(&dir)? as f64 / user_bytes;
        round.figure("fillrandom + settle: space for one", space);
    }
    if works.iter().any(|work| work.is_on_filled() && *work != Work::Fillrandom) {
        let lines = if has(Work::Overwrite) { &mut *round } else { &mut unchosen };
        writes::overwrite(&load, lines, "overwrite", 1)?;
        if has(Work::Overwrite) {
            let space = measure::space(&dir)? as f64 / user_bytes;
            round.figure("overwrite + settle: space for one", space);
        }
    }
    round.figure(
        "peak memory of fillrandom and overwrite, mapped files included, MiB",
        mebibytes(Memory::now()?.peak),
    );

    measure::forget_peak();
    for work in works {
        match work {
            Work::Readrandom => reads::random(&load, round, "readrandom", 1)?,
            Work::Absent => reads::absent(&load, round)?,
            Work::Tworeaders => reads::random(&load, round, "two readers", 2)?,
            Work::Multiget => reads::several(&load, round)?,
            Work::Scan => reads::scan(&load, round)?,
            Work::Seek => reads::seek(&load, round)?,
            _ => {}
        }
    }
    let memory = Memory::now()?;
    round.figure("peak memory of reads, mapped files included, MiB", mebibytes(memory.peak));
    round.figure("memory after reads, without files, MiB", mebibytes(memory.anonymous));
    for work in works {
        match work {
            Work::Twowriters => writes::overwrite(&load, round, "two writers", 2)?,
            Work::Batch10 => writes::batches(&load, round, 10)?,
            Work::Batch100 => writes::batches(&load, round, 100)?,
            Work::Readwhilewriting => {
                reads::next_to_writer(&load, round)?;
                load.engine.wait_idle()?;
            }
            _ => {}
        }
    }
    if has(Work::Deleterandom) {
        writes::delete(&load, round)?;
        let space = measure::space(&dir)? as f64 / user_bytes;
        round.figure("deleterandom + settle: space for one", space);
    }
    load.engine.close()?;
    Ok(std::fs::remove_dir_all(dir)?)
}
