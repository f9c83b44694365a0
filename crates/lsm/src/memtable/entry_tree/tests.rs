//! Tests of the tree: against an ordered map, and read while it is written. Tests that do not
//! measure memory run under Miri, too, mostly with fewer entries: `cargo +nightly miri test -p
//! terrace-lsm entry_tree`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use terrace_env::random::{Random, Rng};
use terrace_env::{ByteCount, MemoryGauge, SeqNo, runner};

use super::{EntryCursor, EntryTree, NewEntry, Window};
use crate::key::{self, KeySpaceId, Kind, Trailer};
use crate::memory::MemtableChunks;

const SPACE: KeySpaceId = KeySpaceId(0);

/// Internal key in the order of internal keys, and value.
type Model = BTreeMap<(Vec<u8>, Trailer), Vec<u8>>;

/// Full key, trailer and value.
type Entry = (Vec<u8>, Trailer, Vec<u8>);

/// Fewer under Miri, which is some thousand times slower.
fn scaled(count: usize) -> usize {
    if cfg!(miri) { count / 100 } else { count }
}

fn empty(window: Window) -> Arc<EntryTree> {
    Arc::new(EntryTree::new(&MemtableChunks::counted_by(&MemoryGauge::new("test")), window))
}

fn put(tree: &EntryTree, user_key: &[u8], sequence: usize, value: &[u8]) -> (Vec<u8>, Trailer) {
    let trailer = Trailer::new(SeqNo(sequence as u64), Kind::Put);
    tree.insert([NewEntry { space: SPACE, user_key, trailer, value }]);
    (key::full_key(SPACE, user_key), trailer)
}

fn split(found: Option<(&[u8], &[u8])>) -> Option<Entry> {
    let (internal_key, value) = found?;
    let (full_key, trailer) = key::split(internal_key);
    Some((full_key.to_vec(), trailer, value.to_vec()))
}

fn at(cursor: &EntryCursor) -> Option<Entry> {
    split(cursor.key().zip(cursor.value()))
}

fn expect(((full_key, trailer), value): (&(Vec<u8>, Trailer), &Vec<u8>)) -> Entry {
    (full_key.clone(), *trailer, value.clone())
}

/// Compares every way of reading, from some of the keys and from their neighbours.
fn compare(tree: &Arc<EntryTree>, model: &Model, random: &mut Random) {
    assert_eq!(tree.len(), model.len());
    let mut cursor = EntryCursor::new(Arc::clone(tree));
    cursor.seek_to_first();
    for entry in model {
        assert_eq!(at(&cursor), Some(expect(entry)));
        cursor.next();
    }
    assert_eq!(at(&cursor), None);
    cursor.seek_to_last();
    for entry in model.iter().rev() {
        assert_eq!(at(&cursor), Some(expect(entry)));
        cursor.prev();
    }
    assert_eq!(at(&cursor), None);
    let targets: Vec<_> = model.keys().cloned().collect();
    for (mut full_key, mut trailer) in targets {
        match random.random_range(0..6) {
            0 => {}
            1 => full_key.push(0),
            2 => drop(full_key.pop().filter(|_| full_key.len() > 4)),
            3 => trailer = Trailer::NEWEST,
            _ => continue,
        }
        full_key.resize(full_key.len().max(4), 0);
        let internal_key = key::internal_key(&full_key, trailer);
        let target = (full_key, trailer);
        let behind = model.range(&target..).next().map(expect);
        let same = behind.clone().filter(|(full_key, ..)| *full_key == target.0);
        assert_eq!(split(tree.first_of_key(&internal_key)), same);
        cursor.seek(&internal_key);
        assert_eq!(at(&cursor), behind);
        let before = model.range(..&target).next_back().map(expect);
        cursor.seek_before(&internal_key);
        assert_eq!(at(&cursor), before);
        cursor.next();
        assert_eq!(at(&cursor), behind.filter(|_| before.is_some()));
    }
}

/// Keys of one kind each: spread, alike for long, short, long.
fn keys(kind: usize, count: usize, random: &mut Random) -> Vec<Vec<u8>> {
    (0..count)
        .map(|number| match kind {
            0 => random.random::<[u8; 16]>().to_vec(),
            1 => format!("tenant/0000/user/{number:06}").into_bytes(),
            2 => vec![b'k'; random.random_range(0..20)],
            3 => (0..random.random_range(0..3)).map(|_| random.random_range(0..3)).collect(),
            _ => [&[b'x'; 300][..], &number.to_be_bytes()].concat(),
        })
        .collect()
}

