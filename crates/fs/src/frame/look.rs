//! Looks at single places of a log that another process may be writing: whether a frame stands
//! there by now. Each look reads the medium anew.

use terrace_env::store::StoreError;

use super::codec::RawHeader;
use super::{Binding, BlockSource, blocks_for};

/// Whether a whole frame of this binding starts at a block, of this sequence or a later one.
pub(crate) fn stands_at(
    source: &dyn BlockSource,
    binding: &Binding,
    block: u32,
    sequence: u64,
) -> Result<bool, StoreError> {
    let Some(header) = header_at(source, block)? else { return Ok(false) };
    if !header.claims(binding) || header.sequence < sequence {
        return Ok(false);
    }
    let (blocks, end) = (blocks_for(header.len as usize), source.written_end(block));
    let fits = block.checked_add(blocks).is_some_and(|after| after <= end);
    Ok(fits && header.verifies(binding, &source.read(block, blocks)?))
}

/// The checksum that the frame at a block bears; `None` if nothing is written there. A frame that
/// was written again has another one.
pub(crate) fn checksum_at(source: &dyn BlockSource, block: u32) -> Result<Option<u32>, StoreError> {
    Ok(header_at(source, block)?.map(|header| header.crc))
}

fn header_at(source: &dyn BlockSource, block: u32) -> Result<Option<RawHeader>, StoreError> {
    if block >= source.blocks() || block >= source.written_end(block) {
        return Ok(None);
    }
    Ok(RawHeader::read(&source.read(block, 1)?))
}

#[cfg(test)]
mod tests {
    use terrace_env::{IoBuf, Uuid};

    use super::*;
    use crate::BLOCK;
    use crate::frame::{Cursor, FrameHead, MemorySource, encode_frame};

    const BINDING: Binding = Binding { uuid: Uuid([3; 16]), owner: 7, epoch: 2 };

    fn source() -> (MemorySource, Cursor) {
        let (mut bytes, mut cursor) = (IoBuf::default(), BINDING.start(5));
        let head = FrameHead { synced: 5, kind: 1, continues: false };
        encode_frame(&BINDING, &mut cursor, head, &[9; 5000], &mut bytes);
        let bytes = bytes.to_vec();
        (MemorySource { region: "log".into(), bytes, atomic: 512 }, cursor)
    }

    #[test]
    fn a_frame_stands_where_it_was_written_whole_and_nowhere_else() {
        let (mut log, cursor) = source();
        let stands = |log: &MemorySource, binding, block, sequence| {
            stands_at(log, binding, block, sequence).unwrap()
        };
        assert!(stands(&log, &BINDING, 0, 5));
        assert!(stands(&log, &BINDING, 0, 4), "a later frame than the expected one");
        assert!(!stands(&log, &BINDING, 0, 6), "an older frame");
        assert!(!stands(&log, &BINDING, 1, 5), "the middle of a frame");
        assert!(!stands(&log, &BINDING, 2, 5), "the end");
        assert!(!stands(&log, &Binding { owner: 8, ..BINDING }, 0, 5), "a frame of another log");
        assert_eq!(checksum_at(&log, 0).unwrap(), Some(cursor.chain));
        assert_eq!(checksum_at(&log, 2).unwrap(), None);
        log.bytes[BLOCK + 10] ^= 1;
        assert!(!stands(&log, &BINDING, 0, 5), "half written");
        log.bytes.truncate(BLOCK);
        assert!(!stands(&log, &BINDING, 0, 5), "cut");
    }
}
