//! One run of the crash test with several writers; the parent module lists its steps.
//!
//! Each writer numbers its batches from 1. A batch puts its number under every key of its writer.
//! So the values that are found tell the newest batch, and whether it is there as a whole. After a
//! cut this number must be at least that of the writer's last synced batch, and at most that of the
//! last batch that it had begun.
//!
//! The store must be empty at the start.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use terrace::{Batch, Db, Durability};
use terrace_env::random::{Random, Rng};
use terrace_env::runner;

use super::super::life::Setup;
use super::medium::{Harm, Medium};

const WRITERS: usize = 5;
const KEYS: u8 = 3;
const BATCHES: u64 = 50;
/// Number of refusals after which a writer gives up.
const REFUSALS_MAX: u32 = 4;
/// In a simulation, about as long as a run takes.
const RUN_MICROS: u64 = 20_000;

/// Events of a run; a run without events proves nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// Writes that were refused.
    pub refused: u64,
    /// Refusals of a store that had stopped that were lifted by resuming.
    pub resumed: u64,
    /// Writes that were acknowledged.
    pub acked: u64,
    /// Groups that they were written in.
    pub groups: u64,
    /// Batches that were acknowledged as synced when the power was cut.
    pub synced: u64,
}

impl Met {
    /// The sums of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            refused: self.refused + other.refused,
            resumed: self.resumed + other.resumed,
            acked: self.acked + other.acked,
            groups: self.groups + other.groups,
            synced: self.synced + other.synced,
        }
    }
}

/// A writer's knowledge of its batches, by number.
#[derive(Default)]
struct Known {
    synced: AtomicU64,
    acked: AtomicU64,
    begun: AtomicU64,
}

/// The newest batch of each writer that some promise is about.
type Numbers = [u64; WRITERS];

/// Promises that held when the power was cut.
struct Promise {
    least: Numbers,
    most: Numbers,
}

fn numbers(known: &[Arc<Known>; WRITERS], of: impl Fn(&Known) -> &AtomicU64) -> Numbers {
    std::array::from_fn(|writer| of(&known[writer]).load(Ordering::SeqCst))
}

fn key(writer: usize, key: u8) -> Vec<u8> {
    format!("writer{writer}/key{key}").into_bytes()
}

fn value(number: u64, key: u8) -> Vec<u8> {
    let mut value = number.to_le_bytes().to_vec();
    value.resize(150 + usize::from(key) * 70, number as u8);
    value
}

/// Writes until all is written, or the store refuses too often.
fn write(db: &Db, known: &Known, writer: usize, random: &mut Random) -> Met {
    let (mut met, mut refusals) = (Met::default(), 0);
    for number in 1..=BATCHES {
        let mut batch = Batch::new();
        for at in 0..KEYS {
            batch.put(&key(writer, at), &value(number, at));
        }
        let durabilities = [Durability::Gathered, Durability::Written, Durability::Synced];
        let durability = durabilities[random.random_range(0..3)];
        known.begun.store(number, Ordering::SeqCst);
        if db.write_with(batch, durability).is_ok() {
            met.acked += 1;
            known.acked.store(number, Ordering::SeqCst);
            if durability == Durability::Synced {
                known.synced.store(number, Ordering::SeqCst);
            }
            continue;
        }
        met.refused += 1;
        refusals += 1;
        if refusals == REFUSALS_MAX {
            break;
        }
        if writer == 0 && db.resume().is_ok() {
            met.resumed += 1;
        } else {
            runner::sleep(Duration::from_micros(random.random_range(1..2_000)));
        }
    }
    met
}

/// Why it is not known which batches are there.
enum Unknown {
    /// A read failed.
    Unread(String),
    /// A batch is there in part, which no harm excuses.
    Torn(String),
}

impl Display for Unknown {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (Self::Unread(reason) | Self::Torn(reason)) = self;
        f.write_str(reason)
    }
}

