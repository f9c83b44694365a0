//! [`TableKind`]: the layout of a table's file. The annotation of the file records the kind, so an
//! opening knows which code to use before it reads the file.
//!
//! There is one kind so far. [`TableKind::of`] returns `None` for a byte of another kind of file.
//! Plain values; no locks.

/// Layout of a table's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableKind {
    /// Blocks of sorted entries with an index: `docs/format/table.md`.
    Sorted,
}

impl TableKind {
    /// The kind of this byte in an annotation; `None` if it stands for no table.
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
