//! Making stores: refusals, and the traces of an older store.

use std::sync::Arc;

use terrace_env::random::Random;
use terrace_env::store::{Rank, Store as _, StoreError};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Cause, ZoneId};
use terrace_fs::superblock::SuperblockArea;
use terrace_fs::{
    FormatOptions, Fs, MountOptions, OPEN_ZONES_MIN, data_zones_min, holds_store,
    holds_unfinished_format,
};
use terrace_zone::{Device, Emulator, Geometry, Op, PowerCut, Tracks};

use crate::drive::{fewest, format, formatted, in_sectors, mount, shapes};
use crate::readers::table;

fn refusal(geometry: Geometry) -> String {
    let drive = Arc::new(Emulator::in_memory(geometry, 1).expect("a possible shape"));
    match Fs::format(drive as Arc<dyn Device>, &FormatOptions::default()) {
        Err(StoreError::Invalid(what)) => what,
        other => panic!("expected a refusal, found {other:?}"),
    }
}

#[test]
fn a_drive_with_too_few_zones_is_refused_with_the_number_that_it_takes() {
    let zones = data_zones_min(256) + 2;
    let what = refusal(Geometry::uniform(ByteCount::mib(1), zones - 1));
    assert!(what.contains(&format!("at least {zones} ")), "{what}");
    assert!(what.contains(&format!("found {}", zones - 1)), "{what}");
}

#[test]
fn small_zones_take_more_of_them() {
    assert!(data_zones_min(16) > data_zones_min(256));
}

#[test]
fn a_drive_that_allows_too_few_open_zones_is_refused_with_the_number_that_it_takes() {
    let least = OPEN_ZONES_MIN + 1;
    let what = refusal(Geometry { max_open: Some(least - 1), ..fewest() });
    assert!(what.contains(&format!("{least} open zones")), "{what}");
    let limits = Geometry { max_open: Some(2), max_active: Some(least - 1), ..fewest() };
    assert!(refusal(limits).contains("open zones"));
}

/// Both slots of a superblock must lie in one track, and guards are counted in whole blocks.
#[test]
fn tracks_of_one_block_or_of_a_part_of_one_are_refused() {
    for blocks in [8, 12, 20] {
        let tracks = Geometry::tracks(ByteCount::mib(64), Tracks { blocks, overlap: 2 });
        let what = refusal(in_sectors(tracks));
        assert!(what.contains(&format!("found tracks of {} bytes", blocks * 512)), "{what}");
    }
    let tracks = Geometry::tracks(ByteCount::mib(64), Tracks { blocks: 16, overlap: 2 });
    formatted(in_sectors(tracks), 1);
}

#[test]
fn a_drive_that_is_small_beside_its_guards_is_refused_with_the_size_that_it_takes() {
    let of = |mib| Geometry::tracks(ByteCount::mib(mib), Tracks { blocks: 256, overlap: 2 });
    let what = refusal(of(64));
    let (_, least) = what.split_once("at least ").expect("the least size");
    let (least, rest) = least.split_once(" MiB, found 64 MiB: ").expect("the found size");
    assert!(rest.contains("guards, of 3 MiB each"), "{what}");
    let least: u64 = least.parse().expect("whole MiB");
    refusal(of(least - 1));
    let fs = mount(formatted(of(least), 1));
    let (space, kept) = (fs.space(), fs.kept_on_tracks());
    assert!(space.for_puts > fs.guard_max(), "{space:?}");
    assert_eq!(space.kept, kept);
    assert!(space.capacity > kept, "{space:?}");
}

#[test]
fn a_store_that_holds_nothing_gives_no_advice_to_delete() {
    let tracks = Geometry::tracks(ByteCount::mib(64), Tracks { blocks: 24, overlap: 2 });
    for geometry in [tracks, Geometry::plain(ByteCount::mib(64)), fewest()] {
        let fs = mount(formatted(geometry, 1));
        let refused = || fs.reserve(Rank::Log, ByteCount::gib(1)).expect_err("no space");
        let what = refused().to_string();
        assert!(what.ends_with("nothing there can be deleted, so use a larger drive"), "{what}");
        table(&fs).expect("room");
        let what = refused().to_string();
        assert!(what.ends_with("delete something"), "{what}");
    }
}

