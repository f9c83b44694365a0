//! The process that `kills` starts and kills: it works on a store, and prints the number of each
//! write before it begins and after it has returned.
//!
//! It is this test binary, started again with [`ORDER`] set; without that, the test does nothing.
//! Its writes follow from a seed and a number. So the number of the last write determines the
//! expected contents.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use terrace::{Append, Batch, Bounds, ByteCount, Date, Db, Durability, Options, System};
use terrace_env::random::{Random, Rng};
use terrace_env::runner;
use terrace_zone::linux::BlockDevice;
use terrace_zone::{Access, Device, Emulator};

/// The variable that makes a test binary the process to be killed.
pub(crate) const ORDER: &str = "TERRACE_KILLED_CHILD";

/// The key whose value is the number of the last write.
pub(crate) const AT: &[u8] = b"at";
/// The key whose value is the number of the last write after which it was replaced.
const SWAPPED: &[u8] = b"swapped";
const KEYS: u32 = 400;
/// Begin of the keys whose values a compaction filter may drop.
pub(crate) const FILTERED: &[u8] = b"f/";
/// First byte of the values that it drops.
const DOOMED: u8 = 0xdd;
/// Entries of an ingest.
pub(crate) const INGESTED: u32 = 50;
/// Number of writes after which the child ends by itself; the parent may wait for that.
const WRITES: u64 = 1_000;

/// Task of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) place: PathBuf,
    /// Path of checkpoints, without their extension.
    pub(crate) copies: PathBuf,
    pub(crate) durability: Durability,
    pub(crate) seed: u64,
    pub(crate) life: u64,
    pub(crate) end: End,
}

/// How a child ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It works until it is killed.
    Killed,
    /// It opens the store and writes nothing until it is killed.
    Unbegun,
    /// It writes for a while, and aborts.
    Aborted,
    /// It writes for a while, drops the store without closing it, and aborts.
    Dropped,
    /// It writes for a while, pauses for longer than the time of gathered writes, and aborts.
    Idle,
}

const DURABILITIES: [Durability; 3] =
    [Durability::Gathered, Durability::Written, Durability::Synced];
const ENDS: [End; 5] = [End::Killed, End::Unbegun, End::Aborted, End::Dropped, End::Idle];

impl Order {
    pub(crate) fn encode(&self) -> String {
        let durability = DURABILITIES.iter().position(|one| *one == self.durability);
        let end = ENDS.iter().position(|one| *one == self.end);
        let (durability, end) = (durability.expect("one of them"), end.expect("one of them"));
        let (place, copies) = (self.place.display(), self.copies.display());
        format!("{durability} {end} {} {} {copies} {place}", self.seed, self.life)
    }

    fn decode(text: &str) -> Self {
        let mut words = text.splitn(6, ' ');
        let mut number = || words.next().expect("a number").parse::<u64>().expect("a number");
        let (durability, end) = (DURABILITIES[number() as usize], ENDS[number() as usize]);
        let (seed, life) = (number(), number());
        let [copies, place] = [(); 2].map(|()| words.next().expect("a path").into());
        Self { place, copies, durability, seed, life, end }
    }
}

/// Time of gathered writes in these tests.
pub(crate) const GATHER_TIME: Duration = Duration::from_millis(50);

/// Options under which a thousand writes make a tree.
pub(crate) fn options(read_only: bool) -> Options {
    Options::default()
        .read_only(read_only)
        .gather_time(GATHER_TIME)
        .memtable_size(ByteCount::kib(64))
        .memory(ByteCount::mib(32))
        .merge_operator(Append::new(b""))
}

/// Opens the store of an image, a block device or a directory.
pub(crate) fn open(place: &Path, options: Options) -> Db {
    if place.is_dir() {
        return Db::open_directory(place, options).expect("the store opens");
    }
    let access = if options.read_only { Access::ReadOnly } else { Access::ReadWrite };
    let drive: Arc<dyn Device> = match BlockDevice::probe(place).expect("a path that can be read") {
        Some(_) => Arc::new(BlockDevice::open(place, access).expect("the block device opens")),
        None => Arc::new(Emulator::open_image(place, access).expect("the image opens")),
    };
    Db::open_device(drive, options).expect("the store opens")
}

/// Contents of a store under keys of the writes.
pub(crate) type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(number: u32) -> Vec<u8> {
    format!("m/{number:05}").into_bytes()
}

