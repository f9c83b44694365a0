//! Codec of extents, and of lists of them. Decoding refuses an extent that is empty, that has
//! blocks which the store does not have, or that crosses the end of a zone. It also refuses a
//! checksum flag other than 0 and 1, a checksum that is not 0 where the flag says that none is
//! known, and bytes that end too early.
//!
//! Not checked here are whether the zone may hold data, and whether two files claim the same
//! blocks.

use terrace_env::codec::{DecodeError, Reader, Writer};

use super::Extent;
use super::count::{decode_count, encode_count};
use crate::{AddressSpace, BlockAddr};

/// Bytes of an extent.
pub(super) const EXTENT_LEN: usize = 17;

/// Appends an extent.
pub(super) fn encode_extent(extent: &Extent, to: &mut impl Writer) {
    to.put_u64(extent.first.to_bits());
    to.put_u32(extent.blocks);
    to.put_u8(u8::from(extent.crc.is_some()));
    to.put_u32(extent.crc.unwrap_or(0));
}

/// Reads an extent, which must fit the store.
pub(super) fn decode_extent(
    from: &mut Reader<'_>,
    space: &AddressSpace,
) -> Result<Extent, DecodeError> {
    let first = BlockAddr::from_bits(from.u64("address")?);
    let blocks = from.u32("blocks")?;
    if let Err((field, expected, got)) = space.check(first, blocks) {
        return Err(from.wrong(field, 12, expected, got));
    }
    let known = from.u8("checksum flag")?;
    let crc = from.u32("checksum")?;
    match (known, crc) {
        (1, crc) => Ok(Extent { first, blocks, crc: Some(crc) }),
        (0, 0) => Ok(Extent { first, blocks, crc: None }),
        _ => Err(from.wrong("checksum flag", 5, "1, or 0 and a checksum of 0", known.into())),
    }
}

/// Appends extents, and before them how many there are.
pub(super) fn encode_extents(extents: &[Extent], to: &mut impl Writer) {
    encode_count(extents.len(), to);
    for extent in extents {
        encode_extent(extent, to);
    }
}

/// Reads extents with their count.
pub(super) fn decode_extents(
    from: &mut Reader<'_>,
    space: &AddressSpace,
) -> Result<Vec<Extent>, DecodeError> {
    let count = decode_count(from, "extent count", EXTENT_LEN)?;
    (0..count).map(|_| decode_extent(from, space)).collect()
}
