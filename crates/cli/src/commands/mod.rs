//! The subcommands, a file or a folder each: arguments, work and output. The other files, which are
//! no subcommands:
//!
//! | file | content |
//! |---|---|
//! | `arguments` | the command line as a whole |
//! | `drive` | opening an image or a block device |
//! | `entry`, `range` | keys, key spaces and ranges as one types them |
//! | `runs` | devices without zones, as a map or a table |
//! | `skip` | reading on after damage |
//! | `source` | a store that is read, be it open in another process |
//! | `target`, `log_drive` | the drive or directory of a store, and how it is opened |
//! | `under` | the system that a store is opened under |
//!
//! The commands `put`, `delete`, `load`, `import`, `flush`, `compact` and `format` close the store
//! before they print their result: reported changes are durable. With `--unsynced-image` it is
//! durable on the emulated drive, and the host decides when the image reaches its disk.

mod advise;
mod arguments;
mod bench;
mod check;
mod checkpoint;
mod compact;
mod completions;
mod delete;
mod demo;
mod device;
mod drive;
mod dump;
mod duration;
mod entry;
mod export;
mod files;
mod flush;
mod forget_offload;
mod format;
mod full_warning;
mod get;
mod import;
mod lab;
mod load;
mod log_drive;
mod man;
mod options;
mod put;
mod range;
mod runs;
mod scan;
mod serve;
mod skip;
mod source;
mod stats;
mod systems;
mod target;
mod top;
mod under;
mod zones;

pub(crate) use arguments::Arguments;
