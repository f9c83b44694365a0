//! Keys: key space, user key, sequence number and kind, and their order. The layout is
//! `docs/format/keys.md`.
//!
//! - A *full key* is key space and user key. An *internal key* adds the trailer, which is sequence
//!   number and kind. Internal keys are ordered by their full keys, as bytes, and then by trailers,
//!   newest first.
//! - [`check_sizes`] checks the lengths of a client's key and value; [`check`] checks the length
//!   and kind of an internal key that was read from a medium.
//! - [`split`] and [`compare`] are for keys that were checked: they panic on bytes that are shorter
//!   than a trailer.
//!
//! Plain functions and values; no locks and no I/O.

use std::cmp::Ordering;
use std::fmt;

use bytes::Bytes;
use terrace_env::SeqNo;

use crate::Error;

/// The longest user key, in bytes.
pub const KEY_BYTES_MAX: usize = 65_535;
/// The longest value, in bytes.
pub const VALUE_BYTES_MAX: usize = 64 << 20;
/// Bytes of a key space id before a user key.
pub(crate) const SPACE_BYTES: usize = 4;
/// The bytes of a trailer.
pub(crate) const TRAILER_BYTES: usize = 8;

/// A key space: a separate ordered map within a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeySpaceId(pub u32);

impl KeySpaceId {
    /// The key space that always exists.
    pub const DEFAULT: Self = Self(0);
}

impl fmt::Display for KeySpaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The longest bound of a range: the key directly after the longest key is one byte longer.
pub(crate) const BOUND_BYTES_MAX: usize = KEY_BYTES_MAX + 1;

/// Meaning of an entry for its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The key has no value.
    Delete = 0,
    /// The key has this value.
    Put = 1,
    /// The keys from this one up to another have no value. Only in batches; elsewhere, range
    /// tombstones are kept separately from entries.
    RangeDelete = 2,
    /// The key has this value until a date, which precedes the value; from then on it has no value.
    PutWithExpiry = 3,
    /// The value of the key is the older one, if there is one, combined with this operand.
    Operand = 6,
}

impl Kind {
    /// The kind of this number, unless it is reserved or unknown.
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Delete),
            1 => Some(Self::Put),
            2 => Some(Self::RangeDelete),
            3 => Some(Self::PutWithExpiry),
            6 => Some(Self::Operand),
            _ => None,
        }
    }
}

/// Name of a kind in `docs/format/keys.md`; `None` for a number that is not in use.
#[must_use]
pub fn kind_name(number: u8) -> Option<&'static str> {
    Some(match number {
        0 => "delete",
        1 => "put",
        2 => "range delete",
        3 => "put with expiry",
        4 => "indirect value",
        5 => "single delete",
        6 => "operand",
        _ => return None,
    })
}

/// Words for the number of a kind that no entry may have.
pub(crate) fn kind_defect(number: u8) -> &'static str {
    match number {
        4 => "a kind of 0 to 3, or 6, for 4, indirect value, is reserved; use a newer Terrace",
        5 => "a kind of 0 to 3, or 6, for 5, single delete, is reserved; use a newer Terrace",
        _ => "a kind of 0 to 3, or 6",
    }
}

/// Sequence and kind of an entry, in a form that sorts the newest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Trailer(u64);

impl Trailer {
    /// Before every entry of its full key.
    pub(crate) const NEWEST: Self = Self(0);

    pub(crate) fn new(sequence: SeqNo, kind: Kind) -> Self {
        Self::with_number(sequence, kind as u8)
    }

    /// Before every entry that is visible at `sequence`, after every newer one.
    pub(crate) fn seek(sequence: SeqNo) -> Self {
        Self::with_number(sequence, 255)
    }

    fn with_number(sequence: SeqNo, number: u8) -> Self {
        debug_assert!(sequence <= SeqNo::MAX, "a sequence of more than 56 bits");
        Self(!(sequence.0 << 8 | u64::from(number)))
    }

    pub(crate) fn sequence(self) -> SeqNo {
        SeqNo(!self.0 >> 8)
    }

