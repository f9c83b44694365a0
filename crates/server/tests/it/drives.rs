//! Objects on zoned drives: the rate at which they are written, on the model of a real drive and in
//! virtual time, and the space that they take in a life of deletes.
//!
//! Bodies go straight to [`Objects`], as the server gives them: in pieces, and durably. HTTP takes
//! no time here. All bytes of a body are the same, so that a drive takes little memory.

use std::sync::Arc;
use std::time::Duration;

use md5::{Digest as _, Md5};
use terrace::device::{Device, Geometry};
use terrace::fs::Fs;
use terrace::{ByteCount, Db, Emulator, FormatOptions, Options};
use terrace_env::random::{Random, Rng};
use terrace_env::store::IoCounts;
use terrace_env::{Cause, IoBuf, Lba, ZoneId, runner};
use terrace_server::objects::{
    Attributes, Body, CHUNK, Condition, Fault, Objects, ObjectsOptions, Place,
};
use terrace_zone::timing::{Drive, Scale};
use terrace_zone::{Op, Request};

const KEPT: ObjectsOptions =
    ObjectsOptions { entry_max: 64 << 10, upload_age_max: u64::MAX, forget_missing: false };
const BUCKET: &str = "bucket";
const LARGE: u64 = 16 << 20;

fn store_on(drive: &Arc<Emulator>) -> (Db, Arc<Objects>) {
    let options = Options::fitting(drive.geometry().capacity());
    let db = Db::create_device(Arc::clone(drive), &FormatOptions::default(), options);
    let db = db.expect("a store");
    let (objects, _) = Objects::open(&db, KEPT).expect("objects");
    objects.create_bucket(BUCKET).expect("a bucket");
    (db, Arc::new(objects))
}

/// Puts an object as the server does.
fn put(objects: &Objects, key: &str, size: u64) -> Result<(), Fault> {
    let piece = vec![7; CHUNK.min(size as usize)];
    let body = if size <= KEPT.entry_max {
        let md5 = Md5::digest(&piece).into();
        Body::Bytes(piece.into(), md5)
    } else {
        let mut body = objects.begin_body(BUCKET, Some(size))?;
        while body.size() < size {
            let len = (size - body.size()).min(CHUNK as u64) as usize;
            body.append(&piece[..len])?;
        }
        Body::File(body)
    };
    let of = (Attributes::default(), None);
    objects.put((BUCKET, key), body, of, &Condition::Always).map(drop)
}

fn written(io: &IoCounts) -> u64 {
    io.written_bytes.iter().sum()
}

/// Bytes a second.
fn rate(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64()
}

fn modelled(name: &str) -> Arc<Emulator> {
    let drive = Drive::find(name).expect("a drive");
    Arc::new(Emulator::modelled(&drive, Scale::FULL, ByteCount::gib(200), 1).expect("a drive"))
}

/// The rate of a drive that is written from the start of a zone on, in pieces, of which 16 are in
/// flight.
fn raw_rate(name: &str, zone: ZoneId, bytes: u64) -> f64 {
    let drive = modelled(name);
    let geometry = drive.geometry().clone();
    let block = u64::from(geometry.logical_block);
    let begun = runner::now();
    let (mut left, mut zone) = (bytes, zone);
    let mut tickets = std::collections::VecDeque::new();
    while left > 0 {
        let of_zone = left.min(geometry.zone_capacity * block);
        let start = geometry.zone_start(zone);
        for at in (0..of_zone).step_by(CHUNK) {
            let data = IoBuf::zeroed(CHUNK.min((of_zone - at) as usize));
            let op = Op::Write { lba: Lba(start.0 + at / block), data, fua: false };
            tickets.push_back(drive.submit(Request { op, cause: Cause::Client }));
            if tickets.len() == 16 {
                drop(drive.wait(tickets.pop_front().expect("a ticket")).expect("a write"));
            }
        }
        (left, zone) = (left - of_zone, ZoneId(zone.0 + 1));
    }
    tickets.into_iter().for_each(|ticket| drop(drive.wait(ticket).expect("a write")));
    drive.control(Op::Flush, Cause::Client).expect("a flush");
    rate(bytes, runner::now() - begun)
}

/// Writes objects of a size, a number at a time; returns the reached share of the drive's rate, and
/// the share of objects in the written bytes.
fn sequential(name: &'static str, size: u64, connections: u64) -> (f64, f64) {
    const BYTES: u64 = 1 << 30;
    runner::simulate(1, move || {
        let drive = modelled(name);
        let (db, objects) = store_on(&drive);
        let (before, begun) = (drive.io(), runner::now());
        let actors: Vec<_> = (0..connections)
            .map(|of| {
                let objects = Arc::clone(&objects);
                runner::spawn("client", move || {
                    for number in 0..BYTES / size / connections {
                        put(&objects, &format!("{of}/{number}"), size).expect("a put");
                    }
                })
            })
            .collect();
        actors.into_iter().for_each(runner::JoinHandle::join);
        let reached = rate(BYTES, runner::now() - begun);
        let all = written(&drive.io()) - written(&before);
        let first = objects.head(BUCKET, "0/0").expect("an object");
        let Place::Files(segments) = &first.place else { panic!("expected a file") };
        let fs: &Arc<Fs> = db.fs().expect("a file system");
        let raw = raw_rate(name, fs.zones_of(segments[0].file)[0].0, BYTES);
        drop(objects);
        db.close().expect("a close");
        (reached / raw, BYTES as f64 / all as f64)
    })
}

