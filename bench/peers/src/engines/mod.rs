//! The engines, each with one discipline of options, the same for all where they have it: no
//! compression, memtables of 64 MiB, of which two may wait for their flush, 256 MiB of cache for
//! blocks, filters of 10 bits a key, blocks of 4 KiB, two threads in the background, checksums
//! verified on reads. Each file tells where its engine differs.
//!
//! | file | content |
//! |---|---|
//! | `engine` | the operations |
//! | `name` | names of the engines, which of them are to be had, and openings |
//! | `terrace` | Terrace, in a directory and in the image of a drive |
//! | `c_api` | operations that the C interfaces of RocksDB and LevelDB share |
//! | `rocksdb`, `leveldb` | their options, and the calls that only one of them has |
//! | `fjall`, `redb` | the engines of these names |
//! | `locked` | versions of their crates |

mod c_api;
mod engine;
mod fjall;
mod leveldb;
mod locked;
mod name;
mod redb;
mod rocksdb;
mod terrace;

pub(crate) use engine::{Engine, Seen};
pub(crate) use name::{Libraries, Log, Name};
