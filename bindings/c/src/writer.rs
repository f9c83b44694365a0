//! [`TerraceWriter`]: the only writer of a file.

use terrace::fs::NamedWriter;

use crate::TerraceCode;
use crate::failure::{given, guard};
use crate::fs::TerraceFileOptions;
use crate::slice::TerraceSlice;

/// The only writer of a file.
pub struct TerraceWriter(pub(crate) NamedWriter);

/// Changes the expected lifetime and the urgency of the file, before the first append: see
/// `TerraceFileOptions`. The lifetime of a log is durable at once; that of another file, when it is
/// finished. For a file that was finished before, the call has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_writer_place(
    writer: Option<&mut TerraceWriter>,
    lifetime: u32,
    urgent: u32,
) -> TerraceCode {
    guard(|| {
        let file =
            TerraceFileOptions { lifetime, urgent, ..TerraceFileOptions::default() }.file()?;
        Ok(given(writer, "writer")?.0.place(file.hint, file.rank)?)
    })
}

/// Appends bytes. They can be read at once, and are durable after a sync or the finish.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_writer_append(
    writer: Option<&mut TerraceWriter>,
    bytes: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| Ok(given(writer, "writer")?.0.append(bytes.bytes("bytes")?)?))
}

/// Writes out the appended bytes of a log to the medium without making them durable: they survive
/// the end of the process, but not a power cut. No effect for other files.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_writer_write_out(writer: Option<&mut TerraceWriter>) -> TerraceCode {
    guard(|| Ok(given(writer, "writer")?.0.write_out()?))
}

/// Makes all appended bytes durable.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_writer_sync(writer: Option<&mut TerraceWriter>) -> TerraceCode {
    guard(|| Ok(given(writer, "writer")?.0.sync()?))
}

/// Cuts the file to its first `size` bytes, durably and without a copy; `TERRACE_CODE_INVALID` if
/// it is shorter. If that changes its length, the file is finished; a later append makes a copy, as
/// after `terrace_fs_append_to`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_writer_truncate(
    writer: Option<&mut TerraceWriter>,
    size: u64,
) -> TerraceCode {
    guard(|| Ok(given(writer, "writer")?.0.truncate(size)?))
}

/// Bytes of the file, appended ones included; 0 for null.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_writer_size(writer: Option<&TerraceWriter>) -> u64 {
    writer.map_or(0, |writer| writer.0.size())
}

/// Makes everything durable, ends the file, which takes no more bytes, and frees the handle, also
/// after an error. `modified` is its time of modification. `TERRACE_CODE_NOT_FOUND` if the file has
/// been removed meanwhile. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_writer_finish(
    writer: Option<Box<TerraceWriter>>,
    modified: u64,
) -> TerraceCode {
    guard(|| {
        let Some(mut writer) = writer else { return Ok(()) };
        Ok(writer.0.finish(modified)?)
    })
}

/// Frees the handle. The file stays: synced bytes are durable, other bytes may be lost, and it can
/// be opened for further appends. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_writer_close(writer: Option<Box<TerraceWriter>>) {
    guard(|| {
        drop(writer);
        Ok(())
    });
}
