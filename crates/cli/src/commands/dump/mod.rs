//! `terrace dump STORE [WHAT]`: what is on the medium, part by part, whole or damaged.
//!
//! | file | what it does |
//! |---|---|
//! | `command` | the arguments, and the list of what can be dumped |
//! | `filter` | which keys |
//! | `report` | where the parts go, as text or JSON, and how many are damaged |
//! | `table`, `log` | the engine's files |
//! | `journal`, `superblock` | the file system's own |
//! | `place` | file records, extents and roles, in words and in JSON |
//!
//! Nothing is mounted and nothing written. A part that does not verify is told and passed over; the
//! command then ends with the exit code for corruption.

mod command;
mod filter;
mod journal;
mod log;
mod place;
mod report;
mod superblock;
mod table;

pub(crate) use command::Dump;
