//! An opening of a store whose process was killed after random puts.
//!
//! The puts are in a process of its own, which kills itself. The opening is measured in this one,
//! until the first read has been answered, and until nothing is left to do. Then all entries are
//! read: those that are missing were only in the memory of the killed process.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use anyhow::{Context, ensure};

use super::line::Round;
use super::load::{Load, Setting};
use super::writes;
use crate::generator::key;
use crate::measure::{Start, Worker};

/// Fills a store in the setting's directory, and kills this process. Returns only an error.
pub(crate) fn fill_and_die(setting: &Setting) -> anyhow::Result<()> {
    let load = Load::open(setting, &setting.dir, setting.entries, setting.value_size)?;
    let mut worker = Worker::begin();
    let mut value = Vec::new();
    for number in load.random(1).order(load.entries) {
        load.put(&mut worker, number.into(), &mut value)?;
    }
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::KILL)?;
    anyhow::bail!("expected to be killed")
}

/// Measures the opening.
pub(super) fn run(setting: &Setting, round: &mut Round) -> anyhow::Result<()> {
    let dir = setting.new_dir("killed")?;
    let mut command = Command::new(std::env::current_exe()?);
    let Setting { engine, entries, value_size, seed, libraries, .. } = setting;
    command.args(["fill", "--engine", &engine.word(), "--entries", &entries.to_string()]);
    command.args(["--value-size", &value_size.to_string(), "--seed", &seed.to_string()]);
    command.arg("--dir").arg(&dir);
    command.arg("--rocksdb").arg(&libraries.rocksdb).arg("--leveldb").arg(&libraries.leveldb);
    let status = command.status().context("starting the process that is killed")?;
    ensure!(status.signal() == Some(9), "expected a killed process, found {status}");

    let start = Start::now();
    let load = Load::open(setting, &dir, *entries, *value_size)?;
    load.engine.get(&key(0), &mut |_| {})?;
    let opened = start.cost(1, std::time::Duration::ZERO);
    load.engine.wait_idle()?;
    let settled = start.cost(1, std::time::Duration::ZERO);
    round.figure("opening after kill, processor ms", opened.micros() / 1e3);
    round.figure("opening after kill, clock ms", opened.wall * 1e3);
    round.figure("opening after kill + settle, processor ms", settled.micros() / 1e3);
    round.figure("writes lost by the kill", writes::missing(&load)? as f64);
    load.engine.close()?;
    Ok(std::fs::remove_dir_all(dir)?)
}
