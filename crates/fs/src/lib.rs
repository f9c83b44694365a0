//! Layer 2: files on zones.
//!
//! | part | what it does |
//! |---|---|
//! | [`BlockAddr`] | the file system's block on any device |
//! | [`catalog`] | what is known of the files, as a pure value, and the records that change it |
//! | [`frame`] | what logs are made of, and how their end is found |
//! | [`superblock`] | where everything starts |
//! | [`journal`] | the endless log of those records |
//!
//! fs does not know keys, or levels beyond the typed annotation.

mod block;
pub mod canary;
pub mod catalog;
pub mod frame;
pub mod journal;
pub mod superblock;

pub use block::{BLOCK, BlockAddr, logical_per_block, pointer, zone_blocks};