    pub(crate) fn kind_number(self) -> u8 {
        !self.0 as u8
    }

    pub(crate) fn kind(self) -> Option<Kind> {
        Kind::of(self.kind_number())
    }

    /// Whether the entry is an operand.
    pub(crate) fn is_operand(self) -> bool {
        self.kind_number() == Kind::Operand as u8
    }

    pub(crate) fn to_bytes(self) -> [u8; TRAILER_BYTES] {
        self.0.to_be_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; TRAILER_BYTES]) -> Self {
        Self(u64::from_be_bytes(bytes))
    }
}

impl fmt::Debug for Trailer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.sequence(), self.kind_number())
    }
}

/// Appends key space and user key.
pub(crate) fn put_full_key(into: &mut Vec<u8>, space: KeySpaceId, user_key: &[u8]) {
    into.extend_from_slice(&space.0.to_be_bytes());
    into.extend_from_slice(user_key);
}

/// Key space and user key as one byte string.
pub(crate) fn full_key(space: KeySpaceId, user_key: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(SPACE_BYTES + user_key.len() + TRAILER_BYTES);
    put_full_key(&mut key, space, user_key);
    key
}

/// The key space of a full key.
///
/// # Panics
/// When it is shorter than the id of a key space.
pub(crate) fn space_of(full_key: &[u8]) -> KeySpaceId {
    let id = full_key.first_chunk().expect("a full key has a key space");
    KeySpaceId(u32::from_be_bytes(*id))
}

/// The first full key after all keys of a key space, or `None` if there is none.
pub(crate) fn space_end(space: KeySpaceId) -> Option<Vec<u8>> {
    space.0.checked_add(1).map(|next| full_key(KeySpaceId(next), &[]))
}

/// The internal key to seek for the visible entry of a key at `sequence`.
pub(crate) fn seek_key(space: KeySpaceId, user_key: &[u8], sequence: SeqNo) -> Vec<u8> {
    let mut key = full_key(space, user_key);
    key.extend_from_slice(&Trailer::seek(sequence).to_bytes());
    key
}

/// A full key and its trailer as one byte string.
pub(crate) fn internal_key(full_key: &[u8], trailer: Trailer) -> Vec<u8> {
    let mut key = Vec::with_capacity(full_key.len() + TRAILER_BYTES);
    key.extend_from_slice(full_key);
    key.extend_from_slice(&trailer.to_bytes());
    key
}

/// The full key directly after `full_key`: an exclusive end of a range that contains it.
pub(crate) fn successor(full_key: &[u8]) -> Vec<u8> {
    let mut next = Vec::with_capacity(full_key.len() + 1);
    next.extend_from_slice(full_key);
    next.push(0);
    next
}

/// The first byte string after all that begin with `prefix`, or `None` if there is none.
#[must_use]
pub fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let kept = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut end = prefix[..=kept].to_vec();
    end[kept] += 1;
    Some(end)
}

/// Splits an internal key that is known to be long enough.
///
/// If it is shorter than a trailer: readers check keys with [`check`] when they read them.
pub(crate) fn split(internal_key: &[u8]) -> (&[u8], Trailer) {
    let (full_key, trailer) =
        internal_key.split_last_chunk::<TRAILER_BYTES>().expect("an internal key has a trailer");
    (full_key, Trailer(u64::from_be_bytes(*trailer)))
}

/// The order of internal keys.
pub(crate) fn compare(left: &[u8], right: &[u8]) -> Ordering {
    let (left_key, left_trailer) = split(left);
    let (right_key, right_trailer) = split(right);
    left_key.cmp(right_key).then(left_trailer.cmp(&right_trailer))
}

/// Key space and first sixteen bytes of a user key, as numbers: zeros follow the key's end. Of two
/// keys with different heads, the one with the smaller head comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Head {
    space: u32,
    front: u128,
}

