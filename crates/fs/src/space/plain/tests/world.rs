//! Random requests to the pool of a device without zones. A list of the blocks that are taken, and
//! the pool's audit, check that no block is given to two, that none is forgotten, that on shingled
//! tracks no write harms one, and that blocks of a region where the medium has failed are not given
//! out again. Another test gives the audit a list that is wrong and expects it to tell.

use std::ops::Range;
use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::store::Rank;
use terrace_env::{ByteCount, ZoneId, test_seeds};
use terrace_policy::Fit;
use terrace_zone::{Geometry, Tracks};

use super::super::{PlainPool, Used};
use super::{MIB, ask, pool, pool_on};
use crate::catalog::Extent;
use crate::journal::JournalSpace;
use crate::medium::STRETCH;
use crate::space::{Pool, Region, Reserved, Share};

const BLOCKS: usize = MIB as usize * 256;

/// The pool, and a model of the requests that it has been given so far.
struct World {
    pool: Arc<PlainPool>,
    /// If the device has shingled tracks.
    tracks: Option<Tracks>,
    /// Of each block, whether it is taken: by a claim, the journal or the superblock.
    taken: Vec<bool>,
    /// Of each block, whether the medium has failed in its region.
    failed: Vec<bool>,
    /// Each with its first block.
    regions: Vec<(Region, u64)>,
    files: Vec<(Extent, Share)>,
    journal: Vec<ZoneId>,
    reserved: Vec<Reserved>,
    random: Random,
}

impl World {
    fn new(seed: u64) -> Self {
        Self::of(pool(), None, seed)
    }

    fn of(pool: Arc<PlainPool>, tracks: Option<Tracks>, seed: u64) -> Self {
        let mut taken = vec![false; BLOCKS];
        taken[..(pool.unit * STRETCH) as usize].fill(true);
        let failed = vec![false; BLOCKS];
        let (regions, files, journal, reserved) = Default::default();
        let random = Random::seeded(seed);
        Self { pool, tracks, taken, failed, regions, files, journal, reserved, random }
    }

    /// Blocks are written: no taken block may be harmed.
    fn write(&self, written: Range<u64>) {
        let Some(tracks) = self.tracks else { return };
        let harmed = tracks.harmed(written.clone());
        for block in harmed.start..harmed.end.min(BLOCKS as u64) {
            assert!(!self.taken[block as usize], "{written:?} harms block {block}");
        }
    }

    fn mark(&mut self, start: u64, blocks: u64, taken: bool) {
        for block in start..start + blocks {
            let was = std::mem::replace(&mut self.taken[block as usize], taken);
            assert_ne!(was, taken, "block {block} is whose?");
            assert!(!taken || !self.failed[block as usize], "block {block} has failed");
        }
    }

    fn lease(&mut self) {
        let ranks = [Rank::Compaction, Rank::UrgentLog, Rank::Flush, Rank::Log];
        let rank = ranks[self.random.random_range(0..4)];
        let least = self.random.random_range(1..200);
        let left = self.random.random_bool(0.5).then(|| self.random.random_range(0..3 << 20));
        let own = self.random.random_bool(0.3).then(|| self.reserved.last()).flatten();
        let ask = ask(rank, least, left, own.map_or(0, Reserved::id));
        let pool = Arc::clone(&self.pool);
        let region = match self.random.random_range(0..4) {
            0 => pool.lease_group(&ask, ByteCount(0)),
            _ => pool.lease_at_once(&ask),
        };
        let Some(region) = region else { return };
        let (first, room) = region.rest().expect("a lease of its own");
        assert!(room >= least, "{room} of {least} blocks");
        region.set_idle(self.random.random_bool(0.1));
        self.regions.push((region, first.block()));
    }

    fn claim(&mut self) {
        if self.regions.is_empty() {
            return;
        }
        let region = self.random.random_range(0..self.regions.len());
        let wanted = self.random.random_range(1..150);
        let Some((first, blocks)) = self.regions[region].0.claim(wanted) else { return };
        assert!(blocks <= wanted);
        self.mark(first.block(), blocks.into(), true);
        self.write(first.block()..first.block() + u64::from(blocks));
        self.regions[region].0.settle(true);
        self.files.push((Extent { first, blocks, crc: None }, Share::Unsealed));
    }

