//! The journal: every change of the catalog, in one endless log of frames.

mod space;

pub use space::JournalSpace;
