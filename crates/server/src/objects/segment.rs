//! [`Segment`]: a file with a part of a body, as the entry of an object names it: the file's id,
//! its length, and a checksum for each chunk.

use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::{FileId, checksum};

use super::Fault;

/// Bytes of a chunk, the unit of checksums and reads. A format constant.
pub const CHUNK: usize = 512 << 10;

/// A file of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The file.
    pub file: FileId,
    /// Its bytes.
    pub size: u64,
    /// CRC32C of each chunk; the last chunk may be shorter.
    pub checksums: Vec<u32>,
}

impl Segment {
    /// Checks the bytes of a chunk.
    pub(super) fn check(&self, chunk: u64, bytes: &[u8]) -> Result<(), Fault> {
        let found = checksum::crc32c(bytes);
        let at = usize::try_from(chunk).unwrap_or(usize::MAX);
        match self.checksums.get(at) {
            Some(&expected) if expected == found => Ok(()),
            other => {
                let expected = other.copied().unwrap_or(0);
                Err(Fault::Damaged { chunk, expected, found })
            }
        }
    }

    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.put_u64(self.file.0);
        bytes.put_u64(self.size);
        self.checksums.iter().for_each(|&checksum| bytes.put_u32(checksum));
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let file = FileId(reader.u64("file of a body")?);
        let size = reader.u64("size of a file")?;
        let chunks = size.div_ceil(CHUNK as u64);
        // Checked before anything is allocated.
        if chunks > reader.remaining() as u64 / 4 {
            let expected = "a size whose checksums are in the entry";
            return Err(reader.wrong("size of a file", 8, expected, size));
        }
        let checksums = (0..chunks).map(|_| reader.u32("checksum of a chunk"));
        Ok(Self { file, size, checksums: checksums.collect::<Result<_, _>>()? })
    }
}
