//! Tests of the pool of a device without zones: which blocks a writer gets, and which are left to
//! others. `world` makes random requests.

mod world;

use std::collections::BTreeSet;
use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::store::{FileKind, PlacementHint, Rank, ReservedSpace, StoreError};
use terrace_env::{ByteCount, Cause, DeviceId, ZoneId, test_seeds};
use terrace_policy::Fit;
use terrace_zone::{Emulator, Geometry, Tracks};

use super::Holds;
use super::governor::URGENT_RESERVE;
use super::{PlainPool, Used};
use crate::block::BLOCK;
use crate::catalog::Extent;
use crate::journal::JournalSpace;
use crate::medium::{Medium, STRETCH};
use crate::space::{Ask, Pool, Region, Reserved, Share, journal_zones};

const MIB: u64 = 12;

fn pool() -> Arc<PlainPool> {
    pool_on(Geometry::plain(ByteCount::mib(MIB)), None)
}

/// A pool over a device; of tables, if it has a fit.
fn pool_on(geometry: Geometry, fit: Option<Fit>) -> Arc<PlainPool> {
    let drive = Emulator::in_memory(geometry, 1).expect("a shape");
    let medium = Arc::new(Medium::new(DeviceId(1), Arc::new(drive)));
    let used = Used { superblock: vec![ZoneId(0)], ..Used::default() };
    let holds = if fit.is_some() { Holds::Tables } else { Holds::Logs };
    let pool = PlainPool::new(medium, &used, holds).expect("nothing is used twice");
    fit.into_iter().for_each(|fit| pool.set_fit(fit));
    Arc::new(pool)
}

fn ask(rank: Rank, least: u32, left: Option<u64>, reservation: u64) -> Ask {
    let (hint, kind, cause) = (PlacementHint::default(), FileKind::Log, Cause::Log);
    Ask { hint, kind, rank, reservation, least, left: left.map(ByteCount), cause }
}

#[test]
fn runs_that_follow_each_other_need_no_guard_and_a_hole_is_used_up_to_its_guard() {
    let tracks = Tracks { blocks: 32, overlap: 2 };
    let pool = pool_on(Geometry::tracks(ByteCount::mib(32), tracks), Some(Fit::Best));
    let write = |blocks: u64| {
        let ask = ask(Rank::Compaction, blocks as u32, Some(blocks * BLOCK as u64), 0);
        let region = Arc::clone(&pool).lease(&ask).expect("room");
        let (first, claimed) = region.claim(blocks as u32).expect("blocks");
        assert_eq!(u64::from(claimed), blocks);
        Extent { first, blocks: claimed, crc: None }
    };
    let files: Vec<Extent> = (0..6).map(|_| write(200)).collect();
    for pair in files.windows(2) {
        assert_eq!(pair[0].end(), pair[1].start(), "no guard where files follow each other");
    }
    pool.free(&files[1..3], Share::Unsealed);
    let hole = files[1].start()..files[2].end();
    // Too large with its guard; then nearly as large as can be; then a fragment is left.
    assert!(write(390).start() >= files[5].end());
    let insert = write(290);
    assert_eq!(insert.start(), hole.start);
    assert!(tracks.harmed(insert.start()..insert.end()).end <= hole.end);
    assert!(write(30).start() >= files[5].end(), "the rest of the hole is nearly its guard");
}

#[test]
fn files_between_two_holes_that_are_little_more_than_guards_are_moved_out_of_there() {
    let tracks = Tracks { blocks: 32, overlap: 2 };
    let pool = pool_on(Geometry::tracks(ByteCount::mib(32), tracks), Some(Fit::Best));
    let lease = |blocks: u64| ask(Rank::Compaction, blocks as u32, Some(blocks * 3800), 0);
    let write = |_| {
        let region = Arc::clone(&pool).lease(&lease(100)).expect("room");
        let (first, blocks) = region.claim(100).expect("blocks");
        Extent { first, blocks, crc: None }
    };
    let files: Vec<Extent> = (0..6).map(write).collect();
    pool.free(&[files[1], files[3]], Share::Unsealed);
    let runs = |of: &[usize]| -> Vec<_> {
        of.iter().map(|file| files[*file].start()..files[*file].end()).collect()
    };
    let choose = |of: &[usize]| pool.choose_span(&runs(of), &BTreeSet::new());
    let span = choose(&[0, 2, 4, 5]).expect("two holes");
    assert_eq!(span.files, files[2].start()..files[2].end());
    assert_eq!(span.barred, files[2].start()..files[3].end());
    let copy = Arc::clone(&pool).lease_outside(&lease(100), &span.barred).expect("room");
    let (first, _) = copy.rest().expect("a lease");
    assert!(!span.barred.contains(&first.block()), "{first:?}");
    drop(copy);
    let behind = choose(&[0, 4, 5]).expect("a hole and the free run after the files");
    assert_eq!(behind.files, files[4].start()..files[5].end());
    assert_eq!(choose(&[0, 2]).map(|span| span.files), Some(span.files.clone()));
    assert_eq!(choose(&[0, 5]), None, "the files after the holes cannot be moved");
    let except = BTreeSet::from([span.files.start]);
    assert_eq!(pool.choose_span(&runs(&[0, 2]), &except), None);
}

