//! The generator of load: operations of clients, and the clients that carry them out and verify the
//! answers. It serves real and virtual time alike.
//!
//! A [`Workload`] gives a sequence of [`Operation`]s on *records*. A [`Preset`] is a workload with
//! a name, such as `fillrandom` or `ycsb-a`. A sequence can be written down and carried out again:
//! see [`Trace`]. A client writes only records with numbers below 2^32.
//!
//! | part | task |
//! |---|---|
//! | [`Workload`], [`Preset`], [`Ycsb`], [`Chooser`], [`Sizes`] | which operation comes next |
//! | [`Zipfian`], [`Order`] | distributions and orders of records, for choosers |
//! | [`Source`] | a sequence with an end: the first operations of a workload, a trace |
//! | [`Arriving`] | a source whose operations arrive at [instants](crate::arrivals): an open loop |
//! | [`Entries`] | keys and values by record; a wrong value can be told from a right one |
//! | [`Ledger`] | required contents of the store, also while several clients write |
//! | [`World`] | a store with its entries and its ledger |
//! | [`Client`] | carries out operations, times them, verifies the answers |
//! | [`Crowd`] | several clients on one sequence |
//! | [`Tally`] | their work: latencies by kind of operation, bytes, misses |
//!
//! Only the clients of a world may write to its store, or their verdicts may be wrong. If a client
//! fails, the other clients of its crowd stop.
//!
//! Time and threads come from `env`. So the same code runs on threads, and in a simulation, where
//! it does the same each time from the same seed:
//!
//! ```
//! use std::sync::Arc;
//! use terrace::{Db, MemoryStore, Options};
//! use terrace_env::runner;
//! use terrace_lab::workload::{Crowd, Entries, First, Kind, Preset, Sizes, World};
//!
//! let tally = runner::simulate(1, || {
//!     let db = Db::open(Arc::new(MemoryStore::new()), Options::default()).unwrap();
//!     let (preset, keys, values): (Preset, _, _) =
//!         ("fillrandom".parse().unwrap(), Sizes::Constant(16), Sizes::Uniform(100, 400));
//!     let entries = Entries::new(1, keys, preset.key_order(), values.max() as usize);
//!     let world = World::new(db.clone(), Arc::new(entries));
//!     let source = First::new(preset.workload(values, 1_000, 1), 1_000);
//!     let tally = Crowd::new(2).play(&world, source, &mut |_| ()).unwrap();
//!     world.verify(&mut |_| ()).unwrap();
//!     println!("{:?}", world.ledger().held());
//!     db.close().unwrap();
//!     tally
//! });
//! assert_eq!(tally.latencies(Kind::Update).len(), 1_000);
//! ```

mod chooser;
mod client;
mod contest;
mod crowd;
mod entries;
mod error;
#[cfg(test)]
mod fuzz;
mod ledger;
mod operation;
mod order;
mod preset;
mod sizes;
mod source;
mod tally;
mod trace;
mod turn;
mod world;
mod ycsb;
mod zipfian;

pub use chooser::{Chooser, UnknownChooser};
pub use client::Client;
pub use crowd::{Crowd, CrowdError};
pub use entries::{Entries, KEY_SIZE_MIN, KeyOrder, VALUE_SIZE_MAX, VALUE_SIZE_MIN, Wrong};
pub use error::{ClientError, Defect};
pub use ledger::{Before, Held, Ledger, RECORDS_MAX, Write};
pub use operation::{Kind, Operation, Proportions, Workload};
pub use order::Order;
pub use preset::{Preset, UnknownWorkload};
pub use sizes::{NoSizes, Sizes};
pub use source::{Arriving, First, Recorded, Request, Source, SourceError};
pub(crate) use tally::time_scale_of;
pub use tally::{Tally, latencies};
pub use trace::{Trace, TraceError, TraceSummary, TraceWriter};
pub use world::World;
pub use ycsb::Ycsb;
pub use zipfian::{ScrambledZipfian, Zipfian};
