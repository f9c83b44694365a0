//! [`EntryTree`]: a B+-tree of entries in order. This file holds descent, insertion, the cursor
//! ([`EntryCursor`]), and the prefixes by which keys are compared first ([`Window`]).
//!
//! Nodes split, and nothing is removed. After each step of a split, every reader still reaches
//! every entry:
//! 1. The upper part goes into a new node. If the node is a leaf, its successor is then the new
//!    leaf.
//! 2. The parent takes the separator and the new node. It has room: a full parent is split first,
//!    after its own parent if that is full, too; a full root first gets a parent.
//! 3. The upper part is removed from the old node.
//!
//! The upper part is usually a half. If keys come in order, a full leaf stays as it is, and the new
//! leaf gets only the new entry.
//!
//! A reader that read the parent before step 2 and the node after step 3 is in a leaf too far left:
//! its target lies after all of the leaf. It goes on to the next leaves. A search forward descends
//! again after [`HOPS_MAX`] of them. A separator is the first entry of the leaf directly after it.
//! So a search for the last entry before a target finds it without links backward.
//!
//! Keys are compared by eight bytes first: those after the common prefix of keys, by the
//! [`Window`].
//!
//! # Threads
//! Any number of readers, which never wait. Writers go one by one, by a lock of their own.
//!
//! # Soundness
//! Nodes and entries lie in arenas that are dropped with the tree. Each user of an entry borrows
//! the tree or shares it. The children of a node of level 1 are leaves, and those of other nodes
//! are inner nodes: [`Inner::level`] does not change. All changing fields of a reachable node are
//! atomic, and only the [`Writer`], under its lock, changes them.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicUsize};

use terrace_env::MemoryLease;
use terrace_env::sync::Mutex;

use crate::key::{self, KeySpaceId, SPACE_BYTES, Trailer};
use crate::memory::MemtableChunks;

use super::arena::{Arena, Entry};
use super::node::{FANOUT, HALF, Inner, Leaf, Page};

/// The most levels of a tree: with 7 children to a node, 7^16 leaves fit in no memory.
const LEVELS_MAX: usize = 16;
/// Successors that a reader looks at before it descends again.
const HOPS_MAX: usize = 2;

/// Number of bytes at the end of the common prefix so far that may change.
const DRIFT_BYTES: usize = 2;

/// Place of the eight bytes of a full key that are compared first: after the expected common prefix
/// of all keys. Keys with another prefix are in order, too, and only cost more to compare.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    common: Box<[u8]>,
}

impl Window {
    /// For user keys of the default key space.
    pub(crate) fn new() -> Self {
        Self { common: KeySpaceId::DEFAULT.0.to_be_bytes().into() }
    }

    /// For full keys like those between these, or a little after: in ascending keys, the last bytes
    /// of the common prefix change next. The key space does not.
    pub(crate) fn between(first: &[u8], last: &[u8]) -> Self {
        let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        let len = common.saturating_sub(DRIFT_BYTES).max(common.min(SPACE_BYTES));
        Self { common: first[..len].into() }
    }

    /// A number in the order of the keys; equal numbers decide nothing.
    pub(crate) fn prefix(&self, full_key: &[u8]) -> u64 {
        let len = self.common.len();
        match full_key.split_at_checked(len) {
            Some((head, rest)) if head == &*self.common => prefix_of(rest),
            _ if full_key < &*self.common => 0,
            _ => u64::MAX,
        }
    }
}

/// The first eight bytes, with zeros where there are fewer.
fn prefix_of(key: &[u8]) -> u64 {
    if let Some(chunk) = key.first_chunk::<8>() {
        return u64::from_be_bytes(*chunk);
    }
    let mut padded = [0; 8];
    padded[..key.len()].copy_from_slice(key);
    u64::from_be_bytes(padded)
}

/// An internal key to search for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    pub(super) prefix: u64,
    pub(super) full_key: &'a [u8],
    pub(super) trailer: Trailer,
}

