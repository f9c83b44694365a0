//! `terrace device`: `create` makes an emulated drive, `report` prints the geometry of a drive and
//! the state of its zones, and `list` finds the block devices of this machine.
//!
//! | file | content |
//! |---|---|
//! | `command` | the three subcommands |
//! | `create` | makes a drive |
//! | `list` | the block devices of this machine |
//! | `report` | a drive in a few numbers, and zone by zone |
//! | `shape` | kinds and shapes of drives as one types them |

mod command;
mod create;
mod list;
mod report;
mod shape;

pub(crate) use command::Device;
pub(crate) use shape::DeviceKind;
