//! [`TerraceReader`]: a handle for reading a file.

use std::mem::MaybeUninit;
use std::sync::Arc;

use terrace_env::Cause;
use terrace_env::store::FileReader;

use crate::TerraceCode;
use crate::failure::{given, guard};
use crate::fs::TerraceFs;
use crate::slice::{TerraceBuffer, TerraceSlice};
use crate::value::{clear, hand_over};

/// A handle for reading a file. It can still read a file that is removed meanwhile, and sees bytes
/// that are appended to an unfinished one.
pub struct TerraceReader(pub(crate) Arc<dyn FileReader>);

/// Opens a file for reading. To be freed by `terrace_reader_close`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_fs_read(
    fs: Option<&TerraceFs>,
    name: TerraceSlice<'_>,
    reader: Option<&mut MaybeUninit<*mut TerraceReader>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(reader, "reader")?;
        let found = given(fs, "fs")?.files.open(name.text("name")?)?;
        hand_over(out, TerraceReader(found));
        Ok(())
    })
}

/// Reads bytes from `offset` on, until the buffer is full or the file ends, and stores their number
/// in `*read`: 0 at the end of the file and beyond.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_reader_read_at(
    reader: Option<&TerraceReader>,
    offset: u64,
    into: TerraceBuffer<'_>,
    read: Option<&mut MaybeUninit<usize>>,
) -> TerraceCode {
    guard(|| {
        let read = given(read, "read")?;
        read.write(0);
        let TerraceReader(reader) = given(reader, "reader")?;
        let into = into.bytes("into")?;
        let left = usize::try_from(reader.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = left.min(into.len());
        let into = &mut into[..len];
        if !into.is_empty() {
            reader.read_at(offset, into, Cause::Client)?;
        }
        read.write(len);
        Ok(())
    })
}

/// Current size of the file in bytes; 0 for null.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_reader_size(reader: Option<&TerraceReader>) -> u64 {
    reader.map_or(0, |reader| reader.0.len())
}

/// Frees a reader. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_reader_close(reader: Option<Box<TerraceReader>>) {
    guard(|| {
        drop(reader);
        Ok(())
    });
}
