//! Codec of the first key of a data block, in the block's index entry: after the block's handle, as
//! the suffix that differs from the entry's own key. The layout is `docs/format/table.md`.
//!
//! - [`read`] checks lengths and the key's kind before it uses them. A wrong value is a
//!   [`DecodeError`]. The [`Index`](super::index::Index) checks the order of the keys.
//! - It is not checked here that the block begins with this key. A cursor compares them when it
//!   reads the block.
//!
//! Plain functions; no locks and no I/O.

use terrace_env::codec::{DecodeError, Reader, Writer};

use super::frame::Handle;
use crate::key;

/// Appends the first key of a block, `first`, to the value of the entry whose key is `separator`.
pub(super) fn append(value: &mut Vec<u8>, separator: &[u8], first: &[u8]) {
    let shared = separator.iter().zip(first).take_while(|(a, b)| a == b).count();
    value.put_varint(shared as u64);
    value.put(&first[shared..]);
}

/// Reads the first key of a block into `into`, from the value of the entry whose key is
/// `separator`.
pub(super) fn read(value: &[u8], separator: &[u8], into: &mut Vec<u8>) -> Result<(), DecodeError> {
    let mut reader = Reader::new(value);
    Handle::read(&mut reader, u64::MAX)?;
    let shared = reader.varint("shared bytes of the first key")?;
    let head = usize::try_from(shared).ok().and_then(|shared| separator.get(..shared));
    let Some(head) = head else {
        let expected = "no more than the entry's own key has";
        return Err(reader.wrong("shared bytes of the first key", 0, expected, shared));
    };
    into.clear();
    into.extend_from_slice(head);
    into.extend_from_slice(reader.bytes("first key", reader.remaining())?);
    if key::check(into).is_err() {
        let (expected, length) = ("an internal key of a known kind", into.len() as u64);
        return Err(reader.wrong("first key", 0, expected, length));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{KeySpaceId, Kind, Trailer};
    use terrace_env::SeqNo;

    fn key(user_key: &[u8], sequence: u64) -> Vec<u8> {
        let full = key::full_key(KeySpaceId(1), user_key);
        key::internal_key(&full, Trailer::new(SeqNo(sequence), Kind::Put))
    }

    #[test]
    fn a_first_key_reads_back_and_no_damage_makes_it_panic() {
        let keys = [key(b"", 1), key(b"apple", 7), key(b"apple pie", 9), key(&[0xff; 300], 3)];
        for separator in &keys {
            for first in &keys {
                let mut value = Handle { offset: 70_000, size: 4096 }.encode();
                append(&mut value, separator, first);
                let mut found = vec![9; 20];
                read(&value, separator, &mut found).unwrap();
                assert_eq!(&found, first);
                for len in 0..value.len() {
                    let _ = read(&value[..len], separator, &mut found);
                }
                for bit in 0..value.len() * 8 {
                    let mut damaged = value.clone();
                    damaged[bit / 8] ^= 1 << (bit % 8);
                    if read(&damaged, separator, &mut found).is_ok() {
                        assert!(key::check(&found).is_ok());
                    }
                }
            }
        }
    }

    #[test]
    fn a_first_key_without_a_known_kind_or_with_too_much_shared_is_refused() {
        let (separator, mut found) = (key(b"m", 1), Vec::new());
        let mut value = Handle { offset: 0, size: 100 }.encode();
        let handle = value.len();
        append(&mut value, &separator, &key(b"k", 5));
        for (at, wrong) in [(handle, 14), (handle, 0x7f), (value.len() - 1, 0)] {
            let mut damaged = value.clone();
            damaged[at] = wrong;
            assert!(read(&damaged, &separator, &mut found).is_err(), "{wrong} at {at}");
        }
        assert!(read(&value[..handle], &separator, &mut found).is_err());
    }
}
