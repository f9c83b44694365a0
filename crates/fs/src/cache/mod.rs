//! The file cache: blocks of files in memory, as they were written.
//!
//! BlueFS writes past the operating system's cache, and keeps written blocks in a cache of its own,
//! so that compactions find recently flushed tables in memory (CMU-PDL-19-102, sections 3.1, 4 and
//! 5.5). A [`FileCache`] is that cache; [`CachePolicy`] says what leaves it.

mod contents;
mod file_cache;
mod policy;

pub use policy::CachePolicy;

pub(crate) use file_cache::FileCache;
