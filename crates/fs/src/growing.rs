//! Numbers on the medium that only grow: file ids, epochs, sequences of frames, generations of
//! superblocks. Each has an end that no store reaches in its life.
//!
//! - A number at or above its end is refused when it is read, so that arithmetic cannot overflow.
//! - Writing begins only while all numbers are below half of their ends. So a store that took
//!   a write can be read ever after.
//!
//! The number of an append, of a file or of a mount takes some time to make. Half of an end is more
//! than a century of any of them, except of epochs: these are checked at each mount, which takes
//! one.

use terrace_env::codec::{DecodeError, Reader};
use terrace_env::store::StoreError;
use terrace_env::{FileId, Uuid};

/// File ids are smaller.
pub(crate) const FILE_ID_END: u64 = 1 << 62;

/// Epochs are smaller: each mount for writing takes one.
pub(crate) const EPOCH_END: u32 = 1 << 31;

/// Sequences of frames are smaller.
pub(crate) const SEQUENCE_END: u64 = 1 << 62;

/// Generations of superblocks are smaller.
pub(crate) const GENERATION_END: u64 = 1 << 62;

/// Reads a file id.
pub(crate) fn read_file_id(
    from: &mut Reader<'_>,
    field: &'static str,
) -> Result<FileId, DecodeError> {
    let id = from.u64(field)?;
    if id >= FILE_ID_END {
        return Err(from.wrong(field, 8, "less than 2^62", id));
    }
    Ok(FileId(id))
}

/// Reads an epoch.
pub(crate) fn read_epoch(from: &mut Reader<'_>, field: &'static str) -> Result<u32, DecodeError> {
    let epoch = from.u32(field)?;
    if epoch >= EPOCH_END {
        return Err(from.wrong(field, 4, "less than 2^31", epoch.into()));
    }
    Ok(epoch)
}

/// Reads the sequence of a frame.
pub(crate) fn read_sequence(
    from: &mut Reader<'_>,
    field: &'static str,
) -> Result<u64, DecodeError> {
    let sequence = from.u64(field)?;
    if sequence >= SEQUENCE_END {
        return Err(from.wrong(field, 8, "less than 2^62", sequence));
    }
    Ok(sequence)
}

/// Checks that a number leaves room to write: it must be below half of its end.
pub(crate) fn check_room(
    store: Uuid,
    field: &str,
    number: u64,
    end: u64,
) -> Result<(), StoreError> {
    if number < end / 2 {
        return Ok(());
    }
    let below = (end / 2).ilog2();
    Err(StoreError::Invalid(format!(
        "store {store}: {field}: expected less than 2^{below} to write, found {number}; \
         it can still be opened for reading, and its data copied to a new store"
    )))
}