/// An entry to insert.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewEntry<'a> {
    pub(crate) space: KeySpaceId,
    pub(crate) user_key: &'a [u8],
    pub(crate) trailer: Trailer,
    pub(crate) value: &'a [u8],
}

impl<'a> NewEntry<'a> {
    fn of(internal_key: &'a [u8], value: &'a [u8]) -> Self {
        let (full_key, trailer) = key::split(internal_key);
        Self { space: key::space_of(full_key), user_key: &full_key[SPACE_BYTES..], trailer, value }
    }
}

/// An ordered set of entries; see the [module](self).
#[derive(Debug)]
pub(crate) struct EntryTree {
    root: AtomicPtr<Inner>,
    window: Window,
    len: AtomicUsize,
    /// Bytes of the entries and of their nodes.
    bytes: AtomicUsize,
    /// Owns all memory.
    writer: Mutex<Writer>,
}

/// State that only an insertion needs.
#[derive(Debug)]
struct Writer {
    /// Two arenas: each search goes through nodes, so they lie densely.
    nodes: Arena,
    entries: Arena,
    /// Bytes that an empty tree takes.
    empty: usize,
    /// The leaf at whose end the last insertion was made; the next one may go there as well.
    tail: Option<NonNull<Leaf>>,
    lease: MemoryLease,
}

/// The chunks no longer count as a memtable's when they become idle.
impl Drop for Writer {
    fn drop(&mut self) {
        self.lease.resize(0);
    }
}

// SAFETY: `tail` points into `nodes`, which the writer owns; leaves may be used from any thread.
unsafe impl Send for Writer {}

impl EntryTree {
    /// An empty tree, whose memory comes from `chunks` and is counted there.
    pub(crate) fn new(chunks: &Arc<MemtableChunks>, window: Window) -> Self {
        let (mut nodes, entries) = (Arena::new(chunks), Arena::new(chunks));
        let leaf = nodes.put(Leaf::new(std::ptr::null_mut()));
        let root = nodes.put(Inner::new(1, leaf.as_ptr().cast()));
        let (empty, lease) = (nodes.used(), chunks.lease(nodes.reserved()));
        Self {
            root: AtomicPtr::new(root.as_ptr()),
            window,
            len: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            writer: Mutex::new(Writer { nodes, entries, empty, tail: None, lease }),
        }
    }

