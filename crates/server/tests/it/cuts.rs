//! Power cuts under puts, overwrites, uploads in parts, copies and deletes of objects, simulated
//! from seeds.
//!
//! 1. A client changes objects ([`life`]). The medium loses its power at one of its writes: at
//!    about one write in a number on a zoned drive, of which copies are taken; at each n-th
//!    operation of a directory, whose life is repeated from the beginning.
//! 2. The medium is opened again. It must hold each acknowledged object and part, byte for byte;
//!    the change in flight has happened or not ([`world`]).
//! 3. Each file of a body must have one owner, an object or a part, and each owner its file
//!    ([`world::audit`]). A canary shows that the audit finds a file without an owner.
//! 4. The store then takes further changes.

mod life;
mod world;

use std::sync::Arc;

use terrace::device::Geometry;
use terrace::fs::{Access, DirOptions, DirStore};
use terrace::{ByteCount, Db, Emulator, FormatOptions, Options};
use terrace_env::random::{Random, Rng};
use terrace_env::sync::Mutex;
use terrace_env::{runner, test_seeds};
use terrace_fs::dir::MemoryFiles;
use terrace_server::objects::{Objects, ObjectsOptions, Swept};
use terrace_zone::emulator::Event;
use terrace_zone::{PowerCut, Snapshot};

use life::{Known, Life};
use world::{Sums, World, audit};

const KEPT: ObjectsOptions =
    ObjectsOptions { entry_max: 64 << 10, upload_age_max: u64::MAX, forget_missing: false };

/// Small memtables: flushes and compactions are among the writes.
fn options() -> Options {
    Options::fitting(ByteCount::mib(64)).memtable_size(ByteCount::kib(256))
}

fn objects_of(db: &Db) -> (Objects, Swept) {
    Objects::open(db, KEPT).expect("objects")
}

/// Opens what a cut has left, and compares it with the states that it may have. Returns the number
/// of files that the opening has removed.
fn survive(db: Db, known: &Known, random: &mut Random, of: &str) -> u64 {
    let (objects, swept) = objects_of(&db);
    assert_eq!((swept.missing, swept.uploads), (0, 0), "{of}");
    audit(&objects).unwrap_or_else(|problem| panic!("{of}: {problem}"));
    let found = Sums::read(&objects);
    let mut states = std::iter::once(&known.before).chain(&known.after);
    let state = states.find(|state| state.sums() == found);
    let state = state.unwrap_or_else(|| panic!("{of}: expected {known:?}, found {found:?}"));
    // It goes on from there.
    let mut life = Life::new(&objects, state.clone());
    for _ in 0..4 {
        let known = life.next(random);
        life.carry_out(random).unwrap_or_else(|fault| panic!("{of}: {fault} after {known:?}"));
    }
    assert_eq!(Sums::read(&objects), life.world.sums(), "{of}");
    audit(&objects).unwrap_or_else(|problem| panic!("{of}: {problem}, later"));
    drop(objects);
    db.verify().expect("sound tables");
    db.close().expect("a close");
    swept.files
}

/// A moment of a life: the drive as it was, and what the client knew.
struct Moment {
    snapshot: Snapshot,
    known: Known,
}

/// Lives on a zoned drive, and takes a copy at about one write in `spacing`.
fn live_on_drive(seed: u64, changes: usize, spacing: u32) -> Vec<Moment> {
    let geometry = Geometry {
        max_open: Some(8),
        max_active: Some(8),
        ..Geometry::uniform(ByteCount::mib(1), 96)
    };
    let drive = Arc::new(Emulator::in_memory(geometry, seed).expect("a drive"));
    let db = Db::create_device(Arc::clone(&drive), &FormatOptions::default(), options());
    let db = db.expect("a store");
    let (objects, _) = objects_of(&db);
    objects.create_bucket(world::BUCKET).expect("a bucket");
    let known: Arc<Mutex<Known>> = Arc::default();
    let moments: Arc<Mutex<Vec<Moment>>> = Arc::default();
    let (seen, into) = (Arc::clone(&known), Arc::clone(&moments));
    let chance = Mutex::new(Random::seeded(seed ^ 1));
    drive.set_observer(Some(Arc::new(move |event: &Event<'_>| {
        if chance.lock().random_range(0..spacing) == 0 {
            let known = seen.lock().clone();
            into.lock().push(Moment { snapshot: event.snapshot().expect("a copy"), known });
        }
    })));
    let mut random = Random::seeded(seed);
    let mut life = Life::new(&objects, World::default());
    for _ in 0..changes {
        *known.lock() = life.next(&mut random);
        life.carry_out(&mut random).expect("a change");
        *known.lock() = Known { before: life.world.clone(), after: None };
    }
    drive.set_observer(None);
    drop(objects);
    db.close().expect("a close");
    std::mem::take(&mut *moments.lock())
}

