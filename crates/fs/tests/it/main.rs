//! The integration tests of the file system.

mod changes;
mod journal;
mod journal_cuts;
mod journal_world;
