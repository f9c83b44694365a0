//! [`Feed`]: an actor that looks at a store again and again, and leaves the latest sample for the
//! screen.
//!
//! 1. It connects to the process that has the store open, and asks for samples at an interval.
//! 2. If there is no such process, it opens the store for reading, takes one sample, and closes it
//!    at once: nothing that wants to write waits for this program. The picture then stands still.
//!    Step 1 is tried again at each interval.
//! 3. If the process ends or closes the store, step 1 follows at once.
//!
//! The zones of a large drive take long to list. The pause between two lists is [`PAUSE_FACTOR`]
//! times the time of a list, or longer, so that the owner spends at most 2 % of its time on them.

use std::sync::Arc;
use std::time::Duration;

use terrace::ErrorKind;
use terrace::fs::Access;
use terrace::live::{Latencies, Live, LiveSnapshot, Overview, ZoneMap};
use terrace_env::runner;
use terrace_env::sync::{Condvar, Mutex};

use super::sample::Sample;
use crate::commands::target::Target;
use crate::failure::{Failure, Kind};

/// Pauses between lists of zones, in times that a list took.
const PAUSE_FACTOR: u32 = 50;

/// News for the screen.
pub(super) enum News {
    /// A sample.
    Sample(Box<Sample>),
    /// There is no sample; the reason in words.
    Missing(String),
}

/// Where the actor leaves its news.
#[derive(Default)]
pub(super) struct Feed {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    latest: Option<News>,
    is_ending: bool,
}

impl Feed {
    /// The latest news, if there are any since the last call.
    pub(super) fn take(&self) -> Option<News> {
        self.state.lock().latest.take()
    }

    /// Ends the actor, soon: it may wait for an answer.
    pub(super) fn end(&self) {
        self.state.lock().is_ending = true;
        self.changed.notify_all();
    }

    /// The actor.
    pub(super) fn run(&self, target: &Target, interval: Duration) {
        let mut eye = Eye::default();
        while !self.state.lock().is_ending {
            let news = match eye.look(target) {
                Ok(Some(sample)) => Some(News::Sample(Box::new(sample))),
                Ok(None) => None,
                Err(failure) => Some(News::Missing(failure.message)),
            };
            let mut state = self.state.lock();
            if news.is_some() {
                state.latest = news;
            }
            if !state.is_ending {
                self.changed.wait_for(&mut state, interval);
            }
        }
    }
}

/// The state between two samples.
#[derive(Default)]
pub(super) struct Eye {
    live: Option<Live>,
    /// The last event that was told.
    event: u64,
    map: Option<Arc<ZoneMap>>,
    /// When the zones may be listed next, in the time of [`runner::now`].
    map_due: Option<terrace_env::Time>,
    /// The still picture has been taken.
    is_still: bool,
}

impl Eye {
    /// A sample; `None` if a still picture was taken before, and nothing can have changed.
    pub(super) fn look(&mut self, target: &Target) -> Result<Option<Sample>, Failure> {
        if let Some(sample) = self.ask(target)? {
            return Ok(Some(sample));
        }
        if self.is_still {
            return Ok(None);
        }
        match still(target) {
            Ok(sample) => {
                self.is_still = true;
                Ok(Some(sample))
            }
            // A process may have opened it in between: it is asked next time.
            Err(failure) if failure.kind == Kind::InUse => Err(target.told_how_to_look(failure)),
            Err(failure) => Err(failure),
        }
    }

    /// A sample of the owner, if there is one.
    fn ask(&mut self, target: &Target) -> Result<Option<Sample>, Failure> {
        // Twice: a connection may be to a process that has ended, and another one may be there.
        for _ in 0..2 {
            if self.live.is_none() {
                self.live = Live::connect(target.path())?;
                (self.event, self.map, self.map_due) = (0, None, None);
            }
            let Some(mut live) = self.live.take() else { return Ok(None) };
            self.is_still = false;
            match self.sample(&mut live) {
                Ok(sample) => {
                    self.live = Some(live);
                    return Ok(Some(sample));
                }
                Err(error) if error.kind() == ErrorKind::Closed => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    fn sample(&mut self, live: &mut Live) -> Result<Sample, terrace::Error> {
        let snapshot = live.snapshot(self.event)?;
        let last = snapshot.events.iter().map(|event| event.number).max();
        self.event = last.unwrap_or(self.event);
        let begun = runner::now();
        let map = match &self.map {
            Some(map) if self.map_due.is_some_and(|due| begun < due) => Arc::clone(map),
            _ => {
                let map = Arc::new(live.zone_map()?);
                let now = runner::now();
                self.map_due = Some(now + now.since(begun) * PAUSE_FACTOR);
                Arc::clone(self.map.insert(map))
            }
        };
        Ok(Sample { snapshot, map, owner: Some(live.owner().clone()) })
    }
}

/// A sample of a store that no process has open.
fn still(target: &Target) -> Result<Sample, Failure> {
    let db = target.db_quietly(Access::ReadOnly)?;
    let snapshot = LiveSnapshot {
        overview: Overview::of(&db)?,
        age: 0,
        events: Vec::new(),
        latencies: Latencies::default(),
    };
    let map = db.fs().map(|fs| ZoneMap::of(fs)).transpose()?.unwrap_or_default();
    db.close()?;
    Ok(Sample { snapshot, map: Arc::new(map), owner: None })
}
