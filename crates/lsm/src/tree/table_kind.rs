//! [`TableKind`]: how the entries of a table's file are laid out. The annotation of the file
//! records the kind, so a table is opened without a look at its bytes.
//!
//! The kind is matched where a [`TableHandle`](super::handle::TableHandle) opens its file and where
//! a run makes a cursor of a table: once per table, never per entry. A new kind is a variant here
//! and an arm there. A kind that this version does not know is refused with
//! [`Error::Unsupported`](crate::Error::Unsupported) before the store opens.

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
