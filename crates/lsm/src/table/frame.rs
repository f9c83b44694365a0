//! The frame of a block of a table: its contents, their compression, and a checksum. The layout is
//! `docs/format/table.md`.
//!
//! - The checksum covers the stored bytes, the compression, the table's tag and the block's offset.
//!   The tag is the id that the file had when the table was written. So a block of a table with
//!   another tag, or from another place, does not verify.
//! - [`TableName::open`] verifies a block and decompresses it. Damage is [`Error::Corruption`]; an
//!   unknown compression is [`Error::Unsupported`].
//! - A [`Handle`] is the place of a block. [`Handle::decode`] and [`Handle::read`] check it against
//!   a limit of the caller: the end of the area in which the block must lie.
//!
//! No locks and no I/O.

use bytes::Bytes;
use terrace_env::FileId;
use terrace_env::checksum::{crc32c, crc32c_append, crc32c_combine};
use terrace_env::codec::{DecodeError, Reader, Writer};

use crate::Error;
use crate::compression::Compression;

/// Bytes after a block's contents.
pub(crate) const FRAME_BYTES: usize = 5;
/// Place of a block in its table, frame included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) offset: u64,
    pub(crate) size: u32,
}

impl Handle {
    /// Its form in an index.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(12);
        bytes.put_varint(self.offset);
        bytes.put_varint(u64::from(self.size));
        bytes
    }

    /// The handle, if the block lies before `limit`.
    pub(crate) fn before(self, limit: u64) -> Result<Self, DecodeError> {
        let end = self.offset.checked_add(u64::from(self.size));
        if end.is_some_and(|end| end <= limit) && self.size as usize > FRAME_BYTES {
            return Ok(self);
        }
        Err(Reader::new(&[]).wrong("block", 0, "a block before the properties", self.offset))
    }

    /// Reads a handle of a block that must end by `limit`.
    pub(crate) fn decode(bytes: &[u8], limit: u64) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let handle = Self::read(&mut reader, limit)?;
        reader.finish("handle")?;
        Ok(handle)
    }

    /// The same, from a reader of more bytes.
    pub(crate) fn read(reader: &mut Reader<'_>, limit: u64) -> Result<Self, DecodeError> {
        let offset = reader.varint("block offset")?;
        let size = reader.varint("block size")?;
        let within = offset.checked_add(size).is_some_and(|end| end <= limit);
        match u32::try_from(size) {
            Ok(size) if within && size as usize > FRAME_BYTES => Ok(Self { offset, size }),
            _ => Err(reader.wrong("block size", 0, "a block among the data blocks", size)),
        }
    }
}

/// Name of a table, for checksums and errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableName {
    /// File from which the bytes are read.
    pub(crate) file: FileId,
    /// The file id under which the table was written.
    pub(crate) tag: u64,
}

impl TableName {
    /// The region of an error.
    pub(crate) fn region(&self, part: &str) -> String {
        format!("table {}, {part}", self.file)
    }

    fn checksum(&self, offset: u64, framed: &[u8]) -> u32 {
        let mut place = [0; 16];
        place[..8].copy_from_slice(&self.tag.to_le_bytes());
        place[8..].copy_from_slice(&offset.to_le_bytes());
        crc32c_append(crc32c(&place), framed)
    }

    /// Makes the stored bytes of a block at `offset` from its contents; returns their compression.
    pub(crate) fn seal(
        &self,
        contents: &mut Vec<u8>,
        compression: Compression,
        offset: u64,
    ) -> Compression {
        let mut used = Compression::None;
        if let Some(compressed) = compression.compress(contents) {
            *contents = compressed;
            used = compression;
        }
        contents.push(used.number());
        let crc = self.checksum(offset, contents);
        contents.extend_from_slice(&crc.to_le_bytes());
        used
    }

