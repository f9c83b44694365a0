//! The real runner: actors are threads, and the clock is the machine's.
//!
//! The clock is zero when the process first looks at it, and does not go back. If the operating
//! system does not grant a thread, the caller panics.

use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use super::JoinHandle;
use crate::Time;

#[expect(clippy::disallowed_methods, reason = "this is the place threads come from")]
pub(super) fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let thread = thread::Builder::new().name(name.to_owned());
    JoinHandle::thread(thread.spawn(body).expect("the operating system grants a thread"))
}

#[expect(clippy::disallowed_methods, reason = "this is the place time comes from")]
pub(super) fn now() -> Time {
    static START: OnceLock<std::time::Instant> = OnceLock::new();
    let start = START.get_or_init(std::time::Instant::now);
    Time(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

#[expect(clippy::disallowed_methods, reason = "this is the place threads sleep")]
pub(super) fn sleep(duration: Duration) {
    thread::sleep(duration);
}

#[expect(clippy::disallowed_methods, reason = "this is the place threads yield")]
pub(super) fn yield_now() {
    thread::yield_now();
}
