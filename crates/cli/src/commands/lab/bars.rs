//! How far the runs of a series are: a bar to each on the terminal, a line when one has ended.

use std::collections::BTreeMap;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use terrace_env::Time;
use terrace_env::sync::Mutex;
use terrace_lab::run::{Outcome, Progress, RunPlan};
use terrace_lab::series::Event;

const SHAPE: &str = "{prefix:40!} {wide_bar:.cyan/dim} {percent:>3} % {msg:>12} {eta:>5}";

/// A bar for each run under way, on standard error.
pub(super) struct Bars {
    titles: Vec<String>,
    all: MultiProgress,
    shown: Mutex<BTreeMap<usize, ProgressBar>>,
}

impl Bars {
    pub(super) fn new(plans: &[RunPlan]) -> Self {
        let (titles, shown) = (plans.iter().map(title).collect(), Mutex::default());
        Self { titles, all: MultiProgress::new(), shown }
    }

    /// Takes all bars away.
    pub(super) fn clear(&self) {
        // Nobody is there to be told that standard error is gone.
        let _ = self.all.clear();
    }

    pub(super) fn notice(&self, run: usize, event: &Event<'_>) {
        let title = &self.titles[run];
        match event {
            Event::Known => {}
            Event::Distrusted(error) => self.line(&format!("{title}: run again: {error}")),
            Event::Began => {
                let bar = self.all.add(ProgressBar::new(1));
                let style = ProgressStyle::with_template(SHAPE);
                bar.set_style(style.expect("a template that is valid"));
                bar.set_prefix(title.clone());
                self.shown.lock().insert(run, bar);
            }
            Event::Did(progress, time) => {
                let bar = self.shown.lock().get(&run).cloned();
                bar.iter().for_each(|bar| show(bar, progress, *time));
            }
            Event::Ended(result) => {
                let bar = self.shown.lock().remove(&run);
                bar.iter().for_each(ProgressBar::finish_and_clear);
                match result {
                    Ok(outcomes) => self.line(&format!("{title}: {}", took(outcomes))),
                    Err(error) => self.line(&format!("{title}: failed: {error}")),
                }
            }
        }
    }

    /// A line above the bars.
    fn line(&self, text: &str) {
        self.all.suspend(|| {
            use std::io::Write;
            let _ = writeln!(anstream::stderr().lock(), "{text}");
        });
    }
}

fn title(plan: &RunPlan) -> String {
    let variant = plan.variant.as_ref().map(|variant| format!(" {variant}"));
    format!("{} {}{}", plan.experiment, plan.system, variant.unwrap_or_default())
}

fn show(bar: &ProgressBar, progress: &Progress<'_>, time: Time) {
    bar.set_length(progress.of);
    bar.set_position(progress.operations);
    bar.set_message(format!("{:.0} s", time.0 as f64 / 1e9));
}

fn took(outcomes: &[Outcome]) -> String {
    let (device, processor) = outcomes.iter().fold((0.0, 0.0), |(device, processor), outcome| {
        (device + outcome.figures.seconds, processor + outcome.cost.processor_seconds)
    });
    format!("{device:.0} s of the full drive in {processor:.0} s of a processor")
}
