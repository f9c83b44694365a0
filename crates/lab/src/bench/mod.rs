//! The measuring instrument: fixed mixes of operations, the workloads of the generator and traces
//! on a store, in real time.
//!
//! | part | what it does |
//! |---|---|
//! | [`Mix`] | what is done: most names are those of LevelDB's and RocksDB's `db_bench` |
//! | [`Work`] | a mix, or a workload or a trace of [`workload`](crate::workload) |
//! | [`Medium`] | where the store is: memory, a drive's image, a directory |
//! | `worker` | one thread's operations: a client of [`workload`](crate::workload) |
//! | `meter` | wall-clock and processor time of the whole process |
//! | [`Load`] | fills a drive nearly, at random, and sees what becomes of it |
//! | `background` | how long the engine's jobs take, in a load |
//! | [`Plan`] | how many entries and operations, and how stores are opened |
//! | [`Bench`] | carries work out, file `series`; `run` does one mix |
//! | [`Measurement`] | what comes of it; [`write_distribution`] prints its latencies |
//! | [`Reference`] | what other engines take for the same work |
//!
//! Metrics are those of the machine. The one to compare is the processor time per operation, over
//! all threads of the process; it includes making and verifying the values (a copy and a comparison
//! of each). Only one measurement at a time in a process: processor time and peak memory are those
//! of the whole process. Measurements run on threads. A [`Load`] can also run in a simulation:
//! there its waits are the same every time, while processor time is still the machine's.

mod background;
mod distribution;
mod error;
mod load;
mod measurement;
mod medium;
mod meter;
mod mix;
mod plan;
mod reference;
mod run;
mod series;
mod work;
mod worker;

pub use background::{JobTimes, Jobs};
pub use distribution::write_distribution;
pub use error::BenchError;
pub use load::{Load, LoadWatch, Loaded, Phase};
pub use measurement::{KindMeasurement, Latency, Measurement, Played, WhenIdle};
pub use medium::Medium;
pub use mix::Mix;
pub use plan::{Plan, Size};
pub use reference::Reference;
pub use series::{Bench, Contents, Watch};
pub use work::{UnknownWork, Work};