/// Applies the write of this number to a batch, and to the expected contents.
pub(crate) fn write(seed: u64, number: u64, held: &mut Contents) -> Batch {
    let mut random = Random::seeded(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut batch = Batch::new();
    for _ in 0..random.random_range(1..4) {
        let at = random.random_range(0..KEYS);
        match random.random_range(0..40) {
            0 => {
                let end = at + random.random_range(1..40);
                batch.delete_range(Bounds::from(key(at)..key(end)));
                held.retain(|held, _| !(key(at)..key(end)).contains(held));
            }
            1..6 => {
                batch.delete(&key(at));
                held.remove(&key(at));
            }
            6 => {
                // Long ago: a delete.
                batch.put_with_expiry(&key(at), b"expired", Date(number));
                held.remove(&key(at));
            }
            7..10 => {
                let operand = [random.random::<u8>(); 9];
                batch.merge(&key(at), &operand);
                held.entry(key(at)).or_default().extend_from_slice(&operand);
            }
            other => {
                let value = vec![random.random::<u8>(); random.random_range(0..600)];
                match other {
                    10..15 => batch.put_with_expiry(&key(at), &value, Date::MAX),
                    _ => batch.put(&key(at), &value),
                };
                held.insert(key(at), value);
            }
        }
    }
    let (key, value) = filtered(seed, number);
    batch.put(&key, &value).put(AT, &number.to_le_bytes());
    batch
}

/// The key below [`FILTERED`] that the write of this number puts, and its value, which no other
/// write puts.
pub(crate) fn filtered(seed: u64, number: u64) -> (Vec<u8>, Vec<u8>) {
    let mut random = Random::seeded(seed.wrapping_add(number.rotate_left(32)));
    let key = [FILTERED, &[random.random_range(0..100)]].concat();
    let first = if random.random() { DOOMED } else { 0 };
    let fill = vec![random.random(); random.random_range(0..300)];
    (key, [&[first][..], &number.to_le_bytes(), &fill].concat())
}

/// The compaction filter of a child.
pub(crate) fn is_kept(key: &[u8], value: &[u8]) -> bool {
    !key.starts_with(FILTERED) || value[0] != DOOMED
}

/// After the write of this number, replaces the number before it: by a conditional write, or by a
/// transaction.
fn swap(db: &Db, number: u64) {
    let before = db.get(SWAPPED).expect("a read");
    if number.is_multiple_of(2) {
        let is_put = db.put_if(SWAPPED, before.as_deref(), &number.to_le_bytes());
        assert!(is_put.expect("a conditional write"), "no other writer");
    } else {
        let transaction = db.transaction().expect("a transaction");
        assert_eq!(transaction.get(SWAPPED).expect("a read"), before);
        transaction.put(SWAPPED, &number.to_le_bytes()).expect("a put");
        transaction.commit().expect("a commit");
    }
}

/// Number of the store's last write.
pub(crate) fn last(db: &Db) -> u64 {
    number_at(db, AT)
}

/// Number of the last write after which [`SWAPPED`] was replaced.
pub(crate) fn swapped(db: &Db) -> u64 {
    number_at(db, SWAPPED)
}

fn number_at(db: &Db, key: &[u8]) -> u64 {
    let found = db.get(key).expect("a read");
    found.map_or(0, |bytes| u64::from_le_bytes(bytes[..].try_into().expect("a number")))
}

/// The key of an ingested entry.
pub(crate) fn ingested(ingest: u64, entry: u32) -> Vec<u8> {
    format!("i/{ingest:08}/{entry:04}").into_bytes()
}

/// Reports to the parent, at once: data in the pipe survives this process.
pub(crate) fn tell(line: &str) {
    #[expect(clippy::disallowed_methods, reason = "a pipe to the parent; nothing is shown")]
    let mut out = std::io::stdout().lock();
    let told = out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush());
    told.expect("a parent that listens");
}

/// The child's whole life, if this process is one.
#[test]
fn child() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let order = Order::decode(&order);
    let systems = System::all();
    let system = Some(systems[(order.seed + order.life) as usize % systems.len()]);
    let durability = Some(order.durability);
    let options = options(false).compaction_filter("default", is_kept);
    let db = open(&order.place, options.system(system).durability(durability));
    // The harness has begun a line.
    tell("\nready");
    if order.end == End::Unbegun {
        runner::sleep(Duration::from_secs(600));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let beside = runner::spawn("beside", {
        let (db, order, stop) = (db.clone(), order.clone(), Arc::clone(&stop));
        move || work_beside(&db, &order, &stop)
    });
    let first = last(&db) + 1;
    // The process before may have been killed between the two.
    swap(&db, first - 1);
    for number in first.. {
        let batch = write(order.seed, number, &mut Contents::new());
        tell(&format!("begun {number}"));
        db.write(batch).expect("a write");
        swap(&db, number);
        tell(&format!("done {number} {}", runner::now().0));
        if order.end != End::Killed && number == first + WRITES {
            break;
        }
    }
    stop.store(true, Ordering::Relaxed);
    beside.join();
    match order.end {
        End::Dropped => drop(db),
        End::Idle => {
            tell("idle");
            runner::sleep(Duration::from_secs(600));
        }
        End::Killed | End::Unbegun | End::Aborted => {}
    }
    std::process::abort();
}

/// Work of a store concurrent with writes.
fn work_beside(db: &Db, order: &Order, stop: &AtomicBool) {
    let first = order.life * 1000;
    for round in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        match round % 4 {
            0 => {
                let number = first + round;
                let mut ingest = db.ingest().expect("an ingest");
                for entry in 0..INGESTED {
                    let value = [number as u8; 200];
                    ingest.put(&ingested(number, entry), &value).expect("in order");
                }
                ingest.finish().expect("an ingest");
                tell(&format!("ingested {number}"));
            }
            1 => db.compact(..).expect("a compaction"),
            2 => {
                let target = order.copies.with_extension(format!("copy-{first}-{round}"));
                db.checkpoint_directory(&target).expect("a checkpoint");
                tell(&format!("copied {}", target.display()));
            }
            _ => db.flush().expect("a flush"),
        }
        runner::sleep(Duration::from_millis(3));
    }
}