    /// A file is sealed, deleted under a reader, or freed.
    fn change(&mut self) {
        if self.files.is_empty() {
            return;
        }
        let index = self.random.random_range(0..self.files.len());
        let (extent, share) = self.files[index];
        let next = match share {
            Share::Unsealed if self.random.random_bool(0.5) => Some(Share::Live),
            Share::Live if self.random.random_bool(0.3) => Some(Share::Pinned),
            _ => None,
        };
        if let Some(next) = next {
            self.pool.turn(&[extent], share, next);
            self.files[index].1 = next;
            return;
        }
        self.files.swap_remove(index);
        self.pool.free(&[extent], share);
        self.mark(extent.start(), extent.blocks.into(), false);
    }

    fn journal(&mut self) {
        if self.random.random_bool(0.5) && !self.journal.is_empty() {
            let zone = self.journal.swap_remove(0);
            self.pool.release(zone);
            self.mark(u64::from(zone.0) * u64::from(STRETCH), STRETCH.into(), false);
        } else if let Ok(zone) = self.pool.take() {
            let start = u64::from(zone.0) * u64::from(STRETCH);
            self.mark(start, STRETCH.into(), true);
            self.write(start..start + u64::from(STRETCH));
            self.journal.push(zone);
        }
    }

    fn reserve(&mut self) {
        if self.reserved.len() > 2 || self.random.random_bool(0.3) {
            self.reserved.pop();
            return;
        }
        let size = ByteCount(self.random.random_range(0..2 << 20));
        let reserved = Arc::clone(&self.pool).reserve(Rank::Flush, size);
        self.reserved.extend(reserved);
    }

    /// The medium has failed in a region. Blocks of it that were freed before may be another's now.
    fn fail(&mut self, region: Range<u64>) {
        let others = self.regions.iter().filter_map(|(other, _)| other.rest());
        let others: Vec<_> =
            others.map(|(at, left)| at.block()..at.block() + u64::from(left)).collect();
        for block in region.filter(|block| !others.iter().any(|other| other.contains(block))) {
            self.failed[block as usize] = true;
        }
    }

    fn step(&mut self) {
        match self.random.random_range(0..20) {
            0..4 => self.lease(),
            4..10 => self.claim(),
            10..15 => self.change(),
            15..17 => self.journal(),
            17 => self.reserve(),
            18 if self.regions.len() > 1 => {
                let which = self.random.random_range(0..self.regions.len());
                let (region, start) = self.regions.swap_remove(which);
                if self.random.random_ratio(1, 40)
                    && let Some((next, left)) = region.rest()
                {
                    let end = next.block() + u64::from(left);
                    self.fail(start..end);
                    region.retire();
                }
            }
            _ => {}
        }
    }

    fn problems(&self) -> Vec<String> {
        let pinned = |(_, share): &&(Extent, Share)| *share == Share::Pinned;
        let files = self.files.iter().filter(|file| !pinned(file)).copied().collect();
        self.pool.audit(&Used { journal: self.journal.clone(), files, ..Used::default() })
    }
}

#[test]
fn no_block_is_given_to_two_and_none_is_forgotten() {
    for seed in test_seeds(30) {
        let mut world = World::new(seed);
        for step in 0..2_000 {
            world.step();
            assert_eq!(world.problems(), Vec::<String>::new(), "seed {seed}, step {step}");
        }
    }
}

#[test]
fn on_shingled_tracks_no_write_harms_what_is_somebodys() {
    for (seed, fit) in test_seeds(30).zip(Fit::ALL.into_iter().cycle()) {
        let tracks = Tracks { blocks: 24, overlap: 2 };
        let geometry = Geometry::tracks(ByteCount::mib(MIB), tracks);
        let mut world = World::of(pool_on(geometry, Some(fit)), Some(tracks), seed);
        for step in 0..2_000 {
            world.step();
            assert_eq!(world.problems(), Vec::<String>::new(), "seed {seed}, step {step}");
        }
    }
}

#[test]
fn an_audit_tells_of_blocks_that_are_used_and_free_and_of_those_that_are_nobodys() {
    let mut world = World::new(1);
    while world.files.is_empty() {
        world.lease();
        world.claim();
    }
    let (extent, share) = world.files[0];
    world.pool.free(&[extent], share);
    assert!(!world.problems().is_empty(), "freed, and a file has it");
    world.files.clear();
    assert_eq!(world.problems(), Vec::<String>::new());
    world.journal.push(world.pool.take().expect("a stretch"));
    world.journal.clear();
    assert!(!world.problems().is_empty(), "an unknown stretch");
}
