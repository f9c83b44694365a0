//! [`TableKind`]: how the entries of a table's file are laid out. The annotation of the file
//! records the kind, so it is known which code opens a table before a byte of it is read.
//!
//! The kind is matched where a [`TableHandle`](super::handle::TableHandle) opens its file and where
//! a run makes a cursor of a table: once per table, never per entry. A new kind is a variant here
//! and an arm there. A store with a table of a newer kind does not open: the annotation is refused
//! with [`Error::Unsupported`](crate::Error::Unsupported). The kind of a log or of the store is
//! corruption there.

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
