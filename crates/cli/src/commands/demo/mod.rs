//! `terrace demo [DIR]`: a store's whole life, on an emulated drive: it is filled from a directory
//! tree, changed, cut off from power, recovered and checked.
//!
//! | file | content |
//! |---|---|
//! | `command` | the arguments, and the order of the steps |
//! | `stage` | the drive, and the store's options for so small a world |
//! | `life` | the steps while the power is on: load, read, overwrite, delete, scan |
//! | `burst` | writes until the power is cut, and the check of the recovered store |
//! | `model` | the expected contents of the store, and the comparison with the actual ones |
//! | `outcome` | the result, as JSON and as text |
//!
//! It needs no hardware and no rights. Unless `--keep` names an image, it leaves nothing behind:
//! the image of the drive has no name any more when the store is made, so it is gone however the
//! program ends after that.

mod burst;
mod command;
mod life;
mod model;
mod outcome;
mod stage;

pub(crate) use command::Demo;
