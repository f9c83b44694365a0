//! Nodes of the tree, and how they are read while they are written.
//!
//! A node has [`FANOUT`] slots, filled in any order. One word, the [`Order`], names the used slots
//! in sorted order. A store of this word publishes an insertion at once (the permutation of
//! Masstree: Mao, Kohler, Morris, "Cache Craftiness for Fast Multicore Key-Value Storage", 2012,
//! section 4.6.2). A used slot is not written again until a split has taken it out of the order and
//! raised the node's version.
//!
//! A reader reads
//! 1. the version,
//! 2. the order,
//! 3. slots that it names,
//! 4. the version again.
//!
//! If the version is unchanged, the reader has seen the node as it was at one moment. If not, a
//! split has ended meanwhile, and the reader begins again. It never waits for a writer, not even
//! for a suspended one.
//!
//! One writer at a time changes nodes. The version does not cover a leaf's successor: a reader
//! takes the leaf first and the successor second, and may then see entries of a split twice.
//!
//! # Memory order
//! All changing fields of a reachable node are atomic. Its pointers and orders are stored by
//! `Release`, and readers load them by `Acquire`: a reader that sees one sees all earlier writes.
//! Step 4 follows an `Acquire` fence, and a raised version is followed by a `Release` fence: a
//! reader that has seen a slot that was written after it sees the version.

use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU64, fence};

use super::arena::Entry;
use super::tree::Target;

/// Slots of a node. With 14, the prefixes and the order together fill two cache lines.
pub(super) const FANOUT: usize = 14;
/// Entries of a full node that stay when it is split in the middle.
pub(super) const HALF: usize = FANOUT / 2;
/// Least bytes of a node per entry: those of a full leaf.
pub(crate) const LEAF_ENTRY_BYTES: usize = size_of::<Leaf>() / FANOUT;

/// The used slots, sorted: four bits each, the first lowest, and their number above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order(u64);

impl Order {
    const LIST_BITS: u32 = 4 * FANOUT as u32;
    pub(super) const EMPTY: Self = Self(0);

    /// The first `len` slots, in their own order.
    pub(super) fn straight(len: usize) -> Self {
        (0..len).fold(Self::EMPTY, |order, rank| order.with(rank, rank))
    }

    pub(super) fn len(self) -> usize {
        (self.0 >> Self::LIST_BITS) as usize
    }

    /// The slot of a rank below the length.
    pub(super) fn slot(self, rank: usize) -> usize {
        (self.0 >> (4 * rank) & 15) as usize
    }

    /// The same with a slot at a rank; the slots from there on move one rank up.
    pub(super) fn with(self, rank: usize, slot: usize) -> Self {
        debug_assert!(self.len() < FANOUT && rank <= self.len() && slot < FANOUT, "room");
        let list = self.0 & ((1 << Self::LIST_BITS) - 1);
        let before = list & ((1 << (4 * rank)) - 1);
        let behind = list ^ before;
        let count = self.len() as u64 + 1;
        Self(before | (slot as u64) << (4 * rank) | behind << 4 | count << Self::LIST_BITS)
    }

    /// The first `len` of its slots.
    pub(super) fn first(self, len: usize) -> Self {
        debug_assert!(len <= self.len(), "a part of {self:?}");
        Self(self.0 & ((1 << (4 * len)) - 1) | (len as u64) << Self::LIST_BITS)
    }

    /// A slot that it does not use.
    pub(super) fn free_slot(self) -> usize {
        let used = (0..self.len()).fold(0u16, |used, rank| used | 1 << self.slot(rank));
        used.trailing_ones() as usize
    }
}

/// Common part of leaves and inner nodes.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Slots {
    order: AtomicU64,
    /// A leaf's successor, or the child before the first separator.
    link: AtomicPtr<u8>,
    prefixes: [AtomicU64; FANOUT],
}

/// Entries.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Leaf {
    slots: Slots,
    entries: [AtomicPtr<u8>; FANOUT],
    version: AtomicU64,
}

/// Separators with their children. A separator is the first entry of its child.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Inner {
    slots: Slots,
    children: [AtomicPtr<u8>; FANOUT],
    version: AtomicU64,
    /// Level above the leaves; 1: the children are leaves.
    pub(super) level: u32,
    entries: [AtomicPtr<u8>; FANOUT],
}

const fn no_pointers() -> [AtomicPtr<u8>; FANOUT] {
    [const { AtomicPtr::new(ptr::null_mut()) }; FANOUT]
}

