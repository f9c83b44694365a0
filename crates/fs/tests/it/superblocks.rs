//! Superblocks: found, written in turn, and never silently an old one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::checksum::crc32c;
use terrace_env::random::{Random, Rng};
use terrace_env::store::StoreError;
use terrace_env::{Cause, DeviceId, Lba, ZoneId, test_seeds};
use terrace_fs::inspect::Inspector;
use terrace_fs::journal::replay;
use terrace_fs::superblock::{Placement, SuperblockArea};
use terrace_fs::{BLOCK, BlockAddr, ZoneGrid, ZonePlace, pointer};
use terrace_zone::emulator::{FaultPlan, RequestKind};
use terrace_zone::{
    Completion, Device, DeviceError, DeviceLayer, Emulator, Op, PowerCut, Request, Ticket,
    ZoneState,
};

use crate::changes::Changes;
use crate::journal_world::{make, open, shape};

fn drive(seed: u64) -> (Arc<Emulator>, Arc<dyn Device>) {
    let emulator = Arc::new(Emulator::in_memory(shape(seed), seed).expect("a possible shape"));
    let device = Arc::clone(&emulator) as Arc<dyn Device>;
    (emulator, device)
}

/// The zone of a block.
fn zone_of(at: BlockAddr, device: &Arc<dyn Device>) -> ZoneId {
    ZoneGrid::new(DeviceId::FIRST, device.geometry()).zone(at)
}

#[test]
fn an_unformatted_drive_says_so() {
    for seed in 0..4 {
        let error = replay(&drive(seed).1, false).err().expect("there is no store");
        assert!(error.to_string().contains("format the device first"), "{error}");
    }
}

#[test]
fn every_superblock_written_is_the_one_found() {
    for seed in 0..4 {
        let (_, device) = drive(seed);
        make(&device, seed);
        for round in 0..40 {
            let (mut area, mut superblock) =
                SuperblockArea::find(Arc::clone(&device)).expect("a superblock");
            superblock.options = vec![round];
            area.write(&mut superblock).expect("a write");
            let (_, found) = SuperblockArea::find(Arc::clone(&device)).expect("a superblock");
            assert_eq!(found, superblock);
        }
    }
}

#[test]
fn a_superblock_zone_that_fails_is_left_for_the_other() {
    let (emulator, device) = drive(0);
    make(&device, 0);
    let (mut area, mut superblock) =
        SuperblockArea::find(Arc::clone(&device)).expect("a superblock");
    let Placement::Log([first, _]) = superblock.placement else {
        panic!("a drive without conventional zones has a log of superblocks")
    };
    emulator
        .set_zone_condition(zone_of(first, &device), ZoneState::ReadOnly)
        .expect("a zone that fails");
    superblock.options = b"newer".to_vec();
    area.write(&mut superblock).expect("a write to the other zone");
    let (_, found) = SuperblockArea::find(Arc::clone(&device)).expect("a superblock");
    assert_eq!(found.options, b"newer");
}

#[test]
fn a_superblock_zone_that_is_left_half_full_keeps_no_active_slot() {
    let (emulator, device) = drive(0);
    make(&device, 0);
    let (mut area, mut superblock) =
        SuperblockArea::find(Arc::clone(&device)).expect("a superblock");
    emulator.set_faults(Some(FaultPlan::new(1).fail(RequestKind::Write, 0)));
    superblock.options = b"newer".to_vec();
    area.write(&mut superblock).expect("a write to the other zone");
    let reports = area.zones().into_iter().map(|zone| device.report(zone, 1).expect("a report")[0]);
    assert_eq!(reports.filter(|report| report.state.is_active()).count(), 1);
    let (_, found) = SuperblockArea::find(Arc::clone(&device)).expect("a superblock");
    assert_eq!(found.options, b"newer");
}

/// A drive whose next write succeeds, and is said to have failed.
struct Denies {
    drive: Arc<Emulator>,
    /// The ticket of that write; [`NEXT`] before it comes, 0 if none is denied.
    denied: AtomicU64,
}

const NEXT: u64 = u64::MAX;

impl DeviceLayer for Denies {
    fn below(&self) -> &dyn Device {
        &*self.drive
    }

    fn submit(&self, request: Request) -> Ticket {
        let is_write = matches!(request.op, Op::Write { .. });
        let ticket = self.drive.submit(request);
        if is_write && self.denied.load(Ordering::Relaxed) == NEXT {
            self.denied.store(ticket.0, Ordering::Relaxed);
        }
        ticket
    }