#[test]
fn it_reads_as_an_ordered_map_whatever_the_keys_and_their_order() {
    let mut random = Random::seeded(1);
    for kind in 0..5 {
        for arrival in if cfg!(miri) { 2..3 } else { 0..4 } {
            let mut keys = keys(kind, scaled(2000), &mut random);
            match arrival {
                0 => keys.sort(),
                1 => keys.sort_by(|a, b| b.cmp(a)),
                2 => keys.sort_by_cached_key(|_| random.random::<u64>()),
                // Two rising streams.
                _ => {
                    keys.sort();
                    let middle = keys.len() / 2;
                    keys = (0..middle)
                        .flat_map(|i| [keys[i].clone(), keys[middle + i].clone()])
                        .collect();
                }
            }
            let window = match random.random_range(0..3) {
                0 => Window::new(),
                1 => Window::between(b"\0\0\0\0tenant/0000/user/1", b"\0\0\0\0tenant/0000/user/2"),
                _ => Window::between(&[0, 0, 0, 1, 5, 5], &[0, 0, 0, 1, 5, 5]),
            };
            let (tree, mut model) = (empty(window), Model::new());
            for (sequence, user_key) in keys.iter().enumerate() {
                let value = vec![sequence as u8; sequence % 50];
                model.insert(put(&tree, user_key, sequence, &value), value);
            }
            compare(&tree, &model, &mut random);
        }
    }
}

#[test]
fn nothing_is_found_in_an_empty_tree() {
    let tree = empty(Window::new());
    compare(&tree, &Model::new(), &mut Random::seeded(1));
    assert_eq!((tree.bytes(), tree.ends()), (0, None));
    assert_eq!(tree.first_of_key(&[0; 12]), None);
}

#[test]
fn large_and_empty_entries_lie_beside_each_other() {
    let (tree, mut model) = (empty(Window::new()), Model::new());
    for (sequence, size) in [0, 1 << 20, 7, 4096, 0, 3 << 20, 200_000].into_iter().enumerate() {
        let (user_key, value) = (vec![size as u8; size % 1000], vec![sequence as u8; size]);
        model.insert(put(&tree, &user_key, sequence, &value), value);
    }
    compare(&tree, &model, &mut Random::seeded(2));
}

#[test]
#[cfg_attr(miri, ignore = "tells something of many entries only")]
fn memory_is_counted_and_given_back() {
    let gauge = MemoryGauge::new("test");
    let tree = EntryTree::new(&MemtableChunks::counted_by(&gauge), Window::new());
    let (count, value) = (scaled(20_000), [7; 100]);
    for sequence in 0..count {
        put(&tree, &(sequence * 7919).to_be_bytes(), sequence, &value);
    }
    let payload = count * (8 + 12 + 100);
    assert!(tree.bytes() > payload + count * 26, "{}", tree.bytes());
    assert!(tree.bytes() < payload + count * 80, "{}", tree.bytes());
    assert!(gauge.used().0 as usize >= tree.bytes());
    assert!(gauge.used().0 as usize <= tree.bytes() * 2 + (8 << 10), "{:?}", gauge.used());
    drop(tree);
    assert_eq!(gauge.used().0, 0);
}

#[test]
#[cfg_attr(miri, ignore = "tells something of many entries only")]
fn a_tree_takes_the_chunks_of_one_that_was_dropped_and_each_counts_once() {
    let whole = MemoryGauge::new("all");
    let (memtables, idle) = (whole.part("memtables"), whole.part("idle"));
    let chunks = Arc::new(MemtableChunks::new(memtables.clone(), &idle, ByteCount::mib(64)));
    let fill = || {
        let tree = EntryTree::new(&chunks, Window::new());
        for (sequence, size) in
            [100, 1000, 20_000, 300_000].into_iter().cycle().take(100).enumerate()
        {
            put(&tree, &sequence.to_be_bytes(), sequence, &vec![sequence as u8; size]);
        }
        tree
    };
    let first = fill();
    let used = memtables.used();
    drop(first);
    assert_eq!(memtables.used().0, 0);
    assert!(idle.used().0 > 7 << 20, "{:?}", idle.used());
    let second = fill();
    assert_eq!((memtables.used(), idle.used().0), (used, 0));
    assert_eq!(whole.peak(), used);
    let found = second.first_of_key(&key::internal_key(
        &key::full_key(SPACE, &7_usize.to_be_bytes()),
        Trailer::NEWEST,
    ));
    assert_eq!(found.map(|(_, value)| value), Some(&vec![7; 300_000][..]));
}

#[test]
#[cfg_attr(miri, ignore = "tells something of many entries only")]
fn keys_that_arrive_in_order_fill_their_leaves() {
    let bytes = |step: usize| {
        let tree = empty(Window::new());
        for i in 0..scaled(5000) {
            put(&tree, &(i * step % 5003).to_be_bytes(), i, b"");
        }
        tree.bytes()
    };
    let (in_order, spread) = (bytes(1), bytes(1789));
    assert!(in_order * 10 < spread * 9, "{in_order} {spread}");
}