#[test]
fn large_objects_are_written_at_the_rate_of_the_drive() {
    for (name, size, connections, least) in [
        ("wd-zn540", LARGE, 1, 0.95),
        // Each group of puts seeks to the journal and to the log, and back.
        ("hgst-hsh721414al", LARGE, 1, 0.75),
        ("hgst-hsh721414al", LARGE, 4, 0.82),
        ("hgst-hsh721414al", LARGE, 16, 0.82),
        ("hgst-hsh721414al", 16 * LARGE, 1, 0.97),
        ("hgst-hsh721414al", 16 * LARGE, 4, 0.95),
        ("hgst-hsh721414al", LARGE / 16, 1, 0.15),
        ("hgst-hsh721414al", LARGE / 16, 16, 0.7),
    ] {
        let (of_rate, of_bytes) = sequential(name, size, connections);
        println!(
            "{name}: objects of {} MiB, {connections} at a time: {:.1} % of the rate of the drive, \
             {:.2} % of the written bytes",
            size >> 20,
            of_rate * 100.0,
            of_bytes * 100.0
        );
        assert!(of_rate > least, "{name}, {size} bytes: {of_rate} of the rate");
        assert!(of_bytes > 0.99, "{name}, {size} bytes: {of_bytes} of the bytes");
    }
}

/// Fills a drive to a share of the space for puts, and then replaces objects of 64 KiB to 16 MiB at
/// random. Returns the live share of the zones in use, and the bytes that were written for each
/// byte of an object, both in the later part of this life.
fn life_of_deletes(full: u64) -> (f64, f64) {
    let geometry = Geometry {
        max_open: Some(16),
        max_active: Some(16),
        ..Geometry::uniform(ByteCount::mib(16), 128)
    };
    let drive = Arc::new(Emulator::in_memory(geometry, 1).expect("a drive"));
    let (db, objects) = store_on(&drive);
    let most = db.stats().space.for_puts.0 / 100 * full;
    let mut random = Random::seeded(1);
    let mut kept: Vec<(String, u64)> = Vec::new();
    let (mut live, mut all) = (0, 0);
    let (mut at, mut efficiency, mut samples) = ((0, 0), 0.0, 0);
    for number in 0u64.. {
        let size = (65536.0 * 2f64.powf(random.random_range(0.0..8.0))) as u64;
        while live + size > most {
            let (key, size) = kept.swap_remove(random.random_range(0..kept.len()));
            assert!(objects.delete(BUCKET, &key, &Condition::Always).expect("a delete"));
            live -= size;
        }
        put(&objects, &number.to_string(), size).expect("a put");
        kept.push((number.to_string(), size));
        (live, all) = (live + size, all + size);
        if all < 2 * most {
            at = (all, written(&drive.io()));
        } else if number.is_multiple_of(16) {
            let zones = db.fs().expect("a file system").zones().expect("zones");
            let used = zones.iter().filter(|zone| zone.is_in_use()).map(|zone| zone.capacity.0);
            efficiency += live as f64 / used.sum::<u64>() as f64;
            samples += 1;
        }
        if all > 3 * most {
            break;
        }
    }
    let amplification = (written(&drive.io()) - at.1) as f64 / (all - at.0) as f64;
    drop(objects);
    db.close().expect("a close");
    (efficiency / f64::from(samples), amplification)
}

#[test]
fn deletes_leave_little_dead_space() {
    for full in [60, 85, 95] {
        let (efficiency, amplification) = runner::simulate(1, move || life_of_deletes(full));
        println!(
            "{full} % of the space for puts: {:.1} % of the zones in use are live, \
             {amplification:.2} bytes written for one",
            efficiency * 100.0
        );
        assert!(efficiency > 0.5);
    }
}

/// Puts small objects until the drive is full, deletes one of each `every`, and puts large objects
/// then; returns how many bytes of them found space, and how many the deleted ones had.
fn after_deletes(every: usize) -> (u64, u64) {
    const SMALL: u64 = 60_000;
    let geometry = Geometry {
        max_open: Some(16),
        max_active: Some(16),
        ..Geometry::uniform(ByteCount::mib(2), 48)
    };
    let drive = Arc::new(Emulator::in_memory(geometry, 1).expect("a drive"));
    let (db, objects) = store_on(&drive);
    let is_full = |result: Result<(), Fault>| match result {
        Ok(()) => false,
        Err(fault) => {
            assert!(fault.is_space(), "{fault}");
            true
        }
    };
    let full = (0..).find(|number| is_full(put(&objects, &number.to_string(), SMALL)));
    let full: u64 = full.expect("a full drive");
    let gone: Vec<_> =
        (0..full).step_by(every).map(|number| (number.to_string(), Condition::Always)).collect();
    for some in gone.chunks(1000) {
        for deleted in objects.delete_all(BUCKET, some) {
            assert!(deleted.expect("a delete"));
        }
    }
    let large = (0..).find(|number| is_full(put(&objects, &format!("large{number}"), 1 << 20)));
    drop(objects);
    db.close().expect("a close");
    (large.map_or(0, |count: u64| count << 20), gone.len() as u64 * SMALL)
}

#[test]
fn the_space_of_deleted_small_objects_is_there_for_large_ones() {
    for every in [1, 2] {
        let (large, deleted) = runner::simulate(1, move || after_deletes(every));
        let (large_mib, deleted_mib) = (large >> 20, deleted >> 20);
        println!("of {deleted_mib} MiB that were deleted, {large_mib} MiB are large objects");
        assert!(large > deleted / 2, "{large_mib} MiB found space, of {deleted_mib}");
    }
}
