//! `terrace dump IMAGE [PART]`: prints the structures on the medium part by part, whole or damaged,
//! without mounting the store.
//!
//! | file | content |
//! |---|---|
//! | `command` | the arguments, and the list of files |
//! | `filter` | the range of keys to print |
//! | `journal`, `superblock` | the file system's own structures |
//! | `log`, `table` | the engine's files |
//! | `place` | frames, extents and annotations, in words and in JSON |
//! | `printer` | prints parts as text or JSON, and counts the damaged ones |
//!
//! A part that does not verify is reported, and the dump goes on after it if something can still be
//! found there. A dump that comes to its end and has met damaged parts fails with exit code 3.
//! Nothing is written to the store. It must not be open for writing meanwhile.

mod command;
mod filter;
mod journal;
mod log;
mod place;
mod printer;
mod superblock;
mod table;

pub(crate) use command::Dump;
