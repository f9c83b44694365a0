//! Replays on emulated drives alone, and devices that a replay must find to differ.

use std::io;

use terrace_env::{ZoneId, test_seeds};
use terrace_zone::{
    Access, Device, DeviceError, DeviceLayer, Emulator, Geometry, Op, Request, Ticket, ZoneReport,
    ZoneState,
};

use super::{GUEST_STEPS, Model, Raw, Replay, assert_met};
use crate::geometries;

#[test]
fn a_drive_in_memory_and_an_image_agree() {
    let dir = tempfile::tempdir().unwrap();
    for (number, geometry) in geometries::all().into_iter().enumerate() {
        let memory = Emulator::in_memory(geometry.clone(), 1).unwrap();
        let fails = geometry.zones > 12;
        let path = dir.path().join(number.to_string());
        let uuid = terrace_env::Uuid([1; 16]);
        let image = Emulator::create_image(&path, geometry.clone(), uuid).unwrap().unsynced();
        let fail = |zone, state| {
            memory.set_zone_condition(zone, state).unwrap();
            image.set_zone_condition(zone, state).unwrap();
        };
        let replay = Replay::new(&memory, &image, Model::Nvme, None, 1);
        let replay = if fails { replay.failing(&fail) } else { replay };
        let tally = replay.run(3000).unwrap();
        assert_met(&tally, &geometry);
        let failed = ["ReadOnly", "Offline"].map(|state| format!("zone turned {state}"));
        assert_eq!(failed.iter().any(|failed| tally.contains_key(failed)), fails, "{tally:#?}");
        drop(image);
        let image = Emulator::open_image(&path, Access::ReadOnly).unwrap();
        let states = |device: &Emulator| device.report(ZoneId(0), geometry.zones).unwrap();
        let full = |device: &Emulator| {
            states(device).iter().filter(|report| report.state == ZoneState::Full).count()
        };
        assert_eq!(full(&memory), full(&image));
    }
}

/// The shapes of the zoned devices of `cargo xtask guest`, and whether their zones can fail.
fn guest_shapes() -> [(Geometry, bool); 4] {
    let zones = |logical_block, zone_size, zone_capacity, zones| Geometry {
        logical_block,
        physical_block: logical_block,
        zone_size,
        zone_capacity,
        zones,
        max_open: Some(8),
        max_active: Some(12),
        ..geometries::plain()
    };
    let conventional = std::iter::once(0..4).collect();
    let nvme = zones(4096, 256, 192, 96);
    let null_blk = Geometry { conventional, ..zones(4096, 256, 256, 96) };
    let scsi = Geometry { max_active: None, ..null_blk.clone() };
    [(nvme, false), (scsi, false), (null_blk, true), (zones(512, 4096, 2048, 64), true)]
}

#[test]
fn a_replay_meets_every_rule_on_shapes_of_block_devices() {
    for (geometry, fails) in guest_shapes() {
        for seed in test_seeds(3) {
            let drive = || Emulator::in_memory(geometry.clone(), 1).unwrap();
            let (one, other) = (drive(), drive());
            let fail = |zone, state| {
                one.set_zone_condition(zone, state).unwrap();
                other.set_zone_condition(zone, state).unwrap();
            };
            let replay = Replay::new(&one, &other, Model::Nvme, None, seed);
            let replay = if fails { replay.failing(&fail) } else { replay };
            let tally = replay.run(GUEST_STEPS).unwrap();
            println!("seed {seed}");
            assert_met(&tally, &geometry);
        }
    }
}

/// Rules that a device can break.
#[derive(Clone, Copy, Debug)]
enum Lie {
    Report,
    Bytes,
    Finish,
}

struct Liar(Emulator, Lie);

impl DeviceLayer for Liar {
    fn below(&self) -> &dyn Device {
        &self.0
    }

    fn report(&self, first: ZoneId, count: u32) -> Result<Vec<ZoneReport>, DeviceError> {
        let mut reports = self.0.report(first, count)?;
        if matches!(self.1, Lie::Report)
            && let Some(report) = reports.iter_mut().find(|one| one.state == ZoneState::Closed)
        {
            report.state = ZoneState::ImplicitlyOpen;
        }
        Ok(reports)
    }

    fn submit(&self, request: Request) -> Ticket {
        let op = match request.op {
            Op::Finish(_) if matches!(self.1, Lie::Finish) => Op::Flush,
            Op::Write { lba, mut data, fua } if matches!(self.1, Lie::Bytes) => {
                data[100] ^= 1;
                Op::Write { lba, data, fua }
            }
            op => op,
        };
        self.0.submit(Request { op, cause: request.cause })
    }
}

/// Each lie, other limits, and a device that takes requests without a check, must be found.
#[test]
fn a_replay_finds_devices_that_differ() {
    let geometry = geometries::odd();
    let drive = || Emulator::in_memory(geometry.clone(), 1).unwrap();
    for lie in [Lie::Report, Lie::Bytes, Lie::Finish] {
        for model in [Model::Nvme, Model::Zbc, Model::NullBlk] {
            let found = Replay::new(&drive(), &Liar(drive(), lie), model, None, 1).run(3000);
            found.expect_err(&format!("{lie:?} on {model:?}"));
        }
    }
    let taken: Raw<'_> = &|_: &Op| Ok(());
    let (one, other) = (drive(), drive());
    let found = Replay::new(&one, &other, Model::Nvme, Some(taken), 1).run(3000).unwrap_err();
    assert!(found.contains("without a check: expected Refused"), "{found}");
    let refused: Raw<'_> = &|_: &Op| Err(io::ErrorKind::Other.into());
    let (one, other) = (drive(), drive());
    Replay::new(&one, &other, Model::Nvme, Some(refused), 1).run(3000).expect_err("full zones");
}

#[test]
fn a_seed_gives_one_sequence() {
    let run = |seed| {
        let drive = || Emulator::in_memory(geometries::odd(), 1).unwrap();
        Replay::new(&drive(), &drive(), Model::Nvme, None, seed).run(1000).unwrap()
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}
