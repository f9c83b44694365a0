//! Processes that are killed, that abort, or that drop a store without a close: which writes
//! survive under each durability. This process starts the other ones
//! ([`kills_child`](crate::kills_child)), receives the numbers of returned writes, and then opens
//! the store and compares. A compaction filter drops some values; no other one is missing, and one
//! that is gone stays so. The host goes on: there is no power cut here.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use terrace::{ByteCount, Db, Durability, FormatOptions};
use terrace_env::random::{Random, Rng};
use terrace_env::sync::Mutex;
use terrace_env::{Uuid, runner, test_seeds};
use terrace_zone::{Emulator, Geometry};

use crate::kills_child::{
    Contents, End, FILTERED, GATHER_TIME, INGESTED, ORDER, Order, filtered, ingested, is_kept,
    last, open, options, swapped, write,
};

/// Allowance in addition to the time of gathered writes, for machines on which a thread waits long
/// for its turn.
const SLACK: Duration = Duration::from_millis(500);
/// Number of kills of each store.
const LIVES: u64 = 5;

/// Reports of a child.
#[derive(Clone, Debug, Default)]
struct Told {
    ready: bool,
    begun: u64,
    /// The writes that returned, with their times by the child's clock.
    done: Vec<(u64, u64)>,
    ingested: Vec<u64>,
    copied: Vec<PathBuf>,
    idle: bool,
}

impl Told {
    fn hear(&mut self, line: &str) {
        let mut words = line.split(' ');
        let word = words.next();
        let mut number = || words.next().and_then(|word| word.parse().ok()).expect("a number");
        match word {
            Some("ready") => self.ready = true,
            Some("begun") => self.begun = number(),
            Some("done") => self.done.push((number(), number())),
            Some("ingested") => self.ingested.push(number()),
            Some("copied") => self.copied.push(line["copied ".len()..].into()),
            Some("idle") => self.idle = true,
            _ => {}
        }
    }

    /// The newest of this life's writes that must be found.
    fn least(&self, order: &Order) -> u64 {
        let all = self.done.last().copied().unwrap_or_default();
        if order.durability != Durability::Gathered || matches!(order.end, End::Dropped | End::Idle)
        {
            return all.0;
        }
        let age = (GATHER_TIME + SLACK).as_nanos() as u64;
        let old = self.done.iter().take_while(|(_, at)| at + age < all.1);
        old.last().map_or(0, |(number, _)| *number)
    }
}

/// Starts a child, and receives its reports.
fn start(order: &Order) -> (Child, Arc<Mutex<Told>>, runner::JoinHandle<()>) {
    let mut child = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "kills_child::child", "--nocapture", "--test-threads=1"])
        .env(ORDER, order.encode())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("a process");
    let out = BufReader::new(child.stdout.take().expect("a pipe"));
    let told = Arc::new(Mutex::new(Told::default()));
    let hearer = runner::spawn("hearer", {
        let told = Arc::clone(&told);
        move || out.lines().map_while(Result::ok).for_each(|line| told.lock().hear(&line))
    });
    (child, told, hearer)
}

/// Runs a child to its end. One that is to be killed has written `least` times before.
fn live(order: &Order, random: &mut Random, least: usize) -> Told {
    let (mut child, told, hearer) = start(order);
    let wait_for = |what: &dyn Fn(&Told) -> bool| {
        for _ in 0..60_000 {
            if what(&told.lock()) {
                return;
            }
            runner::sleep(Duration::from_millis(1));
        }
        panic!("a child that does not get on: {order:?}");
    };
    match order.end {
        End::Killed => {
            wait_for(&|told| told.ready && told.done.len() >= least);
            // Now and then long enough for gathered writes to become old.
            let most = if random.random_bool(0.2) { 900_000 } else { 150_000 };
            runner::sleep(Duration::from_micros(random.random_range(0..most)));
            child.kill().expect("a kill");
        }
        End::Unbegun => {
            wait_for(&|told| told.ready);
            child.kill().expect("a kill");
        }
        End::Idle => {
            wait_for(&|told| told.idle);
            runner::sleep(GATHER_TIME + SLACK);
            child.kill().expect("a kill");
        }
        End::Aborted | End::Dropped => {}
    }
    let status = child.wait().expect("an end");
    hearer.join();
    assert_eq!(status.code(), None, "the child ended by a signal, not by an error: {order:?}");
    Arc::into_inner(told).expect("nobody hears any more").into_inner()
}

