//! [`BlockAddr`]: the address of a block of 4096 bytes: the number of a device in the store (16
//! bits), and the number of the block on that device (48 bits).
//!
//! Any 64 bits decode to an address. An address alone does not tell whether the store has such a
//! block; an [`AddressSpace`](super::AddressSpace) does.

use std::fmt;

use terrace_env::DeviceId;

/// The address of a block: a device of the store, and the number of the block on that device.
///
/// Addresses are ordered by device and then by block. An address takes 8 bytes, in memory as on the
/// medium: 16 bits of device and 48 bits of block. It is kept in parts of at most 4 bytes so that
/// an [`Extent`](crate::catalog::Extent), of which a large store has millions, takes 20 bytes and
/// not 24.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockAddr {
    device: DeviceId,
    high: u16,
    low: u32,
}

impl BlockAddr {
    /// How many blocks of a device have an address: an exbibyte of them.
    pub const BLOCKS_MAX: u64 = 1 << 48;

    /// Block `block` of a device.
    ///
    /// # Panics
    /// If the number is not below [`BLOCKS_MAX`](Self::BLOCKS_MAX).
    #[must_use]
    pub const fn new(device: DeviceId, block: u64) -> Self {
        assert!(block < Self::BLOCKS_MAX, "a block beyond an exbibyte");
        Self { device, high: (block >> 32) as u16, low: block as u32 }
    }

    /// The device.
    #[must_use]
    pub const fn device(self) -> DeviceId {
        self.device
    }

    /// The number of the block on its device.
    #[must_use]
    pub const fn block(self) -> u64 {
        (self.high as u64) << 32 | self.low as u64
    }

    /// The address `blocks` further on.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub const fn plus(self, blocks: u32) -> Self {
        Self::new(self.device, self.block() + blocks as u64)
    }

    /// The address as it is written: the block in the low 48 bits, the device in the others.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        (self.device.0 as u64) << 48 | self.block()
    }

    /// The address of these bits.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        let device = DeviceId((bits >> 48) as u16);
        Self { device, high: (bits >> 32) as u16, low: bits as u32 }
    }
}

impl fmt::Display for BlockAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device {} block {}", self.device, self.block())
    }
}

impl fmt::Debug for BlockAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_parts_are_the_same_address() {
        for (device, block) in [(0, 0), (1, u64::from(u32::MAX)), (u16::MAX, (1 << 48) - 1)] {
            let at = BlockAddr::new(DeviceId(device), block);
            assert_eq!((at.device(), at.block()), (DeviceId(device), block));
            assert_eq!(BlockAddr::from_bits(at.to_bits()), at);
        }
        let at = BlockAddr::new(DeviceId(2), (1 << 32) - 1);
        assert_eq!(at.plus(1).block(), 1 << 32);
    }

    #[test]
    fn addresses_are_in_the_order_of_devices_and_blocks() {
        let at = |device, block| BlockAddr::new(DeviceId(device), block);
        let ordered = [at(0, 7), at(0, 1 << 32), at(0, (1 << 32) + 1), at(1, 0), at(256, 0)];
        assert!(ordered.is_sorted());
        assert!(ordered.map(BlockAddr::to_bits).is_sorted());
    }
}
