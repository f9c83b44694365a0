//! [`frames_of_any_store`]: reads the first frames of a journal without the UUID of its store. The
//! tag in each frame stands for the UUID: checksum and chain follow from it. So the frames are
//! sound, and of one store, but which one is unknown.

use super::codec::RawHeader;
use super::{Frame, PAYLOAD_MAX};
use crate::BLOCK;

/// The frames at the start of these whole blocks that verify as the first ones of a journal, in
/// order, and the byte after them.
pub(crate) fn frames_of_any_store(bytes: &[u8]) -> (Vec<Frame>, usize) {
    let (mut frames, mut end): (Vec<Frame>, usize) = (Vec::new(), 0);
    while let Some(frame) = next(&bytes[end..], frames.last()) {
        end += frame.blocks as usize * BLOCK;
        frames.push(frame);
    }
    (frames, end)
}

fn next(bytes: &[u8], before: Option<&Frame>) -> Option<Frame> {
    let header = RawHeader::read(bytes)?;
    let sequence = before.map_or(1, |before| before.sequence + 1);
    let is_next = header.sequence == sequence && header.len as usize <= PAYLOAD_MAX;
    if !is_next || !header.verifies_by_its_tag(before.map(|before| before.crc), bytes) {
        return None;
    }
    header.into_frame(0, bytes)
}
