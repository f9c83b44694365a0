//! The file cache: blocks of tables and clients' files in memory, as they were written.
//!
//! BlueFS writes past the operating system's cache, and keeps written blocks in a cache of its own.
//! So compactions find recently flushed tables in memory (CMU-PDL-19-102, sections 3.1, 4 and 5.5).
//! [`FileCache`] is such a cache, with its rules and its lock. `contents` is the state under the
//! lock, and [`CachePolicy`] names the order in which blocks leave.
//!
//! A new cache is empty, and has no room until its size is set.

mod contents;
mod file_cache;
mod policy;

pub use policy::CachePolicy;

pub(crate) use file_cache::FileCache;
