//! [`Arena`]: memory for the entries and nodes of a tree, allocated piece by piece and freed as a
//! whole; and [`Entry`], an entry in it. Large chunks come from [`MemtableChunks`], and go back
//! there.
//!
//! # Soundness
//! - A chunk does not move, and is freed or put back when its [`Arena`] is dropped. So a piece
//!   lives as long as the arena. The bytes of a large chunk ([`Pages`]) stay in place when its
//!   owner is moved, and have no other user meanwhile: [`MemtableChunks`] gives the owner away.
//! - A chunk may hold the bytes of an earlier arena. No byte of a piece is read before it is
//!   written.
//! - Pieces do not overlap. The bytes of an entry are not written again once [`Arena::entry`] has
//!   returned it.
//! - The caller must ensure three things. The arena lives as long as each [`Entry`] of it is used.
//!   A pointer from which an entry is made was taken from an entry. The thread that makes it sees
//!   the entry's bytes as written.
//!
//! # Threads
//! One thread at a time allocates. Entries may be read from any thread.

use std::alloc::{self, Layout};
use std::cmp::Ordering;
use std::ptr::NonNull;
use std::sync::Arc;

use terrace_env::{MAPPED_MIN, Pages};

use crate::key::{self, SPACE_BYTES, TRAILER_BYTES, Trailer};
use crate::memory::MemtableChunks;

use super::tree::{NewEntry, Target};

/// Bytes before an entry's key: the lengths of key and value.
pub(crate) const RECORD_BYTES: usize = 8;
/// Size of the first chunk, small so that an empty memtable costs little, and of the largest one.
/// Chunks double in between. Both are powers of two.
const CHUNK_FIRST: usize = 4 << 10;
const CHUNK_MAX: usize = 1 << 20;
/// A cache line: nodes are aligned to one.
const CHUNK_ALIGN: usize = 64;

/// Memory of a chunk.
#[derive(Debug)]
enum Chunk {
    Small(NonNull<u8>, Layout),
    /// A large chunk, kept to put it back.
    Large(Pages),
}

/// Memory that is freed as a whole.
#[derive(Debug)]
pub(super) struct Arena {
    shared: Arc<MemtableChunks>,
    chunks: Vec<Chunk>,
    /// The free part of the current chunk.
    free: NonNull<u8>,
    left: usize,
    next_chunk: usize,
    /// Bytes allocated, padding included, and bytes of all chunks.
    used: usize,
    reserved: usize,
}

// SAFETY: an arena owns its chunks, and frees them only when it is dropped.
unsafe impl Send for Arena {}

impl Arena {
    pub(super) fn new(shared: &Arc<MemtableChunks>) -> Self {
        let (shared, chunks, free) = (Arc::clone(shared), Vec::new(), NonNull::dangling());
        Self { shared, chunks, free, left: 0, next_chunk: CHUNK_FIRST, used: 0, reserved: 0 }
    }

    /// Bytes allocated.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// Bytes taken from the system.
    pub(super) fn reserved(&self) -> usize {
        self.reserved
    }

    /// A value in its own piece, for as long as the arena lives. It is never dropped.
    pub(super) fn put<T>(&mut self, value: T) -> NonNull<T> {
        const { assert!(!std::mem::needs_drop::<T>() && align_of::<T>() <= CHUNK_ALIGN) };
        let place = self.allocate(Layout::new::<T>()).cast::<T>();
        // SAFETY: the piece has this layout, and no other user.
        unsafe { place.write(value) };
        place
    }

    /// A copy of an entry.
    pub(super) fn entry(&mut self, new: &NewEntry<'_>) -> Entry {
        let key_len = SPACE_BYTES + new.user_key.len() + TRAILER_BYTES;
        let head = (key_len as u64 | (new.value.len() as u64) << 32).to_ne_bytes();
        let (space, trailer) = (new.space.0.to_be_bytes(), new.trailer.to_bytes());
        let len = RECORD_BYTES + key_len + new.value.len();
        let layout = Layout::from_size_align(len, align_of::<u64>()).expect("an entry's layout");
        let place = self.allocate(layout);
        let mut at = place;
        for part in [&head[..], &space, new.user_key, &trailer, new.value] {
            // SAFETY: the parts' lengths add up to `len`, the length of the piece.
            unsafe {
                at.copy_from_nonoverlapping(NonNull::from(part).cast(), part.len());
                at = at.add(part.len());
            }
        }
        Entry(place)
    }

