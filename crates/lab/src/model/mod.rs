//! The model suite: lists of operations, played on a store on an emulated drive and held against
//! ordered maps. Ingest, checkpoints and salvage are not among the operations.
//!
//! A [`script`](script()) is drawn from a seed and says nothing about the store it will be played
//! on, so that one script can be played under many [`Setting`]s: that is the metamorphic run. A
//! script that fails is [shrunk](shrink()) to the few operations that matter.
//!
//! | file | content |
//! |---|---|
//! | `operation`, `script` | the operations, and lists of them drawn at random |
//! | `setting` | a drive, and the options that the store is opened with |
//! | `contents` | the expected contents, also after a power cut |
//! | `player` | plays a script on store and model, and compares |
//! | `shrink` | makes a failing script short |
//!
//! [`play`] runs within a simulation that the caller starts, with one writer; only the engine's own
//! jobs go on beside it.

mod contents;
mod operation;
mod player;
mod script;
mod setting;
mod shrink;

pub use operation::{Change, KeyNumber, KeyRange, Operation, Step};
pub use player::{Failure, Tally, play};
pub use script::{Kind, script};
pub use setting::{METAMORPHIC_SETTINGS, Setting};
pub use shrink::shrink;