impl Slots {
    fn new(link: *mut u8) -> Self {
        let prefixes = [const { AtomicU64::new(0) }; FANOUT];
        Self { order: AtomicU64::new(0), link: AtomicPtr::new(link), prefixes }
    }

    fn order(&self) -> Order {
        Order(self.order.load(Acquire))
    }

    /// Number of entries before the target, or at it, if `inclusive`.
    fn rank(
        &self,
        order: Order,
        entries: &[AtomicPtr<u8>; FANOUT],
        target: &Target<'_>,
        inclusive: bool,
    ) -> usize {
        let (mut low, mut same) = (0, 0);
        for rank in 0..order.len() {
            let prefix = self.prefixes[order.slot(rank)].load(Relaxed);
            low += usize::from(prefix < target.prefix);
            same += usize::from(prefix == target.prefix);
        }
        let mut high = low + same;
        while low < high {
            let middle = low + (high - low) / 2;
            let found = entry(&entries[order.slot(middle)]).order(target);
            if found.is_lt() || (inclusive && found.is_eq()) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

fn entry(slot: &AtomicPtr<u8>) -> Entry {
    // SAFETY: a slot that an order names holds an entry, then and ever after; `Acquire` shows the
    // entry's bytes.
    unsafe { Entry::from_ptr(slot.load(Acquire)) }
}

/// Reads by steps 1 to 4 of the module's head.
fn read<T>(version: &AtomicU64, slots: &Slots, look: impl Fn(Order) -> T) -> T {
    loop {
        let before = version.load(Acquire);
        let seen = look(slots.order());
        fence(Acquire);
        if version.load(Relaxed) == before {
            return seen;
        }
    }
}

/// Removes the split-off part from a node.
fn shrink(version: &AtomicU64, slots: &Slots, order: Order) {
    slots.order.store(order.0, Release);
    version.store(version.load(Relaxed) + 1, Release);
    fence(Release);
}

/// The entries of a leaf at one moment, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub(super) entries: [Option<Entry>; FANOUT],
    pub(super) len: usize,
}

impl Page {
    pub(super) const EMPTY: Self = Self { entries: [None; FANOUT], len: 0 };
}

impl Leaf {
    pub(super) fn new(next: *mut u8) -> Self {
        let (slots, version) = (Slots::new(next), AtomicU64::new(0));
        Self { slots, entries: no_pointers(), version }
    }

    pub(super) fn next(&self) -> *mut u8 {
        self.slots.link.load(Acquire)
    }

    /// Its first entry that is not before the target, `None` if all are. `Some(None)`: the entry
    /// has another prefix than the target.
    pub(super) fn first_of_prefix(&self, target: &Target<'_>) -> Option<Option<Entry>> {
        read(&self.version, &self.slots, |order| {
            let rank = self.slots.rank(order, &self.entries, target, false);
            (rank < order.len()).then(|| {
                let slot = order.slot(rank);
                let same = self.slots.prefixes[slot].load(Relaxed) == target.prefix;
                same.then(|| entry(&self.entries[slot]))
            })
        })
    }

    /// All of it, and the number of entries before the target (or at it, if `inclusive`).
    pub(super) fn page(&self, target: Option<&Target<'_>>, inclusive: bool) -> (Page, usize) {
        read(&self.version, &self.slots, |order| {
            let rank = target.map_or(0, |t| self.slots.rank(order, &self.entries, t, inclusive));
            let mut page = Page { len: order.len(), ..Page::EMPTY };
            for (rank, kept) in page.entries.iter_mut().enumerate().take(order.len()) {
                *kept = Some(entry(&self.entries[order.slot(rank)]));
            }
            (page, rank)
        })
    }
}

/// Methods for the writer only; no other thread changes the leaf meanwhile.
impl Leaf {
    pub(super) fn len(&self) -> usize {
        self.slots.order().len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() == FANOUT
    }

    pub(super) fn rank(&self, target: &Target<'_>) -> usize {
        self.slots.rank(self.slots.order(), &self.entries, target, true)
    }

    /// Its first and its last entry.
    pub(super) fn ends(&self) -> Option<(Entry, Entry)> {
        let order = self.slots.order();
        let last = order.len().checked_sub(1)?;
        Some((entry(&self.entries[order.slot(0)]), entry(&self.entries[order.slot(last)])))
    }

    pub(super) fn insert(&self, rank: usize, prefix: u64, entry: Entry) {
        let order = self.slots.order();
        let slot = order.free_slot();
        self.slots.prefixes[slot].store(prefix, Relaxed);
        self.entries[slot].store(entry.as_ptr(), Release);
        self.slots.order.store(order.with(rank, slot).0, Release);
    }

    pub(super) fn set_next(&self, next: *mut u8) {
        self.slots.link.store(next, Release);
    }

    /// A new leaf with the entries from `rank` on, and its first prefix and entry.
    pub(super) fn upper_part(&self, rank: usize) -> (Self, u64, Entry) {
        let (order, upper) = (self.slots.order(), Self::new(self.next()));
        for (to, from) in (rank..order.len()).map(|rank| order.slot(rank)).enumerate() {
            upper.slots.prefixes[to].store(self.slots.prefixes[from].load(Relaxed), Relaxed);
            upper.entries[to].store(self.entries[from].load(Relaxed), Relaxed);
        }
        upper.slots.order.store(Order::straight(order.len() - rank).0, Relaxed);
        let first = order.slot(rank);
        (upper, self.slots.prefixes[first].load(Relaxed), entry(&self.entries[first]))
    }

    /// Keeps the entries before `rank`.
    pub(super) fn shrink(&self, rank: usize) {
        shrink(&self.version, &self.slots, self.slots.order().first(rank));
    }
}

impl Inner {
    pub(super) fn new(level: u32, first: *mut u8) -> Self {
        let (slots, version) = (Slots::new(first), AtomicU64::new(0));
        Self { slots, children: no_pointers(), version, level, entries: no_pointers() }
    }

    /// The child that holds the keys directly after the target (`inclusive`), or directly before
    /// it.
    pub(super) fn child(&self, target: &Target<'_>, inclusive: bool) -> *mut u8 {
        read(&self.version, &self.slots, |order| {
            let rank = self.slots.rank(order, &self.entries, target, inclusive);
            self.child_at(order, rank)
        })
    }

    pub(super) fn first_child(&self) -> *mut u8 {
        self.slots.link.load(Acquire)
    }

    pub(super) fn last_child(&self) -> *mut u8 {
        read(&self.version, &self.slots, |order| self.child_at(order, order.len()))
    }

    /// The child after `rank` separators.
    fn child_at(&self, order: Order, rank: usize) -> *mut u8 {
        match rank.checked_sub(1) {
            None => self.first_child(),
            Some(before) => self.children[order.slot(before)].load(Acquire),
        }
    }
}

/// Methods for the writer only; no other thread changes the node meanwhile.
impl Inner {
    pub(super) fn is_full(&self) -> bool {
        self.slots.order().len() == FANOUT
    }

    /// The child that the target belongs to, and the number of separators before it.
    pub(super) fn place(&self, target: &Target<'_>) -> (*mut u8, usize) {
        let order = self.slots.order();
        let rank = self.slots.rank(order, &self.entries, target, true);
        (self.child_at(order, rank), rank)
    }

    pub(super) fn insert(&self, rank: usize, prefix: u64, separator: Entry, child: *mut u8) {
        let order = self.slots.order();
        let slot = order.free_slot();
        self.slots.prefixes[slot].store(prefix, Relaxed);
        self.entries[slot].store(separator.as_ptr(), Release);
        self.children[slot].store(child, Release);
        self.slots.order.store(order.with(rank, slot).0, Release);
    }

    /// A new node with the children after the separator of `rank`, and that separator, which goes
    /// to the parent.
    pub(super) fn upper_part(&self, rank: usize) -> (Self, u64, Entry) {
        let order = self.slots.order();
        let upper = Self::new(self.level, self.child_at(order, rank + 1));
        for (to, from) in (rank + 1..order.len()).map(|rank| order.slot(rank)).enumerate() {
            upper.slots.prefixes[to].store(self.slots.prefixes[from].load(Relaxed), Relaxed);
            upper.entries[to].store(self.entries[from].load(Relaxed), Relaxed);
            upper.children[to].store(self.children[from].load(Relaxed), Relaxed);
        }
        upper.slots.order.store(Order::straight(order.len() - rank - 1).0, Relaxed);
        let up = order.slot(rank);
        (upper, self.slots.prefixes[up].load(Relaxed), entry(&self.entries[up]))
    }

    /// Keeps the separators before `rank`.
    pub(super) fn shrink(&self, rank: usize) {
        shrink(&self.version, &self.slots, self.slots.order().first(rank));
    }
}
