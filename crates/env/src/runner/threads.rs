//! The real runner: actors are threads, the clock is the machine's monotonic clock, and the date
//! is that of the machine.
//!
//! The clock shows zero when the process first looks at it. A precise sleep spins for the last
//! 80 us before its time, or less, because a sleeping thread wakes up late.

use std::io;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use super::JoinHandle;
use crate::{Date, Time};

#[expect(clippy::disallowed_methods, reason = "this is the place threads come from")]
pub(super) fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let thread = thread::Builder::new().name(name.to_owned());
    Ok(JoinHandle::thread(thread.spawn(body)?))
}

#[expect(clippy::disallowed_methods, reason = "this is the place time comes from")]
pub(super) fn now() -> Time {
    static START: OnceLock<std::time::Instant> = OnceLock::new();
    let start = START.get_or_init(std::time::Instant::now);
    Time(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

#[expect(clippy::disallowed_methods, reason = "this is the place dates come from")]
pub(super) fn date() -> Date {
    std::time::SystemTime::now().into()
}

#[expect(clippy::disallowed_methods, reason = "this is the place threads sleep")]
pub(super) fn sleep(duration: Duration) {
    thread::sleep(duration);
}

/// How long before the time a precise sleep wakes up and spins. A timer of Linux is late by its
/// slack, 50 us, and by the time that it takes to wake a thread.
const SPIN: Duration = Duration::from_micros(80);

/// Sleeps until shortly before a time, and spins for the rest, which is at most `SPIN`: if the
/// thread is woken in time, it goes on within a microsecond.
pub(super) fn sleep_until_precisely(time: Time) {
    let left = time.since(now());
    if left > SPIN {
        sleep(left - SPIN);
    }
    while now() < time {
        std::hint::spin_loop();
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the place threads yield")]
pub(super) fn yield_now() {
    thread::yield_now();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_precise_sleep_is_never_early_and_ends() {
        let late = (0..40).map(|round| {
            let time = now() + Duration::from_micros(50 + 37 * round);
            sleep_until_precisely(time);
            let woken = now();
            assert!(woken >= time, "{woken} before {time}");
            woken.since(time)
        });
        // A busy machine is late, but not by that much each time.
        let least = late.min().expect("forty rounds");
        assert!(least < Duration::from_millis(50), "{least:?}");
        let past = now();
        sleep_until_precisely(past);
    }
}
