//! [`TableKind`]: how the entries of a table's file are laid out. The annotation of the file
//! records the kind, so it is known before the file is read which code opens it.
//!
//! There is one kind so far. If a store has a table of a kind that this version does not know,
//! opening the store fails with [`Error::Unsupported`](crate::Error::Unsupported). A kind that is
//! known but belongs to no table, such as that of a log, is corruption.
//!
//! The kind is asked once per opened table or cursor and not once per entry. Plain values; no
//! locks.

/// Layout of a table's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableKind {
    /// Blocks of sorted entries with an index: `docs/format/table.md`.
    Sorted,
}

impl TableKind {
    /// The kind that this byte of an annotation stands for; `None` if it stands for no table.
    pub(super) fn of(byte: u8) -> Option<Self> {
        (byte == Self::Sorted.byte()).then_some(Self::Sorted)
    }

    /// Its byte in an annotation.
    pub(super) fn byte(self) -> u8 {
        match self {
            Self::Sorted => 1,
        }
    }
}
