//! [`MemoryMedium`]: the bytes of a drive in memory, by zone, in chunks of 16 KiB that are
//! allocated when they are written. Bytes that were never written nor destroyed read as zeros.
//!
//! - A chunk that was written front to back with one repeated byte is kept as that byte. So a drive
//!   that is filled with constant bytes takes little memory.
//! - A chunk that one call destroys as a whole takes no memory: its bytes follow from its address.
//! - A copy of the medium shares all chunks with the original. The first write to a zone after the
//!   copy copies the zone's list of chunks. A write copies the shared chunks that it changes.
//! - After [`MemoryMedium::remember`], the chunks of an erased zone are kept until it is erased
//!   again: a power cut can then bring back bytes of the zone's earlier life.
//! - Up to [`SPARE_MAX`] chunks that are no longer needed are kept, to be used again.
//!
//! The caller holds the drive's lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::{IoBuf, ZoneId};

use super::destroyed;

/// Bytes in a chunk, which is the smallest allocation. A write after a snapshot copies at most two
/// chunks.
const CHUNK: usize = 16 << 10;

#[derive(Clone, Debug)]
enum Chunk {
    Constant(u8),
    /// All bytes of the chunk are destroyed.
    Destroyed,
    Bytes(Arc<[u8]>),
}

const UNWRITTEN: Chunk = Chunk::Constant(0);

type Zones = BTreeMap<ZoneId, Arc<Vec<Chunk>>>;

/// Chunks of erased zones that are kept to be used again, at most: some zones' worth. Memory that
/// is given back and asked for anew costs more than copying into it.
const SPARE_MAX: usize = 4096;

#[derive(Clone, Debug, Default)]
pub(super) struct MemoryMedium {
    zones: Zones,
    earlier: Option<Zones>,
    spare: Vec<Arc<[u8]>>,
}

impl MemoryMedium {
    /// Keeps the bytes of erased zones until they are erased again.
    pub(super) fn remember(mut self) -> Self {
        self.earlier.get_or_insert_default();
        self
    }

    pub(super) fn read(&self, zone: ZoneId, offset: u64, len: usize, into: &mut IoBuf) {
        Self::copy_out(&self.zones, zone, offset, len, into);
    }

    pub(super) fn earlier(&self, zone: ZoneId, offset: u64, len: usize, into: &mut IoBuf) {
        match &self.earlier {
            Some(zones) => Self::copy_out(zones, zone, offset, len, into),
            None => into.resize(into.len() + len),
        }
    }

    fn copy_out(zones: &Zones, zone: ZoneId, offset: u64, len: usize, into: &mut IoBuf) {
        let Some(chunks) = zones.get(&zone) else { return into.resize(into.len() + len) };
        for (index, start, len) in pieces(offset, len) {
            match chunks.get(index).unwrap_or(&UNWRITTEN) {
                Chunk::Bytes(bytes) => into.extend(&bytes[start..start + len]),
                Chunk::Constant(byte) => {
                    let from = into.len();
                    into.resize(from + len);
                    if *byte != 0 {
                        into[from..].fill(*byte);
                    }
                }
                Chunk::Destroyed => {
                    let from = into.len();
                    into.resize(from + len);
                    destroyed((index * CHUNK + start) as u64, &mut into[from..]);
                }
            }
        }
    }

    pub(super) fn write(&mut self, zone: ZoneId, offset: u64, mut bytes: &[u8]) {
        let chunks = Arc::make_mut(self.zones.entry(zone).or_default());
        for (index, start, len) in pieces(offset, bytes.len()) {
            let (piece, rest) = bytes.split_at(len);
            bytes = rest;
            if chunks.len() <= index {
                chunks.resize(index + 1, UNWRITTEN);
            }
            write_chunk(&mut chunks[index], index, start, piece, &mut self.spare);
        }
    }

    /// Makes bytes read as destroyed ones; those after the last byte that was ever written stay
    /// zeros.
    pub(super) fn destroy(&mut self, zone: ZoneId, offset: u64, len: u64) {
        let Some(chunks) = self.zones.get_mut(&zone) else { return };
        let chunks = Arc::make_mut(chunks);
        for (index, start, len) in pieces(offset, len as usize) {
            let Some(chunk) = chunks.get_mut(index) else { return };
            if len < CHUNK {
                if !matches!(chunk, Chunk::Destroyed) {
                    let mut piece = vec![0; len];
                    destroyed((index * CHUNK + start) as u64, &mut piece);
                    write_chunk(chunk, index, start, &piece, &mut self.spare);
                }
            } else if let Chunk::Bytes(bytes) = std::mem::replace(chunk, Chunk::Destroyed)
                && self.spare.len() < SPARE_MAX
            {
                self.spare.push(bytes);
            }
        }
    }

