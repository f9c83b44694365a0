//! Tests of [`Groups`] by puts that overlap, in a store that takes time.

use terrace::{Db, MemoryStore, Options};
use terrace_env::store::Latency;
use terrace_env::test_seeds;

use super::*;
use crate::objects::{Attributes, Body, Condition, Objects, ObjectsOptions};

const MILLI: Duration = Duration::from_millis(1);
const BUCKET: &str = "bucket";
const SIZE: usize = 100_000;

/// Objects in groups as on a disk.
fn objects(seed: u64) -> (Db, Arc<Objects>) {
    let store = MemoryStore::new().with_latency(seed, Latency::uniform(MILLI * 3));
    let db = Db::open(Arc::new(store), Options::default()).expect("a store");
    let options = ObjectsOptions { entry_max: 1000, upload_age_max: 1, forget_missing: false };
    let (mut objects, _) = Objects::open(&db, options).expect("objects");
    objects.groups = Groups::new(true);
    objects.create_bucket(BUCKET).expect("a bucket");
    (db, Arc::new(objects))
}

fn body(objects: &Objects, byte: u8) -> NewBody {
    let mut body = objects.begin_body(BUCKET, Some(SIZE as u64)).expect("a body");
    body.append(&[byte; SIZE]).expect("an append");
    body
}

fn put(objects: &Objects, (bucket, name): (&str, &str), byte: u8, on: &Condition) -> bool {
    let body = Body::File(body(objects, byte));
    let put = objects.put((bucket, name), body, (Attributes::default(), None), on);
    match &put {
        Ok(_) => true,
        Err(Fault::Precondition | Fault::NoSuchBucket(_)) => false,
        Err(fault) => panic!("{fault}"),
    }
}

fn byte_of(objects: &Objects, name: &str) -> u8 {
    let found = objects.get(BUCKET, name).expect("an object");
    let bytes = found.body.read(0, SIZE as u64).expect("bytes");
    assert!(bytes.len() == SIZE && bytes.iter().all(|byte| *byte == bytes[0]));
    bytes[0]
}

/// Puts of the last group.
fn puts_of_last(objects: &Objects) -> usize {
    let last = objects.groups.bodies.leading(|_| Ok::<_, Fault>(()), |last| *last);
    last.expect("a leader").puts
}

#[test]
fn a_put_that_is_refused_holds_up_no_other_of_its_group() {
    let mut largest = 0;
    for seed in test_seeds(16) {
        let puts = runner::simulate(seed, move || {
            let (db, objects) = objects(seed);
            let mut puts = vec![(BUCKET, "once", true), (BUCKET, "once", true)];
            puts.extend([("none", "a", false), (BUCKET, "b", false), (BUCKET, "c", false)]);
            let actors: Vec<_> = puts
                .into_iter()
                .zip(1..)
                .map(|((bucket, name, is_new), byte)| {
                    let objects = Arc::clone(&objects);
                    let on = if is_new { Condition::Absent } else { Condition::Always };
                    runner::spawn("put", move || put(&objects, (bucket, name), byte, &on))
                })
                .collect();
            let done: Vec<bool> = actors.into_iter().map(runner::JoinHandle::join).collect();
            assert_eq!(done[2..], [false, true, true]);
            assert!(done[0] != done[1], "{done:?}: one of two that expect no object");
            assert_eq!(byte_of(&objects, "once"), if done[0] { 1 } else { 2 });
            assert_eq!((byte_of(&objects, "b"), byte_of(&objects, "c")), (4, 5));
            assert_eq!(objects.body_files(), 3, "those of refused puts are removed");
            let puts = puts_of_last(&objects);
            drop(objects);
            db.close().expect("a close");
            puts
        });
        largest = largest.max(puts);
    }
    assert!(largest > 1, "no put shared a group");
}

#[test]
fn puts_that_come_while_others_are_published_share_a_group() {
    runner::simulate(1, || {
        let (db, objects) = objects(1);
        let actors: Vec<_> = (0..8)
            .map(|number| {
                let objects = Arc::clone(&objects);
                runner::spawn("client", move || {
                    let put = |_| {
                        let place = (BUCKET, &*number.to_string());
                        assert!(put(&objects, place, number, &Condition::Always));
                        puts_of_last(&objects)
                    };
                    (0..4).map(put).max()
                })
            })
            .collect();
        let largest = actors.into_iter().filter_map(runner::JoinHandle::join).max();
        assert!(largest >= Some(4), "{largest:?} of 8 puts in a group");
        assert_eq!(objects.body_files(), 8);
        drop(objects);
        db.close().expect("a close");
    });
}

#[test]
fn a_file_that_cannot_be_published_fails_alone() {
    runner::simulate(1, || {
        let (db, objects) = objects(1);
        let mut bodies = [1, 2, 3].map(|byte| body(&objects, byte));
        // The second one is published before.
        let published = bodies[1].name();
        let (writer, file) = bodies[1].unpublished();
        objects.files.publish_each(&mut [(writer, &published, file)]).expect("a file");
        let group = (1..).zip(bodies).collect();
        let answers = objects.groups.publish_all(group, &objects.files);
        let is_published: Vec<bool> = answers.iter().map(|(_, one)| one.is_ok()).collect();
        assert_eq!(is_published, [true, false, true]);
        assert_eq!(objects.body_files(), 3);
        drop((answers, objects));
        db.close().expect("a close");
    });
}
