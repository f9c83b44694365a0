//! Codec of a *page* of key spaces: the annotation of an empty file that lists some of the store's
//! key spaces. A change of the list writes one page and the store's own annotation, and not the
//! whole list. The layout is `docs/format/annotation.md`.
//!
//! - A page has at least one key space, and its ids ascend. Key space 0 is in no page.
//! - The decoder checks a single page. The [list](super::space_list) checks that pages agree with
//!   each other and with the store's annotation.
//! - An unknown version is [`Error::Unsupported`]; any other defect is [`Error::Corruption`].
//!
//! No locks and no I/O.

use terrace_env::FileId;
use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::store::Annotation;

use super::annotation::{KIND_SPACES, decode};
use super::space_entry::KeySpaceEntry;
use crate::Error;
use crate::key::KeySpaceId;
use crate::options::KeySpaceOptions;

/// The version of a page whose key spaces have no options of their own, and of one with some.
const VERSION: u8 = 1;
const VERSION_OPTIONS: u8 = 2;

/// Bytes of the key spaces that a page, or the store's own annotation, lists at most: a new one
/// goes there only if it has room then. Options that are stated later can make it more, by up to 16
/// bytes for each key space. A page and the annotation together fit one block of the journal in
/// most stores.
pub(crate) const PAGE_BYTES: usize = 2048;

/// A page: key spaces by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SpacePage {
    pub(crate) entries: Vec<KeySpaceEntry>,
}

impl SpacePage {
    /// Whether the annotation of a file of the kind of tables is a page.
    pub(crate) fn is_one(opaque: &[u8]) -> bool {
        opaque.get(1) == Some(&KIND_SPACES)
    }

    /// Bytes of its entries.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.iter().map(KeySpaceEntry::bytes).sum()
    }

    /// Gives a key space of it these options.
    pub(crate) fn shape(&mut self, id: KeySpaceId, options: KeySpaceOptions) {
        let found = self.entries.iter_mut().find(|entry| entry.id == id);
        found.expect("a key space of the page").options = options;
    }

    pub(crate) fn annotation(&self) -> Annotation {
        let has_options = self.has_options();
        debug_assert!(self.entries.is_sorted_by(|a, b| a.id < b.id), "key spaces by id");
        let version = if has_options { VERSION_OPTIONS } else { VERSION };
        let mut opaque = vec![version, KIND_SPACES];
        opaque.put_u32(u32::try_from(self.entries.len()).expect("a page of some KiB"));
        self.entries.iter().for_each(|entry| entry.encode(has_options, &mut opaque));
        Annotation { opaque, ..Annotation::default() }
    }

    pub(crate) fn decode(file: FileId, opaque: &[u8]) -> Result<Self, Error> {
        let spaces = |kind| (kind == KIND_SPACES).then_some(());
        let has_options = opaque.first() == Some(&VERSION_OPTIONS);
        let read = |reader: &mut Reader<'_>, ()| Self::read(reader, has_options);
        decode(file, "key spaces", spaces, VERSION..=VERSION_OPTIONS, opaque, read)
    }

    fn has_options(&self) -> bool {
        self.entries.iter().any(|entry| !entry.options.is_none())
    }

    fn read(reader: &mut Reader<'_>, has_options: bool) -> Result<Self, DecodeError> {
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
            entries.push(KeySpaceEntry::read_rest(reader, KeySpaceId(id), has_options)?);
        }
        let page = Self { entries };
        if page.has_options() != has_options {
            let expected = "some option of a key space in version 2";
            return Err(reader.wrong("options of key spaces", 0, expected, 0));
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use terrace_env::ByteCount;

    use crate::compression::Compression;
    use crate::golden::{specimen, survives};

    #[test]
    fn pages_read_back_and_no_damage_makes_them_panic() {
        let entry = |id, name| KeySpaceEntry::new(KeySpaceId(id), name);
        let page = SpacePage { entries: vec![entry(3, "users"), entry(9, "orders")] };
        let bytes = specimen("annotation-key-spaces.bin", &page.annotation().opaque);
        assert_eq!(SpacePage::decode(FileId(7), &bytes).unwrap(), page);
        let encode: fn(&SpacePage) -> Vec<u8> = |page| page.annotation().opaque;
        survives(&bytes, |bytes| SpacePage::decode(FileId(7), bytes), encode);
        assert_eq!(page.bytes(), bytes.len() - 6);
        let mut page = page;
        page.entries[1].options = KeySpaceOptions::default()
            .compression(Compression::Zstd)
            .block_size(ByteCount::kib(16))
            .filter_bits(0)
            .ttl(Duration::from_secs(60));
        let bytes = specimen("annotation-key-spaces-options.bin", &page.annotation().opaque);
        assert_eq!(SpacePage::decode(FileId(7), &bytes).unwrap(), page);
        survives(&bytes, |bytes| SpacePage::decode(FileId(7), bytes), encode);
    }
}
