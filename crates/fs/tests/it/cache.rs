//! The file cache: its blocks equal those on the medium, it keeps to its size, and deleted blocks
//! leave it.

use std::sync::Arc;

use terrace_env::store::conformance::{self, Subject};
use terrace_env::store::{
    Annotation, CacheCounts, CreateOptions, FileKind, FileReader, PlacementHint, Rank, Store,
    Transaction,
};
use terrace_env::{ByteCount, Cause, FileId, runner, test_seeds};
use terrace_fs::{BLOCK, CachePolicy, Fs};

use crate::drive::{Mounted, shapes};

/// Largest memory reckoned for a block in the cache, its share of the file's entry included.
const BLOCK_COST_MAX: u64 = BLOCK as u64 + 512;

fn plain() -> terrace_zone::Geometry {
    shapes().swap_remove(0).1
}

fn keep_contract(policy: CachePolicy, size: ByteCount) {
    let seeds = test_seeds(6);
    runner::simulate(seeds.start, || {
        let factory =
            || Box::new(Mounted::with_cache(plain(), 1, size, policy)) as Box<dyn Subject>;
        conformance::run_durable(&factory, seeds);
    });
}

#[test]
fn files_keep_the_contract_with_a_cache_of_any_size_and_policy() {
    for policy in CachePolicy::ALL {
        keep_contract(policy, ByteCount::kib(50));
        keep_contract(policy, ByteCount::mib(64));
    }
}

#[cfg(debug_assertions)]
#[test]
fn the_canary_of_a_cache_that_keeps_what_is_gone_is_noticed() {
    use terrace_fs::canary::{Rule, set};

    set(Some(Rule::CacheFollowsWrites));
    let keep = || keep_contract(CachePolicy::default(), ByteCount::mib(64));
    let noticed = std::panic::catch_unwind(keep).is_err();
    let stale = std::panic::catch_unwind(a_block_that_is_written_again_is_read_anew).is_err();
    set(None);
    assert!(noticed, "files that are gone stayed in the cache");
    assert!(stale, "a block that was written again was read as it had been");
}

/// Writes a sealed table of a level, in which each block says where it is.
fn table(store: &dyn Store, level: u8, blocks: u32) -> FileId {
    let hint = PlacementHint { level: Some(level), ..PlacementHint::default() };
    let options = CreateOptions {
        kind: FileKind::Table,
        hint,
        size: None,
        rank: Rank::Flush,
        reservation: None,
        group: None,
        offload: false,
        cause: Cause::Flush,
    };
    let mut writer = store.create(&options).unwrap();
    let id = writer.id();
    for block in 0..blocks {
        writer.append(&vec![(id.0 as u8) ^ (block as u8); BLOCK]).unwrap();
    }
    writer.finish().unwrap();
    let mut transaction = Transaction::new();
    transaction.seal(id, Annotation { hint, ..Annotation::default() });
    store.commit(transaction).unwrap();
    id
}

/// Reads a block, and says whether it was in memory.
fn is_cached(fs: &Fs, file: &dyn FileReader, block: u32) -> bool {
    let before = fs.io().cache.hit_bytes[Cause::Compaction as usize];
    let mut bytes = vec![0; BLOCK];
    file.read_at(u64::from(block) * BLOCK as u64, &mut bytes, Cause::Compaction).unwrap();
    assert!(bytes.iter().all(|byte| *byte == (file.id().0 as u8) ^ (block as u8)));
    let after = fs.io().cache.hit_bytes[Cause::Compaction as usize];
    after > before
}

/// A store with a cache that has room for `blocks` blocks and not for one more.
fn with_room_for(blocks: u64, policy: CachePolicy) -> (Mounted, Arc<Fs>) {
    let size = ByteCount(blocks * BLOCK_COST_MAX);
    let mounted = Mounted::with_cache(plain(), 1, size, policy);
    let fs = Arc::clone(mounted.fs.as_ref().unwrap());
    (mounted, fs)
}

/// How many blocks of a file are in memory, and the first that is not.
fn cached(fs: &Fs, id: FileId, blocks: u32) -> (u32, Option<u32>) {
    let file = fs.open(id).unwrap();
    let found: Vec<bool> = (0..blocks).map(|block| is_cached(fs, &*file, block)).collect();
    let hits = found.iter().filter(|hit| **hit).count() as u32;
    (hits, found.iter().position(|hit| !hit).map(|block| block as u32))
}

#[test]
fn first_in_first_out_takes_whole_files_or_single_blocks() {
    for (policy, kept) in [(CachePolicy::FifoByFile, 0), (CachePolicy::FifoByBlock, 20)] {
        let (_mounted, fs) = with_room_for(100, policy);
        let first = table(&*fs, 0, 40);
        let second = table(&*fs, 1, 40);
        let third = table(&*fs, 2, 40);
        let (hits, missing) = cached(&fs, first, 40);
        assert_eq!(missing, Some(0), "{policy}: the oldest leave first");
        assert!((kept..kept + 15).contains(&hits), "{policy}: {hits} of the first");
        assert_eq!(cached(&fs, second, 40), (40, None), "{policy}");
        assert_eq!(cached(&fs, third, 40), (40, None), "{policy}");
        // Larger than the cache.
        let large = table(&*fs, 0, 300);
        let (hits, _) = cached(&fs, large, 300);
        let expected = if policy == CachePolicy::FifoByFile { 0..1 } else { 90..115 };
        assert!(expected.contains(&hits), "{policy}: {hits} of the large one");
    }
}

