//! [`is_first_snapshot`]: whether frames are those of a format: a snapshot without files, or its
//! first frames. The store may have an annotation.

use terrace_env::FileId;

use super::payload::{End, Head, kind};
use crate::AddressSpace;
use crate::catalog::Catalog;
use crate::frame::Frame;

/// Frames of the snapshot of a catalog without files: head, one chunk, end.
pub(crate) const SNAPSHOT_FRAMES: usize = 3;

/// Whether these frames, which begin a journal, are a snapshot without files, or its first frames.
pub(crate) fn is_first_snapshot(frames: &[Frame], space: &AddressSpace) -> bool {
    let kinds: [u8; SNAPSHOT_FRAMES] = [kind::HEAD, kind::CHUNK, kind::END];
    let is_due = |(frame, kind): (&Frame, u8)| {
        frame.kind == kind && !frame.continues && has_no_files(frame, space)
    };
    frames.len() <= kinds.len() && frames.iter().zip(kinds).all(is_due)
}

fn has_no_files(frame: &Frame, space: &AddressSpace) -> bool {
    match frame.kind {
        kind::HEAD => Head::decode(&frame.payload).is_ok(),
        kind::CHUNK => Catalog::of_chunk(&frame.payload, space)
            .is_ok_and(|(catalog, from, _)| from == FileId::STORE && catalog.is_empty()),
        kind::END => End::decode(&frame.payload).is_ok_and(|end| end.files == 0),
        _ => false,
    }
}
