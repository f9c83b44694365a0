//! Tests of the live page in the distribution's Chromium, without a window:
//! `crates/page/tests/browser/test_page.py`.
//!
//! The pages are made first: a live store and a made-up recording by an example of the crate
//! `page`, and a replay by the program.

use std::process::Command;

use crate::built::Built;
use crate::step::{self, Steps};
use crate::workspace::Workspace;

/// A replay of two systems with short runs.
const REPLAY: [&str; 11] = [
    "lab",
    "replay",
    "geardb/fig10a",
    "--system",
    "geardb",
    "--system",
    "lifetime",
    "--scale",
    "1/256",
    "--share",
    "1/8",
];

/// Makes the pages and looks at them.
pub(crate) fn test(workspace: &Workspace, steps: &mut Steps) {
    steps.run("test: the live page in a browser", || {
        let pages = workspace.target().join("page-samples");
        std::fs::create_dir_all(&pages)?;
        // Without the tests, the whole workspace would be built again with other features.
        Built::all(workspace)?;
        let samples = workspace.target().join("debug/examples/page_samples");
        step::command(Command::new(samples).arg(&pages))?;
        let mut replay = Command::new(workspace.target().join("debug/terrace"));
        step::command(replay.args(REPLAY).arg("--output").arg(pages.join("replay.html")))?;
        let mut tests = Command::new("python3");
        tests.arg(workspace.root().join("crates/page/tests/browser/test_page.py"));
        tests.env("PYTHONDONTWRITEBYTECODE", "1").env("PAGES", &pages);
        step::command(&mut tests)
    });
}
