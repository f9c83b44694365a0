//! [`Skyline`]: for each key, the newest range tombstone over it.
//!
//! - Tombstones must be added in the order of their sequence numbers. So a new one hides all others
//!   in its range: it is *painted* over them. A skyline is a row of key ranges with one sequence
//!   number each.
//! - The row is a treap. [`Skyline::paint`] changes nodes that no other skyline has, and copies the
//!   others on the paths to the two ends of the range. So a clone, which shares all nodes, stays as
//!   it is, and a batch of tombstones copies each node at most once.
//! - Weights are derived from sequence numbers: the same writes give the same treap.
//!
//! Any number of threads; no locks and no I/O.

use std::sync::Arc;

use terrace_env::SeqNo;
use terrace_policy::{Key, Span};

use super::{CoverRange, RangeTombstone};

type Link = Option<Arc<Node>>;

#[derive(Clone, Debug)]
struct Node {
    span: Span,
    sequence: SeqNo,
    /// Not below its children's.
    weight: u64,
    left: Link,
    right: Link,
}

/// Bytes of a node, without its keys, which it shares with its tombstones.
pub(super) const NODE_BYTES: usize = shared_bytes(size_of::<Node>());

/// Bytes of a shared allocation: two counts come before the value, and an allocator rounds up to 16
/// bytes, of which it uses 8 itself.
pub(super) const fn shared_bytes(bytes: usize) -> usize {
    (bytes + 2 * size_of::<usize>() + 8).next_multiple_of(16)
}

fn leaf(span: Span, sequence: SeqNo, weight: u64) -> Link {
    Some(Arc::new(Node { span, sequence, weight, left: None, right: None }))
}

/// Range tombstones at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Skyline {
    root: Link,
}

impl Skyline {
    pub(crate) fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Adds a tombstone that is newer than all in it.
    pub(crate) fn paint(&mut self, tombstone: &RangeTombstone) {
        let RangeTombstone { span, sequence } = tombstone;
        let (left, rest) = split(self.root.take(), &span.start, scramble(sequence.0 * 3));
        let (_, right) = split(rest, &span.end, scramble(sequence.0 * 3 + 1));
        let new = leaf(span.clone(), *sequence, scramble(sequence.0 * 3 + 2));
        self.root = merge(merge(left, new), right);
    }

    /// Number of nodes that no other skyline has, if its predecessors are kept.
    pub(super) fn own_nodes(&self) -> usize {
        fn count(link: &Link) -> usize {
            let own = link.as_ref().filter(|node| Arc::strong_count(node) == 1);
            own.map_or(0, |node| 1 + count(&node.left) + count(&node.right))
        }
        count(&self.root)
    }

    /// Cover of a key, with the range of keys around it that has the same cover.
    pub(crate) fn at(&self, full_key: &[u8]) -> CoverRange {
        let (mut from, mut until) = (None, None);
        let mut link = &self.root;
        while let Some(node) = link {
            if full_key < &node.span.start[..] {
                until = Some(&node.span.start);
                link = &node.left;
            } else if full_key >= &node.span.end[..] {
                from = Some(&node.span.end);
                link = &node.right;
            } else {
                let Span { start, end } = node.span.clone();
                return CoverRange {
                    cover: Some(node.sequence),
                    from: Some(start),
                    until: Some(end),
                };
            }
        }
        CoverRange { cover: None, from: from.cloned(), until: until.cloned() }
    }

    /// The sequence of the newest tombstone over a key.
    pub(crate) fn cover(&self, full_key: &[u8]) -> Option<SeqNo> {
        let mut link = &self.root;
        while let Some(node) = link {
            if full_key < &node.span.start[..] {
                link = &node.left;
            } else if full_key >= &node.span.end[..] {
                link = &node.right;
            } else {
                return Some(node.sequence);
            }
        }
        None
    }
}