    /// Frame after an uncompressed block at `offset`, whose contents lie in parts. Of the value in
    /// the middle, length and CRC32C are known.
    pub(crate) fn seal_around(
        &self,
        front: &[u8],
        (len, value): (usize, u32),
        back: &[u8],
        offset: u64,
    ) -> [u8; FRAME_BYTES] {
        let number = Compression::None.number();
        let crc = crc32c_combine(self.checksum(offset, front), value, len as u64);
        let crc = crc32c_append(crc, back);
        let [a, b, c, d] = crc32c_append(crc, &[number]).to_le_bytes();
        [number, a, b, c, d]
    }

    /// Checks the stored bytes at `offset` and returns the block's contents.
    pub(crate) fn open(&self, part: &str, offset: u64, stored: &Bytes) -> Result<Bytes, Error> {
        let corrupt = |expected: String, got: String| {
            Err(Error::corruption(self.region(part), offset, expected, got))
        };
        let Some((framed, crc)) = stored.split_last_chunk::<4>() else {
            return corrupt("a block of at least 5 bytes".into(), stored.len().to_string());
        };
        let (got, expected) = (u32::from_le_bytes(*crc), self.checksum(offset, framed));
        if got != expected {
            return corrupt(format!("checksum {expected:#010x}"), format!("{got:#010x}"));
        }
        let Some((&compression, contents)) = framed.split_last() else {
            return corrupt("a block of at least 5 bytes".into(), stored.len().to_string());
        };
        let Some(codec) = Compression::of_number(compression) else {
            let (field, supported) = ("compression", u64::from(Compression::Zstd.number()));
            let (region, got) = (self.region(part), u64::from(compression));
            return Err(Error::Unsupported { region, field, supported, got });
        };
        let whole = |got| corrupt(format!("a whole block of compression {compression}"), got);
        codec.decompress(&stored.slice(..contents.len())).or_else(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: TableName = TableName { file: FileId(3), tag: 9 };

    #[test]
    fn blocks_read_back_compressed_or_not() {
        let text = b"so much of the same, so much of the same, so much of the same".repeat(20);
        for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
            let mut stored = text.clone();
            assert_eq!(NAME.seal(&mut stored, compression, 77), compression);
            assert_eq!(stored.len() < text.len(), compression != Compression::None);
            assert_eq!(NAME.open("data", 77, &stored.into()).unwrap(), text);
        }
    }

    #[test]
    fn a_block_in_parts_is_sealed_like_a_whole_one() {
        let (front, value, back) = (&b"front"[..], &[7; 300][..], &b"back"[..]);
        let mut whole = [front, value, back].concat();
        let end = NAME.seal_around(front, (value.len(), crc32c(value)), back, 77);
        let parts = [&whole[..], &end].concat();
        NAME.seal(&mut whole, Compression::None, 77);
        assert_eq!(parts, whole);
    }

    #[test]
    fn a_compression_of_the_future_is_told_apart_from_damage() {
        let mut stored = b"contents".to_vec();
        NAME.seal(&mut stored, Compression::None, 77);
        stored.truncate(8);
        stored.push(3);
        let crc = NAME.checksum(77, &stored);
        stored.extend_from_slice(&crc.to_le_bytes());
        let error = NAME.open("data", 77, &stored.into()).unwrap_err();
        assert!(
            matches!(error, Error::Unsupported { field: "compression", got: 3, .. }),
            "{error}"
        );
    }

    #[test]
    fn a_block_verifies_only_in_its_table_and_place() {
        let mut stored = b"contents".to_vec();
        NAME.seal(&mut stored, Compression::None, 77);
        let stored = Bytes::from(stored);
        assert!(NAME.open("data", 78, &stored).unwrap_err().is_corruption());
        let other = TableName { tag: 10, ..NAME };
        assert!(other.open("data", 77, &stored).unwrap_err().is_corruption());
        for len in 0..stored.len() {
            assert!(NAME.open("data", 77, &stored.slice(..len)).is_err());
        }
    }
}