    fn wait(&self, ticket: Ticket) -> Result<Completion, DeviceError> {
        let is_denied = self.denied.load(Ordering::Relaxed) == ticket.0;
        let completion = self.drive.wait(ticket);
        if !is_denied {
            return completion;
        }
        self.denied.store(0, Ordering::Relaxed);
        // The zone takes no further write, so that the next one fails, too.
        self.drive.set_faults(Some(FaultPlan::new(1).fail(RequestKind::Write, 0)));
        let (zone, lba, operation) = (ZoneId(0), Lba(0), "write");
        Err(DeviceError::Medium { zone, lba, operation })
    }
}

#[test]
fn a_superblock_is_newer_than_one_whose_write_failed_and_reached_the_medium() {
    for change_before in [false, true] {
        let (drive, device) = drive(0);
        make(&device, 0);
        let denies = Arc::new(Denies { drive: Arc::clone(&drive), denied: AtomicU64::new(0) });
        let device = Arc::clone(&denies) as Arc<dyn Device>;
        let (mut area, mut superblock) =
            SuperblockArea::find(Arc::clone(&device)).expect("a superblock");
        if change_before {
            drive.set_faults(Some(FaultPlan::new(1).fail(RequestKind::Write, 0)));
            area.write(&mut superblock).expect("a write to the other zone");
        }
        denies.denied.store(NEXT, Ordering::Relaxed);
        superblock.options = b"refused".to_vec();
        area.write(&mut superblock).expect_err("both zones refuse the write");
        superblock.options = b"newer".to_vec();
        area.write(&mut superblock).expect("a write");
        let (_, found) = SuperblockArea::find(Arc::clone(&device)).expect("a superblock");
        assert_eq!(found.options, b"newer", "changed before: {change_before}");
    }
}

#[test]
fn a_format_is_preferred_to_an_older_store_elsewhere() {
    let (emulator, device) = drive(0);
    make(&device, 0);
    let (_, old) = SuperblockArea::find(Arc::clone(&device)).expect("a superblock");
    let Placement::Log([first, _]) = old.placement else { panic!("a log of superblocks") };
    emulator
        .set_zone_condition(zone_of(first, &device), ZoneState::ReadOnly)
        .expect("a zone that fails");
    make(&device, 1);
    let (_, new) = SuperblockArea::find(Arc::clone(&device)).expect("a superblock");
    assert_ne!(new.uuid, old.uuid);
    assert!(new.generation > old.generation && new.placement != old.placement);
}

/// The power goes between the two resets, which the second one's failure stands for; the first may
/// be taken back. With a different number of superblocks the newest lies in one zone or the other.
#[test]
fn a_power_cut_while_an_older_store_is_cleared_leaves_no_older_superblock_in_charge() {
    let mut in_charge = [0; 2];
    for count in 0..30 {
        let (emulator, device) = drive(0);
        make(&device, 0);
        let (mut area, mut newest) = SuperblockArea::find(Arc::clone(&device)).expect("one");
        for _ in 0..count {
            area.write(&mut newest).expect("a write");
        }
        emulator.set_faults(Some(FaultPlan::new(1).fail(RequestKind::Reset, 1)));
        assert!(SuperblockArea::choose(Arc::clone(&device)).is_err(), "the second reset fails");
        let cut = emulator.snapshot().expect("a drive in memory");
        let cut = cut.cut(PowerCut::Blocks, &mut Random::seeded(count));
        match SuperblockArea::find(Arc::new(cut)) {
            Ok((_, found)) => {
                assert_eq!(found.generation, newest.generation, "after {count} more");
                in_charge[1] += 1;
            }
            Err(_) => in_charge[0] += 1,
        }
    }
    assert!(in_charge[1] > 0, "none or the newest: {in_charge:?}");
}

/// After mounts over torn tails, with splices and rolls in between: any one superblock damaged.
#[test]
fn a_damaged_superblock_never_leads_to_an_older_state() {
    let mut right = 0;
    let seeds = test_seeds(24);
    let least = 20 * (seeds.end - seeds.start) as u32;
    for seed in seeds {
        let (emulator, device) = drive(seed);
        make(&device, seed);
        drop(device);
        let (mut emulator, mut random) = (emulator, Random::seeded(seed));
        let mut changes = Changes::new(seed, 2000);
        for _ in 0..random.random_range(1..12) {
            let device = Arc::clone(&emulator) as Arc<dyn Device>;
            let journal = open(&device).expect("a mount");
            for _ in 0..random.random_range(1..8) {
                let records = journal.read(|catalog| changes.transaction(catalog));
                journal.commit(records, false).expect("a commit");
            }
            if random.random_bool(0.3) {
                journal.roll().expect("a roll");
            }
            drop(journal);
            right += damage_each(&emulator, &device, seed);
            // A torn write after the end: the next mount has to go on elsewhere.
            let torn = emulator.snapshot().expect("a drive in memory");
            emulator = Arc::new(torn.cut(PowerCut::Blocks, &mut random));
            soil(&emulator);
        }
    }
    assert!(right > least, "a damaged superblock is an error only where an older one leads astray");
}