/// Each writer's newest batch that is found.
fn found(db: &Db) -> Result<Numbers, Unknown> {
    let mut numbers = Numbers::default();
    for (writer, number) in numbers.iter_mut().enumerate() {
        let mut found = Vec::new();
        for at in 0..KEYS {
            let read = db.get(&key(writer, at));
            found.push(read.map_err(|error| Unknown::Unread(error.to_string()))?);
        }
        let first = found[0].as_ref();
        *number = first.map_or(0, |value| u64::from_le_bytes(*value.first_chunk().expect("long")));
        for (at, found) in (0..KEYS).zip(&found) {
            let expected = (*number > 0).then(|| value(*number, at));
            if found.as_deref() != expected.as_deref() {
                let torn = format!("writer {writer}: batch {number} in part, at key {at}");
                return Err(Unknown::Torn(torn));
            }
        }
    }
    Ok(numbers)
}

fn hold_against(what: &str, found: Numbers, least: Numbers, most: Numbers) -> Result<(), String> {
    for writer in 0..WRITERS {
        let (least, most, found) = (least[writer], most[writer], found[writer]);
        if !(least..=most).contains(&found) {
            return Err(format!(
                "{what}, writer {writer}: expected a batch from {least} to {most}, found {found}"
            ));
        }
    }
    Ok(())
}

/// Cuts the power of a copy, and notes the promises made by then. The synced writes are read before
/// the cut and the begun ones after it, because writers go on meanwhile.
fn cut(medium: &Medium, known: &[Arc<Known>; WRITERS], random: &mut Random) -> (Medium, Promise) {
    let least = numbers(known, |known| &known.synced);
    let after = medium.cut(random);
    (after, Promise { least, most: numbers(known, |known| &known.begun) })
}

/// Opens the store after a cut, and compares its contents with the promises.
fn judge(medium: &Medium, promise: &Promise, setup: &Setup) -> Result<(), String> {
    let db = medium.open(setup).map_err(|error| format!("opening after the cut: {error}"))?;
    let found = found(&db).map_err(|error| format!("reading after the cut: {error}"))?;
    hold_against("after the cut", found, promise.least, promise.most)?;
    db.close().map_err(|error| format!("closing after the cut: {error}"))?;
    let problems = medium.problems();
    if problems.is_empty() { Ok(()) } else { Err(format!("check after the cut: {problems:?}")) }
}

/// Lets a crowd write while `harm` strikes, and cuts the power once amid that and once at the end.
/// An `Err` names the lost, torn or invented write.
pub fn run(medium: &Medium, setup: &Setup, harm: Harm, random: &mut Random) -> Result<Met, String> {
    let db = medium.open(setup).map_err(|error| format!("a medium without faults: {error}"))?;
    let known: [Arc<Known>; WRITERS] = std::array::from_fn(|_| Arc::default());
    medium.harm(harm, random);
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (db, known, mut random) = (db.clone(), known[writer].clone(), random.fork());
            runner::spawn("writer", move || write(&db, &known, writer, &mut random))
        })
        .collect();
    runner::sleep(Duration::from_micros(random.random_range(0..RUN_MICROS)));
    let amid = cut(medium, &known, random);
    let mut met = Met::default();
    for writer in writers {
        met = met.and(writer.join());
    }
    let (acked, begun) = (numbers(&known, |k| &k.acked), numbers(&known, |k| &k.begun));
    medium.heal();
    match found(&db) {
        Ok(found) => hold_against("before the cut", found, acked, begun)?,
        // A directory may have lost its power for good.
        Err(Unknown::Unread(_)) if matches!(harm, Harm::Lasting(_)) => {}
        Err(unknown) => return Err(unknown.to_string()),
    }
    met.groups = db.stats().groups;
    let end = cut(medium, &known, random);
    met.synced = end.1.least.iter().sum();
    // Where the store has stopped, closing says so.
    let _ = db.close();
    for (when, (medium, promise)) in [("amid", amid), ("at the end", end)] {
        judge(&medium, &promise, setup).map_err(|wrong| format!("cut {when}: {wrong}"))?;
    }
    Ok(met)
}