#[test]
fn deep_levels_make_room_for_high_ones_and_new_tables_do_not_for_older_ones() {
    let (_mounted, fs) = with_room_for(100, CachePolicy::ByLevel);
    let older = table(&*fs, 3, 60);
    let newer = table(&*fs, 3, 60);
    assert_eq!(cached(&fs, older, 60), (60, None));
    let (hits, missing) = cached(&fs, newer, 60);
    assert!((35..55).contains(&hits) && missing == Some(hits), "{hits} of the newer, {missing:?}");
    let high = table(&*fs, 1, 60);
    assert_eq!(cached(&fs, high, 60), (60, None));
    assert_eq!(cached(&fs, newer, 60).0, 0);
    let (hits, missing) = cached(&fs, older, 60);
    assert!(missing == Some(hits) && hits > 40, "{hits} of the older, {missing:?}");
    // A table that comes down to a level deeper than all others leaves before them.
    let mut transaction = Transaction::new();
    let hint = PlacementHint { level: Some(4), ..PlacementHint::default() };
    transaction.annotate(high, Annotation { hint, ..Annotation::default() });
    fs.commit(transaction).unwrap();
    let highest = table(&*fs, 0, 30);
    assert_eq!(cached(&fs, highest, 30), (30, None));
    assert!(cached(&fs, high, 60).0 < 40);
    assert_eq!(cached(&fs, older, 60).0, hits);
}

#[test]
fn what_is_deleted_or_trimmed_leaves_at_once_and_is_still_read_by_who_has_it_open() {
    for policy in CachePolicy::ALL {
        let (_mounted, fs) = with_room_for(200, policy);
        let (trimmed, deleted) = (table(&*fs, 1, 40), table(&*fs, 1, 40));
        let held = fs.open(deleted).unwrap();
        let used = fs.io().cache.used;
        let mut transaction = Transaction::new();
        transaction.trim(trimmed, 0, 10 * BLOCK as u64).delete(deleted);
        fs.commit(transaction).unwrap();
        let freed = used - fs.io().cache.used;
        assert!(freed >= 50 * BLOCK as u64, "{policy}: {freed} bytes freed");
        assert_eq!(fs.audit(), Vec::<String>::new());
        assert!(!is_cached(&fs, &*held, 7));
        assert!(is_cached(&fs, &*fs.open(trimmed).unwrap(), 12));
    }
}

#[test]
fn a_cache_never_takes_more_than_its_size() {
    for policy in CachePolicy::ALL {
        let (_mounted, fs) = with_room_for(33, policy);
        for number in 0..40 {
            table(&*fs, (number % 4) as u8, 1 + number % 13);
            let CacheCounts { size, used, .. } = fs.io().cache;
            assert!(used <= size, "{policy}: {used} of {size}");
        }
        fs.set_cache(ByteCount::kib(20), policy);
        assert!(fs.io().cache.used <= 20 << 10);
        fs.set_cache(ByteCount(0), policy);
        assert_eq!(fs.io().cache.used, 0);
        table(&*fs, 1, 5);
        assert_eq!(fs.io().cache.used, 0);
        assert_eq!(fs.audit(), Vec::<String>::new());
    }
}

#[test]
fn what_is_read_to_be_checked_comes_from_the_medium() {
    let (_mounted, fs) = with_room_for(100, CachePolicy::default());
    let id = table(&*fs, 1, 10);
    let file = fs.open(id).unwrap();
    let read = |cause: Cause| {
        let before = fs.io().read_bytes[cause as usize];
        file.read_at(0, &mut vec![0; 10 * BLOCK], cause).unwrap();
        fs.io().read_bytes[cause as usize] - before
    };
    assert_eq!(read(Cause::Read), 0);
    assert_eq!(read(Cause::Recovery), 10 * BLOCK as u64);
}

#[test]
fn a_block_that_is_written_again_is_read_anew() {
    let (_mounted, fs) = with_room_for(100, CachePolicy::default());
    let options = CreateOptions {
        kind: FileKind::Client,
        hint: PlacementHint::default(),
        size: None,
        rank: Rank::Log,
        reservation: None,
        group: None,
        offload: false,
        cause: Cause::Client,
    };
    let mut writer = fs.create(&options).unwrap();
    let mut transaction = Transaction::new();
    transaction.create(writer.id(), Annotation::default());
    fs.commit(transaction).unwrap();
    let mut expected = Vec::new();
    // Each sync writes the partial block, and the next one writes it again as a part of more.
    for round in 0..30_u8 {
        let bytes = vec![round; 1000];
        writer.append(&bytes).unwrap();
        writer.sync().unwrap();
        expected.extend_from_slice(&bytes);
        let mut found = vec![0; expected.len()];
        fs.open(writer.id()).unwrap().read_at(0, &mut found, Cause::Client).unwrap();
        assert!(found == expected, "after {round} syncs");
    }
    assert!(fs.io().cache.hit_bytes[Cause::Client as usize] > 0, "nothing came from the cache");
}
