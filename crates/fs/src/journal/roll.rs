//! Rolls: a *roll* writes a snapshot of the catalog to the journal in steps, so that older zones
//! can come free. This module says when a roll is due, and makes the payloads of its steps.
//!
//! 1. `Head` begins the snapshot.
//! 2. `Chunk` after `Chunk` lists the files in the order of their ids, in pieces of about 256 KiB.
//!    A chunk must be written after the transactions that were staged before it was made, and
//!    before later ones. Then its files agree with the journal up to its place.
//! 3. `End`, with the number of files, completes the snapshot.
//!
//! A roll is due when more than 256 KiB, and more than twice the last snapshot, were written since
//! the head.
//!
//! [`whole`] gives the payloads of all steps, one after the other, for a journal that begins anew.

use terrace_env::{ByteCount, FileId};

use super::payload::{End, Head, kind};
use crate::catalog::Catalog;
use crate::superblock::{Features, JournalHead};

/// The smallest journal that is worth a roll. For a smaller one, a roll would write more than it
/// frees, and a mount reads it in a few milliseconds.
const LEAST: ByteCount = ByteCount::kib(256);

/// Approximate bytes of a snapshot that are written at once: no commit waits for more.
const CHUNK: usize = 256 << 10;

/// Progress of a roll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Roll {
    /// No roll is in flight.
    Idle,
    /// The head is written, and all files below `next` are.
    Chunks { head: JournalHead, since_head: u64, next: FileId, bytes: u64 },
}

/// Payloads of a step, encoded.
pub(crate) struct Step {
    pub(crate) payloads: Vec<(u8, Vec<u8>)>,
    /// The first file after this step; `None` if the roll is complete.
    pub(crate) next: Option<FileId>,
}

/// Whether a roll is due, by the bytes since the head and the bytes of the last snapshot.
pub(crate) fn is_due(since_head: u64, snapshot: u64) -> bool {
    // At least half of the bytes must not be snapshot, or rolls would cause rolls.
    since_head > LEAST.0.max(snapshot.saturating_mul(2))
}

/// Whether the journal is so small that writing the catalog anew costs next to nothing.
pub(super) fn is_cheap(since_head: u64) -> bool {
    since_head <= 2 * LEAST.0
}

/// The start of a snapshot, for a store whose superblock has these features.
pub(crate) fn head(features: Features, catalog: &Catalog) -> Step {
    let head = Head { features, next_file: catalog.next_file(), next_epoch: catalog.next_epoch() };
    Step { payloads: vec![(kind::HEAD, head.encode())], next: Some(FileId::STORE) }
}

/// The chunk that starts at `from`, and the end if it is the last.
pub(crate) fn chunk(catalog: &Catalog, from: FileId) -> Step {
    let mut bytes = Vec::with_capacity(CHUNK);
    let next = catalog.encode_chunk(from, CHUNK, &mut bytes);
    let mut payloads = vec![(kind::CHUNK, bytes)];
    if next.is_none() {
        payloads.push((kind::END, End { files: catalog.len() as u64 }.encode()));
    }
    Step { payloads, next }
}

/// The payloads of a whole snapshot, one step at a time.
pub(super) fn whole(
    features: Features,
    catalog: &Catalog,
) -> impl Iterator<Item = (u8, Vec<u8>)> + '_ {
    let mut next = Some(FileId::STORE);
    let chunks = std::iter::from_fn(move || {
        let step = chunk(catalog, next?);
        next = step.next;
        Some(step.payloads)
    });
    head(features, catalog).payloads.into_iter().chain(chunks.flatten())
}