    pub(super) fn erase(&mut self, zone: ZoneId) {
        let chunks = self.zones.remove(&zone);
        let forgotten = match (&mut self.earlier, chunks) {
            (Some(earlier), Some(chunks)) => earlier.insert(zone, chunks),
            (Some(earlier), None) => earlier.remove(&zone),
            (None, chunks) => chunks,
        };
        // A chunk that a copy of the medium shares cannot be taken.
        for chunk in forgotten.and_then(Arc::into_inner).into_iter().flatten() {
            if let Chunk::Bytes(bytes) = chunk
                && self.spare.len() < SPARE_MAX
            {
                self.spare.push(bytes);
            }
        }
    }

    /// Bytes of memory that chunks take up, shared ones counted in full.
    #[cfg(test)]
    fn allocated(&self) -> usize {
        let chunks = self.zones.values().flat_map(|chunks| chunks.iter());
        chunks.filter(|chunk| matches!(chunk, Chunk::Bytes(_))).count() * CHUNK
    }
}

/// Splits a range at chunk borders: chunk, start within it, length.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let end = offset as usize + len;
    let mut at = offset as usize;
    std::iter::from_fn(move || {
        let (index, start) = (at / CHUNK, at % CHUNK);
        let len = (CHUNK - start).min(end - at);
        at += len;
        (len > 0).then_some((index, start, len))
    })
}

/// Writes a piece to the chunk of this number.
fn write_chunk(
    chunk: &mut Chunk,
    index: usize,
    start: usize,
    piece: &[u8],
    spare: &mut Vec<Arc<[u8]>>,
) {
    let constant = constant_byte(piece);
    match (&mut *chunk, constant) {
        (Chunk::Constant(old), Some(new)) if *old == new => {}
        (_, Some(byte)) if piece.len() == CHUNK => *chunk = Chunk::Constant(byte),
        (Chunk::Bytes(bytes), _) => {
            Arc::make_mut(bytes)[start..start + piece.len()].copy_from_slice(piece);
            // Zones are written front to back: only a chunk's last piece can complete a run.
            if constant.is_some()
                && start + piece.len() == CHUNK
                && let Some(byte) = constant_byte(bytes)
            {
                *chunk = Chunk::Constant(byte);
            }
        }
        (Chunk::Destroyed, _) => {
            *chunk = Chunk::Bytes(fresh(spare, |bytes| {
                destroyed((index * CHUNK) as u64, bytes);
                bytes[start..start + piece.len()].copy_from_slice(piece);
            }));
        }
        (Chunk::Constant(byte), _) => {
            *chunk = Chunk::Bytes(fresh(spare, |bytes| {
                bytes[..start].fill(*byte);
                bytes[start..start + piece.len()].copy_from_slice(piece);
                bytes[start + piece.len()..].fill(*byte);
            }));
        }
    }
}

/// A chunk's bytes, which `fill` sets all of.
fn fresh(spare: &mut Vec<Arc<[u8]>>, fill: impl Fn(&mut [u8])) -> Arc<[u8]> {
    while let Some(mut bytes) = spare.pop() {
        if let Some(own) = Arc::get_mut(&mut bytes) {
            fill(own);
            return bytes;
        }
    }
    // Not by way of a `Vec`, which would be copied.
    let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, CHUNK).collect();
    fill(Arc::get_mut(&mut bytes).expect("a new chunk"));
    bytes
}