    /// A tree of the same entries and the same shape, whose window fits their keys; `None` without
    /// entries. The entries are copied.
    pub(crate) fn refitted(self: &Arc<Self>, chunks: &Arc<MemtableChunks>) -> Option<Self> {
        let (first, last) = self.ends()?;
        let refitted = Self::new(chunks, Window::between(first, last));
        let mut cursor = EntryCursor::new(Arc::clone(self));
        let mut entries = Vec::with_capacity(self.len());
        cursor.seek_to_first();
        while let Some(entry) = cursor.entry() {
            // SAFETY: this tree, which owns the arena, is borrowed for longer than the slices.
            let (internal_key, value) = unsafe { (entry.key(), entry.value()) };
            entries.push(NewEntry::of(internal_key, value));
            cursor.next();
        }
        // The shape depends on the order of insertion.
        entries.sort_unstable_by_key(|new| new.trailer.sequence());
        refitted.insert(entries);
        Some(refitted)
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Relaxed)
    }

    /// Bytes of entries and nodes; 0 while there is no entry.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    /// Inserts entries. No two entries of a tree may have the same internal key.
    pub(crate) fn insert<'a>(&self, entries: impl IntoIterator<Item = NewEntry<'a>>) {
        let mut writer = self.writer.lock();
        let mut count = 0;
        for new in entries {
            let entry = writer.entries.entry(&new);
            writer.insert(self, entry);
            count += 1;
        }
        self.len.store(self.len() + count, Relaxed);
        let Writer { nodes, entries, empty, lease, .. } = &mut *writer;
        self.bytes.store(nodes.used() + entries.used() - *empty, Relaxed);
        lease.resize(nodes.reserved() + entries.reserved());
    }

    /// The first entry at or after an internal key, if it has the same full key: its own internal
    /// key and its value. Most entries of other keys have other prefixes, and are not read.
    pub(crate) fn first_of_key(&self, internal_key: &[u8]) -> Option<(&[u8], &[u8])> {
        let target = self.target(internal_key);
        let entry = self.search(&target, |leaf| leaf.first_of_prefix(&target))??;
        // SAFETY: the result borrows the tree, which owns the arena.
        let (found, value) = unsafe { (entry.key(), entry.value()) };
        (key::split(found).0 == target.full_key).then_some((found, value))
    }

    /// The first and the last full key.
    pub(crate) fn ends(&self) -> Option<(&[u8], &[u8])> {
        let first = self.first_page().entries[0]?;
        let page = self.last_page();
        let last = page.entries[page.len.checked_sub(1)?]?;
        // SAFETY: the result borrows the tree, which owns the arena.
        Some(unsafe { (key::split(first.key()).0, key::split(last.key()).0) })
    }

    fn target<'a>(&self, internal_key: &'a [u8]) -> Target<'a> {
        let (full_key, trailer) = key::split(internal_key);
        Target { prefix: self.window.prefix(full_key), full_key, trailer }
    }

    fn root(&self) -> &Inner {
        // SAFETY: the root is an inner node in the arena.
        unsafe { &*self.root.load(Acquire) }
    }

    /// The leaf that holds the keys directly after the target (`inclusive`), or directly before it.
    fn descend(&self, target: &Target<'_>, inclusive: bool) -> &Leaf {
        self.go_down(|inner| inner.child(target, inclusive))
    }

    fn go_down(&self, child: impl Fn(&Inner) -> *mut u8) -> &Leaf {
        let mut inner = self.root();
        while inner.level > 1 {
            // SAFETY: above level 1 the children are inner nodes in the arena.
            inner = unsafe { &*child(inner).cast() };
        }
        // SAFETY: at level 1 they are leaves in the arena.
        unsafe { &*child(inner).cast() }
    }

    fn next_leaf(&self, leaf: &Leaf) -> Option<&Leaf> {
        // SAFETY: a leaf's link is null or a leaf in the arena.
        unsafe { leaf.next().cast::<Leaf>().as_ref() }
    }

    /// Answer of `look` in the leaf of the target, or else in the first later leaf that has one.
    fn search<T>(&self, target: &Target<'_>, look: impl Fn(&Leaf) -> Option<T>) -> Option<T> {
        loop {
            let mut leaf = self.descend(target, true);
            for _ in 0..=HOPS_MAX {
                if let Some(found) = look(leaf) {
                    return Some(found);
                }
                leaf = self.next_leaf(leaf)?;
            }
        }
    }

    fn first_page(&self) -> Page {
        self.go_down(Inner::first_child).page(None, false).0
    }

    fn last_page(&self) -> Page {
        let mut leaf = self.go_down(Inner::last_child);
        loop {
            // The page is read before the successor: a split in between would otherwise take the
            // upper half out of a leaf that seemed to be the last.
            let (page, _) = leaf.page(None, false);
            match self.next_leaf(leaf) {
                Some(next) => leaf = next,
                None => return page,
            }
        }
    }

    /// The page with the first entry after the target, or at it, if not `strictly`.
    fn page_from(&self, target: &Target<'_>, strictly: bool) -> Option<(Page, usize)> {
        self.search(target, |leaf| {
            let (page, rank) = leaf.page(Some(target), strictly);
            (rank < page.len).then_some((page, rank))
        })
    }

    /// The page with the last entry before the target.
    fn page_before(&self, target: &Target<'_>) -> Option<(Page, usize)> {
        let mut leaf = self.descend(target, false);
        let (mut page, mut rank) = leaf.page(Some(target), false);
        while rank == page.len
            && let Some(next) = self.next_leaf(leaf)
        {
            let (next_page, next_rank) = next.page(Some(target), false);
            if next_rank == 0 {
                break;
            }
            (leaf, page, rank) = (next, next_page, next_rank);
        }
        Some((page, rank.checked_sub(1)?))
    }
}

