//! Damages one random block on a copy of a closed store's drives, and opens the store there.
//!
//! On a zoned drive the block lies below the zone's write pointer, or anywhere in a zone without a
//! valid pointer, such as a full or conventional one. On other drives it is one that is not all
//! zeros. One of its bits is flipped, or it becomes zeros, or it gets the contents of a block that
//! is drawn likewise. The last two may leave the block as it was.
//!
//! Two outcomes are allowed: everything reads back, or the store reports corruption. Wrong data,
//! missing data, another error and a panic fail the test.
//!
//! The snapshots must be those of a closed store. Must run inside a simulation.

use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::{Cause, Lba, ZoneId};
use terrace_zone::emulator::Snapshots;
use terrace_zone::{Device, Emulator, PowerCut};

use super::history::Mismatch;
use super::life::{Life, Setup};
use super::trial::{TrialFailure, judge};

/// Fate of a damaged store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Everything reads back: the damage hit nothing that counts, or was repaired.
    Whole,
    /// The damage was reported.
    Reported,
}

/// A way to damage a block.
#[derive(Clone, Copy, Debug)]
enum Damage {
    /// One bit reads wrong.
    FlipBit,
    /// The block reads as zeros.
    Zero,
    /// The block holds the bytes of another one.
    Misdirect,
}

/// Damages one random written block of the store that `snapshots` hold, and reads it all. Must run
/// inside a simulation. An `Err` tells the fault, and the place of the damage.
pub fn damage(
    setup: &Setup,
    life: &Life,
    snapshots: &Snapshots,
    random: &mut Random,
) -> Result<Outcome, String> {
    let drives = snapshots.cut(PowerCut::KeepAll, random);
    let drive = match drives.all() {
        [drive] => drive,
        drives => &drives[random.random_range(0..drives.len())],
    };
    let kind = match random.random_range(0..10) {
        0 => Damage::Zero,
        1 => Damage::Misdirect,
        _ => Damage::FlipBit,
    };
    let lba = random_block(drive, random);
    spoil(drive, kind, lba, random);
    let all = life.history.len();
    match judge(&drives, setup, &life.history, 0, all) {
        Ok(batches) if batches == all => Ok(Outcome::Whole),
        Ok(batches) => {
            Err(format!("{kind:?} of block {lba}: {batches} of {all} batches, without a word"))
        }
        Err(TrialFailure::Store(error)) if error.is_corruption() => Ok(Outcome::Reported),
        Err(TrialFailure::State(mismatch @ (Mismatch::Key { .. } | Mismatch::Prefix { .. }))) => {
            Err(format!("{kind:?} of block {lba}: wrong data: {mismatch}"))
        }
        Err(failure) => Err(format!("{kind:?} of block {lba}: {failure}")),
    }
}

fn spoil(drive: &Emulator, kind: Damage, lba: Lba, random: &mut Random) {
    const SOUND: &str = "a medium in memory does not fail";
    let misdirected = matches!(kind, Damage::Misdirect).then(|| {
        let other = random_block(drive, random);
        drive.read(other, 1, Cause::Recovery).expect(SOUND)
    });
    let change = |block: &mut [u8]| match (kind, &misdirected) {
        (_, Some(other)) => block.copy_from_slice(other),
        (Damage::Zero, _) => block.fill(0),
        _ => {
            let bit = random.random_range(0..block.len() * 8);
            block[bit / 8] ^= 1 << (bit % 8);
        }
    };
    drive.corrupt(lba, change).expect(SOUND);
}

/// A block that holds something.
fn random_block(drive: &Emulator, random: &mut Random) -> Lba {
    if drive.geometry().layout.is_zoned() {
        random_written_block(drive, random)
    } else {
        random_filled_block(drive, random)
    }
}

/// A block below some zone's pointer.
fn random_written_block(drive: &Emulator, random: &mut Random) -> Lba {
    loop {
        let zone = ZoneId(random.next_u32() % drive.geometry().zones);
        let report = drive.report(zone, 1).expect("a zone of this drive")[0];
        let written = match report.state.has_pointer() {
            true => report.write_pointer.0 - report.start.0,
            false => report.capacity,
        };
        if written > 0 {
            return Lba(report.start.0 + random.random_range(0..written));
        }
    }
}

/// A block of a plain drive that is not all zeros.
fn random_filled_block(drive: &Emulator, random: &mut Random) -> Lba {
    loop {
        let lba = Lba(random.random_range(0..drive.geometry().blocks()));
        let block = drive.read(lba, 1, Cause::Recovery).expect("a medium in memory does not fail");
        if block.iter().any(|byte| *byte != 0) {
            return lba;
        }
    }
}
