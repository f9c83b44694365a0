//! [`Order`]: which requests to a device wait for which others. It does no I/O and takes no lock.
//!
//! A request waits for each earlier request to the same zone that it conflicts with. Two requests
//! conflict
//!
//! - if their blocks overlap, unless both only read;
//! - if both move the write pointer of a sequential zone, wherever their blocks lie, unless both
//!   are appends: the device puts those one after the other, in an order of its own.
//!
//! The place of an append is not known before, so its blocks are those of the whole zone. Requests
//! without a conflict are in flight at the same time. Each request is compared with all requests to
//! its zone that have not ended, when it is added and when it ends.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use terrace_env::{Lba, ZoneId};

/// Effect of a request on its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// The request changes nothing.
    Reads,
    /// Blocks are changed in place.
    Writes,
    /// The write pointer of a sequential zone moves: a write, or a zone operation.
    MovesPointer,
    /// The write pointer moves, and the device decides where the data go.
    Appends,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    blocks: Range<u64>,
    effect: Effect,
    /// Earlier requests that conflict and have not ended.
    waits_for: usize,
}

impl Entry {
    fn conflicts(&self, other: &Self) -> bool {
        let overlap = self.blocks.start < other.blocks.end && other.blocks.start < self.blocks.end;
        match (self.effect, other.effect) {
            (Effect::Reads, Effect::Reads) | (Effect::Appends, Effect::Appends) => false,
            (Effect::MovesPointer | Effect::Appends, Effect::MovesPointer | Effect::Appends) => {
                true
            }
            _ => overlap,
        }
    }
}

/// See the [module](self). Requests have ids that grow.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Requests that have not ended, in the order in which they came.
    zones: BTreeMap<ZoneId, VecDeque<Entry>>,
    changes: usize,
}

impl Order {
    /// Adds a request after the earlier ones. Returns whether it may begin at once.
    pub(super) fn add(
        &mut self,
        id: u64,
        zone: ZoneId,
        first: Lba,
        blocks: u64,
        effect: Effect,
    ) -> bool {
        let end = first.0.saturating_add(blocks.max(1));
        let mut entry = Entry { id, blocks: first.0..end, effect, waits_for: 0 };
        let queue = self.zones.entry(zone).or_default();
        debug_assert!(queue.back().is_none_or(|last| last.id < id), "ids grow");
        entry.waits_for = queue.iter().filter(|earlier| earlier.conflicts(&entry)).count();
        let may_begin = entry.waits_for == 0;
        self.changes += usize::from(effect != Effect::Reads);
        queue.push_back(entry);
        may_begin
    }

    /// Takes a request out. Returns the requests that may begin now, in the order in which they
    /// came.
    pub(super) fn end(&mut self, id: u64, zone: ZoneId) -> Vec<u64> {
        let queue = self.zones.get_mut(&zone).expect("a zone with requests");
        let at = queue.iter().position(|entry| entry.id == id).expect("a request in flight");
        let ended = queue.remove(at).expect("an entry at its place");
        assert_eq!(ended.waits_for, 0, "request {id} ends before those it waits for");
        self.changes -= usize::from(ended.effect != Effect::Reads);
        let mut free = Vec::new();
        for later in queue.iter_mut().skip(at) {
            if later.conflicts(&ended) {
                later.waits_for -= 1;
                if later.waits_for == 0 {
                    free.push(later.id);
                }
            }
        }
        if queue.is_empty() {
            self.zones.remove(&zone);
        }
        free
    }

    /// Whether a request waits for nothing.
    pub(super) fn may_begin(&self, id: u64, zone: ZoneId) -> bool {
        self.find(id, zone).is_some_and(|entry| entry.waits_for == 0)
    }

    /// Whether a request has been added and not ended.
    pub(super) fn has(&self, id: u64, zone: ZoneId) -> bool {
        self.find(id, zone).is_some()
    }

    fn find(&self, id: u64, zone: ZoneId) -> Option<&Entry> {
        self.zones.get(&zone)?.iter().find(|entry| entry.id == id)
    }

