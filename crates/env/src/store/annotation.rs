//! [`Annotation`]: what a store keeps about a file besides its bytes. One part is for placement
//! ([`PlacementHint`]); the other is opaque to everyone except the owner of the file.
//!
//! A change of an annotation replaces both parts. The hint in
//! [`CreateOptions`](super::CreateOptions) says where a new file goes; the hint in the annotation
//! is kept with the file.

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
