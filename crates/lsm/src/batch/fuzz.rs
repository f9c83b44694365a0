//! Damaged batches: the decoder of one batch, and the walk over the batches of an append.

use bytes::Bytes;
use terrace_env::FileId;
use terrace_fuzz::{Target, fuzz};

use super::{FrozenBatch, HEADER_BYTES};
use crate::golden;
use crate::inspect::Batches;

/// Writes the length of all bytes into the header.
fn mend(input: &mut [u8]) {
    let length = (input.len() as u32).to_le_bytes();
    if let Some(first) = input.first_chunk_mut() {
        *first = length;
    }
}

/// All fields of all entries, whose places must lie in the batch.
fn decode(input: &[u8]) -> bool {
    let Ok(batch) = FrozenBatch::decode(Bytes::copy_from_slice(input)) else { return false };
    let entries = batch.entries();
    let read = entries.map(|(sequence, entry)| {
        assert!(sequence >= batch.first() && sequence < batch.end());
        batch.bytes()[entry.key].len() + batch.bytes()[entry.value].len()
    });
    assert!(read.sum::<usize>() + HEADER_BYTES <= input.len());
    true
}

#[test]
fn batches() {
    fuzz!(Target::decoding("batch", golden::kept("batch"), decode).mending(|input| mend(input)));
}

/// The walk finds a batch exactly where the decoder accepts one.
#[test]
fn appends_of_batches() {
    let batches = golden::kept("batch");
    let append = batches.concat();
    let decode_append = |input: &[u8]| {
        let walked = Batches::new(FileId(9), 0, Bytes::copy_from_slice(input));
        let (mut end, mut sound) = (0, true);
        for batch in walked {
            match batch {
                Ok(batch) => {
                    let place = batch.offset as usize..batch.offset as usize + batch.size();
                    assert!(place.start >= end && decode(&input[place.clone()]));
                    assert_eq!(batch.entries().count(), batch.count() as usize);
                    end = place.end;
                }
                Err(_) => sound = false,
            }
        }
        sound
    };
    fuzz!(Target::decoding("append of batches", vec![append, batches[0].clone()], decode_append));
}