/// The head of a full key, or of a bound that may be shorter than the id of a key space.
pub(crate) fn head(full_key: &[u8]) -> Head {
    let Some((space, user_key)) = full_key.split_first_chunk() else {
        let mut space = [0; SPACE_BYTES];
        space[..full_key.len()].copy_from_slice(full_key);
        return Head { space: u32::from_be_bytes(space), front: 0 };
    };
    let front = match user_key.first_chunk() {
        Some(front) => u128::from_be_bytes(*front),
        None => {
            let mut front = [0; 16];
            front[..user_key.len()].copy_from_slice(user_key);
            u128::from_be_bytes(front)
        }
    };
    Head { space: u32::from_be_bytes(*space), front }
}

/// Whether a full key comes before a bound, which has this head.
pub(crate) fn is_before(full_key: &[u8], bound: &[u8], head_of_bound: Head) -> bool {
    match head(full_key).cmp(&head_of_bound) {
        Ordering::Less => true,
        Ordering::Equal => full_key < bound,
        Ordering::Greater => false,
    }
}

/// Checks that bytes from a medium have the shape of an internal key of a single key's entry.
pub(crate) fn check(internal_key: &[u8]) -> Result<(), KeyDefect> {
    let len = internal_key.len();
    let longest = SPACE_BYTES + KEY_BYTES_MAX + TRAILER_BYTES;
    if !(SPACE_BYTES + TRAILER_BYTES..=longest).contains(&len) {
        return Err(KeyDefect::Length(len));
    }
    let (_, trailer) = split(internal_key);
    match trailer.kind() {
        Some(Kind::Put | Kind::PutWithExpiry | Kind::Operand | Kind::Delete) => Ok(()),
        Some(Kind::RangeDelete) | None => Err(KeyDefect::Kind(trailer.kind_number())),
    }
}

/// Defect of an internal key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyDefect {
    #[error("an internal key of {0} bytes")]
    Length(usize),
    #[error("an entry of kind {}{}", .0, reserved(*.0))]
    Kind(u8),
}

/// The name of a reserved kind, for an error.
fn reserved(number: u8) -> String {
    match kind_name(number) {
        Some(name) if Kind::of(number).is_none() => {
            format!(" ({name}), which is reserved; use a newer Terrace")
        }
        _ => String::new(),
    }
}

/// Checks the lengths of a client's key and value.
pub(crate) fn check_sizes(user_key: &[u8], value: &[u8]) -> Result<(), Error> {
    if user_key.len() > KEY_BYTES_MAX {
        return Err(Error::KeyTooLong { max: KEY_BYTES_MAX, got: user_key.len() });
    }
    if value.len() > VALUE_BYTES_MAX {
        return Err(Error::ValueTooLong { max: VALUE_BYTES_MAX, got: value.len() });
    }
    Ok(())
}

/// A key space and a key in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FullKey {
    /// The key space.
    pub space: KeySpaceId,
    /// The user key.
    pub user_key: Bytes,
}

