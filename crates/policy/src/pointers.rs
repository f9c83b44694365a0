//! [`Pointers`]: the state of leveled compaction: for each level the key at which its next
//! compaction begins.
//!
//! Encoded: version (1 byte), number of levels (1), then per level its pointer, a full key with its
//! length (4); empty for none. Bytes that are not understood count as none: each level then begins
//! with its first key. [`Pointers::decode`] is told how many levels the tree has, and drops
//! pointers of levels beyond.

use terrace_env::codec::{DecodeError, Reader, Writer};

const STATE_VERSION: u8 = 1;

/// Where each level's turn is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointers(Vec<Vec<u8>>);

impl Pointers {
    /// Where a level's turn is; empty: at its beginning.
    pub(crate) fn of(&self, level: usize) -> &[u8] {
        self.0.get(level).map_or(&[], Vec::as_slice)
    }

    /// These pointers, with a level's turn elsewhere.
    pub(crate) fn moved(&self, level: usize, to: &[u8]) -> Self {
        debug_assert!(level < self.0.len(), "level {level} of {}", self.0.len());
        let mut moved = self.clone();
        moved.0[level] = to.to_vec();
        moved
    }

    /// State that is not understood is no state: the turn begins anew.
    pub(crate) fn decode(bytes: &[u8], levels: usize) -> Self {
        let mut pointers = Self::all(bytes);
        pointers.resize(levels, Vec::new());
        Self(pointers)
    }

    /// The pointers of all levels that the state has; none if it is not understood.
    pub(crate) fn all(bytes: &[u8]) -> Vec<Vec<u8>> {
        Self::try_decode(bytes).unwrap_or_default()
    }

    fn try_decode(bytes: &[u8]) -> Result<Vec<Vec<u8>>, DecodeError> {
        let mut reader = Reader::new(bytes);
        let version = reader.u8("state version")?;
        if version != STATE_VERSION {
            return Err(reader.wrong("state version", 1, "1", u64::from(version)));
        }
        let count = reader.u8("levels")?;
        let pointer = |_| reader.prefixed("pointer").map(<[u8]>::to_vec);
        (0..count).map(pointer).collect()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        debug_assert!(self.0.len() <= usize::from(u8::MAX), "{} levels", self.0.len());
        let mut bytes = Vec::new();
        bytes.put_u8(STATE_VERSION);
        bytes.put_u8(self.0.len() as u8);
        for pointer in &self.0 {
            bytes.put_prefixed(pointer);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_read_back_and_garbage_is_no_state() {
        let pointers = Pointers(vec![Vec::new(), b"m".to_vec(), b"\0\xff".to_vec()]);
        let bytes = pointers.encode();
        assert_eq!(Pointers::decode(&bytes, 3), pointers);
        assert_eq!(Pointers::decode(&bytes, 2).0, pointers.0[..2]);
        for len in 0..bytes.len() {
            assert_eq!(Pointers::decode(&bytes[..len], 2).0, [b"", b""]);
        }
        assert_eq!(Pointers::decode(b"another decider's state", 1).0, [b""]);
    }
}
