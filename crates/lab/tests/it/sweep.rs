//! Sweeps: the n-th request of each kind fails, on each device of a store, in a fixed life of the
//! whole engine: puts, range deletes, ingests, transactions, operands, flushes, compactions, drops
//! of key spaces, checkpoints and openings. `life` says what must hold then.
//!
//! An ordinary run takes [`SAMPLE`] numbers n of each kind, in equal steps. A later round begins
//! with another number, so `cargo xtask soak sweeps` goes through all of them.

mod life;
mod place;

use std::collections::BTreeSet;

use terrace_env::{runner, test_seeds};

use life::Life;
use place::{Fault, Kind, Place};

/// Lives of one fault on one device in an ordinary run.
const SAMPLE: u64 = 12;

/// Lives one life, with a fault after `spared` requests; the number of steps that have failed.
fn live_with(
    kind: Kind,
    device: usize,
    fault: Fault,
    spared: Option<u64>,
) -> (Result<u32, String>, u64) {
    runner::simulate(1, || {
        let place = Place::new(kind);
        let before = place.count(fault, device);
        if let Some(spared) = spared {
            place.arm(fault, device, spared);
        }
        let lived = Life::live(&place, kind);
        (lived, place.count(fault, device) - before)
    })
}

/// Sweeps one place: each fault of each device, at a sample of requests.
fn sweep(kind: Kind) {
    let (mut lives, mut failed, mut wrong) = (0, 0, Vec::new());
    for device in 0..kind.devices() {
        for fault in Fault::of(kind, device) {
            let (whole, requests) = live_with(kind, device, fault, None);
            assert_eq!(whole, Ok(0), "{kind:?}: a life without faults");
            let step = (requests / SAMPLE).max(1);
            let (mut of_fault, mut noticed) = (0, 0);
            // After `step` rounds, all requests have failed once.
            let firsts: BTreeSet<u64> = test_seeds(1).map(|round| round % step).collect();
            for first in firsts {
                for spared in (first..requests).step_by(step as usize) {
                    let (lived, _) = live_with(kind, device, fault, Some(spared));
                    of_fault += 1;
                    match lived {
                        Ok(steps) => noticed += u64::from(steps > 0),
                        Err(error) => wrong.push(format!(
                            "device {device}, {fault:?} after {spared} requests: {error}"
                        )),
                    }
                }
            }
            println!("{kind:?} {device} {fault:?}: {noticed} of {of_fault} of {requests} noticed");
            lives += of_fault;
            failed += noticed;
        }
    }
    assert!(wrong.is_empty(), "{kind:?}: {} of {lives}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(failed > 0, "{kind:?}: no fault was noticed in {lives} lives");
}

#[test]
fn the_nth_request_of_a_zoned_drive_fails_and_nothing_is_lost() {
    sweep(Kind::Zoned);
}

#[test]
fn the_nth_request_of_a_drive_or_its_log_device_fails_and_nothing_is_lost() {
    sweep(Kind::LogDevice);
}

#[test]
fn the_nth_request_of_a_drive_or_its_offload_device_fails_and_nothing_is_lost() {
    sweep(Kind::Offload);
}

#[test]
fn the_nth_request_of_a_plain_drive_fails_and_nothing_is_lost() {
    sweep(Kind::Plain);
}

#[test]
fn the_nth_request_of_raw_tracks_fails_and_nothing_is_lost() {
    sweep(Kind::Tracks);
}

#[test]
fn the_nth_operation_of_a_directory_fails_and_nothing_is_lost() {
    sweep(Kind::Directory);
}
