//! Random requests to a drive in memory. After each, the power is cut in a copy, and an oracle that
//! knows the possible contents of each block reads the copy.
//!
//! All requests have been waited for. The oracle does not tell a destroyed block of shingled tracks
//! from one that was never written. It must find out a drive that lies about flushes or forced
//! writes.

use std::collections::BTreeSet;

use terrace_env::random::{Random, Rng};
use terrace_env::{Cause, IoBuf, Lba, ZoneId, test_seeds};
use terrace_zone::{Device, Emulator, Geometry, Op, PowerCut, ZoneState, ZoneType, conformance};

const CAUSE: Cause = Cause::Client;

/// Contents and states of a zone that are allowed after a cut. All requests have been waited for.
#[derive(Clone, Default)]
struct Zone {
    /// The pointer is here or further.
    floor: u64,
    /// Of each written block: its byte, and whether it may be lost.
    blocks: Vec<(u8, bool)>,
    reset: bool,
    finished: bool,
    may_be_finished: bool,
    /// Whether the zone was finished after the reset.
    refinished: bool,
    /// The possible contents of each block of a conventional zone; the newest last.
    versions: Vec<Vec<u8>>,
}

impl Zone {
    fn written(&mut self, bytes: impl Iterator<Item = u8>, forced: bool) {
        if self.reset {
            *self = Self::default();
        }
        self.blocks.extend(bytes.map(|byte| (byte, !forced)));
        if forced {
            self.floor = self.blocks.len() as u64;
        }
    }

    fn finish(&mut self) {
        if self.reset {
            self.refinished = true;
        } else {
            self.may_be_finished = true;
        }
    }

    fn flushed(&mut self) {
        if self.reset {
            *self = Self { finished: self.refinished, ..Self::default() };
        }
        self.floor = self.blocks.len() as u64;
        self.blocks.iter_mut().for_each(|(_, volatile)| *volatile = false);
        self.finished |= self.may_be_finished;
        self.may_be_finished = false;
        self.versions.iter_mut().for_each(|versions| drop(versions.drain(..versions.len() - 1)));
    }

    fn check_conventional(&self, cut: PowerCut, read: impl Fn(u64) -> u8) {
        for (block, versions) in self.versions.iter().enumerate() {
            let got = read(block as u64);
            match cut {
                PowerCut::DropUnflushed => assert_eq!(got, versions[0], "block {block}"),
                PowerCut::KeepAll => assert_eq!(got, versions[versions.len() - 1]),
                _ => assert!(versions.contains(&got), "block {block}: {got} of {versions:?}"),
            }
        }
    }

    /// Checks a sequential zone. Notes which volatile changes of its state were kept.
    fn check(
        &self,
        cut: PowerCut,
        (state, capacity): (ZoneState, u64),
        pointer: Option<u64>,
        read: impl Fn(u64) -> u8,
        seen: &mut BTreeSet<(Change, bool)>,
    ) {
        let written = self.blocks.len() as u64;
        let is_full = state == ZoneState::Full;
        let is_blank = (0..8).all(|block| read(block) == 0);
        if self.reset && (state == ZoneState::Empty || self.refinished && is_full && is_blank) {
            seen.insert((Change::Reset, true));
            if self.refinished {
                assert!(is_full || cut != PowerCut::KeepAll, "a finish after a reset was lost");
                seen.insert((Change::Refinish, is_full));
            }
            return;
        }
        if self.reset {
            assert!(cut != PowerCut::KeepAll, "a reset was lost");
            seen.insert((Change::Reset, false));
        }
        assert!(!self.finished || is_full, "a finish was lost: {state:?}");
        let may_be_full = self.finished || self.may_be_finished || written == capacity;
        assert!(may_be_full || !is_full, "full, and was not finished: {written} of {capacity}");
        if self.may_be_finished && !self.finished && written < capacity {
            assert!(is_full || cut != PowerCut::KeepAll, "a finish was lost");
            seen.insert((Change::Finish, is_full));
        }
        let pointer = match pointer {
            Some(pointer) => pointer,
            None => {
                assert_eq!(state, ZoneState::Full);
                written
            }
        };
        assert!((self.floor..=written).contains(&pointer), "{} {pointer} {written}", self.floor);
        for (block, (byte, volatile)) in (0..pointer).zip(&self.blocks) {
            let firm = match cut {
                _ if !volatile => true,
                PowerCut::KeepAll => true,
                // Above the floor a prefix has no holes, unless the pointer is not known.
                PowerCut::Prefixes => block >= self.floor && state == ZoneState::Closed,
                _ => false,
            };
            assert!(!firm || read(block) == *byte, "block {block} lost, pointer {pointer}");
        }
        (pointer..pointer + 8).for_each(|block| assert_eq!(read(block), 0, "beyond the pointer"));
    }
}

/// A change of the state of a zone that a cut keeps or loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Reset,
    Finish,
    /// A finish after a reset that may be lost with it.
    Refinish,
}

/// Lie to the oracle about a request to the drive. The oracle must notice it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    SkippedFlush,
    UnforcedWrite,
}