#[test]
fn the_fit_says_which_hole_is_used() {
    for fit in Fit::ALL {
        let pool = pool_on(Geometry::plain(ByteCount::mib(MIB)), Some(fit));
        let write = |blocks: u64| {
            let ask = ask(Rank::Compaction, blocks as u32, Some(blocks * 3800), 0);
            let region = Arc::clone(&pool).lease(&ask).expect("room");
            let (first, blocks) = region.claim(blocks as u32).expect("blocks");
            Extent { first, blocks, crc: None }
        };
        let files = [50, 200, 50, 100, 50].map(write);
        let behind = files[4].end();
        pool.free(&files[1..2], Share::Unsealed);
        pool.free(&files[3..4], Share::Unsealed);
        let expected = match fit {
            Fit::Best => files[3].start(),
            Fit::First => files[1].start(),
            Fit::Next => behind,
        };
        assert_eq!(write(90).start(), expected, "{fit:?}");
    }
}

#[test]
fn puts_leave_room_to_deletes_and_both_leave_stretches_to_the_journal() {
    let pool = pool();
    let mut regions = Vec::new();
    let mut fill = |rank| {
        loop {
            match Arc::clone(&pool).lease(&ask(rank, 1, Some(u64::MAX >> 1), 0)) {
                Ok(region) => regions.push(region),
                Err(error) => break error,
            }
        }
    };
    let refused = fill(Rank::Log);
    assert!(matches!(refused, StoreError::NoSpace { device: Some(DeviceId(1)), .. }), "{refused}");
    let left = pool.room().free.0 / BLOCK as u64;
    let journal = u64::from(journal_zones(0, STRETCH));
    assert_eq!(left, journal * u64::from(STRETCH) + URGENT_RESERVE);
    fill(Rank::UrgentLog);
    assert_eq!(pool.room().free.0 / BLOCK as u64, journal * u64::from(STRETCH));
    for _ in 0..journal {
        pool.take().expect("a stretch for the journal");
    }
    assert!(pool.take().is_err(), "all of it is used");
}

#[test]
fn pieces_are_given_out_when_the_journal_has_taken_the_last_whole_stretch() {
    let pool = pool();
    let piece = ask(Rank::Compaction, 120, Some(120 * BLOCK as u64), 0);
    let lease = || Arc::clone(&pool).lease_at_once(&piece);
    let mut regions: Vec<Region> = std::iter::from_fn(lease).collect();
    assert!(regions.len() > 10, "{} pieces", regions.len());
    let journal: Vec<ZoneId> = std::iter::from_fn(|| pool.take().ok()).collect();
    assert!(!journal.is_empty(), "stretches are kept for the journal");
    // Every other piece comes free: none of them holds a whole stretch.
    let mut at = 0;
    regions.retain(|_| {
        at += 1;
        at % 2 == 0
    });
    assert!(pool.take().is_err(), "a stretch is whole");
    assert!(lease().is_some(), "no piece is given out");
}

#[test]
fn what_is_reserved_is_nobody_elses() {
    let pool = pool();
    let reserved = Arc::clone(&pool).reserve(Rank::Log, ByteCount::mib(2)).expect("room");
    let all = ask(Rank::Log, 1, Some(u64::MAX >> 1), 0);
    let _others: Vec<Region> =
        std::iter::from_fn(|| Arc::clone(&pool).lease_at_once(&all)).collect();
    let own = Ask { least: 512, left: Some(ByteCount::mib(2)), reservation: reserved.id(), ..all };
    assert!(Arc::clone(&pool).lease_at_once(&Ask { reservation: 0, ..own.clone() }).is_none());
    let region = Arc::clone(&pool).lease_at_once(&own).expect("the blocks set aside");
    assert_eq!(region.rest().map(|(_, room)| room >= 512), Some(true));
    drop((region, reserved));
    assert_eq!(pool.room().reserved, ByteCount(0));
}

