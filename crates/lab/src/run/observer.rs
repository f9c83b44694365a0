//! [`Observer`]: is shown the store of a run at even times, from its first phase to its last, such
//! as to draw it. [`Observation`] is the actor that shows it.
//!
//! An observation takes no virtual time and sends no request to the drive. So a run that is
//! observed has the same outcome as one that is not. The last observation is after the last phase.
//!
//! Call [`Observation::stop`] before the simulation ends.

use std::sync::Arc;
use std::time::Duration;

use terrace::Db;
use terrace_env::runner::{self, JoinHandle};
use terrace_env::sync::Mutex;

use super::end_signal::EndSignal;

/// A store in a run at a moment.
pub struct Moment<'a> {
    /// The store.
    pub db: &'a Db,
    /// The phase that is running, or that ran last.
    pub phase: &'a str,
    /// Seconds since the run began, of the full drive.
    pub seconds: f64,
}

/// See the [module](self).
pub trait Observer: Send + Sync {
    /// Looks at the store; returns the time of the run until the next look.
    fn look(&self, moment: &Moment<'_>) -> Result<Duration, terrace::Error>;
}

/// The actor that shows a store to an observer, from outside.
pub(super) struct Observation {
    signal: Arc<EndSignal>,
    phase: Arc<Mutex<String>>,
    actor: JoinHandle<Result<(), terrace::Error>>,
}

impl Observation {
    /// Begins to show the store.
    pub(super) fn start(db: Db, time_scale: u64, observer: Arc<dyn Observer>) -> Self {
        let signal = Arc::new(EndSignal::default());
        let phase: Arc<Mutex<String>> = Arc::default();
        let (until, in_phase) = (Arc::clone(&signal), Arc::clone(&phase));
        let began = runner::now();
        let actor = runner::spawn("observer", move || {
            let mut due = began;
            loop {
                let ended = until.wait(due);
                let seconds = runner::now().since(began).as_secs_f64() * time_scale as f64;
                let phase = in_phase.lock().clone();
                due = due + observer.look(&Moment { db: &db, phase: &phase, seconds })?;
                if ended {
                    return Ok(());
                }
            }
        });
        Self { signal, phase, actor }
    }

    /// Notes that another phase begins.
    pub(super) fn enter(&self, phase: &str) {
        phase.clone_into(&mut self.phase.lock());
    }

    /// Shows the store for the last time, now.
    pub(super) fn stop(self) -> Result<(), terrace::Error> {
        self.signal.end();
        self.actor.join()
    }
}
