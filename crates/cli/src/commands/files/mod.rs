//! `terrace fs`: the files of a drive, as the file system has them. `ls`, `cat` and `df` look at
//! any drive or directory, also at one that holds a store. `put`, `rm`, `mv`, `backup` and
//! `restore` work on files with names, and refuse a store.
//!
//! | module | content |
//! |---|---|
//! | `command` | the subcommands |
//! | `listing`, `cat`, `usage` | commands that only look: `ls`, `cat`, `df` |
//! | `put`, `remove`, `rename` | changes of one name or directory: `put`, `rm`, `mv` |
//! | `backup`, `restore`, `manifest` | all files, to a directory of the host and back |
//! | `opened` | the files of a target, and how they are opened and closed |
//! | `directory` | directories, which are beginnings of names |
//! | `date` | times of modification in words |
//!
//! A name is used as it is typed. RocksDB's names begin with `/`.

mod backup;
mod cat;
mod command;
mod date;
mod directory;
#[cfg(test)]
mod fuzz;
mod listing;
mod manifest;
mod opened;
mod put;
mod remove;
mod rename;
mod restore;
mod usage;

pub(crate) use command::Files;
