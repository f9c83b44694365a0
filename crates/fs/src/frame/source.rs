//! [`BlockSource`]: the blocks that a scan of frames reads, in zones, in a file or in memory.
//! Reading may wait for a device. During a scan, its blocks must not be written or freed.

use std::sync::Arc;

use terrace_env::IoBuf;
use terrace_env::store::StoreError;

use crate::BLOCK;

/// The blocks of a log, one extent after the other.
pub trait BlockSource {
    /// How many blocks there are.
    fn blocks(&self) -> u32;

    /// The end of the extent that holds `block`: no frame reaches across it.
    fn extent_end(&self, block: u32) -> u32;

    /// The end of the blocks that may have been written of the extent that holds `block`: up to the
    /// zone's pointer where that means something, else the extent's end. Rounded up to a whole
    /// block.
    fn written_end(&self, block: u32) -> u32;

    /// Bytes at the start of a block that are written whole or not at all: the physical block of
    /// the device, 0 where there is no such promise.
    fn atomic(&self) -> usize;

    /// Whether the parts of a frame that a power cut has not kept read as zeros, a whole unit of
    /// [`atomic`](Self::atomic) bytes at a time. Elsewhere they may read as anything.
    fn lost_reads_as_zeros(&self) -> bool {
        false
    }

    /// Reads `count` blocks of one extent, below its written end.
    fn read(&self, block: u32, count: u32) -> Result<IoBuf, StoreError>;

    /// The structure that a block belongs to, and the byte offset of the block, for errors: on the
    /// device if the structure says which one, else within the structure.
    fn place(&self, block: u32) -> (String, u64);
}

macro_rules! by_reference {
    ($($pointer:ty),*) => {$(
        impl<T: BlockSource + ?Sized> BlockSource for $pointer {
            fn blocks(&self) -> u32 {
                (**self).blocks()
            }

            fn extent_end(&self, block: u32) -> u32 {
                (**self).extent_end(block)
            }

            fn written_end(&self, block: u32) -> u32 {
                (**self).written_end(block)
            }

            fn atomic(&self) -> usize {
                (**self).atomic()
            }

            fn lost_reads_as_zeros(&self) -> bool {
                (**self).lost_reads_as_zeros()
            }

            fn read(&self, block: u32, count: u32) -> Result<IoBuf, StoreError> {
                (**self).read(block, count)
            }

            fn place(&self, block: u32) -> (String, u64) {
                (**self).place(block)
            }
        }
    )*};
}

by_reference!(&T, Box<T>, Arc<T>);

/// A source in memory: one extent.
#[derive(Clone, Debug)]
pub struct MemorySource {
    /// Name of the bytes, for errors.
    pub region: String,
    /// The bytes; a last partial block is not read.
    pub bytes: Vec<u8>,
    /// Answer of [`BlockSource::atomic`].
    pub atomic: usize,
}

impl BlockSource for MemorySource {
    fn blocks(&self) -> u32 {
        u32::try_from(self.bytes.len() / BLOCK).unwrap_or(u32::MAX)
    }

    fn extent_end(&self, _block: u32) -> u32 {
        self.blocks()
    }

    fn written_end(&self, _block: u32) -> u32 {
        self.blocks()
    }

    fn atomic(&self) -> usize {
        self.atomic
    }

    fn read(&self, block: u32, count: u32) -> Result<IoBuf, StoreError> {
        let start = block as usize * BLOCK;
        Ok(IoBuf::copy_of(&self.bytes[start..start + count as usize * BLOCK]))
    }

    fn place(&self, block: u32) -> (String, u64) {
        (self.region.clone(), u64::from(block) * BLOCK as u64)
    }
}