/// Splits a tree at a key: the ranges before it, and the others. The range that contains the key is
/// cut in two. The second part gets its own weight, because pieces of equal weight would turn the
/// tree into a list.
fn split(link: Link, key: &Key, weight: u64) -> (Link, Link) {
    let Some(mut shared) = link else { return (None, None) };
    let node = Arc::make_mut(&mut shared);
    if node.span.end <= *key {
        let (left, right) = split(node.right.take(), key, weight);
        node.right = left;
        return (Some(shared), right);
    }
    if node.span.start >= *key {
        let (left, right) = split(node.left.take(), key, weight);
        node.left = right;
        return (left, Some(shared));
    }
    let behind = Span { start: key.clone(), end: node.span.end.clone() };
    let behind = leaf(behind, node.sequence, weight);
    node.span.end = key.clone();
    let (left, right) = (node.left.take(), node.right.take());
    (merge(left, Some(shared)), merge(behind, right))
}

/// Both rows as one; the first lies before the second.
fn merge(left: Link, right: Link) -> Link {
    let (mut first, mut second) = match (left, right) {
        (None, link) | (link, None) => return link,
        (Some(first), Some(second)) => (first, second),
    };
    if first.weight >= second.weight {
        let node = Arc::make_mut(&mut first);
        node.right = merge(node.right.take(), Some(second));
        Some(first)
    } else {
        let node = Arc::make_mut(&mut second);
        node.left = merge(Some(first), node.left.take());
        Some(second)
    }
}

/// A number that looks random (the finalizer of SplitMix64).
fn scramble(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_env::random::{Random, Rng};

    fn tombstone(start: u16, end: u16, sequence: u64) -> RangeTombstone {
        let span = Span::new(start.to_be_bytes(), end.to_be_bytes());
        RangeTombstone { span, sequence: SeqNo(sequence) }
    }

    fn depth(link: &Link) -> usize {
        link.as_ref().map_or(0, |node| 1 + depth(&node.left).max(depth(&node.right)))
    }

    #[test]
    fn every_moment_shows_the_newest_tombstone_over_every_key() {
        for seed in 0..400 {
            let mut random = Random::seeded(seed);
            let mut moments = vec![(Skyline::default(), [None; 40])];
            for sequence in 1..random.random_range(2..40) {
                let start = random.random_range(0..39);
                let end = random.random_range(start + 1..40);
                let (skyline, mut covers) = moments.last().cloned().expect("a moment");
                covers[usize::from(start)..usize::from(end)].fill(Some(SeqNo(sequence)));
                let mut painted = skyline.clone();
                painted.paint(&tombstone(start, end, sequence));
                moments.push((painted, covers));
            }
            for (skyline, covers) in &moments {
                for key in 0..40u16 {
                    let range = skyline.at(&key.to_be_bytes());
                    let cover = covers[usize::from(key)];
                    assert_eq!((range.cover, skyline.cover(&key.to_be_bytes())), (cover, cover));
                    assert!(range.contains(&key.to_be_bytes()));
                    let same = (0..40u16).filter(|k| range.contains(&k.to_be_bytes()));
                    assert!(same.into_iter().all(|k| covers[usize::from(k)] == cover), "{seed}");
                }
            }
        }
    }

    #[test]
    fn the_tree_stays_flat_and_the_row_short() {
        let mut cut_off = Skyline::default();
        let mut pieces = Skyline::default();
        pieces.paint(&tombstone(0, 60_000, 1));
        for sequence in 2..20_000u64 {
            cut_off.paint(&tombstone(0, sequence as u16, sequence));
            let start = (sequence * 3) as u16;
            pieces.paint(&tombstone(start, start + 1, sequence));
        }
        assert_eq!(depth(&cut_off.root), 1);
        assert!(depth(&pieces.root) < 80, "{}", depth(&pieces.root));
    }

    #[test]
    fn own_nodes_are_those_that_were_made_since_the_skyline_was_shared() {
        let mut skyline = Skyline::default();
        for sequence in 1..=1000u64 {
            let start = (sequence * 2) as u16;
            skyline.paint(&tombstone(start, start + 1, sequence));
        }
        assert_eq!(skyline.own_nodes(), 1000, "none is copied while no other skyline has it");
        let before = skyline.clone();
        assert_eq!((before.own_nodes(), skyline.own_nodes()), (0, 0));
        skyline.paint(&tombstone(1000, 1003, 1001));
        let copied = skyline.own_nodes();
        assert!((1..80).contains(&copied), "{copied}");
        drop(skyline);
        assert_eq!(before.own_nodes(), 1000);
    }
}