#[test]
fn a_group_lies_in_one_run_or_in_the_longest_ones_there_are() {
    let pool = pool();
    let group = |left: u64| {
        let ask = ask(Rank::Compaction, 1, Some(left * BLOCK as u64), 0);
        Arc::clone(&pool).lease_group(&ask, ByteCount(0)).expect("blocks")
    };
    let room = |region: &Region| region.rest().map(|(_, room)| u64::from(room));
    let all = pool.room().for_puts.0 / BLOCK as u64;
    let whole = group(all * 3 / 4);
    assert!(room(&whole) >= Some(all * 3 / 4));
    let rest = group(all * 3 / 4);
    assert!(room(&rest) < Some(all * 3 / 4) && room(&rest) > Some(all / 8), "{:?}", room(&rest));
    drop((whole, rest));
    assert_eq!(pool.room().for_puts.0 / BLOCK as u64, all, "all of it is free again");
}

#[test]
fn an_idle_lease_ends_where_another_writer_finds_no_space() {
    let pool = pool();
    let all = pool.room().for_puts.0;
    let lease = |rank, left| Arc::clone(&pool).lease(&ask(rank, 1, Some(left), 0));
    let idle = Arc::clone(&pool);
    let idle = idle.lease_group(&ask(Rank::Log, 1, Some(all), 0), ByteCount(0)).expect("blocks");
    assert!(lease(Rank::Log, 1).is_err(), "a file is being written");
    idle.set_idle(true);
    let other = lease(Rank::Log, 1).expect("blocks that the group does not use");
    assert_eq!(idle.rest(), None);
    drop((idle, other));
    assert_eq!(pool.room().for_puts.0, all);
}

#[test]
fn a_log_that_is_made_ahead_leaves_as_much_as_it_takes() {
    let pool = pool();
    let free = || pool.room().for_puts.0 / BLOCK as u64;
    let all = free();
    let spare = |blocks: u64| {
        let left = Some(blocks * BLOCK as u64);
        Arc::clone(&pool).lease_spare(&ask(Rank::Log, blocks as u32, left, 0))
    };
    assert!(spare(all).is_none() && spare(all / 2 + 1).is_none());
    let mut held = Vec::new();
    while let Some(region) = spare((free() / 3).max(1)) {
        let taken = region.rest().map_or(0, |(_, room)| u64::from(room));
        assert!(free() >= taken, "{taken} blocks were taken, and {} are left", free());
        held.push(region);
    }
    assert!(held.len() > 3 && free() > 0, "{} leases leave {}", held.len(), free());
    let rest = ask(Rank::Log, free() as u32 / 2, None, 0);
    assert!(Arc::clone(&pool).lease_at_once(&rest).is_some(), "a log that goes on takes it all");
}

/// Files under one reservation, written in turns, while others have taken all else.
struct Turns {
    pool: Arc<PlainPool>,
    reserved: Reserved,
    /// Blocks of the largest file, and those that may still be written under the reservation.
    largest: u64,
    left: u64,
    /// Of each file, its region and the bytes that it may still come to take.
    files: Vec<(Option<Region>, u64)>,
}

impl Turns {
    /// A few blocks of a file, which then may be done.
    fn write(&mut self, file: usize, random: &mut Random) {
        let (region, may_take) = &mut self.files[file];
        let blocks = random.random_range(1..40).min(*may_take).min(self.left);
        if blocks > 0 {
            let room = region.as_ref().and_then(Region::rest).map_or(0, |(_, room)| room);
            if room == 0 {
                let left = (*may_take).min(self.left) * BLOCK as u64;
                let ask = ask(Rank::Compaction, 1, Some(left), self.reserved.id());
                *region = None;
                *region = Some(Arc::clone(&self.pool).lease(&ask).expect("the blocks set aside"));
            }
            let claimed = region.as_ref().and_then(|region| region.claim(blocks as u32));
            let claimed = u64::from(claimed.expect("a region that is not full").1);
            (*may_take, self.left) = (*may_take - claimed, self.left - claimed);
        }
        if *may_take == 0 || random.random_ratio(1, 30) {
            (*region, *may_take) = (None, 0);
        }
    }