/// The byte that `bytes` repeats, if it does. Most data is found out at the first comparison.
fn constant_byte(bytes: &[u8]) -> Option<u8> {
    let first = *bytes.first()?;
    let (head, tail) = bytes.split_at(bytes.len().min(16));
    let constant = head.iter().all(|byte| *byte == first)
        && (tail.is_empty() || bytes[..tail.len()] == bytes[bytes.len() - tail.len()..]);
    constant.then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_env::random::{Random, Rng, RngCore};

    const ZONE: ZoneId = ZoneId(7);

    fn contents(medium: &MemoryMedium, len: usize) -> Vec<u8> {
        let mut buffer = IoBuf::default();
        medium.read(ZONE, 0, len, &mut buffer);
        buffer.to_vec()
    }

    #[test]
    fn random_writes_read_back_and_copies_do_not_change() {
        let mut random = Random::seeded(1);
        let len = 3 * CHUNK + 4096;
        let mut model = vec![0; len];
        let mut medium = MemoryMedium::default();
        let mut copies = Vec::new();
        for round in 0..400 {
            let start = random.random_range(0..len / 512) * 512;
            let most = if round % 4 == 0 { len } else { 8192 };
            let end = (start + random.random_range(1..=most / 512) * 512).min(len);
            let mut bytes = vec![random.random_range(0..3); end - start];
            if random.random_bool(0.5) {
                random.fill_bytes(&mut bytes);
            }
            if round % 7 == 6 {
                medium.destroy(ZONE, start as u64, (end - start) as u64);
                // Nothing was written after the medium's last chunk.
                let written = medium.zones[&ZONE].len() * CHUNK;
                let held = written.clamp(start, end) - start;
                bytes.fill(0);
                destroyed(start as u64, &mut bytes[..held]);
            } else {
                medium.write(ZONE, start as u64, &bytes);
            }
            model[start..end].copy_from_slice(&bytes);
            assert_eq!(contents(&medium, len), model, "round {round}");
            if round % 20 == 0 {
                copies.push((medium.clone(), model.clone()));
            }
        }
        for (copy, model) in copies {
            assert_eq!(contents(&copy, len), model);
        }
    }

    #[test]
    fn a_run_of_one_byte_takes_no_memory_however_it_was_written() {
        let mut medium = MemoryMedium::default();
        medium.write(ZONE, 0, &vec![9; 4 * CHUNK]);
        assert_eq!(medium.allocated(), 0);
        for block in 0..2 * CHUNK / 4096 {
            medium.write(ZONE, (block * 4096) as u64, &[5; 4096]);
        }
        assert_eq!(medium.allocated(), 0);
        assert_eq!(contents(&medium, CHUNK), vec![5; CHUNK]);
        medium.write(ZONE, 512, b"x");
        assert_eq!(medium.allocated(), CHUNK);
    }

    #[test]
    fn what_is_destroyed_takes_no_memory_until_it_is_written_again() {
        let mut medium = MemoryMedium::default();
        let mut bytes = vec![0; 4 * CHUNK];
        Random::seeded(1).fill_bytes(&mut bytes);
        medium.write(ZONE, 0, &bytes);
        assert_eq!(medium.allocated(), 4 * CHUNK);
        medium.destroy(ZONE, CHUNK as u64, 3 * CHUNK as u64);
        assert_eq!(medium.allocated(), CHUNK);
        destroyed(CHUNK as u64, &mut bytes[CHUNK..]);
        assert_eq!(contents(&medium, bytes.len()), bytes);
        medium.write(ZONE, 2 * CHUNK as u64 + 512, &[3; 512]);
        bytes[2 * CHUNK + 512..2 * CHUNK + 1024].fill(3);
        assert_eq!(contents(&medium, bytes.len()), bytes);
        assert_eq!(medium.allocated(), 2 * CHUNK);
    }

    #[test]
    fn only_a_run_of_one_byte_is_taken_for_one() {
        assert_eq!(constant_byte(&[]), None);
        for len in [1, 2, 15, 16, 17, 31, 32, 33, 4096] {
            let mut bytes = vec![3; len];
            assert_eq!(constant_byte(&bytes), Some(3), "{len}");
            for at in (0..len).filter(|_| len > 1) {
                bytes[at] = 4;
                assert_eq!(constant_byte(&bytes), None, "{len} {at}");
                bytes[at] = 3;
            }
        }
    }

    #[test]
    fn an_erased_zone_reads_as_zeros_and_its_earlier_life_is_remembered_on_demand() {
        for remember in [false, true] {
            let mut medium = MemoryMedium::default();
            if remember {
                medium = medium.remember();
            }
            medium.write(ZONE, 0, &[8; 100]);
            medium.erase(ZONE);
            assert_eq!(contents(&medium, 100), [0; 100]);
            let mut buffer = IoBuf::default();
            medium.earlier(ZONE, 0, 100, &mut buffer);
            assert_eq!(buffer[..], if remember { [8; 100] } else { [0; 100] });
        }
    }
}
