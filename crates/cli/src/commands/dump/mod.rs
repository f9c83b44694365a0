//! `terrace dump IMAGE [PART]`: prints the structures on the medium part by part, whole or damaged.
//!
//! | file | content |
//! |---|---|
//! | `command` | the arguments, and the list of files |
//! | `filter` | the range of keys to print |
//! | `printer` | prints parts as text or JSON, and counts the damaged ones |
//! | `table`, `log` | the engine's files |
//! | `journal`, `superblock` | the file system's own structures |
//! | `place` | file records, extents and roles, in words and in JSON |
//!
//! The command mounts nothing and writes nothing. It reports a part that does not verify, and goes
//! on behind it if something can still be found there. At the end it then fails with the exit code
//! for corruption. The store must not be open for writing meanwhile.

mod command;
mod filter;
mod journal;
mod log;
mod place;
mod printer;
mod superblock;
mod table;

pub(crate) use command::Dump;
