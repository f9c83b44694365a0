//! [`TableKind`]: how the entries of a table's file are laid out. The annotation of the file
//! records the kind, so it is known before the file is read which code opens it.
//!
//! There is one kind so far. [`TableKind::of`] returns `None` for a byte that stands for no kind of
//! table. Plain values; no locks.

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
