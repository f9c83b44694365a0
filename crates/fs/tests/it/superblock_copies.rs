//! Copies of superblocks that are broken: a check tells damage from the traces of a power cut, and
//! a mount for writing makes them anew.

use std::sync::Arc;

use terrace_env::{ByteCount, DeviceId, Lba};
use terrace_fs::inspect::Inspector;
use terrace_fs::{Access, Checked, FormatOptions, Fs, MountOptions, ZoneGrid, ZonePlace};
use terrace_zone::emulator::{FaultPlan, RequestKind};
use terrace_zone::{Device, Emulator, Geometry};

/// A drive whose superblocks lie in slots, or in a log.
fn drive(in_slots: bool, physical_block: u32) -> Arc<Emulator> {
    let mut geometry = Geometry::uniform(ByteCount::kib(256), 24);
    if physical_block < 4096 {
        geometry.logical_block = 512;
        geometry.physical_block = physical_block;
        geometry.zone_size *= 8;
        geometry.zone_capacity *= 8;
    }
    if in_slots {
        geometry.conventional.push(0..1);
    }
    let drive = Arc::new(Emulator::in_memory(geometry, 1).expect("a possible shape"));
    Fs::format(device(&drive), &FormatOptions::default()).expect("a store");
    live(&drive);
    drive
}

fn device(drive: &Arc<Emulator>) -> Arc<dyn Device> {
    Arc::clone(drive) as _
}

/// A mount for writing, closed in order.
fn live(drive: &Arc<Emulator>) {
    let options = MountOptions { background: false, ..MountOptions::default() };
    Fs::mount(device(drive), &options).expect("a mount").unmount();
}

fn check(drive: &Arc<Emulator>) -> Checked {
    Fs::check(device(drive)).expect("a check")
}

/// The superblocks, from the oldest to the newest.
fn copies(drive: &Arc<Emulator>) -> Vec<ZonePlace> {
    let inspector = Inspector::device(device(drive)).expect("a store");
    let grid = ZoneGrid::new(DeviceId::FIRST, drive.geometry());
    let mut copies: Vec<_> = inspector.superblocks().iter().collect();
    copies.sort_by_key(|seen| seen.superblock.as_ref().expect("a sound one").generation);
    let block = |offset: u64| terrace_fs::BlockAddr::new(DeviceId::FIRST, offset / 4096);
    copies.iter().map(|seen| grid.place(block(seen.offset))).collect()
}

fn spoil(drive: &Arc<Emulator>, at: ZonePlace, how: fn(&mut [u8])) {
    // The last bytes of a block are among those of its last logical block.
    let per_block = u64::from(4096 / drive.geometry().logical_block);
    for part in 0..per_block {
        let lba = Lba(at.lba(drive.geometry()).0 + part);
        drive.corrupt(lba, how).expect("a medium in memory does not fail");
    }
}

fn flip(block: &mut [u8]) {
    block[100] ^= 1;
}

fn zero(block: &mut [u8]) {
    block.fill(0);
}

#[test]
fn a_broken_copy_is_a_problem_until_a_mount_has_made_it_anew() {
    for in_slots in [true, false] {
        let count = copies(&drive(in_slots, 4096)).len();
        assert!(count >= 2);
        for (copy, how) in (0..count).flat_map(|copy| [(copy, flip as fn(&mut [u8])), (copy, zero)])
        {
            let drive = drive(in_slots, 4096);
            let place = copies(&drive)[copy];
            spoil(&drive, place, how);
            let checked = check(&drive);
            let regions: Vec<_> = checked.problems.iter().map(|it| it.region.as_str()).collect();
            let case = format!("copy {copy} of {count}, in slots: {in_slots}: {regions:?}");
            assert!(regions.len() == 1 && regions[0].contains("superblock"), "{case}");
            assert!(checked.problems[0].to_string().contains("opening for writing"), "{case}");
            let options = MountOptions { access: Access::ReadOnly, ..MountOptions::default() };
            drop(Fs::mount(device(&drive), &options).expect("another copy"));
            assert_eq!(check(&drive).problems.len(), 1, "{case}");
            live(&drive);
            let checked = check(&drive);
            assert!(checked.is_clean() && checked.leftovers.is_empty(), "{case}: {checked:?}");
            assert!(copies(&drive).len() >= 2, "{case}");
        }
    }
}

/// The place of the superblocks may have worn out.
#[test]
fn a_broken_copy_that_cannot_be_written_anew_keeps_no_store_from_being_opened() {
    for (in_slots, failing) in [(true, 0), (false, 0), (false, 1)] {
        let drive = drive(in_slots, 4096);
        let place = *copies(&drive).last().expect("a superblock");
        spoil(&drive, place, flip);
        drive.set_faults(Some(FaultPlan::new(1).fail(RequestKind::Write, failing)));
        live(&drive);
        drive.set_faults(None);
        // This mount mends the copies that the other one could not.
        live(&drive);
        let checked = check(&drive);
        assert!(checked.is_clean(), "in slots: {in_slots}, write {failing}: {checked:?}");
    }
}

#[test]
fn the_newest_superblock_may_be_torn_where_it_takes_several_physical_blocks() {
    for in_slots in [true, false] {
        let drive = drive(in_slots, 512);
        let newest = *copies(&drive).last().expect("a superblock");
        spoil(&drive, newest, flip);
        let checked = check(&drive);
        assert!(checked.is_clean(), "{:?}", checked.problems);
        assert_eq!(checked.leftovers.len(), 1);
        live(&drive);
        assert!(check(&drive).leftovers.is_empty());
    }
}
