//! `terrace demo [DIR]`: a store's whole life, on an emulated drive: it is filled from a directory
//! tree, changed, cut off from power, recovered and checked.
//!
//! | file | content |
//! |---|---|
//! | `burst` | puts until the power is cut, and the check of the recovered ones |
//! | `command` | the arguments, and the order of the steps |
//! | `cut_off` | a device that is cut off from its host |
//! | `life` | the steps before the burst: load, read, overwrite and delete, scan |
//! | `model` | the expected files of the store, and the comparison with the actual ones |
//! | `outcome` | the result, as JSON and as text |
//! | `place` | the drive: an emulated one, or a device |
//! | `stage` | the drive, and options of the store that fit the amount of data |
//!
//! Without `--keep` the drive is a temporary file that is deleted as soon as it is open.

mod burst;
mod command;
mod cut_off;
mod life;
mod model;
mod outcome;
mod place;
mod stage;

pub(crate) use command::Demo;
