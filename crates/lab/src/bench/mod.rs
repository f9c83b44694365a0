//! Benchmarks of the store: fixed mixes of operations, workloads of the generator, and traces.
//!
//! | part | task |
//! |---|---|
//! | [`Mix`] | fixed work; most names are those of LevelDB's and RocksDB's `db_bench` |
//! | [`Work`] | a mix, or a workload or a trace of [`workload`](crate::workload) |
//! | [`Medium`] | where the store is: a drive in memory, a drive's image, a directory |
//! | [`Plan`] | parameters, such as the number of entries, and the options of the store |
//! | [`Bench`] | carries out work; file `series`. `run` does one mix, `worker` one thread of it |
//! | [`Measurement`] | the result |
//! | [`write_distribution`] | prints a histogram of latencies |
//! | [`Load`] | fills a drive at random, then checks and reads it |
//! | `background` | how long the engine's flushes and compactions took |
//! | `meter` | time, processor time and peak memory |
//! | [`Reference`] | times of other engines for the same work |
//! | [`BenchError`] | why a benchmark failed |
//!
//! Compare the processor time per operation rather than the time: it depends less on what else the
//! machine does. Both include making and verifying the values.
//!
//! Processor time and peak memory are those of the whole process. So run one benchmark at a time in
//! a process.

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
pub use medium::{Existing, Medium};
pub use mix::Mix;
pub use plan::{Plan, Size};
pub use reference::Reference;
pub use series::{Bench, Contents, Watch};
pub use work::{UnknownWork, Work};