    /// A request, if there is one, that changes one of these zones, has not ended, and came before
    /// the one with this id.
    pub(super) fn change_before(&self, id: u64, zones: Range<ZoneId>) -> Option<(u64, ZoneId)> {
        self.zones.range(zones).find_map(|(zone, queue)| {
            let change = |entry: &&Entry| entry.effect != Effect::Reads && entry.id < id;
            queue.iter().find(change).map(|entry| (entry.id, *zone))
        })
    }

    /// Whether any request that has not ended changes something.
    pub(super) fn has_changes(&self) -> bool {
        self.changes > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Effect::{Appends, MovesPointer, Reads, Writes};

    const ZONE: ZoneId = ZoneId(3);

    fn order(requests: &[(u64, u64, Effect)]) -> (Order, Vec<bool>) {
        let mut order = Order::default();
        let add = |(id, (first, blocks, effect)): (usize, &(u64, u64, Effect))| {
            order.add(id as u64, ZONE, Lba(*first), *blocks, *effect)
        };
        let may_begin = requests.iter().enumerate().map(add).collect();
        (order, may_begin)
    }

    #[test]
    fn requests_to_other_blocks_are_under_way_together() {
        let (order, begun) = order(&[(0, 4, Writes), (4, 4, Writes), (8, 1, Reads), (8, 9, Reads)]);
        assert_eq!(begun, [true; 4]);
        assert!(order.has_changes());
    }

    #[test]
    fn appends_are_under_way_together_and_with_nothing_else() {
        let (mut order, begun) = order(&[
            (0, 256, Appends),
            (0, 256, Appends),
            (8, 1, Reads),
            (9, 1, MovesPointer),
            (0, 256, Appends),
        ]);
        assert_eq!(begun, [true, true, false, false, false]);
        assert_eq!(order.end(1, ZONE), []);
        assert_eq!(order.end(0, ZONE), [2, 3], "other blocks than those that are read");
        assert_eq!(order.end(3, ZONE), []);
        assert_eq!(order.end(2, ZONE), [4]);
    }

    #[test]
    fn an_overlapping_request_waits_for_all_it_overlaps() {
        let (mut order, begun) =
            order(&[(0, 4, Writes), (4, 4, Reads), (3, 2, Writes), (3, 1, Reads)]);
        assert_eq!(begun, [true, true, false, false]);
        assert_eq!(order.end(1, ZONE), []);
        assert_eq!(order.end(0, ZONE), [2]);
        assert!(order.may_begin(2, ZONE) && !order.may_begin(3, ZONE));
        assert_eq!(order.end(2, ZONE), [3]);
        assert!(!order.has_changes());
        assert_eq!(order.end(3, ZONE), []);
        assert!(!order.has(3, ZONE));
    }

    #[test]
    fn writes_to_a_sequential_zone_go_one_by_one_and_reads_elsewhere_go_beside_them() {
        let pointer = [(0, 4, MovesPointer), (4, 4, MovesPointer), (20, 1, Reads), (5, 1, Reads)];
        let (mut order, begun) = order(&pointer);
        assert_eq!(begun, [true, false, true, false]);
        assert_eq!(order.end(0, ZONE), [1]);
        assert_eq!(order.end(1, ZONE), [3]);
    }

    #[test]
    fn a_zone_does_not_wait_for_another_one() {
        let mut order = Order::default();
        assert!(order.add(1, ZoneId(1), Lba(0), 8, MovesPointer));
        assert!(order.add(2, ZoneId(2), Lba(8), 8, MovesPointer));
        assert!(!order.add(3, ZoneId(2), Lba(8), 8, MovesPointer));
        assert_eq!(order.change_before(9, ZoneId(2)..ZoneId(5)), Some((2, ZoneId(2))));
        assert_eq!(order.change_before(2, ZoneId(2)..ZoneId(5)), None);
        assert_eq!(order.end(2, ZoneId(2)), [3]);
    }

    #[test]
    fn a_request_for_no_blocks_has_a_place() {
        let (_, begun) = order(&[(7, 0, Writes), (7, 1, Reads), (8, 1, Reads)]);
        assert_eq!(begun, [true, false, true]);
    }
}
