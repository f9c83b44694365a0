//! `terrace device`: `create` makes an emulated drive, and `report` prints the geometry of a drive
//! and the state of its zones.
//!
//! | file | content |
//! |---|---|
//! | `command` | the two subcommands |
//! | `create` | makes a drive |
//! | `report` | a drive in a few numbers, and zone by zone |
//! | `shape` | kinds and shapes of drives as one types them |

mod command;
mod create;
mod report;
mod shape;

pub(crate) use command::Device;
pub(crate) use report::state_name;
pub(crate) use shape::DeviceKind;
