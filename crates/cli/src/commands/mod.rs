//! The subcommands, a file or a folder each: arguments, work and output. The other files are
//! shared:
//!
//! | file | content |
//! |---|---|
//! | `arguments` | the command line as a whole |
//! | `target`, `log_drive` | the drive or directory of a store, and how it is opened |
//! | `under` | the system that it is opened under |
//! | `entry`, `range` | keys, key spaces and ranges as one types them |
//! | `skip` | reading on behind damage |
//! | `runs` | devices without zones, as a map or a table |
//!
//! - A command that looks at a store opens it for reading only, and changes nothing.
//! - A command that writes to a store closes it before it prints its result: what it reports is
//!   durable. With `--unsynced-image` it is durable on the emulated drive, but the host writes the
//!   image to its disk when it likes.

mod arguments;
mod bench;
mod check;
mod checkpoint;
mod compact;
mod completions;
mod delete;
mod demo;
mod device;
mod dump;
mod entry;
mod export;
mod files;
mod format;
mod get;
mod import;
mod lab;
mod load;
mod log_drive;
mod man;
mod put;
mod range;
mod runs;
mod scan;
mod skip;
mod stats;
mod systems;
mod target;
mod under;
mod zones;

pub(crate) use arguments::Arguments;
