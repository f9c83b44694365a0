//! Trial: cuts the power at one point, opens the store again, compares its contents with the
//! history, and runs the file system's check. The power is cut for all drives, or for one of them.
//!
//! Recovery writes to the drives, so each trial works on its own copies. A trial can also let the
//! recovered store live on: then the opening and new batches are recorded as another life. Must run
//! inside a simulation.

use std::fmt;
use terrace::{Db, Fs};
use terrace_env::random::Random;
use terrace_zone::PowerCut;
use terrace_zone::emulator::Drives;

use super::history::{History, Mismatch, State};
use super::life::{Birth, CutPoint, Life, Setup, live_on};

/// A store that came through a cut.
#[derive(Debug)]
pub struct Survivor {
    /// Batches it still holds.
    pub batches: usize,
    /// The store's next life, if it was to live on.
    pub life: Option<Life>,
}

/// A cut that the store did not come through.
#[derive(Debug)]
pub enum TrialFailure {
    /// The store could not be opened, read or written.
    Store(terrace::Error),
    /// The store has entries that it must not have, or lacks entries that it must have.
    State(Mismatch),
    /// The file system's check found problems.
    Check(String),
}

impl fmt::Display for TrialFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => write!(f, "the store failed: {error}"),
            Self::State(mismatch) => write!(f, "the wrong state: {mismatch}"),
            Self::Check(problems) => write!(f, "check found: {problems}"),
        }
    }
}

impl From<terrace::Error> for TrialFailure {
    fn from(error: terrace::Error) -> Self {
        Self::Store(error)
    }
}

/// Cuts the power at `point`, of all drives or of one alone, recovers and judges. With `more`
/// batches, the recovery is recorded as a life of its own, which writes that number of batches and
/// can be cut again. Must run inside a simulation.
pub fn recover(
    setup: &Setup,
    history: &History,
    point: &CutPoint,
    cut: PowerCut,
    more: usize,
    random: &mut Random,
) -> Result<Survivor, TrialFailure> {
    let drives = point.snapshots.cut_some(point.number as usize, cut, random);
    if more == 0 {
        let batches = judge(&drives, setup, history, point.least, point.most)?;
        check(&drives)?;
        return Ok(Survivor { batches, life: None });
    }
    // A state that a read-only opening finds must be kept by a real one.
    let mut history = history.clone();
    let batches = peek(&drives, setup, &history, point.least, point.most)?;
    history.truncate(batches);
    let birth = Birth { drives, history, least: batches, format: false, life: 1 };
    let life = live_on(setup, birth, more, random).map_err(|(error, _)| error)?;
    let all = life.history.len();
    judge(&life.drives, setup, &life.history, all, all)?;
    check(&life.drives)?;
    Ok(Survivor { batches, life: Some(life) })
}

/// Opens the store, holds all it contains against the history, and closes it.
pub(super) fn judge(
    drives: &Drives,
    setup: &Setup,
    history: &History,
    least: usize,
    most: usize,
) -> Result<usize, TrialFailure> {
    let db = Db::open_device(drives, setup.options.clone())?;
    let batches = history.check(&contents(&db)?, least, most).map_err(TrialFailure::State)?;
    db.close()?;
    Ok(batches)
}

/// Like [`recover`], without writing anything.
fn peek(
    drives: &Drives,
    setup: &Setup,
    history: &History,
    least: usize,
    most: usize,
) -> Result<usize, TrialFailure> {
    let read_only = Setup { options: setup.options.clone().read_only(true), ..setup.clone() };
    judge(drives, &read_only, history, least, most)
}

pub(super) fn contents(db: &Db) -> Result<State, terrace::Error> {
    let mut state = State::default();
    for entry in db.scan(..)? {
        let (key, value) = entry?;
        state[0].insert(key.to_vec(), value.to_vec());
    }
    if let Ok(other) = db.key_space("other") {
        for entry in other.scan(..)? {
            let (key, value) = entry?;
            state[1].insert(key.to_vec(), value.to_vec());
        }
    }
    Ok(state)
}

fn check(drives: &Drives) -> Result<(), TrialFailure> {
    let report = Fs::check(drives).map_err(terrace::Error::from)?;
    if report.is_clean() {
        return Ok(());
    }
    Err(TrialFailure::Check(format!("{:?}", report.problems)))
}