    fn write_all(&mut self, random: &mut Random) {
        while self.left > 0 {
            let open = |files: &[(Option<Region>, u64)]| {
                files.iter().filter(|(_, may_take)| *may_take > 0).count() as u32
            };
            let file = random.random_range(0..self.files.len());
            if self.files[file].1 == 0 {
                let (others, size) = (open(&self.files), ByteCount(self.largest * BLOCK as u64));
                if others > 0 && !self.reserved.admits(others + 1, size) {
                    continue;
                }
                self.files[file].1 = self.largest.min(self.left);
            }
            self.write(file, random);
        }
    }
}

#[test]
fn files_that_are_admitted_find_all_that_was_reserved_however_they_take_turns() {
    let tracks = Tracks { blocks: 24, overlap: 2 };
    let mut admitted = 0;
    for seed in test_seeds(60) {
        let mut random = Random::seeded(seed);
        let geometry = match seed % 2 {
            0 => Geometry::plain(ByteCount::mib(MIB)),
            _ => Geometry::tracks(ByteCount::mib(2 * MIB), tracks),
        };
        let pool = pool_on(geometry, Some(Fit::ALL[seed as usize % Fit::ALL.len()]));
        let (left, largest) = (random.random_range(100..500), random.random_range(20..200));
        let bytes = ByteCount(left * BLOCK as u64);
        let reserved = Arc::clone(&pool).reserve(Rank::Compaction, bytes).expect("room");
        let files = random.random_range(2..5);
        let size = ByteCount(largest * BLOCK as u64);
        admitted += u32::from(reserved.admits(files, size));
        // Another writer takes all that is not set aside, down to the last block.
        let others = ask(Rank::Compaction, 1, Some(random.random_range(1..1 << 20)), 0);
        let _others: Vec<Region> =
            std::iter::from_fn(|| Arc::clone(&pool).lease_at_once(&others)).collect();
        assert!(!reserved.admits(20, ByteCount::mib(1)), "nothing is left");
        let files = (0..files).map(|_| (None, 0)).collect();
        Turns { pool, reserved, largest, left, files }.write_all(&mut random);
    }
    assert!(admitted > 40, "{admitted} times several files were admitted");
}

#[test]
fn what_lies_behind_the_stretches_of_the_journal_is_given_to_tables() {
    let pool = pool_on(Geometry::plain(ByteCount::mib(MIB)), Some(Fit::Best));
    let journal = u64::from(journal_zones(0, STRETCH)) * u64::from(STRETCH);
    let tail = 40;
    // All but the stretches that the journal may need, which lie at the front, and a bit of the
    // next one.
    let start = u64::from(STRETCH) + journal + tail;
    let end = MIB * 256;
    pool.state.lock().free.take(start..end);
    assert_eq!(pool.state.lock().available(Rank::Compaction, 0), tail);
    let all = ask(Rank::Compaction, 1, Some(u64::MAX >> 1), 0);
    let region = Arc::clone(&pool).lease_at_once(&all).expect("the available blocks");
    let (first, blocks) = region.rest().expect("a lease");
    assert_eq!((first.block(), u64::from(blocks)), (start - tail, tail));
}

#[test]
fn no_block_behind_a_device_is_given_out_whatever_its_size() {
    let tracks = Tracks { blocks: 24, overlap: 2 };
    for more in [1, 100, 255] {
        let size = ByteCount(2 * MIB * 256 * BLOCK as u64 + more * BLOCK as u64);
        for geometry in [Geometry::plain(size), Geometry::tracks(size, tracks)] {
            let end = geometry.blocks();
            for fit in [None, Some(Fit::Best)] {
                let pool = pool_on(geometry.clone(), fit);
                let all = ask(Rank::Compaction, 1, Some(u64::MAX >> 1), 0);
                let regions: Vec<Region> =
                    std::iter::from_fn(|| Arc::clone(&pool).lease_at_once(&all)).collect();
                let ends = regions.iter().filter_map(Region::rest);
                let last = ends.map(|(first, blocks)| first.block() + u64::from(blocks)).max();
                assert_eq!(last, Some(end), "{more} blocks more, {fit:?}");
                assert_eq!(pool.room().capacity.0 % BLOCK as u64, 0);
            }
        }
    }
}
