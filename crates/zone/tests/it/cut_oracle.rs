//! Random requests to a drive in memory. After each, the power is cut in a copy, and an oracle that
//! knows the possible contents of each block reads the copy.
//!
//! All requests have been waited for. The oracle does not tell a destroyed block of shingled tracks
//! from one that was never written. It must find out a drive that lies about flushes or forced
//! writes.

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

    fn flushed(&mut self) {
        if self.reset {
            *self = Self::default();
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

    /// Checks a sequential zone; returns whether it is where the mode puts it.
    fn check(
        &self,
        cut: PowerCut,
        state: ZoneState,
        pointer: Option<u64>,
        read: impl Fn(u64) -> u8,
    ) {
        let written = self.blocks.len() as u64;
        if self.reset && state == ZoneState::Empty {
            return;
        }
        assert!(!(self.reset && cut == PowerCut::KeepAll), "a reset was lost");
        assert!(!self.finished || state == ZoneState::Full, "a finish was lost: {state:?}");
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
            }
        }
        16 if !model.reset && device.control(Op::Finish(zone), CAUSE).is_ok() => {
            model.may_be_finished = true;
        }
        17 => {
            if lie != Some(Lie::SkippedFlush) {
                device.control(Op::Flush, CAUSE).unwrap();
            }
            zones.iter_mut().for_each(Zone::flushed);
        }
        _ => {}
    }
}

fn check(geometry: &Geometry, zones: &[Zone], after: &Emulator, cut: PowerCut) {
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
        model.check(cut, report.state, report.state.has_pointer().then_some(pointer), read);
    }
    assert!(geometry.max_active.is_none_or(|max| active <= max), "{active} zones are active");
}

fn run(seed: u64, geometry: &Geometry, lie: Option<Lie>) {
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
        check(geometry, &zones, &after, cut);
    }
}

#[test]
fn after_any_cut_each_block_holds_what_the_rules_allow() {
    for seed in test_seeds(6) {
        for (shape, geometry) in conformance::geometries() {
            eprintln!("seed {seed}, {shape}");
            run(seed, &geometry, None);
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
