//! Codec of a file's entry in a snapshot of the catalog.
//!
//! Decoding refuses fields that do not decode; extents that the store does not have; extents that
//! overlap in the file or are not in its order; a file of more than 2^32 - 1 blocks; a log without
//! a run of frames; runs of a file that is no log; a size that does not fit the extents; and runs
//! or a durable end that are not in order, or beyond the log's blocks. Not checked here are the
//! order of the names, and whether two files claim the same blocks.

use std::sync::Arc;

use terrace_env::FileId;
use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::store::FileKind;

use super::annotation::{decode_annotation, encode_annotation};
use super::count::{decode_count, encode_count};
use super::extent_codec::{EXTENT_LEN, decode_extent, encode_extent};
use super::kind::{decode_kind, encode_kind};
use super::log_codec::{decode_mark, decode_runs, encode_mark, encode_runs};
use super::name::{decode_name, encode_name};
use super::{ExtentMap, FileRecord, LogMark, LogRun, Mapped};
use crate::growing::read_file_id;
use crate::{AddressSpace, BLOCK};

impl FileRecord {
    /// Appends the file's entry in a snapshot.
    pub fn encode(&self, id: FileId, to: &mut impl Writer) {
        to.put_u64(id.0);
        encode_kind(self.kind, to);
        to.put_u8(u8::from(self.sealed));
        to.put_u64(self.size);
        encode_count(self.extents.pieces().len(), to);
        for piece in self.extents.pieces() {
            to.put_u32(piece.at);
            encode_extent(&piece.extent, to);
        }
        encode_runs(&self.runs, to);
        if self.kind == FileKind::Log {
            encode_mark(self.durable, to);
        }
        encode_count(self.names.len(), to);
        for name in &self.names {
            encode_name(name, to);
        }
        encode_annotation(&self.annotation, to);
    }

    /// Reads an entry of a snapshot of a store with these devices.
    pub fn decode(
        from: &mut Reader<'_>,
        space: &AddressSpace,
    ) -> Result<(FileId, Self), DecodeError> {
        let id = read_file_id(from, "file")?;
        let kind = decode_kind(from)?;
        let sealed = match from.u8("sealed")? {
            0 => false,
            1 => true,
            other => return Err(from.wrong("sealed", 1, "0 or 1", other.into())),
        };
        let size = from.u64("size")?;
        let count = decode_count(from, "extent count", 4 + EXTENT_LEN)?;
        let pieces = (0..count)
            .map(|_| {
                Ok(Mapped { at: from.u32("file block")?, extent: decode_extent(from, space)? })
            })
            .collect::<Result<Vec<_>, DecodeError>>()?;
        let Some(extents) = ExtentMap::from_pieces(pieces) else {
            let expected = "extents in order that do not overlap";
            return Err(from.wrong("extents", 0, expected, count as u64));
        };
        let runs = decode_runs(from)?;
        if runs.is_empty() == (kind == FileKind::Log) {
            let expected = "one or more for a log, none for others";
            return Err(from.wrong("run count", 0, expected, runs.len() as u64));
        }
        let durable = if kind == FileKind::Log { decode_mark(from)? } else { None };
        // The end of a sealed file may have been trimmed, so that its bytes reach further.
        let end = if sealed { u32::MAX } else { extents.end() };
        if !size_fits(kind, size, &extents, end) {
            return Err(from.wrong("size", 0, "a number of bytes that the blocks can hold", size));
        }
        if let Some(wrong) = first_out_of_order(&runs, durable, end) {
            let expected = "runs and a durable end in order, within the log's blocks";
            return Err(from.wrong("run", 0, expected, wrong));
        }
        let count = decode_count(from, "name count", 4)?;
        let names = (0..count).map(|_| decode_name(from)).collect::<Result<Vec<_>, _>>()?;
        let annotation = decode_annotation(from)?;
        let extents = Arc::new(extents);
        Ok((id, Self { kind, sealed, size, extents, runs, durable, annotation, names }))
    }
}

/// Whether a file of these extents can have this many bytes. `end`: the blocks that a log has at
/// most. Of other files, bytes at the end may always have been trimmed.
fn size_fits(kind: FileKind, size: u64, extents: &ExtentMap, end: u32) -> bool {
    let (block, blocks) = (BLOCK as u64, u64::from(extents.end()));
    match kind {
        FileKind::Log => size <= u64::from(end) * block,
        FileKind::Table | FileKind::Client => {
            let most = u64::from(u32::MAX);
            (blocks..=most).contains(&size.div_ceil(block))
        }
    }
}

/// The block of the first run, or of the durable end, that does not come after the one before it.
fn first_out_of_order(runs: &[LogRun], durable: Option<LogMark>, end: u32) -> Option<u64> {
    let durable = durable.map(|mark| (mark.block, mark.sequence, mark.size));
    let places = runs.iter().map(|run| (run.block, run.sequence, run.offset)).chain(durable);
    let mut before = (0, 0, 0);
    for (index, place) in places.enumerate() {
        let (block, sequence, size) = place;
        let goes_on = block >= before.0 && sequence >= before.1 && size >= before.2;
        let is_first = index > 0 || block == 0;
        if !goes_on || !is_first || block > end || size > u64::from(block) * BLOCK as u64 {
            return Some(block.into());
        }
        before = place;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_fits_from_the_blocks_of_a_file_to_the_most_that_one_may_have() {
        let (block, none) = (BLOCK as u64, ExtentMap::default());
        let most = u64::from(u32::MAX) * block;
        for kind in [FileKind::Table, FileKind::Client] {
            for (size, fits) in [(0, true), (most, true), (most + 1, false), (u64::MAX, false)] {
                assert_eq!(size_fits(kind, size, &none, 0), fits, "{kind:?}, {size}");
            }
        }
        for (size, fits) in [(0, true), (3 * block, true), (3 * block + 1, false)] {
            assert_eq!(size_fits(FileKind::Log, size, &none, 3), fits, "a log, {size}");
        }
    }
}