fn work(device: &Emulator, zones: &mut [Zone], random: &mut Random, lie: Option<Lie>) {
    let geometry = device.geometry().clone();
    let step = geometry.physical_step();
    let index = random.random_range(0..zones.len());
    let (zone, model) = (ZoneId(index as u32), &mut zones[index]);
    let start = geometry.zone_start(zone).0;
    let conventional = geometry.zone_type(zone) == ZoneType::Conventional;
    match random.random_range(0..20) {
        0..14 => {
            let blocks = random.random_range(1..=3) * step;
            let at = match conventional {
                true => random.random_range(0..=geometry.zone_size(zone) - blocks),
                false if model.reset => 0,
                false => model.blocks.len() as u64,
            };
            if at == geometry.zone_size(zone) {
                return;
            }
            let block = geometry.logical_block as usize;
            let mut data = IoBuf::zeroed(blocks as usize * block);
            data.chunks_mut(block).for_each(|block| block.fill(random.random()));
            let bytes: Vec<u8> = data.iter().step_by(block).copied().collect();
            let forced = random.random_bool(0.2);
            let really = forced && lie != Some(Lie::UnforcedWrite);
            if device.write(Lba(start + at), data, really, CAUSE).is_err() {
                return;
            }
            if conventional {
                let harmed = geometry.layout.tracks().map(|tracks| tracks.harmed(at..at + blocks));
                let harmed = harmed.into_iter().flatten().take_while(|at| *at < geometry.blocks());
                let destroyed = harmed.map(|at| (at, 0));
                for (at, byte) in (at..).zip(bytes).chain(destroyed) {
                    let versions = &mut model.versions[at as usize];
                    versions.push(byte);
                    if forced {
                        versions.drain(..versions.len() - 1);
                    }
                }
            } else {
                model.written(bytes.into_iter(), forced);
            }
        }
        14 | 15 => {
            let report = device.report(zone, 1).unwrap()[0];
            if device.control(Op::Reset(zone), CAUSE).is_ok() && report.state != ZoneState::Empty {
                model.reset = true;
                model.refinished = false;
            }
        }
        16 if device.control(Op::Finish(zone), CAUSE).is_ok() => model.finish(),
        17 => {
            if lie != Some(Lie::SkippedFlush) {
                device.control(Op::Flush, CAUSE).unwrap();
            }
            zones.iter_mut().for_each(Zone::flushed);
        }
        _ => {}
    }
}

fn check(
    geometry: &Geometry,
    zones: &[Zone],
    after: &Emulator,
    cut: PowerCut,
    seen: &mut BTreeSet<(Change, bool)>,
) {
    let mut active = 0;
    for (index, model) in zones.iter().enumerate() {
        let zone = ZoneId(index as u32);
        let report = after.report(zone, 1).unwrap()[0];
        let end = geometry.zone_size(zone);
        let read = |block: u64| {
            if block >= end {
                return 0;
            }
            let block = after.read(Lba(report.start.0 + block), 1, CAUSE).unwrap();
            // A write of the test fills a block with one byte. A destroyed block counts as 0 here,
            // as one that was never written does.
            if block.iter().all(|byte| *byte == block[0]) { block[0] } else { 0 }
        };
        assert!(!report.state.is_open());
        active += u32::from(report.state.is_active());
        if geometry.zone_type(zone) == ZoneType::Conventional {
            model.check_conventional(cut, read);
            continue;
        }
        let pointer = report.write_pointer.0.wrapping_sub(report.start.0);
        let state = (report.state, geometry.zone_capacity(zone));
        let pointer = report.state.has_pointer().then_some(pointer);
        model.check(cut, state, pointer, read, seen);
    }
    assert!(geometry.max_active.is_none_or(|max| active <= max), "{active} zones are active");
}

/// Returns the changes that cuts have kept, and those that they have lost.
fn run(seed: u64, geometry: &Geometry, lie: Option<Lie>) -> BTreeSet<(Change, bool)> {
    let mut seen = BTreeSet::new();
    let mut random = Random::seeded(seed);
    let device = Emulator::in_memory(geometry.clone(), seed).unwrap();
    let mut zones: Vec<Zone> = geometry
        .zone_ids()
        .map(|zone| Zone {
            versions: match geometry.zone_type(zone) {
                ZoneType::Conventional => vec![vec![0]; geometry.zone_size(zone) as usize],
                ZoneType::Sequential => Vec::new(),
            },
            ..Zone::default()
        })
        .collect();
    for _ in 0..400 {
        work(&device, &mut zones, &mut random, lie);
        let cut = PowerCut::any(&mut random);
        let after = device.snapshot().unwrap().cut(cut, &mut random.fork());
        check(geometry, &zones, &after, cut, &mut seen);
    }
    seen
}

#[test]
fn after_any_cut_each_block_holds_what_the_rules_allow() {
    for seed in test_seeds(6) {
        let mut seen = BTreeSet::new();
        for (shape, geometry) in conformance::geometries() {
            eprintln!("seed {seed}, {shape}");
            seen.extend(run(seed, &geometry, None));
        }
        for change in [Change::Reset, Change::Finish, Change::Refinish] {
            for kept in [true, false] {
                assert!(seen.contains(&(change, kept)), "seed {seed}: {change:?}, kept: {kept}");
            }
        }
    }
}

#[test]
fn the_oracle_finds_out_a_drive_that_lies() {
    for lie in [Lie::SkippedFlush, Lie::UnforcedWrite] {
        for (shape, geometry) in conformance::geometries() {
            let found = std::panic::catch_unwind(|| run(1, &geometry, Some(lie)));
            assert!(found.is_err(), "{lie:?} was not found on: {shape}");
        }
    }
}
