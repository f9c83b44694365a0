//! Codec of file kinds, one byte each: 1 for a table, 2 for a log, 3 for a client's file. Other
//! bytes are refused.

use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::store::FileKind;

/// Appends a kind's byte.
pub(super) fn encode_kind(kind: FileKind, to: &mut impl Writer) {
    to.put_u8(match kind {
        FileKind::Table => 1,
        FileKind::Log => 2,
        FileKind::Client => 3,
    });
}

/// Reads a kind.
pub(super) fn decode_kind(from: &mut Reader<'_>) -> Result<FileKind, DecodeError> {
    match from.u8("file kind")? {
        1 => Ok(FileKind::Table),
        2 => Ok(FileKind::Log),
        3 => Ok(FileKind::Client),
        other => Err(from.wrong("file kind", 1, "1 (table), 2 (log) or 3 (client)", other.into())),
    }
}
