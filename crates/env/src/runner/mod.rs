//! The two runners: real threads, and simulated actors on a virtual clock.

mod threads;

pub use threads::{JoinHandle, now, sleep, spawn, yield_now};