/// The path to a target's place, for the writer only: the tree does not change meanwhile.
struct Path<'t> {
    /// From the root down, with the number of separators before the target.
    inners: [(&'t Inner, usize); LEVELS_MAX],
    levels: usize,
    leaf: &'t Leaf,
    /// Number of the leaf's entries before the target.
    rank: usize,
}

impl<'t> Path<'t> {
    fn find(tree: &'t EntryTree, target: &Target<'_>) -> Self {
        let root = tree.root();
        let (mut inners, mut levels) = ([(root, 0); LEVELS_MAX], 0);
        let mut inner = root;
        loop {
            let (child, rank) = inner.place(target);
            inners[levels] = (inner, rank);
            levels += 1;
            if inner.level == 1 {
                // SAFETY: at level 1 the children are leaves in the arena.
                let leaf: &Leaf = unsafe { &*child.cast() };
                return Self { inners, levels, leaf, rank: leaf.rank(target) };
            }
            // SAFETY: above it they are inner nodes in the arena.
            inner = unsafe { &*child.cast() };
        }
    }

    fn inners(&self) -> &[(&'t Inner, usize)] {
        &self.inners[..self.levels]
    }
}

impl Writer {
    fn insert(&mut self, tree: &EntryTree, entry: Entry) {
        // SAFETY: the writer owns the arena, and the key is used within this function.
        let target = tree.target(unsafe { entry.key() });
        if let Some(leaf) = self.tail_for(&target) {
            return leaf.insert(leaf.len(), target.prefix, entry);
        }
        loop {
            let path = Path::find(tree, &target);
            let (leaf, at_end) = (path.leaf, path.rank == path.leaf.len());
            if !leaf.is_full() {
                leaf.insert(path.rank, target.prefix, entry);
                self.tail = at_end.then_some(NonNull::from(leaf));
                return;
            }
            // Appends leave full nodes, not halves.
            let appends = at_end && self.tail == Some(NonNull::from(leaf));
            match path.inners().iter().rposition(|(inner, _)| !inner.is_full()) {
                None => self.grow(tree),
                Some(parent) if parent + 1 < path.levels => {
                    self.split_inner(path.inners[parent], path.inners[parent + 1], appends);
                }
                Some(parent) if appends => {
                    return self.append_leaf(path.inners[parent], leaf, target.prefix, entry);
                }
                Some(parent) => self.split_leaf(path.inners[parent], leaf),
            }
        }
    }

    /// The leaf of the last insertion, if the target goes to its end as well and there is room.
    fn tail_for<'t>(&self, target: &Target<'_>) -> Option<&'t Leaf> {
        // SAFETY: the tail is a leaf in the arena, which the writer owns, and only this insertion
        // uses it.
        let leaf: &'t Leaf = unsafe { self.tail?.as_ref() };
        let (_, last) = leaf.ends()?;
        if leaf.is_full() || last.order(target).is_gt() {
            return None;
        }
        // SAFETY: a leaf's link is null or a leaf in the arena.
        let next = unsafe { leaf.next().cast::<Leaf>().as_ref() };
        let first_of_next = next.and_then(Leaf::ends).map(|(first, _)| first);
        first_of_next.is_none_or(|first| first.order(target).is_gt()).then_some(leaf)
    }

    /// Puts a parent over the root.
    fn grow(&mut self, tree: &EntryTree) {
        let root = tree.root();
        let above = Inner::new(root.level + 1, tree.root.load(Acquire).cast());
        tree.root.store(self.nodes.put(above).as_ptr(), Release);
    }

    fn split_inner(&mut self, parent: (&Inner, usize), full: (&Inner, usize), appends: bool) {
        let at_end = appends && full.1 == FANOUT;
        let rank = if at_end { FANOUT - 1 } else { HALF };
        let (upper, prefix, separator) = full.0.upper_part(rank);
        let upper = self.nodes.put(upper).as_ptr().cast();
        parent.0.insert(parent.1, prefix, separator, upper);
        full.0.shrink(rank);
    }

    fn split_leaf(&mut self, parent: (&Inner, usize), full: &Leaf) {
        let (upper, prefix, separator) = full.upper_part(HALF);
        let upper = self.nodes.put(upper).as_ptr().cast();
        full.set_next(upper);
        parent.0.insert(parent.1, prefix, separator, upper);
        full.shrink(HALF);
    }

    /// Inserts an entry into a new leaf after a full one.
    fn append_leaf(&mut self, parent: (&Inner, usize), full: &Leaf, prefix: u64, entry: Entry) {
        let leaf = Leaf::new(full.next());
        leaf.insert(0, prefix, entry);
        let leaf = self.nodes.put(leaf);
        self.tail = Some(leaf);
        full.set_next(leaf.as_ptr().cast());
        parent.0.insert(parent.1, prefix, entry, leaf.as_ptr().cast());
    }
}

