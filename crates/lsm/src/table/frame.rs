//! The frame every block of a table lies in: contents, compression, checksum. The layout is
//! `docs/format/table.md`.
//!
//! The checksum also covers the table's tag and the block's offset, so that a block from elsewhere
//! never verifies.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use terrace_env::FileId;
use terrace_env::checksum::{crc32c, crc32c_append};
use terrace_env::codec::{DecodeError, Reader, Writer};

use crate::Error;

/// The bytes behind a block's contents.
pub(crate) const FRAME_BYTES: usize = 5;
/// The largest block before compression: one entry of the largest key and value fits.
const CONTENTS_BYTES_MAX: usize = 128 << 20;
/// What an LZ4 block begins with: its length before compression.
const LZ4_HEADER_BYTES: usize = 4;

/// How the blocks of new tables are compressed. Tables of any kind can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// As they are.
    #[default]
    None,
    /// LZ4: some 500 MB a second to write, 2 GB a second to read, per core.
    Lz4,
}

/// Where a block lies in its table, frame included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) offset: u64,
    pub(crate) size: u32,
}

impl Handle {
    /// The form it has in an index.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(12);
        bytes.put_varint(self.offset);
        bytes.put_varint(u64::from(self.size));
        bytes
    }

    /// Reads a handle of a block that must end by `limit`.
    pub(crate) fn decode(bytes: &[u8], limit: u64) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let offset = reader.varint("block offset")?;
        let size = reader.varint("block size")?;
        reader.finish("handle")?;
        let within = offset.checked_add(size).is_some_and(|end| end <= limit);
        match u32::try_from(size) {
            Ok(size) if within && size as usize > FRAME_BYTES => Ok(Self { offset, size }),
            _ => Err(reader.wrong("block size", 0, "a block among the data blocks", size)),
        }
    }
}

/// What checksums are bound to, and what errors name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableName {
    /// The file the bytes are read from.
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

    /// Turns a block's contents into what is stored at `offset`.
    pub(crate) fn seal(&self, contents: &mut Vec<u8>, compression: Compression, offset: u64) {
        let mut number = 0;
        if compression == Compression::Lz4
            && let Some(compressed) = compress(contents)
        {
            *contents = compressed;
            number = 1;
        }
        contents.push(number);
        let crc = self.checksum(offset, contents);
        contents.extend_from_slice(&crc.to_le_bytes());
    }

    /// Checks what is stored at `offset` and gives back the block's contents.
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
        match compression {
            0 => Ok(stored.slice(..contents.len())),
            1 => decompress(contents).or_else(|got| corrupt("a whole LZ4 block".into(), got)),
            other => corrupt("compression 0 or 1".into(), other.to_string()),
        }
    }
}

/// `None` when it saves less than an eighth.
fn compress(contents: &[u8]) -> Option<Vec<u8>> {
    let bound = lz4_flex::block::get_maximum_output_size(contents.len());
    let mut compressed = vec![0; LZ4_HEADER_BYTES + bound];
    let length = u32::try_from(contents.len()).expect("a block below its limit");
    compressed[..LZ4_HEADER_BYTES].copy_from_slice(&length.to_le_bytes());
    let size =
        lz4_flex::block::compress_into(contents, &mut compressed[LZ4_HEADER_BYTES..]).ok()?;
    compressed.truncate(LZ4_HEADER_BYTES + size);
    (compressed.len() <= contents.len() - contents.len() / 8).then_some(compressed)
}

fn decompress(contents: &[u8]) -> Result<Bytes, String> {
    let Some((length, compressed)) = contents.split_first_chunk::<LZ4_HEADER_BYTES>() else {
        return Err(format!("{} bytes", contents.len()));
    };
    let length = u32::from_le_bytes(*length) as usize;
    if length > CONTENTS_BYTES_MAX {
        return Err(format!("a length of {length}"));
    }
    let mut plain = vec![0; length];
    let size =
        lz4_flex::block::decompress_into(compressed, &mut plain).map_err(|e| e.to_string())?;
    if size != length {
        return Err(format!("{size} bytes for a length of {length}"));
    }
    Ok(plain.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: TableName = TableName { file: FileId(3), tag: 9 };

    #[test]
    fn blocks_read_back_compressed_or_not() {
        let text = b"so much of the same, so much of the same, so much of the same".repeat(20);
        for compression in [Compression::None, Compression::Lz4] {
            let mut stored = text.clone();
            NAME.seal(&mut stored, compression, 77);
            assert_eq!(stored.len() < text.len(), compression == Compression::Lz4);
            assert_eq!(NAME.open("data", 77, &stored.into()).unwrap(), text);
        }
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

    #[test]
    fn what_does_not_get_smaller_is_stored_as_it_is() {
        let mut noise: Vec<u8> = (0..100u32)
            .map(|i| (i.wrapping_mul(i).wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        let plain = noise.clone();
        NAME.seal(&mut noise, Compression::Lz4, 0);
        assert_eq!(noise[..plain.len()], plain);
    }
}
