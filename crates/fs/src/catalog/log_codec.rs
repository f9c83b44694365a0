//! Codec of two fields of a log's record: its runs, and how far it is durable. A *run* is a part of
//! a log that begins where the log was created or where a recovery found its end. Decoding does not
//! check whether the fields fit the log's extents and each other.

use std::sync::Arc;

use terrace_env::codec::{DecodeError, Reader, Writer};

use super::count::{decode_count, encode_count};
use super::{LogMark, LogRun};
use crate::growing::{read_epoch, read_sequence};

/// Bytes of a run.
const RUN_LEN: usize = 24;

/// Appends a log's durable end; one that is not known is zeros.
pub(super) fn encode_mark(mark: Option<LogMark>, to: &mut impl Writer) {
    to.put_u8(u8::from(mark.is_some()));
    let LogMark { block, sequence, size } =
        mark.unwrap_or(LogMark { block: 0, sequence: 0, size: 0 });
    to.put_u32(block);
    to.put_u64(sequence);
    to.put_u64(size);
}

/// Reads a log's durable end.
pub(super) fn decode_mark(from: &mut Reader<'_>) -> Result<Option<LogMark>, DecodeError> {
    let known = from.u8("durable end flag")?;
    let mark = LogMark {
        block: from.u32("durable block")?,
        sequence: read_sequence(from, "durable sequence")?,
        size: from.u64("durable bytes")?,
    };
    match (known, mark) {
        (1, mark) => Ok(Some(mark)),
        (0, LogMark { block: 0, sequence: 0, size: 0 }) => Ok(None),
        _ => Err(from.wrong("durable end flag", 21, "1, or 0 and zeros", known.into())),
    }
}

/// Appends the runs of a log, and before them how many there are.
pub(super) fn encode_runs(runs: &[LogRun], to: &mut impl Writer) {
    encode_count(runs.len(), to);
    for run in runs {
        to.put_u32(run.block);
        to.put_u32(run.epoch);
        to.put_u64(run.sequence);
        to.put_u64(run.offset);
    }
}

/// Reads the runs of a log with their count.
pub(super) fn decode_runs(from: &mut Reader<'_>) -> Result<Arc<[LogRun]>, DecodeError> {
    let count = decode_count(from, "run count", RUN_LEN)?;
    (0..count)
        .map(|_| {
            Ok(LogRun {
                block: from.u32("run block")?,
                epoch: read_epoch(from, "run epoch")?,
                sequence: read_sequence(from, "run sequence")?,
                offset: from.u64("run offset")?,
            })
        })
        .collect()
}