/// Compares a store with its expected contents; returns the number of its last write. `before`:
/// that of the life before. All writes of that life are there now, and a process that was killed
/// before its first write has added nothing. `gone`: values that a filter has dropped.
fn verify(order: &Order, told: &Told, ingests: &[u64], before: u64, gone: &mut Gone) -> u64 {
    let db = open(&order.place, options(true));
    let number = last(&db);
    // A write is reported before it is begun.
    let (least, most) = (told.least(order).max(before), told.begun.max(before));
    assert!((least..=most).contains(&number), "{order:?}: expected {least} to {most}: {number}");
    assert_eq!(contents(&db), expected(order.seed, number), "{order:?}, after {number} writes");
    let (swapped, least) = (swapped(&db), told.least(order).max(number.saturating_sub(1)));
    assert!((least..=number).contains(&swapped), "{order:?}, after {number} writes: {swapped}");
    verify_filtered(&db, order, number, gone);
    for ingest in ingests {
        for entry in 0..INGESTED {
            let found = db.get(&ingested(*ingest, entry)).expect("a read");
            assert!(found.is_some(), "{order:?}: ingest {ingest} lacks entry {entry}");
        }
    }
    db.verify().expect("clean tables");
    db.close().expect("a close");
    number
}

/// Values that a filter has dropped.
type Gone = BTreeSet<Vec<u8>>;

/// Compares the values that a filter may drop with those after `number` writes, and adds the
/// missing ones to `gone`.
fn verify_filtered(db: &Db, order: &Order, number: u64, gone: &mut Gone) {
    let newest: BTreeMap<_, _> = (1..=number).map(|number| filtered(order.seed, number)).collect();
    let found = below(db, FILTERED);
    for (key, value) in &found {
        assert_eq!(newest.get(key), Some(value), "{order:?}, after {number} writes: {key:?}");
        assert!(!gone.contains(value), "{order:?}, after {number} writes: {key:?} is back");
    }
    for (key, value) in newest.into_iter().filter(|(key, _)| !found.contains_key(key)) {
        assert!(!is_kept(&key, &value), "{order:?}, after {number} writes: {key:?} is missing");
        gone.insert(value);
    }
}

pub(crate) fn contents(db: &Db) -> Contents {
    below(db, b"m/")
}

/// The entries with this prefix.
fn below(db: &Db, prefix: &[u8]) -> Contents {
    let scan = db.scan(terrace::Bounds::prefix(prefix)).expect("a scan");
    scan.map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec())).expect("an entry"))
        .collect()
}

pub(crate) fn expected(seed: u64, number: u64) -> Contents {
    let mut held = Contents::new();
    for number in 1..=number {
        write(seed, number, &mut held);
    }
    held
}

/// Medium for an empty store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Medium {
    Directory,
    Image,
}

impl Medium {
    const ALL: [Self; 2] = [Self::Directory, Self::Image];

    fn make(self, within: &Path) -> PathBuf {
        let place = within.join("store");
        match self {
            Self::Directory => {
                Db::open_directory(&place, options(false)).expect("a store").close().unwrap();
            }
            Self::Image => {
                let geometry = Geometry::uniform(ByteCount::mib(2), 160);
                let drive = Emulator::create_image(&place, geometry, Uuid([9; 16]));
                let drive = Arc::new(drive.expect("an image"));
                let db = Db::create_device(drive, &FormatOptions::default(), options(false));
                db.expect("a store").close().unwrap();
            }
        }
        place
    }
}

const DURABILITIES: [Durability; 3] =
    [Durability::Gathered, Durability::Written, Durability::Synced];

/// Kills the processes of a store on a medium, as [`kill_at`] does.
fn kill(medium: Medium, durability: Durability, seed: u64) -> (usize, u64) {
    let directory = tempfile::tempdir().expect("a directory");
    let place = medium.make(directory.path());
    kill_at(&place, &place, durability, seed, LIVES, 0)
}

