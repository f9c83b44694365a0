//! Codec of a *page* of key spaces: the annotation of an empty file that lists some of the store's
//! key spaces. A change of the list writes one page and the store's own annotation, and not the
//! whole list. The layout is `docs/format/annotation.md`.
//!
//! - A page has at least one key space, and its ids grow. Key space 0 is in no page.
//! - The decoder checks a page by itself. That pages agree with each other and with the store's
//!   annotation is checked by the [list](super::space_list).
//! - A version that is not known is [`Error::Unsupported`]; anything else that is wrong is
//!   [`Error::Corruption`].
//!
//! No locks and no I/O.

use std::sync::Arc;

use terrace_env::FileId;
use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::store::Annotation;

use super::annotation::{KIND_SPACES, decode};
use super::store_record::read_space_name;
use crate::Error;
use crate::key::KeySpaceId;

const VERSION: u8 = 1;

/// Bytes of the key spaces that a page, or the store's own annotation, lists at most. A page and
/// the annotation together fit one block of the journal in most stores.
pub(crate) const PAGE_BYTES: usize = 2048;
/// Bytes of an id and of the length of a name.
const ENTRY_BYTES: usize = 8;

/// Bytes that a key space of this name takes in a list.
pub(crate) fn entry_bytes(name: &str) -> usize {
    ENTRY_BYTES + name.len()
}

/// A page: key spaces by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SpacePage {
    pub(crate) entries: Vec<(KeySpaceId, Arc<str>)>,
}

impl SpacePage {
    /// Whether the annotation of a file of the kind of tables is a page.
    pub(crate) fn is_one(opaque: &[u8]) -> bool {
        opaque.get(1) == Some(&KIND_SPACES)
    }

    /// Bytes of its entries.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.iter().map(|(_, name)| entry_bytes(name)).sum()
    }

    pub(crate) fn annotation(&self) -> Annotation {
        let mut opaque = vec![VERSION, KIND_SPACES];
        opaque.put_u32(u32::try_from(self.entries.len()).expect("a page of some KiB"));
        for (id, name) in &self.entries {
            opaque.put_u32(id.0);
            opaque.put_prefixed(name.as_bytes());
        }
        Annotation { opaque, ..Annotation::default() }
    }

    pub(crate) fn decode(file: FileId, opaque: &[u8]) -> Result<Self, Error> {
        let spaces = |kind| (kind == KIND_SPACES).then_some(());
        decode(file, "key spaces", spaces, VERSION..=VERSION, opaque, Self::read)
    }

    fn read(reader: &mut Reader<'_>, (): ()) -> Result<Self, DecodeError> {
        let count = reader.u32("key spaces")?;
        if count == 0 {
            return Err(reader.wrong("key spaces", 4, "at least 1", 0));
        }
        let (mut entries, mut last) = (Vec::new(), 0);
        for _ in 0..count {
            let id = reader.u32("key space")?;
            if id <= last {
                return Err(reader.wrong("key space", 4, "growing ids above 0", u64::from(id)));
            }
            last = id;
            entries.push((KeySpaceId(id), read_space_name(reader)?.into()));
        }
        Ok(Self { entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{specimen, survives};

    #[test]
    fn pages_read_back_and_no_damage_makes_them_panic() {
        let entries = vec![(KeySpaceId(3), "users".into()), (KeySpaceId(9), "orders".into())];
        let page = SpacePage { entries };
        let bytes = specimen("annotation-key-spaces.bin", &page.annotation().opaque);
        assert_eq!(SpacePage::decode(FileId(7), &bytes).unwrap(), page);
        let encode: fn(&SpacePage) -> Vec<u8> = |page| page.annotation().opaque;
        survives(&bytes, |bytes| SpacePage::decode(FileId(7), bytes), encode);
        assert_eq!(page.bytes(), bytes.len() - 6);
    }
}
