//! The sampler: an actor that takes a [`Sample`] at even intervals while the clients work, and a
//! last one when the phase ends, unless no time has passed since the one before or since the
//! beginning.
//!
//! A sample takes no virtual time and sends no request to the drive. So the requests of a run do
//! not depend on whether and how often samples are taken.
//!
//! Call [`Sampler::stop`] before the simulation ends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use terrace::{Db, Fs};
use terrace_env::Cause;
use terrace_env::runner::{self, JoinHandle};
use terrace_env::store::StoreError;
use terrace_env::wait::WaitCause;
use terrace_zone::Emulator;

use super::Sample;
use super::end_signal::EndSignal;
use super::jobs::Jobs;
use super::occupancy::Occupancy;
use super::places::Places;
use super::reading::Reading;
use crate::workload::World;

/// Parts of the run that the sampler looks at.
#[derive(Clone)]
pub(super) struct Scene {
    pub(super) db: Db,
    pub(super) fs: Arc<Fs>,
    pub(super) drive: Arc<Emulator>,
    /// The log device, if there is one.
    pub(super) log_device: Option<Arc<Emulator>>,
    pub(super) world: World,
    pub(super) jobs: Arc<Jobs>,
    /// Where log and metadata lie.
    pub(super) places: Places,
    /// Parts of the drive's mechanism that work at once.
    pub(super) mechanisms: u64,
    /// The number of parts of the log device's mechanism that work at once.
    pub(super) log_mechanisms: u64,
    /// Bytes of a key, and the percentage to which values are compressed, if they are.
    pub(super) compressed: Option<(u64, u8)>,
    /// Seconds of the full drive in a second of the run.
    pub(super) time_scale: u64,
    /// How many times faster than the run's the full drive is.
    pub(super) rate: u64,
}

impl Scene {
    pub(super) fn reading(&self) -> Reading {
        let devices = (&*self.drive, self.log_device.as_deref());
        Reading::take(&self.db, &self.fs, devices, self.places)
    }

    pub(super) fn occupancy(&self) -> Result<Occupancy, StoreError> {
        let ledger = self.world.ledger();
        let mut found = Occupancy::take(&self.db, &self.fs, ledger)?;
        if let Some((key, percent)) = self.compressed {
            let keys = ledger.held().records * key;
            found.live = keys + found.live.saturating_sub(keys) * u64::from(percent) / 100;
        }
        Ok(found)
    }
}

/// Samples of a phase, with their sums.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    pub(super) samples: Vec<Sample>,
    pub(super) zones_peak: u64,
    pub(super) used_peak: f64,
    pub(super) valid_peak: f64,
    pub(super) live_worst: Option<f64>,
    /// Sums of a value times the seconds that it stood for.
    seconds: f64,
    valid: f64,
    live: f64,
    runs: f64,
}

impl Samples {
    fn average(&self, sum: f64) -> f64 {
        if self.seconds > 0.0 { sum / self.seconds } else { 0.0 }
    }

    pub(super) fn valid_average(&self) -> f64 {
        self.average(self.valid)
    }

    pub(super) fn live_average(&self) -> f64 {
        self.average(self.live)
    }

    pub(super) fn runs_average(&self) -> f64 {
        self.average(self.runs)
    }
}

/// The actor, from outside.
pub(super) struct Sampler {
    signal: Arc<EndSignal>,
    actor: JoinHandle<Result<Samples, StoreError>>,
}

impl Sampler {
    /// Begins to take samples. `operations`: those done in the phase; `of`: all of them.
    pub(super) fn start(
        scene: Scene,
        from: Reading,
        every: Duration,
        operations: Arc<AtomicU64>,
        of: u64,
    ) -> Self {
        let signal = Arc::new(EndSignal::default());
        let until = Arc::clone(&signal);
        let actor = runner::spawn("sampler", move || {
            let mut watch = Watch {
                scene,
                last: from.clone(),
                last_operations: 0,
                from,
                operations,
                of,
                found: Samples::default(),
            };
            let mut due = watch.from.at + every;
            loop {
                let ended = until.wait(due);
                if !ended || watch.last.at < runner::now() {
                    watch.sample()?;
                }
                if ended {
                    return Ok(watch.found);
                }
                due = due + every;
            }
        });
        Self { signal, actor }
    }

    /// Takes a last sample, now.
    pub(super) fn stop(self) -> Result<Samples, StoreError> {
        self.signal.end();
        self.actor.join()
    }
}

struct Watch {
    scene: Scene,
    from: Reading,
    last: Reading,
    last_operations: u64,
    operations: Arc<AtomicU64>,
    of: u64,
    found: Samples,
}

impl Watch {
    fn sample(&mut self) -> Result<(), StoreError> {
        let scene = &self.scene;
        let (now, held) = (scene.reading(), scene.occupancy()?);
        let operations = self.operations.load(Ordering::Relaxed);
        let interval = now.since(&self.last);
        let seconds = interval.seconds();
        let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        let mib = |bytes: u64| per_second(bytes as f64 * scene.rate as f64 / 1_048_576.0);
        let (read, written) = interval.moved();
        let (flushes, compactions) = scene.jobs.under_way();
        let done = (operations - self.last_operations) as f64;
        let mut values: BTreeMap<String, f64> = [
            ("kv_per_second", per_second(done)),
            ("read_mib_per_second", mib(read)),
            ("write_mib_per_second", mib(written)),
            ("valid_share", held.valid_share()),
            ("used_share", held.used_share()),
            ("valid_efficiency", held.valid_efficiency()),
            ("live_efficiency", held.live_efficiency()),
            ("zones", held.space.zones as f64),
            ("runs", held.runs as f64),
            ("flushes", flushes as f64),
            ("compactions", compactions as f64),
            ("write_amplification", now.since(&self.from).amplification().total),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        for cause in Cause::ALL {
            let worked = per_second(interval.worked(cause, scene.mechanisms));
            values.insert(format!("{cause}_share"), worked);
        }
        let waits = interval.waits();
        for cause in WaitCause::ALL {
            // The shares include the work of the device.
            if !matches!(cause, WaitCause::Device(_)) {
                let waiting = per_second(waits.of(cause).time().as_secs_f64());
                values.insert(format!("waits.{cause}"), waiting);
            }
        }
        let found = &mut self.found;
        found.zones_peak = found.zones_peak.max(held.space.zones);
        found.used_peak = found.used_peak.max(held.used_share());
        found.valid_peak = found.valid_peak.max(held.valid_share());
        if operations >= self.of / 10 {
            let live = held.live_efficiency();
            found.live_worst = Some(found.live_worst.map_or(live, |worst| worst.min(live)));
        }
        found.seconds += seconds;
        found.valid += held.valid_efficiency() * seconds;
        found.live += held.live_efficiency() * seconds;
        found.runs += held.runs as f64 * seconds;
        let since = now.since(&self.from).seconds() * scene.time_scale as f64;
        found.samples.push(Sample { seconds: since, operations, values });
        (self.last, self.last_operations) = (now, operations);
        Ok(())
    }
}