impl FullKey {
    /// Splits a full key; missing bytes of the key space count as zeros.
    #[must_use]
    pub fn of(full_key: &[u8]) -> Self {
        let (space, user_key) = full_key.split_at(SPACE_BYTES.min(full_key.len()));
        let mut id = [0; SPACE_BYTES];
        id[..space.len()].copy_from_slice(space);
        let space = KeySpaceId(u32::from_be_bytes(id));
        Self { space, user_key: Bytes::copy_from_slice(user_key) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(space: u32, user_key: &[u8], sequence: u64, kind: Kind) -> Vec<u8> {
        internal_key(&full_key(KeySpaceId(space), user_key), Trailer::new(SeqNo(sequence), kind))
    }

    #[test]
    fn a_reserved_kind_is_refused_by_its_name() {
        for (number, name) in [(4, "indirect value"), (5, "single delete")] {
            let trailer = Trailer::with_number(SeqNo(7), number);
            let defect = check(&internal_key(&full_key(KeySpaceId(0), b"key"), trailer));
            let text = defect.unwrap_err().to_string();
            assert!(text.contains(name) && text.contains("newer Terrace"), "{text}");
            assert!(kind_defect(number).contains(name));
        }
        let trailer = Trailer::with_number(SeqNo(7), 7);
        let defect = check(&internal_key(&full_key(KeySpaceId(0), b"key"), trailer));
        assert_eq!(defect.unwrap_err().to_string(), "an entry of kind 7");
    }

    #[test]
    fn keys_sort_by_space_then_key_then_newest_first() {
        let sorted = [
            key(0, b"", 9, Kind::Put),
            key(0, b"a", 7, Kind::Put),
            key(0, b"a", 3, Kind::Delete),
            key(0, b"a\0", 9, Kind::Put),
            key(0, b"a\xff\xff\xff\xff\xff\xff\xff\xff\xff", 1, Kind::Put),
            key(0, b"b", SeqNo::MAX.0, Kind::Put),
            key(1, b"", 1, Kind::Put),
            key(256, b"", 1, Kind::Put),
        ];
        for (i, left) in sorted.iter().enumerate() {
            for (j, right) in sorted.iter().enumerate() {
                assert_eq!(compare(left, right), i.cmp(&j), "{i} {j}");
            }
        }
    }

    #[test]
    fn keys_of_different_heads_are_in_the_order_of_their_heads() {
        let long = [&full_key(KeySpaceId(1), &[7; 16])[..], b"x"].concat();
        let keys = [
            &[][..],
            &[0, 0, 0, 1],
            &full_key(KeySpaceId(1), b"a"),
            &full_key(KeySpaceId(1), b"a\0"),
            &full_key(KeySpaceId(1), b"user000000000001"),
            &full_key(KeySpaceId(1), b"user000000000002"),
            &full_key(KeySpaceId(1), &[7; 16]),
            &long,
            &full_key(KeySpaceId(256), b""),
        ];
        let mut differ = 0;
        for left in keys {
            for right in keys {
                let order = head(left).cmp(&head(right));
                assert!(order.is_eq() || order == left.cmp(right), "{left:?} {right:?}");
                assert_eq!(is_before(left, right, head(right)), left < right, "{left:?} {right:?}");
                differ += usize::from(order.is_ne());
            }
        }
        // Only keys that differ by zeros at their ends, or after sixteen bytes, share a head.
        assert_eq!(differ, keys.len() * (keys.len() - 1) - 4);
    }

    #[test]
    fn a_seek_key_stands_before_what_it_sees_and_behind_what_is_newer() {
        let full = full_key(KeySpaceId(3), b"k");
        let seek = seek_key(KeySpaceId(3), b"k", SeqNo(5));
        assert_eq!(compare(&seek, &key(3, b"k", 5, Kind::Delete)), Ordering::Less);
        assert_eq!(compare(&seek, &key(3, b"k", 5, Kind::Put)), Ordering::Less);
        assert_eq!(compare(&seek, &key(3, b"k", 6, Kind::Delete)), Ordering::Greater);
        assert_eq!(compare(&internal_key(&full, Trailer::NEWEST), &seek), Ordering::Less);
    }

    #[test]
    fn a_trailer_gives_back_its_parts() {
        for sequence in [0, 1, 255, 256, SeqNo::MAX.0] {
            assert!(Trailer::new(SeqNo(sequence), Kind::Operand).is_operand());
            let trailer = Trailer::new(SeqNo(sequence), Kind::Put);
            assert_eq!((trailer.sequence(), trailer.kind()), (SeqNo(sequence), Some(Kind::Put)));
        }
    }

    #[test]
    fn the_end_of_a_prefix_is_the_next_key_that_lacks_it() {
        assert_eq!(prefix_end(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(prefix_end(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(prefix_end(b"\xff"), None);
        assert_eq!(prefix_end(b""), None);
    }

    #[test]
    fn reserved_kinds_and_short_keys_are_defects() {
        assert_eq!(check(&[0; 11]), Err(KeyDefect::Length(11)));
        let mut reserved = key(0, b"k", 1, Kind::Put);
        *reserved.last_mut().unwrap() = !2;
        assert_eq!(check(&reserved), Err(KeyDefect::Kind(2)));
        assert_eq!(check(&key(0, b"", 1, Kind::Put)), Ok(()));
    }
}
