//! Model test: plays lists of operations on a store on emulated drives, and compares the answers
//! with ordered maps.
//!
//! A [`script`](script()) of operations is drawn from a seed. It does not say which drives there
//! are, and names options by number. So the same script can be played under many [`Setting`]s: a
//! metamorphic test. [`shrink()`] shortens a script that fails.
//!
//! | file | content |
//! |---|---|
//! | `operation`, `script` | the operations, and lists of them drawn at random |
//! | `setting` | drives, and the options that the store is opened with |
//! | `contents` | the expected contents, also after a power cut |
//! | `place` | the store's medium |
//! | `player` | plays a script on store and model, and compares |
//! | `pairs` | which features have met |
//! | `shrink` | makes a failing script short |
//!
//! The operations are played one after the other; only the engine's own jobs run at the same time.
//! Entries that expire are among them, and days that pass. Salvage is not tested. [`play`] must run
//! inside a simulation; [`play_on`] plays on a real device.

mod contents;
mod operation;
mod pairs;
mod place;
mod player;
mod script;
mod setting;
mod shrink;

pub use operation::{Change, KeyNumber, KeyRange, Operation, Step};
pub use pairs::{Feature, Pairs};
pub use player::{Failure, Tally, play, play_on};
pub use script::{Kind, script};
pub use setting::{METAMORPHIC_SETTINGS, Setting};
pub use shrink::shrink;
