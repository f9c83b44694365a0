//! [`TerraceWriter`]: the only writer of a file.

use std::sync::Arc;

use terrace::fs::NamedFiles;
use terrace_env::store::{FileWriter, PlacementHint};

use crate::TerraceCode;
use crate::failure::{given, guard};
use crate::slice::TerraceSlice;

/// The only writer of a file.
pub struct TerraceWriter {
    files: Arc<NamedFiles>,
    writer: Box<dyn FileWriter>,
    hint: PlacementHint,
}

impl TerraceWriter {
    pub(crate) fn new(
        files: &Arc<NamedFiles>,
        writer: Box<dyn FileWriter>,
        hint: PlacementHint,
    ) -> Self {
        Self { files: Arc::clone(files), writer, hint }
    }
}

/// Appends bytes. They can be read at once, and are durable after a sync or the finish.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_writer_append(
    writer: Option<&mut TerraceWriter>,
    bytes: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| Ok(given(writer, "writer")?.writer.append(bytes.bytes("bytes")?)?))
}

/// Hands the appended bytes of a log to the medium without making them durable: they survive the
/// end of the process, but not a power cut. Does nothing for other files.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_writer_write_out(writer: Option<&mut TerraceWriter>) -> TerraceCode {
    guard(|| Ok(given(writer, "writer")?.writer.write_out()?))
}

/// Makes everything durable that was appended so far.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_writer_sync(writer: Option<&mut TerraceWriter>) -> TerraceCode {
    guard(|| Ok(given(writer, "writer")?.writer.sync()?))
}

/// How many bytes the file has, those appended included; 0 for null.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_writer_size(writer: Option<&TerraceWriter>) -> u64 {
    writer.map_or(0, |writer| writer.writer.len())
}

/// Makes everything durable, ends the file, which takes no more bytes, and frees the handle, be it
/// with an error. `modified` is its time of modification. `TERRACE_CODE_NOT_FOUND` if the file has
/// been removed meanwhile. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_writer_finish(
    writer: Option<Box<TerraceWriter>>,
    modified: u64,
) -> TerraceCode {
    guard(|| {
        let Some(mut writer) = writer else { return Ok(()) };
        let TerraceWriter { files, writer, hint } = &mut *writer;
        Ok(files.seal(&mut **writer, *hint, modified)?)
    })
}

/// Frees the handle. The file stays as it is: what was synced is durable, the rest may be lost, and
/// it can be opened for further appends. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_writer_close(writer: Option<Box<TerraceWriter>>) {
    guard(|| {
        drop(writer);
        Ok(())
    });
}
