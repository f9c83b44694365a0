//! Writing and reading files.
//!
//! An [`OpenFile`] is what all handles of one file share. A [`DataWriter`] writes tables and
//! clients' files in large writes. A [`LogWriter`] writes frames to the zone of its lease. A
//! [`Reader`] reads any file, the bytes that a writer still holds in memory included. A [`Pin`]
//! keeps blocks from being written again under readers.

mod cached;
mod data_writer;
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

pub(crate) use data_writer::{DataWriter, is_left_undone, is_zone_failure};
pub(crate) use log_index::LogIndex;
pub(crate) use log_writer::{LogEnd, LogWriter};
pub(crate) use open_file::{Body, FileState, OpenFile};
pub(crate) use pending::Pending;
pub(crate) use pin::Pin;
pub(crate) use reader::Reader;
pub(crate) use source::FileSource;
pub(crate) use tail::Tail;
