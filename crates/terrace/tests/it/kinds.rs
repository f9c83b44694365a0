//! Kinds of devices: a checkpoint copies a store from each of zones, bands, a plain drive and
//! shingled tracks to each other, and the copy works. An opening of a store on a device of ten
//! terabytes takes memory and reads by the used part of the device, not by its size; the time is
//! printed.

use std::sync::Arc;

use terrace::{ByteCount, Db, Emulator, FormatOptions, Geometry, Row, System};
use terrace_env::random::Random;
use terrace_env::{Uuid, runner};
use terrace_zone::Tracks;

use crate::devices::{Contents, churn, contents, options_under};

/// A device of each kind, with a system that is at home there.
fn kinds() -> [(&'static str, Row, Geometry); 4] {
    let tracks = Tracks { blocks: 24, overlap: 2 };
    let bands = Geometry::uniform(ByteCount::mib(1), 96);
    [
        ("zones", Row::Geardb, Geometry::uniform(ByteCount::kib(512), 160)),
        ("bands", Row::Smrdb, Geometry { conventional: std::iter::once(0..1).collect(), ..bands }),
        ("plain", Row::LeveldbDisk, Geometry::plain(ByteCount(80 << 20 | 0x3000))),
        ("tracks", Row::Sealdb, Geometry::tracks(ByteCount(80 << 20 | 0x5000), tracks)),
    ]
}

fn emulator(geometry: Geometry, seed: u64) -> Arc<Emulator> {
    Arc::new(Emulator::in_memory(geometry, seed).expect("a shape"))
}

#[test]
fn a_store_moves_from_each_kind_of_device_to_each_other() {
    runner::simulate(1, || {
        let format = FormatOptions::default();
        for (from, row, geometry) in kinds() {
            let options = options_under(System::of(row));
            let db = Db::create_device(emulator(geometry, 1), &format, options).expect(from);
            let mut held = Contents::new();
            churn(&db, &mut held, 4000, 8000, &mut Random::seeded(1));
            for (to, row, geometry) in kinds().into_iter().filter(|(to, ..)| *to != from) {
                let target = emulator(geometry, 2);
                let copied = db.checkpoint_device(Arc::clone(&target), &format).expect(to);
                assert!(copied.tables > 3, "{from} to {to}: {copied:?}");
                let options = options_under(System::of(row));
                let copy = Db::open_device(Arc::clone(&target), options.clone()).expect(to);
                assert_eq!(contents(&copy), held, "{from} to {to}");
                copy.verify().expect("a sound copy");
                // It works there, under the other system.
                let mut held = held.clone();
                churn(&copy, &mut held, 4000, 3000, &mut Random::seeded(2));
                copy.close().expect("an end");
                let copy = Db::open_device(target, options).expect(to);
                assert_eq!(contents(&copy), held, "{from} to {to}, reopened");
                let fs = Arc::clone(copy.fs().expect("a device"));
                copy.wait_idle().expect("jobs");
                assert_eq!(fs.audit(), Vec::<String>::new(), "{from} to {to}");
            }
            db.close().expect("an end");
        }
    });
}

/// Memory of this process, if the host reports it.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

#[test]
fn a_device_of_ten_terabytes_opens_with_memory_and_reads_by_what_is_used() {
    let dir = tempfile::tempdir().expect("a directory");
    let size = ByteCount(10_000_000_000_000);
    let options = options_under(System::of(Row::Sealdb));
    let tracks = Tracks { blocks: 256, overlap: 2 };
    for (name, geometry) in
        [("tracks", Geometry::tracks(size, tracks)), ("plain", Geometry::plain(size))]
    {
        let path = dir.path().join(name);
        let drive = Emulator::create_image(&path, geometry, Uuid([7; 16])).expect("a sparse file");
        let drive = Arc::new(drive.unsynced());
        let db = Db::create_device(Arc::clone(&drive), &FormatOptions::default(), options.clone());
        let db = db.expect("a store");
        let mut held = Contents::new();
        churn(&db, &mut held, 2000, 4000, &mut Random::seeded(1));
        db.close().expect("an end");
        drop(drive);

        let before = resident();
        let begun = runner::now();
        let access = terrace_zone::Access::ReadWrite;
        let drive = Arc::new(Emulator::open_image(&path, access).expect("the image").unsynced());
        let db = Db::open_device(Arc::clone(&drive), options.clone()).expect("the store");
        let took = runner::now().since(begun);
        let reads: u64 = drive.io().reads.iter().sum();
        let more = resident().zip(before).map(|(now, before)| now.saturating_sub(before));
        println!("{name}: opened in {took:?}, {more:?} bytes of memory, {reads} reads");
        assert!(reads < 300, "{name}: {reads} reads");
        assert!(more.is_none_or(|more| more < 32 << 20), "{name}: {more:?} bytes of memory");
        assert_eq!(contents(&db), held);
        // An audit counts right only while nothing is written.
        db.wait_idle().expect("jobs");
        assert_eq!(db.fs().map(|fs| fs.audit()), Some(Vec::new()));
        db.close().expect("an end");
    }
}
