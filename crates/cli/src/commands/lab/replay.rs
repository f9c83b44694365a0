//! `terrace lab replay`: carries an experiment out in virtual time under one to three systems, and
//! writes a page that shows their zones next to each other, on one line of time.
//!
//! - Each run is observed at even times of its own, so that it has at most the asked number of
//!   frames, and at least half of it if the run is long enough. Observing does not change a run.
//! - The page is one file without anything from elsewhere. A file that exists is written over.
//! - Nothing is kept of the runs: `run` keeps outcomes. Without a run, no page is written.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use terrace_env::ByteCount;
use terrace_env::sync::Mutex;
use terrace_lab::experiment::Experiment;
use terrace_lab::run::{Moment, Observer, RunChoice, RunPlan, carry_out_observed};
use terrace_lab::series::{Event, SeriesError};
use terrace_page::{Picture, Recorder, Recording, ReplayTitle, replay_page};
use terrace_zone::timing::{Scale, ScaleMode};

use super::bars::Bars;
use super::replay_captions::caption;
use crate::commands::under::known_system;
use crate::failure::{Failure, Kind};
use crate::output::Output;

/// The most systems on a page.
const SYSTEMS_MAX: usize = 3;

/// The first frames of a run are as far apart as two samples, divided by this.
const BEGIN_SHARE: u64 = 64;

/// Carry out an experiment, and write a page that replays the zones of one to three systems.
///
/// The page is one file: open it in a browser. It shows each zone of the drive, the tree over its
/// keys, and the rates, at any moment of the run.
#[derive(clap::Args)]
pub(crate) struct Replay {
    /// The experiment: `geardb/fig10a`, or the path of a file
    #[arg(value_name = "NAME")]
    experiment: String,
    /// The systems, one to three; by default the first two of the experiment
    #[arg(long = "system", value_name = "SYSTEM", value_parser = known_system)]
    systems: Vec<String>,
    /// The variant, where the experiment has several [default: the first]
    #[arg(long)]
    variant: Option<String>,
    /// How much smaller everything is made
    #[arg(long, default_value = "1/128")]
    scale: Scale,
    /// Only this share of each phase's operations, as 1/8
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = super::run::nth)]
    share: NonZeroU64,
    /// Seed of everything that is left to chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The most frames of a system
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u32).range(3..=10_000))]
    frames: u32,
    /// The page
    #[arg(long, value_name = "FILE", default_value = "replay.html")]
    output: PathBuf,
}

/// Makes a recording of a run.
struct Scribe(Mutex<Recorder>);

impl Observer for Scribe {
    fn look(&self, moment: &Moment<'_>) -> Result<Duration, terrace::Error> {
        let mut picture = Picture::of(moment.db)?;
        picture.gauges.seconds = moment.seconds;
        picture.gauges.phase = Some(moment.phase.to_owned());
        let mut recorder = self.0.lock();
        recorder.add(picture);
        Ok(recorder.interval())
    }
}

impl Replay {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        let experiment = self.find()?;
        let plans = self.plans(&experiment)?;
        if cfg!(debug_assertions) {
            output.note("note: built with debug assertions: slower, with the same numbers");
        }
        let bars = Bars::new(&plans);
        let recordings: Result<Vec<_>, Failure> =
            (0..).zip(&plans).map(|(at, plan)| self.record(plan, at, &bars)).collect();
        bars.clear();
        let recordings = recordings?;
        let page = replay_page(&self.title(&experiment, &plans[0]), &recordings)?;
        std::fs::write(&self.output, &page).map_err(|error| Failure::path(&self.output, &error))?;
        let frames: Vec<usize> = recordings.iter().map(|it| it.frames.len()).collect();
        let systems: Vec<&str> = plans.iter().map(|plan| &*plan.system).collect();
        let size = ByteCount(page.len() as u64);
        let result = json!({
            "page": self.output, "bytes": size, "systems": systems, "frames": frames,
        });
        output.result(&result, |out| {
            let frames: Vec<String> = frames.iter().map(usize::to_string).collect();
            let (page, frames) = (self.output.display(), frames.join(" and "));
            writeln!(out, "{page}: {size}, {frames} frames of {}", systems.join(" and "))
        })
    }

    fn find(&self) -> Result<Experiment, Failure> {
        let found = Experiment::find(&self.experiment)?;
        let count = found.len();
        let mut found = found.into_iter();
        match (found.next(), count) {
            (Some(experiment), 1) => Ok(experiment),
            _ => {
                let message =
                    format!("{}: expected one experiment, found {count}", self.experiment);
                Err(Failure::new(Kind::Usage, message))
            }
        }
    }

    fn plans(&self, experiment: &Experiment) -> Result<Vec<RunPlan>, Failure> {
        let first = experiment.variants.first().map(|variant| variant.name.as_str());
        let variant = self.variant.as_deref().or(first);
        let of_variant = experiment.variants.iter().find(|it| Some(&*it.name) == variant);
        let systems = match &self.systems[..] {
            [] => experiment.systems_of(of_variant).iter().take(2).cloned().collect(),
            asked if asked.len() <= SYSTEMS_MAX => asked.to_vec(),
            asked => {
                let message =
                    format!("expected at most {SYSTEMS_MAX} systems, found {}", asked.len());
                return Err(Failure::new(Kind::Usage, message));
            }
        };
        let plan = |system: &String| {
            let choice = RunChoice { system, variant, scale: self.scale, seed: self.seed };
            let mut plan = RunPlan::new(experiment, choice)?;
            for phase in &mut plan.phases {
                phase.operations = (phase.operations / self.share).max(phase.clients.into());
            }
            Ok(plan)
        };
        systems.iter().map(plan).collect()
    }

    fn record(&self, plan: &RunPlan, at: usize, bars: &Bars) -> Result<Recording, Failure> {
        let interval = Duration::from_nanos((plan.sample_every / BEGIN_SHARE).max(1));
        let scribe = Arc::new(Scribe(Mutex::new(Recorder::new(self.frames as usize, interval))));
        bars.notice(at, &Event::Began);
        let observer = Arc::clone(&scribe) as Arc<dyn Observer>;
        let result = carry_out_observed(plan, observer, &mut |progress| {
            bars.notice(at, &Event::Did(progress, terrace_env::runner::now()));
        });
        let result = result.map_err(SeriesError::from);
        bars.notice(at, &Event::Ended(result.as_deref()));
        result.map_err(|error| {
            let message = format!("{} under {}: {error}", plan.experiment, plan.system);
            Failure::new(Kind::Failed, message)
        })?;
        let recorder = scribe.0.lock().clone();
        // In one mode of scaling an operation stands for n, in the other it is slower.
        let operations_factor = plan.time_scale() as f64;
        let rate = if plan.scale_by == ScaleMode::Bandwidths { plan.scale } else { 1 };
        Ok(Recording {
            system: plan.system.clone(),
            caption: caption(&plan.system),
            bytes_factor: operations_factor * rate as f64,
            operations_factor,
            frames: recorder.frames(),
        })
    }

    fn title(&self, experiment: &Experiment, plan: &RunPlan) -> ReplayTitle {
        let variant = plan.variant.as_ref().map(|name| format!("{name}, "));
        let scale = plan.scale();
        ReplayTitle {
            experiment: experiment.name.clone(),
            title: experiment.title.clone(),
            source: experiment.source.clone(),
            setting: format!(
                "{}at scale {scale} in virtual time; sizes and times are those of the full drive",
                variant.unwrap_or_default()
            ),
        }
    }
}
