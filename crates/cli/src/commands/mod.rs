//! The subcommands, a file or a folder each: arguments, work and output. Several share the other
//! files: `arguments`, `entry`, `log_drive`, `range`, `skip`, `target`, `under`.

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
mod scan;
mod skip;
mod stats;
mod systems;
mod target;
mod under;
mod zones;

pub(crate) use arguments::Arguments;
