//! The file cache: blocks of files in memory, as they were written.
//!
//! BlueFS writes past the operating system's cache, and keeps written blocks in a cache of its own,
//! so that compactions find recently flushed tables in memory (CMU-PDL-19-102, sections 3.1, 4 and
//! 5.5). A [`FileCache`] is that cache, with its rules and its lock; `contents` is what the lock
//! guards; [`CachePolicy`] says what leaves it.
//!
//! It holds whole blocks of tables and clients' files, none of logs. It has no room before somebody
//! sets its size, and is empty after each mount. What a reader finds in it is what it would find on
//! the medium.

mod contents;
mod file_cache;
mod policy;

pub use policy::CachePolicy;

pub(crate) use file_cache::FileCache;
