//! [`Bars`]: the progress of a series of runs, on standard error. If this is a terminal, it shows a
//! bar for each active run. In any case it prints a line when a run has ended, well or not, and
//! when a kept outcome cannot be used, so that its run is carried out again.
//!
//! Threads: several may call [`Bars::notice`] at the same time. The events of one run must come in
//! order.

use std::sync::OnceLock;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use terrace_env::Time;
use terrace_lab::run::{Outcome, Progress, RunPlan};
use terrace_lab::series::Event;

use crate::escape::Visible;
use crate::screen::Screen;

const SHAPE: &str = "{prefix:40!} {wide_bar:.cyan/dim} {percent:>3} % {msg:>12} {eta:>5}";

/// A bar for each active run, on standard error. State shared by runs is not locked: a
/// simulation may not wait for another.
pub(crate) struct Bars {
    titles: Vec<String>,
    all: MultiProgress,
    /// The bar of each run, once the run has begun.
    bars: Vec<OnceLock<ProgressBar>>,
}

impl Bars {
    pub(crate) fn new(plans: &[RunPlan]) -> Self {
        let titles = plans.iter().map(title).collect();
        let bars = plans.iter().map(|_| OnceLock::new()).collect();
        Self { titles, all: MultiProgress::new(), bars }
    }

    /// Takes all bars away.
    pub(crate) fn clear(&self) {
        // There is no other place to report that standard error is gone.
        let _ = self.all.clear();
    }

    pub(crate) fn notice(&self, run: usize, event: &Event<'_>) {
        let (title, bar) = (&self.titles[run], &self.bars[run]);
        match event {
            Event::Known => {}
            Event::Distrusted(error) => self.line(&format!("{title}: run again: {error}")),
            Event::Began => {
                let bar = bar.get_or_init(|| self.all.add(ProgressBar::new(1)));
                let style = ProgressStyle::with_template(SHAPE);
                bar.set_style(style.expect("a template that is valid"));
                bar.set_prefix(Visible(title).to_string());
            }
            Event::Did(progress, time) => {
                bar.get().into_iter().for_each(|bar| show(bar, progress, *time));
            }
            Event::Ended(result) => {
                bar.get().into_iter().for_each(ProgressBar::finish_and_clear);
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
            let _ = writeln!(Screen::errors(), "{}", Visible(text));
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
        (device + outcome.metrics.seconds, processor + outcome.cost.processor_seconds)
    });
    format!("{device:.0} s of the full drive in {processor:.0} s of a processor")
}
