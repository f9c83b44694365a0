//! The real runner (placeholder for the contract).

use std::sync::OnceLock;
use std::time::Duration;

use crate::Time;

/// A running actor.
#[derive(Debug)]
pub struct JoinHandle<T>(std::thread::JoinHandle<T>);

impl<T> JoinHandle<T> {
    /// Waits for the actor to end.
    pub fn join(self) -> T {
        self.0.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Starts an actor.
pub fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    JoinHandle(thread.spawn(body).expect("a thread"))
}

/// The time on this runner's clock.
#[must_use]
pub fn now() -> Time {
    static START: OnceLock<std::time::Instant> = OnceLock::new();
    let start = START.get_or_init(std::time::Instant::now);
    Time(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// Waits.
pub fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}

/// Lets others run.
pub fn yield_now() {
    std::thread::yield_now();
}
