//! Benefit of the file cache for compactions on a disk, by policy and size: random writes onto the
//! modelled drive of BlueFS's publication, in virtual time, so that the metrics are the same on
//! every machine.
//!
//! `cargo run --release -p terrace-lab --example file_cache -- [SYSTEM] [SCALE] [MIB OF ENTRIES]`

use std::sync::Arc;

use terrace::{ByteCount, CachePolicy, Db, FormatOptions, Options, System};
use terrace_env::random::{Random, RngCore};
use terrace_env::{Cause, runner};
use terrace_zone::Emulator;
use terrace_zone::timing::{Drive, Scale};

/// The drive of the publication.
const DRIVE: &str = "hgst-hsh721414al";
/// Entries are of the publication's size: 20 bytes and 400.
const VALUE: usize = 400;
/// 256 MiB at full scale, as the memtables of the publication.
const MEMTABLE: ByteCount = ByteCount::mib(256);
/// At full scale: the publication gives its cache 2 GiB.
const CACHES: [u64; 4] = [0, 1 << 30, 2 << 30, 4 << 30];

/// Outcome of a run.
struct Outcome {
    seconds: f64,
    hit_share: f64,
    read_mib: u64,
    used_share: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let system: System = arguments.next().unwrap_or_else(|| "bluefs".into()).parse()?;
    let scale: Scale = arguments.next().unwrap_or_else(|| "1/64".into()).parse()?;
    let bytes = arguments.next().map_or(Ok(500), |mib| mib.parse::<u64>())? << 20;
    println!("{system} on {DRIVE} at {scale}, {} of entries", ByteCount(bytes));
    println!(
        "cache at full scale, policy, seconds at full scale, compaction reads found, MiB read \
              from the medium, of its room the cache uses at the end"
    );
    for cache in CACHES {
        let policies = if cache == 0 { &CachePolicy::ALL[..1] } else { &CachePolicy::ALL[..] };
        for policy in policies {
            let size = ByteCount(cache / scale.divisor());
            let run = || load(system, scale, bytes, size, *policy);
            let Outcome { seconds, hit_share, read_mib, used_share } = runner::simulate(1, run)?;
            let name = if cache == 0 { "none" } else { policy.name() };
            println!(
                "{:8} {name:14} {:7.0} {:5.1} % {read_mib:6} {:5.1} %",
                ByteCount(cache).to_string(),
                seconds * scale.divisor() as f64,
                hit_share * 100.0,
                used_share * 100.0
            );
        }
    }
    Ok(())
}

/// Makes one write for each key, of keys drawn at random with replacement, and waits until no
/// compaction is due any more.
fn load(
    system: System,
    scale: Scale,
    bytes: u64,
    cache: ByteCount,
    policy: CachePolicy,
) -> Result<Outcome, terrace::Error> {
    let model = Drive::find(DRIVE).expect("a drive that is built in");
    let whole = model.geometry(scale).expect("a possible scale");
    let conventional = whole.conventional.iter().map(|run| u64::from(run.end)).max().unwrap_or(0);
    let zone = whole.zone_size * u64::from(whole.logical_block);
    let size = ByteCount(conventional * zone + bytes * 4);
    let drive = Emulator::modelled(&model, scale, size, 1).expect("a drive of this size");
    let memtable_size = ByteCount(MEMTABLE.0 / scale.divisor());
    let options = Options::default()
        .system(system)
        .memtable_size(memtable_size)
        .memory(ByteCount(memtable_size.0 * 8));
    let db = Db::create_device(Arc::new(drive), &FormatOptions::default(), options)?;
    let fs = Arc::clone(db.fs().expect("a store on a device"));
    fs.set_cache(cache, policy);
    let writes = bytes / (20 + VALUE as u64);
    let mut random = Random::seeded(1);
    let (mut value, start) = (vec![0; VALUE], runner::now());
    for _ in 0..writes {
        let key = format!("{:020}", random.next_u64() % writes);
        random.fill_bytes(&mut value);
        db.put(key.as_bytes(), &value)?;
    }
    db.wait_idle()?;
    let seconds = runner::now().since(start).as_secs_f64();
    let io = db.stats().io;
    let outcome = Outcome {
        seconds,
        hit_share: io.cache.hit_share(Cause::Compaction).unwrap_or(0.0),
        read_mib: io.read(Cause::Compaction).0 >> 20,
        used_share: io.cache.used as f64 / cache.0.max(1) as f64,
    };
    db.close()?;
    Ok(outcome)
}
