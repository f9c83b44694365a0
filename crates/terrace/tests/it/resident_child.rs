//! The process whose memory `resident` measures: it fills a store or reads from it, and prints the
//! memory of the process and the store's counts.
//!
//! It is this test binary, started again with [`ORDER`] set, so that nothing but the store and the
//! scenario is in its memory. It needs Linux (`/proc`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use terrace::{Batch, ByteCount, Db, Durability, Options, Scan};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_zone::{Access, Emulator};

/// The variable that makes a test binary the process to be measured.
pub(crate) const ORDER: &str = "TERRACE_MEASURED_CHILD";

/// Task of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) scenario: Scenario,
    /// Amount of work, mostly a number of entries.
    pub(crate) count: u64,
    /// Size of each.
    pub(crate) size: usize,
    pub(crate) budget: ByteCount,
    pub(crate) place: PathBuf,
}

/// Scenario of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// Puts under random keys, with defaults except for the budget.
    Puts,
    /// Puts with the largest `io_size`.
    LargeIo,
    /// Puts that stay in the log.
    Log,
    /// Opens the store.
    Open,
    /// One batch.
    Batch,
    /// Many scans at once.
    Scans,
}

const SCENARIOS: [Scenario; 6] = [
    Scenario::Puts,
    Scenario::LargeIo,
    Scenario::Log,
    Scenario::Open,
    Scenario::Batch,
    Scenario::Scans,
];

impl Order {
    pub(crate) fn encode(&self) -> String {
        let scenario = SCENARIOS.iter().position(|one| *one == self.scenario);
        let (scenario, place) = (scenario.expect("one of them"), self.place.display());
        format!("{scenario} {} {} {} {place}", self.count, self.size, self.budget.0)
    }

    fn decode(text: &str) -> Self {
        let mut words = text.splitn(5, ' ');
        let mut number = || words.next().expect("a number").parse::<u64>().expect("a number");
        let scenario = SCENARIOS[number() as usize];
        let (count, size, budget) = (number(), number() as usize, ByteCount(number()));
        let place = words.next().expect("a path").into();
        Self { scenario, count, size, budget, place }
    }
}

/// Memory of this process, in bytes, and its peak since it last began to measure.
#[derive(Clone, Copy, Debug)]
struct Held {
    now: u64,
    peak: u64,
}

impl Held {
    fn measure() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").expect("a Linux system");
        let field = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect(name);
            line.trim().strip_suffix(" kB").expect("KiB").parse::<u64>().expect("a number") << 10
        };
        Self { now: field("VmRSS:"), peak: field("VmHWM:") }
    }

    fn begin() -> Self {
        std::fs::write("/proc/self/clear_refs", "5").expect("a Linux system");
        Self::measure()
    }
}

/// Prints the store's counts and the memory of the process.
fn tell(phase: &str, before: Held, db: &Db) {
    let held = Held::measure();
    let memory = db.stats().memory;
    let (peak, now) = (held.peak - before.now, held.now.saturating_sub(before.now));
    println!("\nmeasured {phase} {peak} {now} {} {} {memory:?}", memory.peak, memory.used);
}

/// Opens the store of an image or a directory, which is created. Its tables are not mapped: pages
/// of the host would count as memory of the process.
fn open(place: &Path, options: Options) -> Db {
    if place.is_file() {
        let drive = Emulator::open_image(place, Access::ReadWrite).expect("the image opens");
        return Db::open_device(Arc::new(drive), options).expect("the store opens");
    }
    Db::open_directory(place, options.map_tables(false)).expect("the store opens")
}

/// The child's whole life, if this process is one.
#[test]
fn child() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let order = Order::decode(&order);
    let memory = order.budget;
    let durability = Some(Durability::Gathered);
    let options = Options::default().memory(memory).durability(durability);
    let before = Held::begin();
    match order.scenario {
        Scenario::Puts => puts(&order, options, before),
        Scenario::LargeIo => {
            let io_size = terrace::limits::IO_SIZE.most;
            puts(&order, options.io_size(io_size), before);
        }
        Scenario::Log => log(&order, options),
        Scenario::Open => {
            let db = open(&order.place, options);
            tell("opened", before, &db);
            db.wait_idle().expect("rest");
            tell("when_idle", before, &db);
            assert_eq!(db.scan(..).expect("a scan").count() as u64, order.count);
            db.close().expect("a close");
        }
        Scenario::Batch => batch(&order, options),
        Scenario::Scans => scans(&order, options, before),
    }
}

/// Puts values of random bytes under random keys.
fn put_random(db: &Db, order: &Order) {
    let mut random = Random::seeded(order.count);
    let mut value = vec![0; order.size];
    for _ in 0..order.count {
        random.fill_bytes(&mut value);
        let key = random.random_range(0..order.count).to_be_bytes();
        db.put(&key, &value).expect("a put");
    }
}

fn puts(order: &Order, options: Options, before: Held) {
    let db = open(&order.place, options);
    put_random(&db, order);
    tell("put", before, &db);
    db.flush().expect("a flush");
    tell("flushed", before, &db);
    db.wait_idle().expect("rest");
    db.compact_all().expect("a compaction");
    tell("compacted", before, &db);
    let mut random = Random::seeded(7);
    for _ in 0..order.count / 2 {
        db.get(&random.random_range(0..order.count).to_be_bytes()).expect("a get");
    }
    tell("read", before, &db);
    db.close().expect("a close");
}

/// Leaves everything in one log: nothing is flushed.
fn log(order: &Order, options: Options) {
    let memory = ByteCount::gib(4);
    let options = options.memtable_size(ByteCount::gib(1)).memory(memory);
    let db = open(&order.place, options);
    let value = vec![7; order.size];
    for number in 0..order.count {
        db.put(&number.to_be_bytes(), &value).expect("a put");
    }
    db.sync().expect("a sync");
    std::process::exit(0);
}

fn batch(order: &Order, options: Options) {
    let db = open(&order.place, options);
    put_random(&db, &Order { count: 10_000, ..order.clone() });
    let value = vec![7; order.size];
    // The batch is its client's until it is written: it counts with the memory held before.
    let mut batch = Batch::new();
    for number in 0..order.count {
        batch.put(&(number << 32).to_be_bytes(), &value);
    }
    let before = Held::begin();
    db.write(batch).expect("a write");
    tell("written", before, &db);
    db.wait_idle().expect("rest");
    tell("when_idle", before, &db);
    db.close().expect("a close");
}

fn scans(order: &Order, options: Options, before: Held) {
    let db = open(&order.place, options);
    let few = Order { count: 100, ..order.clone() };
    for _ in 0..3 {
        put_random(&db, &few);
        db.flush().expect("a flush");
    }
    db.wait_idle().expect("rest");
    tell("filled", before, &db);
    let mut scans: Vec<Scan> = (0..order.count).map(|_| db.scan(..).expect("a scan")).collect();
    for _ in 0..10 {
        for scan in &mut scans {
            assert!(scan.next().expect("an entry").is_ok());
        }
    }
    tell("scanned", before, &db);
    drop(scans);
    tell("dropped", before, &db);
    db.close().expect("a close");
}
