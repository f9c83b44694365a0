//! Expiry of entries: from a date on, an entry of [`Kind::PutWithExpiry`] is unseen, as if it had
//! been written as a delete of its key.
//!
//! - The date precedes the value ([`EXPIRY_BYTES`], `docs/format/keys.md`). [`split`] checks the
//!   length and never panics.
//! - Every read compares it with the [date](terrace_env::runner::date) of that read. No clock has
//!   to tick, and no job has to run, for an entry to be unseen.
//! - An expired entry still hides older entries of its key. Jobs write a delete instead of it, or
//!   nothing if the delete would be dropped.
//!
//! If the date of the machine is set back, entries that had expired are seen again, unless a job
//! has replaced them meanwhile.
//!
//! Values. No locks and no I/O.

use bytes::Bytes;
use terrace_env::{Date, runner};

use crate::key::{Kind, Trailer};

/// Bytes of an expiry before a value: milliseconds since 1970, little-endian.
pub(crate) const EXPIRY_BYTES: usize = 8;

/// Bytes of a date before a value.
pub(crate) fn encode(at: Date) -> [u8; EXPIRY_BYTES] {
    at.0.to_le_bytes()
}

/// The expiry and the value in stored bytes; `None` if these are shorter than an expiry.
pub(crate) fn split(stored: &[u8]) -> Option<(Date, &[u8])> {
    let (at, value) = stored.split_first_chunk::<EXPIRY_BYTES>()?;
    Some((Date(u64::from_le_bytes(*at)), value))
}

/// The same, which shares the memory of the value.
pub(crate) fn split_bytes(mut stored: Bytes) -> Option<(Date, Bytes)> {
    let (at, _) = split(&stored)?;
    let value = stored.split_off(EXPIRY_BYTES);
    Some((at, value))
}

/// The trailer of the delete that replaces an entry that has expired at a date; `None` for any
/// other entry.
pub(crate) fn as_deleted(trailer: Trailer, stored: &[u8], date: Date) -> Option<Trailer> {
    if trailer.kind() != Some(Kind::PutWithExpiry) {
        return None;
    }
    let (expiry, _) = split(stored)?;
    has_expired(expiry, date).then(|| Trailer::new(trailer.sequence(), Kind::Delete))
}

/// Whether an entry of this expiry is unseen at a date.
pub(crate) fn has_expired(expiry: Date, date: Date) -> bool {
    expiry <= date
}

/// A visible value, with its expiry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown<V = Bytes> {
    pub(crate) value: V,
    /// Date from which on it is unseen; `None`: it does not expire.
    pub(crate) expiry: Option<Date>,
}

impl<V> Shown<V> {
    /// The same, unless it has expired.
    pub(crate) fn now(self) -> Option<Self> {
        let is_seen = self.expiry.is_none_or(|expiry| !has_expired(expiry, runner::date()));
        is_seen.then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_reads_back_and_a_short_value_has_none() {
        let at = Date(0x0102_0304_0506_0708);
        let stored = [&encode(at)[..], b"value"].concat();
        assert_eq!(stored[..2], [8, 7], "little-endian");
        assert_eq!(split(&stored), Some((at, &b"value"[..])));
        let value = Bytes::from_static(b"value");
        assert_eq!(split_bytes(stored.clone().into()), Some((at, value)));
        for short in 0..EXPIRY_BYTES {
            assert_eq!(split(&stored[..short]), None);
            assert_eq!(split_bytes(Bytes::copy_from_slice(&stored[..short])), None);
        }
        assert!(has_expired(Date(5), Date(5)) && !has_expired(Date(5), Date(4)));
    }
}