    fn allocate(&mut self, layout: Layout) -> NonNull<u8> {
        let padding = self.free.align_offset(layout.align());
        let len = padding + layout.size();
        if len > self.left {
            return self.allocate_elsewhere(layout);
        }
        self.used += len;
        self.left -= len;
        // SAFETY: padding and piece lie within the rest of the chunk, as was just checked.
        let piece = unsafe { self.free.add(padding) };
        // SAFETY: as above; at most one past the chunk's end.
        self.free = unsafe { piece.add(layout.size()) };
        piece
    }

    /// A piece of a new chunk, at most an eighth of it. A piece that is too large for any chunk
    /// gets its own.
    #[cold]
    fn allocate_elsewhere(&mut self, layout: Layout) -> NonNull<u8> {
        if layout.size() > CHUNK_MAX / 8 {
            let chunk = self.add_chunk(layout.size());
            self.used += layout.size();
            return chunk;
        }
        while layout.size() > self.next_chunk / 8 {
            self.next_chunk *= 2;
        }
        let size = self.next_chunk;
        self.next_chunk = (size * 2).min(CHUNK_MAX);
        (self.free, self.left) = (self.add_chunk(size), size);
        self.allocate(layout)
    }

    fn add_chunk(&mut self, size: usize) -> NonNull<u8> {
        assert!(size > 0, "a chunk of nothing");
        if size >= MAPPED_MIN {
            // Pages are aligned to more than a cache line.
            let mut pages = self.shared.take(size);
            debug_assert!(pages.len() >= size, "a chunk that is too small");
            self.reserved += pages.len();
            let chunk = NonNull::from(&mut *pages).cast();
            self.chunks.push(Chunk::Large(pages));
            return chunk;
        }
        self.reserved += size;
        let layout = Layout::from_size_align(size, CHUNK_ALIGN).expect("a chunk's layout");
        // SAFETY: the layout's size is not zero.
        let chunk = NonNull::new(unsafe { alloc::alloc(layout) })
            .unwrap_or_else(|| alloc::handle_alloc_error(layout));
        self.chunks.push(Chunk::Small(chunk, layout));
        chunk
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for chunk in self.chunks.drain(..) {
            match chunk {
                // SAFETY: each chunk was allocated with this layout and is freed here only.
                Chunk::Small(chunk, layout) => unsafe { alloc::dealloc(chunk.as_ptr(), layout) },
                Chunk::Large(pages) => self.shared.put_back(pages),
            }
        }
    }
}

/// An entry in an arena: its internal key and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry(NonNull<u8>);

// SAFETY: an entry's bytes do not change.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

impl Entry {
    /// The entry of a pointer from [`as_ptr`](Self::as_ptr).
    ///
    /// # Safety
    /// The pointer must be an entry's, and this thread must see the entry's bytes as written.
    pub(super) unsafe fn from_ptr(pointer: *mut u8) -> Self {
        debug_assert!(!pointer.is_null(), "a slot without an entry");
        // SAFETY: an entry's pointer is not null.
        Self(unsafe { NonNull::new_unchecked(pointer) })
    }

    pub(super) fn as_ptr(self) -> *mut u8 {
        self.0.as_ptr()
    }

    /// The internal key.
    ///
    /// # Safety
    /// The arena must live as long as `'a`.
    pub(super) unsafe fn key<'a>(self) -> &'a [u8] {
        let (key_len, _) = self.lengths();
        // SAFETY: the key lies after the head, and its bytes do not change.
        unsafe { std::slice::from_raw_parts(self.0.add(RECORD_BYTES).as_ptr(), key_len) }
    }

    /// The value.
    ///
    /// # Safety
    /// The arena must live as long as `'a`.
    pub(super) unsafe fn value<'a>(self) -> &'a [u8] {
        let (key_len, value_len) = self.lengths();
        let start = RECORD_BYTES + key_len;
        // SAFETY: the value lies after head and key, and its bytes do not change.
        unsafe { std::slice::from_raw_parts(self.0.add(start).as_ptr(), value_len) }
    }

    fn lengths(self) -> (usize, usize) {
        // SAFETY: an entry begins with its head, aligned as a `u64`.
        let head = unsafe { self.0.cast::<u64>().read() };
        (head as u32 as usize, (head >> 32) as usize)
    }

    /// Order of its key against a target's.
    pub(super) fn order(self, target: &Target<'_>) -> Ordering {
        // SAFETY: the key is used only here, and the caller's use of the entry keeps the arena
        // alive.
        let (full_key, trailer): (&[u8], Trailer) = key::split(unsafe { self.key() });
        full_key.cmp(target.full_key).then_with(|| trailer.cmp(&target.trailer))
    }

    /// Prefetches the entry's first bytes into the cache, for a read that follows soon.
    pub(super) fn prefetch(self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: a prefetch affects only caches.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.0.as_ptr().cast());
        }
    }
}
