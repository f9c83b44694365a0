//! Zones that are reset when they are opened, while more actors write than there are leases: no
//! other actor gets such a zone meanwhile. Explored: chance, from the seed, decides which actor
//! goes on wherever a thread could be interrupted.
//!
//! Built with debug assertions only.

use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::runner::{self, JoinHandle, SimulationOptions};
use terrace_env::store::Rank;
use terrace_env::{ByteCount, test_seeds};
use terrace_fs::{Fs, OPEN_ZONES_MIN, data_zones_min};
use terrace_zone::Geometry;

use crate::drive::{formatted, mount};
use crate::full::{delete, options, table, verify};

const ZONE: u64 = 128 << 10;
const ACTORS: u16 = 6;

/// Few leases, and so few zones that each is soon written again.
fn few() -> Geometry {
    Geometry {
        max_open: Some(OPEN_ZONES_MIN + 1),
        max_active: Some(OPEN_ZONES_MIN + 1),
        ..Geometry::uniform(ByteCount(ZONE), data_zones_min((ZONE >> 12) as u32) + 12)
    }
}

/// Writes files of a stream of its own, and deletes them again.
fn write_and_delete(fs: &Fs, stream: u16, seed: u64) {
    let (mut random, mut files) = (Random::seeded(seed), Vec::new());
    for _ in 0..60 {
        let len = random.random_range(1..ZONE as usize / 2);
        match table(fs, &options(Rank::Flush, stream, None), len) {
            Ok(id) => files.push(id),
            Err(error) if error.is_space() => delete(fs, &std::mem::take(&mut files)),
            Err(error) => panic!("an actor: {error}"),
        }
        files.iter().for_each(|id| verify(fs, *id));
        if files.len() > 2 {
            delete(fs, &[files.remove(0)]);
        }
    }
}

#[test]
fn a_zone_that_is_reset_for_one_writer_goes_to_no_other_meanwhile() {
    for seed in test_seeds(20) {
        SimulationOptions::seeded(seed).explore().run(|| {
            let fs = mount(formatted(few(), seed));
            let actor = |stream| {
                let fs = Arc::clone(&fs);
                let write = move || write_and_delete(&fs, stream, seed + u64::from(stream));
                runner::spawn("a writer", write)
            };
            let actors: Vec<JoinHandle<()>> = (1..=ACTORS).map(actor).collect();
            actors.into_iter().for_each(JoinHandle::join);
            fs.wait_reclaim_idle();
            assert_eq!(fs.audit(), Vec::<String>::new());
            fs.unmount();
        });
    }
}
