//! [`Annotation`]: a record that a store keeps with a file, and one for the store itself. It has a
//! [`PlacementHint`], with the properties of the file that placement needs, and opaque bytes that
//! belong to the owner of the file.
//!
//! A change of an annotation replaces both parts. A hint is also given when a file is created, in
//! [`CreateOptions`](super::CreateOptions), before the file has an annotation.

/// Facts about a file that placement uses: given when the file is created, and kept as a part of
/// its annotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlacementHint {
    /// The level of the tree the file belongs to, where it belongs to one.
    pub level: Option<u8>,
    /// Files of one stream are written by one job at a time and may share zones.
    pub stream: u16,
}

/// A file's annotation. Changed by a transaction, returned by
/// [`Store::info`](crate::Store::info) and [`Store::list`](crate::Store::list).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotation {
    /// The part for placement.
    pub hint: PlacementHint,
    /// The owner's own bytes; the store does not look inside.
    pub opaque: Vec<u8>,
}