/// Leaves garbage after the journal's end, as a write that was torn does.
fn soil(emulator: &Arc<Emulator>) {
    let device = Arc::clone(emulator) as Arc<dyn Device>;
    let zone = replay(&device, true).expect("a store").journal_zones().last().expect("a zone");
    let report = device.report(zone, 1).expect("a report")[0];
    let geometry = device.geometry();
    let room = report.start.0 + report.capacity - report.write_pointer.0;
    if report.state.has_pointer() && room * u64::from(geometry.logical_block) >= BLOCK as u64 {
        let garbage = terrace_env::IoBuf::copy_of(&[0x5a; BLOCK]);
        let cause = terrace_env::Cause::Client;
        device.write(report.write_pointer, garbage, true, cause).expect("a write");
    }
}

/// Damages one superblock after the other; returns how often the store was found all the same.
fn damage_each(emulator: &Emulator, device: &Arc<dyn Device>, seed: u64) -> u32 {
    let now = replay(device, false).expect("a store");
    let mut right = 0;
    for zone in now.superblock_zones() {
        for block in 0..7 {
            let lba = ZonePlace { zone, block }.lba(device.geometry());
            for byte in [0, 50, 110] {
                emulator.corrupt(lba, |bytes| bytes[byte] ^= 0x10).expect("a block");
                match replay(device, false) {
                    Ok(found) => {
                        assert!(found.catalog == now.catalog, "seed {seed}: {zone}/{block}");
                        right += 1;
                    }
                    Err(StoreError::Corruption { .. }) => {}
                    Err(other) => panic!("seed {seed}: {zone}/{block}: {other}"),
                }
                emulator.corrupt(lba, |bytes| bytes[byte] ^= 0x10).expect("a block");
            }
        }
    }
    right
}

#[test]
fn a_store_of_several_devices_is_not_taken_for_one_of_this_version() {
    let (_, device) = drive(0);
    make(&device, 0);
    let (mut area, mut superblock) =
        SuperblockArea::find(Arc::clone(&device)).expect("a superblock");
    superblock.devices = 2;
    area.write(&mut superblock).expect("a write");
    let error = replay(&device, false).err().expect("a store of two devices").to_string();
    assert!(error.contains("found device 0 of 2"), "{error}");
    assert!(error.contains("use a newer version"), "{error}");
}

/// As a later version of the program would leave it: the superblocks that this version
/// knows are older, and lead to a state of long ago.
#[test]
fn a_newer_superblock_of_another_version_is_not_passed_over() {
    for seed in 0..2 {
        let (emulator, device) = drive(seed);
        make(&device, seed);
        let (area, mut superblock) =
            SuperblockArea::find(Arc::clone(&device)).expect("a superblock");
        superblock.generation += 1;
        let mut block = superblock.encode();
        block[8] = 9;
        let crc = crc32c(&block[..BLOCK - 4]);
        block[BLOCK - 4..].copy_from_slice(&crc.to_le_bytes());
        // In turn to one of two blocks of a conventional zone; else at the pointer.
        let zone = area.zones()[0];
        let report = emulator.report(zone, 1).expect("a report")[0];
        let next = pointer(device.geometry(), &report);
        let place = next.unwrap_or((superblock.generation % 2) as u32);
        let lba = ZonePlace { zone, block: place }.lba(device.geometry());
        device.write(lba, block, true, Cause::Superblock).expect("a write");
        let error = replay(&device, false).err().expect("a store of version 9").to_string();
        assert!(error.contains("expected format version 4, found version 9"), "{error}");
    }
}

#[test]
fn a_journal_that_is_said_to_be_where_the_store_has_no_block_is_corruption() {
    // Zones of 8 blocks, 200 of them.
    for at in [BlockAddr::new(DeviceId(3), 16), BlockAddr::new(DeviceId::FIRST, 1600)] {
        let (_, device) = drive(0);
        make(&device, 0);
        let (mut area, mut superblock) =
            SuperblockArea::find(Arc::clone(&device)).expect("a superblock");
        superblock.head.at = at;
        area.write(&mut superblock).expect("a write");
        let inspector = Inspector::device(Arc::clone(&device)).expect("a device");
        let errors = [replay(&device, false).err(), inspector.damage().first().cloned()];
        for error in errors {
            let Some(StoreError::Corruption { expected, got, .. }) = error else {
                panic!("{error:?}");
            };
            assert_eq!(expected, "a block of device 0 below 1600");
            assert_eq!(got, at.to_string());
        }
    }
}
