//! Making stores: what is refused, and what an older store leaves behind.

use std::sync::Arc;

use terrace_env::ByteCount;
use terrace_env::store::{Rank, Store as _, StoreError};
use terrace_fs::superblock::SuperblockArea;
use terrace_fs::{FormatOptions, Fs, OPEN_ZONES_MIN, data_zones_min};
use terrace_zone::{Device, Emulator, Geometry, Tracks};

use crate::drive::{fewest, format, formatted, in_sectors, mount};
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
    let (least, rest) = least.split_once(" MiB, found 64 MiB: ").expect("what was found");
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

/// An older store's superblock can stand behind the new one, where a write was torn: it must not be
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
