//! The burst of `terrace demo`, a series of puts during which the power is cut: [`run`] starts an
//! actor that makes one put after the other, and cuts the drive after 200 to 600 ms: its power, or
//! the device off from the host. One put in [`SYNC_EVERY`] is synced. The first put that fails ends
//! the burst; its error is taken for the cut.
//!
//! After the recovery, [`recovered`] checks that the key space holds a prefix of the puts without a
//! gap: 0, 1, 2 and so on, each with its value. [`Burst::lost`] compares the length of this prefix
//! with the puts up to the last synced one, which must be there.

use std::time::Duration;

use terrace::{Batch, Bounds, Db, Durability, KeySpace};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::runner;

use super::place::Place;
use crate::escape::Escaped;
use crate::failure::{Failure, Kind};

/// One put in this number is synced.
const SYNC_EVERY: u64 = 8;

/// The largest value of the burst.
const VALUE_MAX: usize = 8192;

/// How far the writer came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Burst {
    /// Puts that were acknowledged.
    pub(super) acknowledged: u64,
    /// Puts that were acknowledged as durable.
    pub(super) synced: u64,
}

impl Burst {
    /// How many of the durable ones are not among the first `recovered`.
    pub(super) fn lost(self, recovered: u64) -> u64 {
        self.synced.saturating_sub(recovered)
    }
}

/// Writes entries 0, 1, 2 ... to a key space while the drive is cut.
pub(super) fn run(
    db: &Db,
    space: &KeySpace,
    drive: &Place,
    random: &mut Random,
) -> Result<Burst, Failure> {
    let writer = {
        let (db, space) = (db.clone(), space.clone());
        runner::spawn("burst", move || write(&db, &space))
    };
    runner::sleep(Duration::from_millis(random.random_range(200..600)));
    drive.cut(random)?;
    Ok(writer.join())
}

fn write(db: &Db, space: &KeySpace) -> Burst {
    let mut burst = Burst::default();
    loop {
        let number = burst.acknowledged;
        let durability = match number % SYNC_EVERY {
            0 => Durability::Synced,
            _ => Durability::Gathered,
        };
        let mut batch = Batch::new();
        batch.key_space(space).put(&key(number), &value(number));
        // Any error means that the power is gone: the drive answers nothing else from then on.
        if db.write_with(batch, durability).is_err() {
            return burst;
        }
        burst.acknowledged += 1;
        if durability == Durability::Synced {
            burst.synced = burst.acknowledged;
        }
    }
}

/// Counts the recovered entries of a burst. They must be its beginning: entries 0 to some number,
/// whole.
pub(super) fn recovered(space: &KeySpace) -> Result<u64, Failure> {
    let mut count = 0;
    for entry in space.scan(Bounds::all())? {
        let (found, contents) = entry?;
        if found != key(count) || contents != value(count) {
            let (expected, found) = (key(count), Escaped(&found));
            let expected = Escaped(&expected);
            return Err(Failure::new(
                Kind::Corruption,
                format!("after the power cut: expected `{expected}` whole, found `{found}`"),
            ));
        }
        count += 1;
    }
    Ok(count)
}

fn key(number: u64) -> Vec<u8> {
    format!("burst/{number:012}").into_bytes()
}

fn value(number: u64) -> Vec<u8> {
    let mut random = Random::seeded(number);
    let mut value = vec![0; random.random_range(0..VALUE_MAX)];
    random.fill_bytes(&mut value);
    value
}
