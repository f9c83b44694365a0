//! [`Found`]: the answer of a memtable or of a table that a key is searched in.

use bytes::Bytes;
use terrace_env::{Date, SeqNo};

use crate::expiry::{self, Shown};

/// Answer of a searched place for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found<V = Bytes> {
    Value(V),
    /// A value that is unseen from a date on.
    Expiring(Date, V),
    /// An operand of this sequence. The value depends on older entries, too.
    Operand(SeqNo, V),
    Deleted,
}

impl<V> Found<V> {
    /// The answer that shows a value.
    pub(crate) fn of(Shown { value, expiry }: Shown<V>) -> Self {
        match expiry {
            Some(expiry) => Self::Expiring(expiry, value),
            None => Self::Value(value),
        }
    }

    /// The same answer with another value.
    pub(crate) fn map<T>(self, of: impl FnOnce(V) -> T) -> Found<T> {
        match self {
            Self::Value(value) => Found::Value(of(value)),
            Self::Expiring(expiry, value) => Found::Expiring(expiry, of(value)),
            Self::Operand(sequence, operand) => Found::Operand(sequence, of(operand)),
            Self::Deleted => Found::Deleted,
        }
    }

    /// The value now. An operand counts as the value: the caller needs only that, or has combined
    /// it.
    pub(crate) fn shown(self) -> Option<Shown<V>> {
        match self {
            Self::Value(value) | Self::Operand(_, value) => Some(Shown { value, expiry: None }),
            Self::Expiring(expiry, value) => Shown { value, expiry: Some(expiry) }.now(),
            Self::Deleted => None,
        }
    }

    /// The value at a date; for an operand as [`shown`](Self::shown).
    pub(crate) fn value_at(self, date: Date) -> Option<V> {
        match self {
            Self::Value(value) | Self::Operand(_, value) => Some(value),
            Self::Expiring(expiry, _) if expiry::has_expired(expiry, date) => None,
            Self::Expiring(_, value) => Some(value),
            Self::Deleted => None,
        }
    }
}