#[test]
fn a_cut_on_a_drive_leaves_acknowledged_objects_whole_and_no_file_without_an_owner() {
    let (mut cuts, mut in_flight, mut removed) = (0, 0, 0);
    for seed in test_seeds(3) {
        let (some, flying, files) = runner::simulate(seed, move || {
            let moments = live_on_drive(seed, 60, 12);
            let mut random = Random::seeded(seed);
            let (mut flying, mut removed) = (0, 0);
            for (number, moment) in moments.iter().enumerate() {
                let cut = PowerCut::any(&mut random);
                let of = format!("seed {seed}, moment {number}, {cut:?}");
                let survivor = Arc::new(moment.snapshot.cut(cut, &mut random));
                let db = Db::open_device(survivor, options());
                let db = db.unwrap_or_else(|error| panic!("{of}: {error}"));
                removed += survive(db, &moment.known, &mut random, &of);
                flying += usize::from(moment.known.after.is_some());
            }
            (moments.len(), flying, removed)
        });
        (cuts, in_flight, removed) = (cuts + some, in_flight + flying, removed + files);
    }
    println!("{cuts} cuts, {in_flight} of them during a change; {removed} files removed");
    assert!(in_flight > 20 && removed > 0, "{cuts} cuts, {in_flight}, {removed} files");
}

fn open_directory(files: &MemoryFiles) -> Result<Db, terrace::Error> {
    let access = DirOptions { access: Access::ReadWrite };
    Db::open(DirStore::open_on(Arc::new(files.clone()), access)?, options())
}

/// Lives in a directory whose power is cut at an operation after the creation of the bucket, if a
/// number is given. Returns the number of operations after that creation, and the knowledge.
fn live_in_directory(files: &MemoryFiles, seed: u64, cut: Option<u64>) -> (u64, Known) {
    let db = open_directory(files).expect("a store");
    let (objects, _) = objects_of(&db);
    objects.create_bucket(world::BUCKET).expect("a bucket");
    let begun = files.operations();
    if let Some(after) = cut {
        files.cut_at(begun + after);
    }
    let mut random = Random::seeded(seed);
    let mut life = Life::new(&objects, World::default());
    for _ in 0..40 {
        let known = life.next(&mut random);
        if life.carry_out(&mut random).is_err() {
            assert!(!files.has_power(), "a change failed before the cut");
            return (files.operations() - begun, known);
        }
    }
    (files.operations() - begun, Known { before: life.world, after: None })
}

#[test]
fn a_cut_in_a_directory_leaves_acknowledged_objects_whole_and_no_file_without_an_owner() {
    let (mut cuts, mut removed) = (0, 0);
    for seed in test_seeds(1) {
        let (some, files) = runner::simulate(seed, move || {
            let all = live_in_directory(&MemoryFiles::new(), seed, None).0;
            let (mut random, mut removed, mut cuts) = (Random::seeded(seed), 0, 0);
            // The step has no factor in common with the operations of a change.
            for at in (seed % 7..all).step_by((all / 30).max(1) as usize) {
                let files = MemoryFiles::new();
                let (_, known) = live_in_directory(&files, seed, Some(at));
                let of = format!("seed {seed}, operation {at}");
                let db = open_directory(&files.power_cut(&mut random));
                let db = db.unwrap_or_else(|error| panic!("{of}: {error}"));
                removed += survive(db, &known, &mut random, &of);
                cuts += 1;
            }
            (cuts, removed)
        });
        (cuts, removed) = (cuts + some, removed + files);
    }
    println!("{cuts} cuts; {removed} files removed");
    assert!(cuts > 20 && removed > 0, "{cuts} cuts, {removed} files");
}

#[test]
fn the_audit_finds_a_file_without_an_owner_and_an_owner_without_its_file() {
    let files = MemoryFiles::new();
    let db = open_directory(&files).expect("a store");
    let (objects, _) = objects_of(&db);
    objects.create_bucket(world::BUCKET).expect("a bucket");
    for key in ["one", "other"] {
        world::put(&objects, key, (7, 100_000)).expect("a put");
    }
    audit(&objects).expect("two files of two objects");
    let entries = db.key_space("objects").expect("the entries");
    let of_one = [&b"o"[..], world::BUCKET.as_bytes(), b"\0one"].concat();
    let value = entries.get(&of_one).expect("a read").expect("an entry");
    entries.delete(&of_one).expect("a delete");
    let problem = audit(&objects).expect_err("a file without an owner");
    assert!(problem.contains("no owner"), "{problem}");
    let of_other = [&b"o"[..], world::BUCKET.as_bytes(), b"\0other"].concat();
    let other = entries.get(&of_other).expect("a read").expect("an entry");
    entries.put(&of_one, &other).expect("a put");
    let problem = audit(&objects).expect_err("two owners of one file");
    assert!(problem.contains("two owners"), "{problem}");
    entries.put(&of_one, &value).expect("a put");
    audit(&objects).expect("as before");
    drop((objects, entries));
    db.close().expect("a close");
}
