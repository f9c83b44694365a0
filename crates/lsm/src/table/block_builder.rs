//! [`BlockBuilder`]: writes sorted blocks, for data and index: entries with shared key prefixes and
//! restart points. The layout is `docs/format/table.md`.
//!
//! - The caller must add keys in order; that is not checked.
//! - After [`BlockBuilder::begin_entry`] the caller must add the value of the announced length, or
//!   call [`BlockBuilder::finish_around_value`]. The length is not checked either.
//! - The finished contents have no frame (checksum and compression) yet.
//! - It panics if a restart point would begin 4 GiB or more after the block's start.
//!
//! One owner; no I/O.

use terrace_env::codec::Writer;

use super::frame::FRAME_BYTES;

/// Half of the most memory of a block that is used again. Blocks may be up to 1 MiB by an option;
/// more memory means a large value.
const RECYCLED_MAX: usize = 2 << 20;

/// Collects entries in order.
#[derive(Debug)]
pub(crate) struct BlockBuilder {
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    restart_interval: usize,
    since_restart: usize,
    last_key: Vec<u8>,
}

impl BlockBuilder {
    /// A builder with a restart point at every `restart_interval`th entry.
    pub(crate) fn new(restart_interval: usize) -> Self {
        assert!(restart_interval > 0, "a restart at every 0th entry");
        Self {
            bytes: Vec::new(),
            restarts: Vec::new(),
            restart_interval,
            since_restart: 0,
            last_key: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.begin_entry(key, value.len());
        self.put_value(value);
    }

    /// Adds an entry without its value, which must follow.
    pub(crate) fn begin_entry(&mut self, key: &[u8], value_len: usize) {
        let shared = if self.restarts.is_empty() || self.since_restart == self.restart_interval {
            self.restarts.push(u32::try_from(self.bytes.len()).expect("a block below its limit"));
            self.since_restart = 0;
            0
        } else {
            self.last_key.iter().zip(key).take_while(|(a, b)| a == b).count()
        };
        self.since_restart += 1;
        self.bytes.put_varint(shared as u64);
        self.bytes.put_varint((key.len() - shared) as u64);
        self.bytes.put_varint(value_len as u64);
        self.bytes.put(&key[shared..]);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(&key[shared..]);
    }

    /// The value of the entry that was begun.
    pub(crate) fn put_value(&mut self, value: &[u8]) {
        if value.len() > RECYCLED_MAX {
            // Only the block's end will follow.
            self.bytes.reserve_exact(value.len() + (self.restarts.len() + 1) * 4 + FRAME_BYTES);
        }
        self.bytes.put(value);
    }

    /// Size of the block if it were finished now.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + (self.restarts.len() + 1) * 4
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.restarts.is_empty()
    }

    /// The last key added.
    pub(crate) fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// Takes the finished contents; the builder begins a new block.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let mut contents = std::mem::take(&mut self.bytes);
        self.end(&mut contents);
        contents
    }

    /// Takes the finished contents in two parts: the bytes before the value of the last begun
    /// entry, and the bytes after it. The builder begins a new block.
    pub(crate) fn finish_around_value(&mut self) -> (Vec<u8>, Vec<u8>) {
        let (front, mut back) = (std::mem::take(&mut self.bytes), Vec::new());
        self.end(&mut back);
        (front, back)
    }

    fn end(&mut self, contents: &mut Vec<u8>) {
        for restart in &self.restarts {
            contents.put_u32(*restart);
        }
        contents.put_u32(u32::try_from(self.restarts.len()).expect("a block below its limit"));
        self.restarts.clear();
        self.since_restart = 0;
        self.last_key.clear();
    }

    /// Takes the memory of finished contents back, for the next block: to grow a block each time
    /// costs more than to fill it. The memory of a large value is dropped, because that may be the
    /// only one.
    pub(crate) fn recycle(&mut self, mut contents: Vec<u8>) {
        if self.bytes.capacity() == 0 && contents.capacity() <= 2 * RECYCLED_MAX {
            contents.clear();
            self.bytes = contents;
        }
    }
}

/// One block with all entries of these, in each of which every entry is a restart point.
pub(crate) fn join(blocks: Vec<Vec<u8>>) -> Vec<u8> {
    let mut blocks = blocks.into_iter();
    let mut restarts = Vec::new();
    let mut contents = blocks.next().unwrap_or_else(|| BlockBuilder::new(1).finish());
    move_restarts(&mut contents, 0, &mut restarts);
    for mut block in blocks {
        let base = contents.len();
        move_restarts(&mut block, base, &mut restarts);
        contents.extend_from_slice(&block);
    }
    for restart in &restarts {
        contents.put_u32(*restart);
    }
    contents.put_u32(u32::try_from(restarts.len()).expect("a block below its limit"));
    contents
}

/// Takes a block's restart points from its end, shifted by `base` bytes of other entries.
fn move_restarts(block: &mut Vec<u8>, base: usize, into: &mut Vec<u32>) {
    let word = |at: usize| {
        let bytes = block.get(at..).and_then(|rest| rest.first_chunk()).expect("a finished block");
        u32::from_le_bytes(*bytes)
    };
    let count_at = block.len() - 4;
    let entries_end = count_at - word(count_at) as usize * 4;
    let base = u32::try_from(base).expect("a block below its limit");
    into.extend((entries_end..count_at).step_by(4).map(|at| base + word(at)));
    block.truncate(entries_end);
}
