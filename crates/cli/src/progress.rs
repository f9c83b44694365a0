//! [`Progress`]: the bar of long work. It is drawn on standard error if that is a terminal, and
//! otherwise not at all. It disappears when it is dropped: drop it before a result is printed.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar for one piece of long work. It disappears when it is dropped.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Work measured in bytes.
    pub(crate) fn bytes(what: &'static str, total: u64) -> Self {
        const SHAPE: &str =
            "{msg:14} {wide_bar:.cyan/dim} {binary_bytes:>10} of {binary_total_bytes:10} {eta:>5}";
        Self::start(what, total, SHAPE)
    }

    /// Work measured in pieces.
    pub(crate) fn pieces(what: &'static str, total: u64) -> Self {
        Self::start(what, total, "{msg:14} {wide_bar:.cyan/dim} {pos:>10} of {len:10} {eta:>5}")
    }

    /// Work of which only the bytes done are known.
    pub(crate) fn written(what: &'static str) -> Self {
        Self::start(what, 0, "{msg:14} {spinner} {binary_bytes:>10} {elapsed:>5}")
    }

    fn start(what: &'static str, total: u64, shape: &str) -> Self {
        // Draws to standard error; hidden where that is no terminal.
        let bar = ProgressBar::new(total);
        bar.set_style(ProgressStyle::with_template(shape).expect("a template that is valid"));
        bar.set_message(what);
        Self(bar)
    }

    /// `done` more is done.
    pub(crate) fn add(&self, done: u64) {
        self.0.inc(done);
    }

    /// `done` is done in all.
    pub(crate) fn reach(&self, done: u64) {
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
