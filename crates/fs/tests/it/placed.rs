//! Where files lie, as deciders are told.

use std::collections::BTreeMap;

use terrace_env::store::{
    CreateOptions, FileKind, PlacementHint, Rank, Store, StoreError, Transaction,
};
use terrace_env::{ByteCount, Cause, FileId, ZoneId, runner};
use terrace_fs::{BLOCK, Fs};
use terrace_policy::{ZoneView, ZonesSource};
use terrace_zone::Geometry;

use crate::cuts::facts::{note, pattern};
use crate::drive::{formatted, mount};

fn table(fs: &Fs, level: u8, len: usize) -> Result<FileId, StoreError> {
    let hint = PlacementHint { level: Some(level), ..PlacementHint::default() };
    let mut writer = fs.create(&CreateOptions {
        kind: FileKind::Table,
        hint,
        size: None,
        rank: Rank::Compaction,
        reservation: None,
        group: None,
        offload: false,
        cause: Cause::Client,
    })?;
    writer.append(&pattern(writer.id().0, 0, len))?;
    writer.finish()?;
    let mut transaction = Transaction::new();
    transaction.seal(writer.id(), note("placed"));
    fs.commit(transaction)?;
    Ok(writer.id())
}

#[test]
fn deciders_see_every_block_of_the_files_in_the_zones_that_hold_it() {
    runner::simulate(1, || {
        let drive = formatted(Geometry::uniform(ByteCount::mib(1), 40), 1);
        let fs = mount(&drive);
        let sizes = [10_000, 900_000, 1, 300_000, 2_500_000, 70_000];
        let files: Vec<(FileId, usize)> = (0..)
            .zip(sizes)
            .map(|(at, len)| (table(&fs, at % 3, len).expect("a table"), len))
            .collect();
        let mut ids: Vec<FileId> = files.iter().rev().map(|(id, _)| *id).collect();
        ids.push(FileId(4711));
        let view = fs.placed(&ids);
        let mut held: BTreeMap<ZoneId, u64> = BTreeMap::new();
        for (id, len) in &files {
            let extents = view.extents(*id);
            let total: u64 = extents.iter().map(|extent| extent.size.0).sum();
            assert_eq!(total, len.next_multiple_of(BLOCK) as u64, "{id}");
            extents.iter().for_each(|e| *held.entry(e.zone).or_default() += e.size.0);
        }
        assert_eq!(view.extents(FileId(4711)), [], "nothing is known of it");
        // The zone map says the same of the zones.
        assert_eq!(view.zones().iter().map(|zone| zone.zone).collect::<Vec<_>>(), {
            held.keys().copied().collect::<Vec<_>>()
        });
        let map = fs.zones().expect("a zone map");
        for usage in map.iter().filter(|usage| held.contains_key(&usage.zone)) {
            assert_eq!(usage.live.0, held[&usage.zone], "{:?}", usage.zone);
            let zone = view.zone(usage.zone).expect("a zone of the files");
            // The device does not tell the pointer of a full zone.
            assert_eq!(zone.written, usage.pointer.unwrap_or(usage.capacity), "{zone:?}");
            assert_eq!(zone.capacity, usage.capacity);
        }
        assert!(view.zones().iter().any(ZoneView::is_open), "{view:?}");
        assert!(view.zones().iter().any(|zone| !zone.is_open()), "{view:?}");
        // A deleted file lies nowhere.
        let mut transaction = Transaction::new();
        transaction.delete(files[4].0);
        fs.commit(transaction).expect("a delete");
        assert_eq!(fs.placed(&ids).extents(files[4].0), []);
    });
}
