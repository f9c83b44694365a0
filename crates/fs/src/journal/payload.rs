//! Types of the journal's frames, and some of their payloads: head and end of a snapshot, the link
//! to the next zone, and the first frame in that zone, which names the place that the journal comes
//! from. Decoding does not check whether an address exists.

use terrace_env::FileId;
use terrace_env::codec::{DecodeError, Reader, Writer};

use crate::BlockAddr;
use crate::growing::{read_epoch, read_file_id};
use crate::superblock::Features;

/// The types of the journal's frames.
pub(crate) mod kind {
    /// A snapshot starts: [`Head`](super::Head).
    pub(crate) const HEAD: u8 = 1;
    /// Records of one or more transactions.
    pub(crate) const TRANSACTIONS: u8 = 2;
    /// A part of a snapshot.
    pub(crate) const CHUNK: u8 = 3;
    /// A snapshot is complete: [`End`](super::End).
    pub(crate) const END: u8 = 4;
    /// The journal goes on in another zone: [`Link`](super::Link).
    pub(crate) const LINK: u8 = 5;
    /// The first frame in a zone: [`Continue`](super::Continue).
    pub(crate) const CONTINUE: u8 = 6;
}

/// The start of a snapshot: the counters as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) features: Features,
    pub(crate) next_file: FileId,
    pub(crate) next_epoch: u32,
}

impl Head {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        to.put_u64(self.features.compat);
        to.put_u64(self.features.read_only_compat);
        to.put_u64(self.features.incompat);
        to.put_u64(self.next_file.0);
        to.put_u32(self.next_epoch);
        to
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut from = Reader::new(bytes);
        let head = Self {
            features: Features {
                compat: from.u64("compatible features")?,
                read_only_compat: from.u64("read-only compatible features")?,
                incompat: from.u64("incompatible features")?,
            },
            next_file: read_file_id(&mut from, "next file")?,
            next_epoch: read_epoch(&mut from, "next epoch")?,
        };
        if head.next_file == FileId::STORE {
            return Err(from.wrong("next file", 12, "at least 1", 0));
        }
        if head.next_epoch == 0 {
            return Err(from.wrong("next epoch", 4, "at least 1", 0));
        }
        from.finish("head")?;
        Ok(head)
    }
}

/// The end of a snapshot: the number of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) files: u64,
}

impl End {
    pub(crate) fn encode(&self) -> Vec<u8> {
        self.files.to_le_bytes().to_vec()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut from = Reader::new(bytes);
        let end = Self { files: from.u64("file count")? };
        from.finish("end")?;
        Ok(end)
    }
}

/// Where the journal goes on. The frame there was durable before this one was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) to: BlockAddr,
}

impl Link {
    pub(super) fn encode(&self) -> Vec<u8> {
        encode_addr(self.to)
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut from = Reader::new(bytes);
        let link = Self { to: decode_addr(&mut from)? };
        from.finish("link")?;
        Ok(link)
    }
}

/// Where the journal came from: the end of the frame before, and that frame's checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Continue {
    pub(super) from: BlockAddr,
    pub(super) chain: u32,
}

impl Continue {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut to = encode_addr(self.from);
        to.put_u32(self.chain);
        to
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut from = Reader::new(bytes);
        let addr = decode_addr(&mut from)?;
        let link = Self { from: addr, chain: from.u32("chain")? };
        from.finish("continue")?;
        Ok(link)
    }
}

fn encode_addr(addr: BlockAddr) -> Vec<u8> {
    addr.to_bits().to_le_bytes().to_vec()
}

fn decode_addr(from: &mut Reader<'_>) -> Result<BlockAddr, DecodeError> {
    from.u64("address").map(BlockAddr::from_bits)
}
