//! Damaged frames of a log. Chains and checksums are mended, so that frames with other fields are
//! frames of the log.

use std::path::Path;

use terrace_env::Uuid;
use terrace_fuzz::{Target, fuzz, specimens_in};

use super::codec::RawHeader;
use super::{
    AppendScan, Binding, HEADER, MemorySource, PAYLOAD_MAX, Scanner, blocks_for,
    frames_of_any_store,
};
use crate::BLOCK;

const BINDING: Binding = Binding {
    uuid: Uuid([
        0x54, 0x65, 0x72, 0x72, 0x61, 0x63, 0x45, 0x00, 0x80, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06,
        0x07,
    ]),
    owner: 42,
    epoch: 3,
};

/// Corrects chain and checksum of each frame that has a possible length.
pub(crate) fn mend_frames(binding: &Binding, first: u64, bytes: &mut [u8]) {
    let (mut at, mut chain) = (0, binding.start(first).chain);
    while let Some(header) = bytes.get(at..).and_then(RawHeader::read) {
        let end = at + HEADER + header.len as usize;
        if header.len as usize > PAYLOAD_MAX || end > bytes.len() {
            at += BLOCK;
            continue;
        }
        bytes[at + 28..at + 32].copy_from_slice(&chain.to_le_bytes());
        chain = binding.checksum_of(&bytes[at + 4..end], &[]);
        bytes[at..at + 4].copy_from_slice(&chain.to_le_bytes());
        at += blocks_for(header.len as usize) as usize * BLOCK;
    }
}

fn log() -> Vec<Vec<u8>> {
    specimens_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden"), "log.bin")
}

/// A scan ends, its frames lie one after the other, and an inspection passes over any damage.
#[test]
fn frames_of_a_log() {
    let target = Target::decoding("frames of a log", log(), |input| {
        let source =
            |atomic| MemorySource { region: "a log".into(), bytes: input.to_vec(), atomic };
        let mut scan = Scanner::new(source(512), BINDING, 0, BINDING.start(1), 0);
        let (mut end, mut sequence) = (0, 1);
        let sound = loop {
            match scan.next_frame() {
                Ok(None) => break true,
                Ok(Some(frame)) => {
                    assert_eq!((frame.block, frame.sequence), (end, sequence));
                    assert!(frame.payload.len() <= PAYLOAD_MAX);
                    (end, sequence) = (end + frame.blocks, sequence + 1);
                }
                Err(error) => {
                    let block = scan.block();
                    if !scan.skip_damage(&error) {
                        break false;
                    }
                    assert!(scan.block() > block);
                    (end, sequence) = (scan.block(), scan.cursor().sequence);
                }
            }
        };
        let whole = source(4096);
        let mut appends = AppendScan::new(&whole, BINDING, 0, BINDING.start(1), end);
        while let Ok(Some(append)) = appends.next_append() {
            let spans: u64 = append.spans.iter().map(|span| u64::from(span.len)).sum();
            assert_eq!(spans, append.payload.len() as u64);
        }
        sound && end > 0
    });
    fuzz!(target.mending(|input| mend_frames(&BINDING, 1, input)).with_seeds(10_000));
}

#[test]
fn frames_of_any_journal() {
    let journal = Binding { owner: 0, ..BINDING };
    let mut bytes = log().concat();
    mend_frames(&journal, 1, &mut bytes);
    let target = Target::decoding("frames of any journal", vec![bytes], |input| {
        let mut blocks = input.to_vec();
        blocks.resize(input.len().next_multiple_of(BLOCK), 0);
        let (frames, end) = frames_of_any_store(&blocks);
        assert!(end <= blocks.len());
        frames.len() > 1
    });
    fuzz!(target.mending(move |input| mend_frames(&journal, 1, input)).with_seeds(10_000));
}