/// Kills one store's processes one after another, each while it continues the work of the one
/// before, and not before it has written `least` times. Returns the numbers of acknowledged and of
/// lost writes. Checkpoints go to `copies`, with an extension.
pub(crate) fn kill_at(
    place: &Path,
    copies: &Path,
    durability: Durability,
    seed: u64,
    lives: u64,
    least: usize,
) -> (usize, u64) {
    let mut random = Random::seeded(seed);
    let (mut ingests, mut acknowledged, mut lost, mut number) = (Vec::new(), 0, 0, 0);
    let mut gone = Gone::new();
    for life in 0..lives {
        let (place, copies) = (place.to_owned(), copies.to_owned());
        let order = Order { place, copies, durability, seed, life, end: End::Killed };
        let told = live(&order, &mut random, least);
        ingests.extend(&told.ingested);
        number = verify(&order, &told, &ingests, number, &mut gone);
        acknowledged += told.done.len();
        lost += told.done.last().map_or(0, |(done, _)| done.saturating_sub(number));
        for copy in &told.copied {
            let db = open(copy, options(true));
            assert_eq!(contents(&db), expected(seed, last(&db)), "a checkpoint of {order:?}");
            db.close().expect("a close");
        }
        let place = order.place.display();
        println!("{place}, {durability:?}, life {life}: {} writes", told.done.len());
    }
    (acknowledged, lost)
}

/// Seeds in twos are the media, in threes the durabilities.
#[test]
fn a_killed_process_loses_nothing_that_its_durability_promises() {
    let mut acknowledged = 0;
    for seed in test_seeds(12) {
        let medium = Medium::ALL[seed as usize % 2];
        let durability = DURABILITIES[seed as usize / 2 % 3];
        let (done, lost) = kill(medium, durability, seed);
        assert!(durability == Durability::Gathered || lost == 0, "{durability:?}: {lost} lost");
        acknowledged += done;
    }
    assert!(acknowledged > 100, "only {acknowledged} writes returned before the kills");
}

/// Lets one process write a thousand times, and end.
fn end(medium: Medium, durability: Durability, end: End) {
    let directory = tempfile::tempdir().expect("a directory");
    let place = medium.make(directory.path());
    let copies = place.clone();
    let order = Order { place, copies, durability, seed: 77, life: 1, end };
    let told = live(&order, &mut Random::seeded(1), 0);
    assert!(told.done.len() > 1000, "{order:?}: {} writes", told.done.len());
    let mut gone = Gone::new();
    let number = verify(&order, &told, &told.ingested, 0, &mut gone);
    // On a busy machine the child may end before its first compaction.
    let options = options(false).compaction_filter("default", is_kept);
    let db = open(&order.place, options);
    db.compact(..).expect("a compaction");
    verify_filtered(&db, &order, number, &mut gone);
    db.close().expect("a close");
    assert!(!gone.is_empty(), "{order:?}: the filter dropped nothing");
}

#[test]
fn a_process_that_is_killed_before_it_writes_leaves_what_it_found() {
    for medium in Medium::ALL {
        for durability in DURABILITIES {
            let directory = tempfile::tempdir().expect("a directory");
            let place = medium.make(directory.path());
            let (mut number, mut gone) = (0, Gone::new());
            for (life, end) in [End::Aborted, End::Unbegun, End::Unbegun].into_iter().enumerate() {
                let life = life as u64;
                let (place, copies) = (place.clone(), place.clone());
                let order = Order { place, copies, durability, seed: 5, life, end };
                let told = live(&order, &mut Random::seeded(life), 0);
                number = verify(&order, &told, &told.ingested, number, &mut gone);
            }
            assert!(number > 500, "{durability:?}: only {number} writes were there to be kept");
        }
    }
}

#[test]
fn a_process_that_aborts_loses_nothing_that_its_durability_promises() {
    for medium in Medium::ALL {
        for durability in DURABILITIES {
            end(medium, durability, End::Aborted);
        }
    }
}

#[test]
fn a_store_that_is_dropped_and_not_closed_keeps_all_writes() {
    for medium in Medium::ALL {
        for durability in DURABILITIES {
            end(medium, durability, End::Dropped);
        }
    }
}

#[test]
fn what_has_gathered_is_there_after_a_kill_once_its_time_is_over() {
    for medium in Medium::ALL {
        end(medium, Durability::Gathered, End::Idle);
    }
}
