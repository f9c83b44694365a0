//! Writing and reading files on devices.
//!
//! | part | task |
//! |---|---|
//! | [`OpenFile`] | state that all handles of a file share: map, bytes in memory |
//! | [`DataWriter`], [`Tail`] | write tables and clients' files; the end that grows |
//! | [`LogWriter`], [`Pending`] | write logs as frames; the bytes that are in no frame yet |
//! | `log_lease` | where a log's next frames go |
//! | [`LogIndex`], [`FileSource`] | where a log's bytes lie in its frames; its blocks, for a scan |
//! | [`Reader`], `submitted`, `cached` | read any file, also bytes in a writer's memory |
//! | `joint` | reads files that lie one after the other by one request |
//! | [`Pin`] | keeps blocks from being written again under readers |
//! | `write_failure`, `elsewhere` | which errors of a write let another zone take the bytes; how |
//!
//! # Invariants
//! - A file has at most one writer, and any number of readers.
//! - Within a mount, a reader finds the bytes that were appended and not trimmed, unless the file's
//!   writer or a device has failed.
//! - No lock is held over a device call: a read is planned under the file's lock, and carried out
//!   without it.
//!
//! Single reads are not verified here. A log that has no index yet is read and verified as a whole
//! when it gets one; the bytes of other files are left to their owner to verify.

mod cached;
mod data_writer;
mod elsewhere;
mod joint;
mod log_index;
mod log_lease;
mod log_writer;
mod open_file;
mod pending;
mod pin;
mod reader;
mod source;
mod submitted;
mod tail;
mod write_failure;

pub(crate) use data_writer::DataWriter;
pub(crate) use log_index::LogIndex;
pub(crate) use log_writer::{LogEnd, LogWriter};
pub(crate) use open_file::{Body, FileState, OpenFile};
pub(crate) use pending::Pending;
pub(crate) use pin::Pin;
pub(crate) use reader::Reader;
pub(crate) use source::FileSource;
pub(crate) use tail::Tail;
pub(crate) use write_failure::{is_left_undone, is_zone_failure};
