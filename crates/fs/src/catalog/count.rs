//! Codec of counts: how many entries of one kind follow in a record. A count is refused if fewer
//! bytes are left than that many entries need at least. So a decoder may reserve memory for them.

use terrace_env::codec::{DecodeError, Reader, Writer};

/// Appends the number of entries that follow.
pub(super) fn encode_count(count: usize, to: &mut impl Writer) {
    to.put_u32(u32::try_from(count).expect("fewer than 2^32 entries in a record"));
}

/// Reads the number of entries that follow, of at least `width` bytes each. A number for which not
/// enough bytes are left is refused, so that a caller may reserve memory for it.
pub(super) fn decode_count(
    from: &mut Reader<'_>,
    field: &'static str,
    width: usize,
) -> Result<usize, DecodeError> {
    let count = from.u32(field)? as usize;
    if count > from.remaining() / width {
        return Err(from.wrong(field, 4, "no more entries than bytes are left for", count as u64));
    }
    Ok(count)
}
