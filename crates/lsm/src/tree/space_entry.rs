//! [`KeySpaceEntry`]: a key space in a list of key spaces, with its codec. The layout is
//! `docs/format/annotation.md`. A list has the options of each of its key spaces, or of none.
//!
//! Plain values.

use std::sync::Arc;

use terrace_env::codec::{DecodeError, Reader, Writer};

use super::store_record::read_space_name;
use crate::key::KeySpaceId;
use crate::options::KeySpaceOptions;

/// Bytes of an id and of the length of a name.
const HEAD_BYTES: usize = 8;

/// A key space: its id, its name, and the options that it has of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySpaceEntry {
    /// Its id.
    pub id: KeySpaceId,
    /// Its name.
    pub name: Arc<str>,
    /// The options that it has of its own, as far as they were ever stated.
    pub options: KeySpaceOptions,
}

impl KeySpaceEntry {
    /// A key space without options of its own.
    pub(crate) fn new(id: KeySpaceId, name: impl Into<Arc<str>>) -> Self {
        Self { id, name: name.into(), options: KeySpaceOptions::default() }
    }

    /// The bytes that it takes in a list, its options aside unless it has any.
    pub(crate) fn bytes(&self) -> usize {
        let options = if self.options.is_none() { 0 } else { self.options.encoded_len() };
        HEAD_BYTES + self.name.len() + options
    }

    /// `has_options`: whether the list has options.
    pub(super) fn encode(&self, has_options: bool, to: &mut Vec<u8>) {
        to.put_u32(self.id.0);
        to.put_prefixed(self.name.as_bytes());
        if has_options {
            self.options.encode(to);
        }
    }

    /// Reads what follows the id in a list.
    pub(super) fn read_rest(
        reader: &mut Reader<'_>,
        id: KeySpaceId,
        has_options: bool,
    ) -> Result<Self, DecodeError> {
        let name = read_space_name(reader)?.into();
        let options =
            if has_options { KeySpaceOptions::read(reader)? } else { KeySpaceOptions::default() };
        Ok(Self { id, name, options })
    }
}
