//! [`TerracePendingRead`]: a read that has been begun, to be waited for.

use std::mem::MaybeUninit;

use terrace_env::Cause;
use terrace_env::store::{PendingRead, ReadBuf};

use crate::TerraceCode;
use crate::failure::{Failure, given, guard};
use crate::reader::TerraceReader;
use crate::slice::TerraceBuffer;
use crate::value::{clear, hand_over};

/// A read that has been begun. It may outlive its reader, but not the file system. Its bytes are
/// kept in separate memory until they are waited for.
pub struct TerracePendingRead(PendingRead);

/// Begins to read at most `len` bytes from `offset` on, fewer at the end of the file. If the device
/// has a queue, the call returns before they are read. The wait returns a failure of the read. To
/// be freed by `terrace_pending_read_wait` or `terrace_pending_read_drop`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_reader_submit(
    reader: Option<&TerraceReader>,
    offset: u64,
    len: usize,
    read: Option<&mut MaybeUninit<*mut TerracePendingRead>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(read, "read")?;
        let TerraceReader(reader) = given(reader, "reader")?;
        let left = usize::try_from(reader.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        let buffer = ReadBuf::zeroed(left.min(len));
        let pending = match buffer.is_empty() {
            true => PendingRead::done(Ok(buffer)),
            false => reader.submit(offset, buffer, Cause::Client),
        };
        hand_over(out, TerracePendingRead(pending));
        Ok(())
    })
}

/// Waits for a read, copies its bytes to the start of `into`, stores their number in `*count`, and
/// frees the handle, also after an error. `into` must have room for them.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_pending_read_wait(
    read: Option<Box<TerracePendingRead>>,
    into: TerraceBuffer<'_>,
    count: Option<&mut MaybeUninit<usize>>,
) -> TerraceCode {
    guard(|| {
        let count = given(count, "count")?;
        count.write(0);
        let TerracePendingRead(read) = *given(read, "read")?;
        let into = into.bytes("into")?;
        let found = read.wait()?;
        let room = into.len();
        let Some(into) = into.get_mut(..found.len()) else {
            return Err(Failure::invalid(format_args!(
                "into: expected room for {} bytes, found {room}",
                found.len()
            )));
        };
        into.copy_from_slice(&found);
        count.write(found.len());
        Ok(())
    })
}

/// Frees a read whose bytes are not needed. It may wait for the device. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_pending_read_drop(read: Option<Box<TerracePendingRead>>) {
    guard(|| {
        drop(read);
        Ok(())
    });
}
