//! The model suite: lists of operations of every kind, played on a store on an emulated drive and
//! held against ordered maps.
//!
//! A [`script`](script()) is drawn from a seed and says nothing about the store it will be played
//! on, so that one script can be played under many [`Setting`]s: that is the metamorphic run. A
//! script that fails is [shrunk](shrink()) to the few operations that matter.

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