#[test]
fn a_window_is_in_the_order_of_the_keys() {
    let mut random = Random::seeded(3);
    for _ in 0..scaled(20_000) {
        let key = |random: &mut Random| -> Vec<u8> {
            (0..random.random_range(0..14)).map(|_| random.random_range(0..2)).collect()
        };
        let window = Window::between(&key(&mut random), &key(&mut random));
        let (left, right) = (key(&mut random), key(&mut random));
        let order = window.prefix(&left).cmp(&window.prefix(&right));
        assert!(order.is_eq() || order == left.cmp(&right), "{window:?} {left:?} {right:?}");
    }
}

/// Key of an entry that the writer of the concurrent test inserts; it follows from the entry's
/// number.
fn key_of(arrival: usize, number: usize) -> [u8; 8] {
    let spread = |n: usize| (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    match arrival {
        0 => spread(number),
        1 => number as u64,
        2 => u64::MAX - number as u64,
        // Many versions of few keys, all in few leaves.
        _ => spread(number) >> 61,
    }
    .to_be_bytes()
}

/// Reads a tree until it is told to stop: a read sees every entry that was published before.
fn read_along(tree: &Arc<EntryTree>, arrival: usize, published: &AtomicUsize, seed: u64) {
    let mut random = Random::seeded(seed);
    let mut cursor = EntryCursor::new(Arc::clone(tree));
    loop {
        let count = published.load(Ordering::Acquire);
        if count == usize::MAX {
            return;
        }
        for _ in 0..20.min(count) {
            let number = random.random_range(0..count);
            let full_key = key::full_key(SPACE, &key_of(arrival, number));
            let trailer = Trailer::new(SeqNo(number as u64), Kind::Put);
            let sought = key::internal_key(&full_key, trailer);
            let (found, value) = tree.first_of_key(&sought).expect("a published entry");
            assert_eq!((found, value), (&sought[..], &number.to_le_bytes()[..]));
            cursor.seek_before(&key::internal_key(&key::successor(&full_key), Trailer::NEWEST));
            let before = cursor.key().expect("an entry of the key");
            assert_eq!(key::split(before).0, full_key);
        }
        let forward = random.random();
        if forward {
            cursor.seek_to_first()
        } else {
            cursor.seek_to_last()
        }
        let (mut seen, mut last) = (0, None::<Vec<u8>>);
        while let Some(found) = cursor.key() {
            if let Some(last) = &last {
                assert_eq!(key::compare(last, found).is_lt(), forward);
            }
            let number = usize::from_le_bytes(cursor.value().unwrap().try_into().unwrap());
            seen += usize::from(number < count);
            last = Some(found.to_vec());
            if forward { cursor.next() } else { cursor.prev() }
        }
        assert_eq!(seen, count, "every published entry once");
    }
}

#[test]
fn readers_see_all_that_is_published_while_the_writer_goes_on() {
    for arrival in 0..4 {
        let tree = empty(Window::new());
        let published = Arc::new(AtomicUsize::new(0));
        let readers: Vec<_> = (0..2)
            .map(|seed| {
                let (tree, published) = (Arc::clone(&tree), Arc::clone(&published));
                runner::spawn("reader", move || read_along(&tree, arrival, &published, seed))
            })
            .collect();
        for number in 0..scaled(8000) {
            put(&tree, &key_of(arrival, number), number, &number.to_le_bytes());
            published.store(number + 1, Ordering::Release);
        }
        published.store(usize::MAX, Ordering::Release);
        readers.into_iter().for_each(runner::JoinHandle::join);
    }
}

#[test]
fn the_last_entry_is_found_while_the_only_leaf_splits() {
    let trees: Arc<Vec<_>> = Arc::new((0..scaled(20_000)).map(|_| empty(Window::new())).collect());
    let last = put(&trees[0], &key_of(2, 0), 0, b"").0;
    let filled = Arc::new(AtomicUsize::new(0));
    let reader = {
        let (trees, filled) = (Arc::clone(&trees), Arc::clone(&filled));
        runner::spawn("reader", move || {
            while let Some(tree) = trees.get(filled.load(Ordering::Acquire)) {
                let mut cursor = EntryCursor::new(Arc::clone(tree));
                cursor.seek_to_last();
                assert_eq!(cursor.key().map(|key| key::split(key).0), Some(&last[..]));
            }
        })
    };
    for (at, tree) in trees.iter().enumerate() {
        // Descending keys: the first insertions are the last entries, and splits move them.
        for number in 1..20 {
            put(tree, &key_of(2, number), number, b"");
        }
        if let Some(next) = trees.get(at + 1) {
            put(next, &key_of(2, 0), 0, b"");
        }
        filled.store(at + 1, Ordering::Release);
    }
    reader.join();
}

#[test]
fn a_cursor_keeps_the_tree_that_it_walks() {
    let tree = empty(Window::new());
    for number in 0..100usize {
        put(&tree, &number.to_be_bytes(), number, &[number as u8]);
    }
    let mut cursor = EntryCursor::new(tree);
    cursor.seek_to_first();
    for number in 0..100 {
        assert_eq!(cursor.value(), Some(&[number][..]));
        cursor.next();
    }
}
