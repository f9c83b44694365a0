//! The codec of extents.
//!
//! It checks an extent by itself. Whether the device has these blocks is checked at mount.

use terrace_env::ZoneId;
use terrace_env::codec::{DecodeError, Reader, Writer};

use super::Extent;
use super::count::{decode_count, encode_count};

/// Bytes of an extent.
pub(super) const EXTENT_LEN: usize = 17;

/// Appends an extent.
pub(super) fn encode_extent(extent: &Extent, to: &mut impl Writer) {
    to.put_u32(extent.zone.0);
    to.put_u32(extent.start);
    to.put_u32(extent.blocks);
    to.put_u8(u8::from(extent.crc.is_some()));
    to.put_u32(extent.crc.unwrap_or(0));
}

/// Reads an extent. One without blocks is refused, and one that ends behind any zone.
pub(super) fn decode_extent(from: &mut Reader<'_>) -> Result<Extent, DecodeError> {
    let zone = ZoneId(from.u32("zone")?);
    let (start, blocks) = (from.u32("start block")?, from.u32("blocks")?);
    if blocks == 0 || start.checked_add(blocks).is_none() {
        return Err(from.wrong("blocks", 4, "1 or more within a zone", blocks.into()));
    }
    let known = from.u8("checksum flag")?;
    let crc = from.u32("checksum")?;
    match (known, crc) {
        (1, crc) => Ok(Extent { zone, start, blocks, crc: Some(crc) }),
        (0, 0) => Ok(Extent { zone, start, blocks, crc: None }),
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
pub(super) fn decode_extents(from: &mut Reader<'_>) -> Result<Vec<Extent>, DecodeError> {
    let count = decode_count(from, "extent count", EXTENT_LEN)?;
    (0..count).map(|_| decode_extent(from)).collect()
}