/// An older store's superblock can stand after the new one, where a write was torn: it must not be
/// taken for a newer one.
#[test]
fn a_store_starts_above_the_generations_of_the_one_before_it() {
    let drive = formatted(fewest(), 1);
    let generation = || {
        let (_, superblock) =
            SuperblockArea::find(Arc::clone(&drive) as Arc<dyn Device>).expect("a superblock");
        superblock.generation
    };
    let fs = mount(&drive);
    for _ in 0..5 {
        fs.roll_journal().expect("a roll");
        table(&fs).expect("room");
    }
    fs.unmount();
    drop(fs);
    let older = generation();
    assert!(older > 4, "{older}");
    // As many zones are active as the drive allows, so format has to empty some.
    format(&drive, 2);
    assert!(generation() > older, "{} after {older}", generation());
}

/// The power goes at each request of a format. The device is then blank, a store, or neither and
/// known to hold nothing. A block that was torn in its sectors cannot be recognised if it is the
/// first of the journal or of the superblocks.
#[test]
fn what_a_format_leaves_that_is_cut_short_is_no_store_and_known_to_hold_nothing() {
    let mut recognised = 0;
    for (name, geometry) in shapes() {
        let drive = Arc::new(Emulator::in_memory(geometry, 1).expect("a shape"));
        let moments: Arc<Mutex<Vec<_>>> = Arc::default();
        let kept = Arc::clone(&moments);
        drive.set_observer(Some(Arc::new(move |event| {
            let is_superblock = event.request.cause == Cause::Superblock;
            kept.lock().push((is_superblock, event.snapshot().expect("a drive in memory")));
        })));
        let device = Arc::clone(&drive) as Arc<dyn Device>;
        Fs::format(device, &FormatOptions::default()).expect("a store");
        drive.set_observer(None);
        let moments = std::mem::take(&mut *moments.lock());
        assert!(moments.len() > 5, "{name}: {} requests", moments.len());
        for (number, (is_superblock, moment)) in moments.iter().enumerate() {
            for (seed, mode) in (0..8).flat_map(|seed| PowerCut::ALL.map(|mode| (seed, mode))) {
                let cut = moment.cut(mode, &mut Random::seeded(seed));
                let store = holds_store(&cut).expect("a search");
                let nothing = holds_unfinished_format(&cut).expect("a look");
                let is_torn = *is_superblock || matches!(mode, PowerCut::Blocks);
                let is_told = store != nothing || (is_torn && !store);
                assert!(is_told, "{name}, {mode:?} at {number}: {store} and {nothing}");
                recognised += u32::from(nothing && is_written(&cut));
            }
        }
    }
    assert!(recognised > 100, "{recognised} formats were cut short");
}

fn is_written(drive: &Emulator) -> bool {
    let zones = drive.geometry().zones;
    let reports = drive.report(ZoneId(0), zones).expect("a report");
    reports.iter().any(|zone| zone.state.has_pointer() && zone.write_pointer > zone.start)
}

/// A store whose superblocks are lost is not taken for a format that was cut short.
#[test]
fn a_store_without_superblocks_is_not_taken_for_one_that_holds_nothing() {
    for is_used in [false, true] {
        let geometry = Geometry::uniform(ByteCount::kib(512), 64);
        let drive = Arc::new(Emulator::in_memory(geometry, 1).expect("a shape"));
        let device = Arc::clone(&drive) as Arc<dyn Device>;
        Fs::format(Arc::clone(&device), &FormatOptions::default()).expect("a store");
        if is_used {
            Fs::mount(device, &MountOptions::default()).expect("a mount").unmount();
        }
        assert!(!holds_unfinished_format(&*drive).expect("a look"), "it has superblocks");
        for zone in [0, 1] {
            drive.control(Op::Reset(ZoneId(zone)), Cause::Superblock).expect("a reset");
        }
        assert_eq!(holds_unfinished_format(&*drive).expect("a look"), !is_used);
    }
}
