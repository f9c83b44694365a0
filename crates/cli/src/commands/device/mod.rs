//! `terrace device create` makes an emulated drive in a sparse file; a file that is there is not
//! overwritten. A drive without zones can also be made on a block device of the host, if that holds
//! nothing. `terrace device report` prints the geometry of a drive and the state of its zones.
//!
//! | file | content |
//! |---|---|
//! | `command` | the two subcommands |
//! | `create` | making a drive |
//! | `shape` | kinds and shapes of drives as one types them |
//! | `report` | a drive in a few numbers, and zone by zone |

mod command;
mod create;
mod report;
mod shape;

pub(crate) use command::Device;
pub(crate) use report::state_name;
pub(crate) use shape::DeviceKind;
