//! The command line of `terrace top`, and its loop: a sample comes or a key is pressed, and the
//! screen is drawn anew.
//!
//! - On a terminal the picture fills the screen until `q` is pressed, and the screen is as before
//!   then, also after a signal or a panic.
//! - With `--once`, and where standard output is no terminal, one frame is printed as text. If a
//!   process has the store open, it is that of a second sample, so that it shows rates.
//! - With `--json` it is one object, with all numbers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::{CrosstermBackend, TestBackend};
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use serde_json::json;
use terrace_env::runner;

use super::draw::draw;
use super::feed::{Eye, Feed, News};
use super::sample::Sample;
use super::view::{Then, View};
use crate::commands::source::Asked;
use crate::commands::target::Target;
use crate::escape::Visible;
use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::{screen, signals};

/// How long the loop waits for a key before it looks for a sample.
const GLANCE: Duration = Duration::from_millis(100);

/// Size of a frame that is printed.
const PRINTED: (u16, u16) = (100, 40);

/// Show a store while another process writes it: zones, levels, jobs, rates, waits.
#[derive(clap::Args)]
#[command(after_help = "\
Keys: q quits, p holds the picture, s orders the zones, arrows move among them, Enter looks into
one.

Examples:
  terrace top drive.img
  terrace top drive.img --once
  terrace top drive.img --json")]
pub(crate) struct Top {
    #[command(flatten)]
    target: Target,
    /// Print one frame, and end
    #[arg(long)]
    once: bool,
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = interval)]
    interval: f64,
}

fn interval(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected seconds from 0.1 to 3600".to_owned()),
    }
}

impl Top {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        if self.once || output.is_json() || !screen::is_terminal() {
            return self.print(output);
        }
        self.show()
    }

    fn store(&self) -> String {
        Visible(&self.target.path().display().to_string()).to_string()
    }

    fn pause(&self) -> Duration {
        Duration::from_secs_f64(self.interval)
    }

    /// Prints one frame.
    fn print(&self, output: &Output) -> Result<(), Failure> {
        let mut eye = Eye::default();
        let mut samples = Vec::new();
        samples.extend(eye.look(&self.target)?);
        if samples.iter().any(|sample: &Sample| sample.owner.is_some()) {
            runner::sleep(self.pause());
            // If it has ended meanwhile, there is a still picture, or the first sample.
            samples.extend(eye.look(&self.target).unwrap_or_default());
        }
        let last = samples.last().ok_or_else(|| self.unseen())?;
        let json = json!({
            "open_in": last.owner.as_ref().map(Asked::of),
            "snapshot": last.snapshot,
            "map": *last.map,
        });
        let mut view = View::new(self.store(), false);
        samples.into_iter().for_each(|sample| view.take(sample));
        output.result(&json, |out| io::Write::write_all(out, frame(&mut view, PRINTED).as_bytes()))
    }

    fn unseen(&self) -> Failure {
        Failure::new(
            Kind::Failed,
            format!("{}: expected a store, found none to look at", self.store()),
        )
    }

    /// Shows the picture until a key or a signal ends it.
    fn show(&self) -> Result<(), Failure> {
        // A store that is not there is told before the screen is taken.
        let first = Eye::default().look(&self.target)?;
        let failed =
            |error: io::Error| Failure::new(Kind::Failed, format!("the terminal: {error}"));
        let ended_by = Arc::new(AtomicI32::new(0));
        let by = Arc::clone(&ended_by);
        signals::watch(move |signal| by.store(signal, Ordering::Relaxed)).map_err(failed)?;
        let feed = Arc::new(Feed::default());
        let mut view = View::new(self.store(), screen::has_colours());
        first.into_iter().for_each(|sample| view.take(sample));
        let (of, target, pause) = (Arc::clone(&feed), self.target.clone(), self.pause());
        // Not waited for: it may be in the middle of a question to a process that is stopped.
        runner::spawn("top feed", move || of.run(&target, pause));
        let shown = turn(&mut view, &feed, &ended_by).map_err(failed);
        feed.end();
        shown?;
        match ended_by.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => {
                let message = format!("ended by {}", signals::name(signal));
                Err(Failure::new(Kind::Signal(signal), message))
            }
        }
    }
}

/// Gives the terminal back.
struct Restore;

impl Drop for Restore {
    fn drop(&mut self) {
        let _ = disable_raw_mode();
        let _ = execute!(screen::terminal(), LeaveAlternateScreen, cursor::Show);
    }
}

/// The loop of keys and frames.
fn turn(view: &mut View, feed: &Feed, ended_by: &AtomicI32) -> io::Result<()> {
    enable_raw_mode()?;
    let _restore = Restore;
    execute!(screen::terminal(), EnterAlternateScreen, cursor::Hide)?;
    let mut terminal = Terminal::new(CrosstermBackend::new(screen::terminal()))?;
    let mut is_new = true;
    while ended_by.load(Ordering::Relaxed) == 0 {
        match feed.take() {
            Some(News::Sample(sample)) => {
                view.note = None;
                view.take(*sample);
                is_new = true;
            }
            Some(News::Missing(why)) => {
                view.note = Some(why);
                is_new = true;
            }
            None => {}
        }
        if std::mem::take(&mut is_new) {
            terminal.draw(|frame| draw(frame, view))?;
        }
        if !event::poll(GLANCE)? {
            continue;
        }
        is_new = true;
        if let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
            && view.press(key) == Then::End
        {
            break;
        }
    }
    Ok(())
}

/// A frame as text, without spaces at the ends of lines.
pub(super) fn frame(view: &mut View, (columns, lines): (u16, u16)) -> String {
    let backend = TestBackend::new(columns, lines);
    let Ok(mut terminal) = Terminal::new(backend);
    let Ok(_) = terminal.draw(|frame| draw(frame, view));
    let buffer = terminal.backend().buffer();
    let cells = buffer.content().chunks(usize::from(columns));
    let mut text = String::new();
    for row in cells {
        let row: String = row.iter().map(|cell| cell.symbol()).collect();
        text += row.trim_end();
        text.push('\n');
    }
    text
}