/// Walks a tree's entries in order, forward and backward, a leaf at a time. Sees all entries that
/// the tree had when it was made, and perhaps more.
#[derive(Debug)]
pub(crate) struct EntryCursor {
    tree: Arc<EntryTree>,
    page: Page,
    at: usize,
}

impl EntryCursor {
    /// A cursor that stands on no entry until it seeks.
    pub(crate) fn new(tree: Arc<EntryTree>) -> Self {
        Self { tree, page: Page::EMPTY, at: 0 }
    }

    /// Moves to the first entry at or after `target`, an internal key.
    pub(crate) fn seek(&mut self, target: &[u8]) {
        let found = self.tree.page_from(&self.tree.target(target), false);
        self.stand(found);
    }

    /// Moves to the last entry before `target`, an internal key.
    pub(crate) fn seek_before(&mut self, target: &[u8]) {
        let found = self.tree.page_before(&self.tree.target(target));
        self.stand(found);
    }

    pub(crate) fn seek_to_first(&mut self) {
        let page = self.tree.first_page();
        self.stand(Some((page, 0)));
    }

    pub(crate) fn seek_to_last(&mut self) {
        let page = self.tree.last_page();
        self.stand(page.len.checked_sub(1).map(|last| (page, last)));
    }

    pub(crate) fn next(&mut self) {
        if self.at + 1 < self.page.len {
            self.at += 1;
        } else if let Some(last) = self.key() {
            let found = self.tree.page_from(&self.tree.target(last), true);
            self.stand(found);
        }
    }

    pub(crate) fn prev(&mut self) {
        if let Some(before) = self.at.checked_sub(1) {
            self.at = before;
        } else if let Some(first) = self.key() {
            let found = self.tree.page_before(&self.tree.target(first));
            self.stand(found);
        }
    }

    /// The internal key of its entry, or `None` at the end.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        // SAFETY: the tree, which owns the arena, is kept by this cursor.
        Some(unsafe { self.entry()?.key() })
    }

    /// The value of its entry, or `None` at the end.
    pub(crate) fn value(&self) -> Option<&[u8]> {
        // SAFETY: the tree, which owns the arena, is kept by this cursor.
        Some(unsafe { self.entry()?.value() })
    }

    fn entry(&self) -> Option<Entry> {
        self.page.entries.get(self.at).copied().flatten()
    }

    fn stand(&mut self, found: Option<(Page, usize)>) {
        (self.page, self.at) = found.unwrap_or((Page::EMPTY, 0));
        self.page.entries.iter().flatten().for_each(|entry| entry.prefetch());
    }
}
