//! [`Foreign`]: a whole superblock of another format version.
//!
//! Magic, version, UUID, generation and checksum stand at the same bytes in all format versions. So
//! a store of another version can be recognised, and refused by its UUID and version, and is not
//! taken for a damaged one.

use terrace_env::Uuid;
use terrace_env::checksum::crc32c;
use terrace_env::codec::Reader;
use terrace_env::store::StoreError;

use super::codec::{MAGIC, VERSION};
use crate::BLOCK;

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    version: u32,
    uuid: Uuid,
    pub(super) generation: u64,
}

impl Foreign {
    /// The superblock in a block, if it is whole and of another version.
    pub(crate) fn read(block: &[u8]) -> Option<Self> {
        let mut from = Reader::new(block);
        let body = from.bytes("superblock", BLOCK - 4).ok()?;
        let is_whole = body.starts_with(&MAGIC) && from.u32("checksum").ok()? == crc32c(body);
        let mut from = Reader::new(&body[MAGIC.len()..]);
        let version = from.u32("version").ok()?;
        let uuid = from.uuid("uuid").ok()?;
        let generation = from.u64("generation").ok()?;
        (is_whole && version != VERSION).then_some(Self { version, uuid, generation })
    }

    /// The error that refuses its store.
    pub(crate) fn refusal(&self) -> StoreError {
        let Self { version, uuid, .. } = self;
        let advice = if *version < VERSION {
            "it was written before the first release; copy the data with the program that wrote \
             it, and format anew"
        } else {
            "use a newer version"
        };
        StoreError::Invalid(format!(
            "store {uuid}: expected format version {VERSION}, found version {version}; {advice}"
        ))
    }
}
