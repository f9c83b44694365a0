//! Waits for the signals that end the program: Ctrl-C (SIGINT), SIGTERM, and the end of the
//! terminal (SIGHUP). A signal that was ignored from the start, as under `nohup`, stays ignored.

use std::fs;
use std::io;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use terrace_env::runner;

/// Calls `then` in an actor of its own when a first signal comes. A second one ends the process at
/// once.
pub(crate) fn watch(then: impl FnOnce(i32) + Send + 'static) -> io::Result<()> {
    let ignored = ignored_signals();
    let watched = [SIGHUP, SIGINT, SIGTERM].into_iter();
    let mut signals = Signals::new(watched.filter(|signal| ignored >> (signal - 1) & 1 == 0))?;
    runner::spawn("signals", move || {
        let mut signals = signals.forever();
        if let Some(signal) = signals.next() {
            then(signal);
        }
        if let Some(signal) = signals.next() {
            end_by(signal);
        }
    });
    Ok(())
}

/// Ends the process as the signal does without a handler.
pub(crate) fn end_by(signal: i32) {
    let _ = emulate_default_handler(signal);
}

/// The name of a signal.
pub(crate) fn name(signal: i32) -> &'static str {
    match signal {
        SIGHUP => "SIGHUP",
        SIGINT => "SIGINT",
        _ => "SIGTERM",
    }
}

/// The signals that the process was started to ignore, a bit each from signal 1 on. To wait for one
/// would end that.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0)
}
