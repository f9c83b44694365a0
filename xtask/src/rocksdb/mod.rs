//! Tests of the RocksDB plug-in with the distribution's RocksDB: library, `db_bench`, `ldb` and
//! `sst_dump`. Each works on an emulated drive of its own that allows 14 open zones.
//!
//! 1. The C API, the program `terrace`, the plug-in and its contract program are built.
//! 2. The contract program makes every call of the file system, and a checkpoint and a backup,
//!    which it opens again. It counts the writes of synced inserts, fills a drive, opens the
//!    database on the full drive again and again, and goes on after deleting.
//! 3. `db_bench` fills, overwrites and reads, with the plug-in by LD_PRELOAD. The reads must find
//!    all that was written. Then `ldb checkconsistency` and `sst_dump --command=verify` must find
//!    nothing wrong.
//!    A tool that only reads must not have changed the image.
//! 4. The drive of these databases is backed up, and restored on one with zones four times as
//!    large, where the tools must find nothing wrong either.
//! 5. A process that writes is killed at random moments: [`kills`].
//!
//! | file | content |
//! |---|---|
//! | `plugin` | the first four of these |
//! | `kills` | the kills |
//! | `compare` | `cargo xtask bench rocksdb`: processor time, next to an ordinary file system |
//! | `space` | `cargo xtask bench rocksdb --space`: space efficiency under overwrites |

mod compare;
mod kills;
mod plugin;
mod space;

pub(crate) use self::compare::{Compared, run as compare};
pub(crate) use self::kills::Arguments;
pub(crate) use self::plugin::test;
