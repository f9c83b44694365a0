//! Codec of file names: 1 to 4096 bytes of UTF-8. Decoding refuses other names. Encoding does not
//! check.

use std::sync::Arc;

use terrace_env::codec::{DecodeError, Reader, Writer};

/// The longest name, in bytes.
pub(crate) const NAME_MAX: usize = 4096;

/// Appends a name: its length and its bytes.
pub(super) fn encode_name(name: &str, to: &mut impl Writer) {
    to.put_prefixed(name.as_bytes());
}

/// Reads a name; one that no file can have is refused.
pub(super) fn decode_name(from: &mut Reader<'_>) -> Result<Arc<str>, DecodeError> {
    let bytes = from.prefixed("name")?;
    match std::str::from_utf8(bytes) {
        Ok(name) if !name.is_empty() && bytes.len() <= NAME_MAX => Ok(name.into()),
        _ => Err(from.wrong("name", bytes.len(), "1 to 4096 bytes of UTF-8", bytes.len() as u64)),
    }
}
