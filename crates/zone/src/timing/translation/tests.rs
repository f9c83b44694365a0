//! Tests of translation layers: when bands are rewritten or cleaned, and the bytes and the time
//! that the medium takes for it.

use std::collections::BTreeSet;
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::{ByteCount, Cause, Lba, Time};

use super::model::Translated;
use super::parameters::{Rewrite, Settings};
use crate::Geometry;
use crate::emulator::{Command, Progress, RequestKind, Timing};
use crate::timing::{Drive, Scale};

const BLOCK: u64 = 4096;
const MIB: u64 = 1 << 20;
const TABLE: u64 = 4 * MIB;

/// A drive of 4 GiB, and a host that asks for one thing after the other.
struct Host {
    drive: Translated,
    now: u64,
    tickets: u64,
}

impl Host {
    fn new(settings: Settings) -> Self {
        let disk = Drive::find("seagate-st1000dm003").unwrap();
        let geometry = Geometry::plain(ByteCount::gib(4));
        let drive = Translated::new(settings, disk.disk_parameters(), &geometry, Scale::FULL);
        Self { drive, now: 0, tickets: 0 }
    }

    /// Asks, and waits; gives the time that it took.
    fn ask(&mut self, kind: RequestKind, at: u64, bytes: u64) -> Duration {
        let command = Command {
            kind,
            cause: Cause::Compaction,
            lba: Lba(at / BLOCK),
            blocks: bytes / BLOCK,
            zone: None,
            append: false,
            forced: false,
            refused: false,
        };
        let (ticket, begin) = (self.tickets, self.now);
        self.tickets += 1;
        let mut progress = self.drive.submit(Time(self.now), ticket, &command);
        loop {
            match progress {
                Progress::Decided { end, .. } => {
                    self.now = end.0.max(self.now);
                    return Duration::from_nanos(self.now - begin);
                }
                Progress::Undecided { ask } => {
                    self.now = ask.0;
                    progress = self.drive.poll(ask, ticket);
                }
            }
        }
    }

    /// Writes a table in requests of this size, and syncs it.
    fn write(&mut self, at: u64, bytes: u64, request: u64) {
        for part in (0..bytes).step_by(request as usize) {
            self.ask(RequestKind::Write, at + part, request.min(bytes - part));
        }
        self.ask(RequestKind::Flush, 0, 0);
    }

    /// Bytes that the host and the medium have written until now, in MiB.
    fn written(&mut self) -> (u64, u64) {
        let work = self.drive.work(Time(self.now));
        let sum = |of: &dyn Fn(Cause) -> ByteCount| {
            Cause::ALL.into_iter().map(|cause| of(cause).0).sum::<u64>() / MIB
        };
        (sum(&|cause| work.host_written(cause)), sum(&|cause| work.medium_written(cause)))
    }

    /// Bands that the drive has written again until now.
    fn rewrites(&mut self) -> u64 {
        self.drive.work(Time(self.now)).rewrites().0
    }

    fn rest(&mut self, seconds: u64) {
        self.now += seconds * 1_000_000_000;
    }
}

#[test]
fn a_pass_over_the_drive_is_not_amplified_and_as_fast_as_the_disk() {
    let mut host = Host::new(Settings::bands(40 * MIB));
    host.write(0, 400 * MIB, MIB);
    assert_eq!(host.written(), (400, 400));
    let rate = 400.0 / (host.now as f64 / 1e9);
    assert!((150.0..205.0).contains(&rate), "{rate} MiB/s");
}

#[test]
fn a_table_in_a_written_band_costs_one_rewrite_however_it_is_written() {
    for request in [128 << 10, MIB, TABLE] {
        let mut host = Host::new(Settings::bands(40 * MIB));
        host.write(0, 80 * MIB, MIB);
        host.write(8 * MIB, TABLE, request);
        host.write(20 * MIB, TABLE, request);
        // A read from the buffer takes no head.
        assert!(host.ask(RequestKind::Read, 9 * MIB, BLOCK) < Duration::from_millis(1));
        assert_eq!(host.written(), (88, 80), "the burst is open");
        let begin = host.now;
        host.write(48 * MIB, TABLE, request);
        host.rest(1);
        // Both bands are rewritten, the second because it rests.
        host.rest(4);
        assert_eq!(host.written(), (92, 160));
        let work = host.drive.work(Time(host.now));
        let head = work.transfer(Cause::Compaction) + work.positioning(Cause::Compaction);
        // 80 MiB loaded, 80 read, 80 written again, at 200 MiB/s and less.
        assert!(head > Duration::from_millis(1150), "{head:?} from {begin}");
        assert!(head < Duration::from_millis(1600), "{head:?}");
    }
}

#[test]
fn a_band_written_over_from_end_to_end_is_written_once_and_not_read() {
    let mut host = Host::new(Settings::bands(40 * MIB));
    host.write(0, 400 * MIB, MIB);
    let before = host.drive.work(Time(host.now)).transfer(Cause::Compaction);
    host.write(0, 400 * MIB, MIB);
    host.rest(9);
    assert_eq!(host.written(), (800, 800));
    let after = host.drive.work(Time(host.now)).transfer(Cause::Compaction);
    let ratio = (after - before).as_secs_f64() / before.as_secs_f64();
    assert!((0.95..1.1).contains(&ratio), "{ratio}");
}

#[test]
fn only_the_tail_is_rewritten_where_that_is_asked_for() {
    let mut host = Host::new(Settings { rewrite: Rewrite::Tail, ..Settings::bands(40 * MIB) });
    host.write(0, 40 * MIB, MIB);
    host.write(30 * MIB, TABLE, MIB);
    host.rest(4);
    assert_eq!(host.written(), (44, 50));
}

#[test]
fn writes_wait_while_the_buffer_is_full() {
    let mut host = Host::new(Settings::bands(40 * MIB));
    host.write(0, 800 * MIB, MIB);
    let begin = host.now;
    for band in 0..20 {
        host.ask(RequestKind::Write, band * 40 * MIB, TABLE);
    }
    // Twice as much fits the buffer; from then on the host pays for each burst.
    for band in 0..20 {
        host.ask(RequestKind::Write, (band * 40 + 20) * MIB, TABLE);
    }
    let seconds = (host.now - begin) as f64 / 1e9;
    assert!(seconds > 5.0, "40 rewrites of 40 MiB take the head 16 s, the host waited {seconds}");
}

/// Auxiliary write amplification of a store at rest: each compaction deletes ten tables anywhere
/// and writes as many where the allocator, which goes on from where it was, finds room. Also the
/// bands that a compaction writes to, and those that the drive then writes again.
fn amplification(band: u64) -> (f64, f64, f64) {
    // 2.7 GiB, as after a load of 10 GB (SEALDB, figures 2 and 3). The free share decides how far
    // apart the tables of a compaction lie. With 11 % they lie in 5.4 bands of 40 MiB; the paper
    // has 6.22.
    const SLOTS: u64 = 675;
    const LIVE: f64 = 0.89;
    const TABLES: u64 = 10;
    let mut random = Random::seeded(7);
    let mut host = Host::new(Settings::bands(band));
    let mut live = BTreeSet::new();
    for slot in 0..SLOTS {
        host.write(slot * TABLE, TABLE, MIB);
        if random.random_bool(LIVE) {
            live.insert(slot);
        }
    }
    host.rest(4);
    let (before, rewrites) = (host.written(), host.rewrites());
    let (mut cursor, mut bands) = (0, 0);
    const COMPACTIONS: u64 = 60;
    for _ in 0..COMPACTIONS {
        let mut touched = BTreeSet::new();
        let mut dead = Vec::new();
        while dead.len() < TABLES as usize {
            let slot = random.random_range(0..SLOTS);
            if live.contains(&slot) && !dead.contains(&slot) {
                dead.push(slot);
            }
        }
        for _ in 0..TABLES {
            while !live.insert(cursor) {
                cursor = (cursor + 1) % SLOTS;
            }
            host.write(cursor * TABLE, TABLE, MIB);
            touched.insert(cursor * TABLE / band);
        }
        live.retain(|slot| !dead.contains(slot));
        bands += touched.len();
        host.rest(4);
    }
    let (host_bytes, medium) = host.written();
    let (host_bytes, medium) = (host_bytes - before.0, medium - before.1);
    let each = |count: u64| count as f64 / COMPACTIONS as f64;
    (medium as f64 / host_bytes as f64, each(bands as u64), each(host.rewrites() - rewrites))
}

#[test]
fn bands_of_20_to_60_mb_amplify_a_compaction_as_figure_3_has_it() {
    let found: Vec<(u64, f64, f64, f64)> = [20, 30, 40, 50, 60]
        .map(|mib| {
            let (amplification, bands, rewrites) = amplification(mib * MIB);
            (mib, amplification, bands, rewrites)
        })
        .into();
    eprintln!("band, AWA, bands of a compaction: {found:?}");
    // Section II-C: at 40 MB 9.83 tables lie in 6.22 bands, and 34 MB of each are written: 5.38.
    // Here all 40 of each were written once, so all are written again.
    let (_, at_40, bands, rewrites) = found[2];
    assert!((5.0..6.0).contains(&at_40) && (5.0..6.5).contains(&bands), "{found:?}");
    assert!((rewrites - bands).abs() < 0.1, "each band is written again once: {found:?}");
    assert!(found.windows(2).all(|pair| pair[0].1 < pair[1].1), "{found:?}");
    assert!(found.windows(2).all(|pair| pair[0].2 > pair[1].2), "{found:?}");
}

#[test]
fn random_writes_go_to_the_cache_and_wait_for_cleaning_when_it_is_full() {
    let mut host = Host::new(Settings::cached(40 * MIB, 40 * MIB));
    host.write(0, 2048 * MIB, MIB);
    host.rest(9);
    let loaded = host.written();
    assert!(loaded.1 <= 2048 + 4, "a stream passes by the cache: {loaded:?}");
    let mut random = Random::seeded(1);
    let mut rate = |host: &mut Host, writes: u64| {
        let begin = host.now;
        for _ in 0..writes {
            let at = random.random_range(0..2048 * MIB / BLOCK) * BLOCK;
            host.ask(RequestKind::Write, at, BLOCK);
        }
        writes as f64 / ((host.now - begin) as f64 / 1e9)
    };
    let room = rate(&mut host, 1000);
    assert!((120.0..145.0).contains(&room), "{room} writes a second");
    // The cache takes 10240 blocks, of 51 bands: one that is cleaned makes room for 200.
    rate(&mut host, 10_000);
    let full = rate(&mut host, 2000);
    assert!(full < 0.95 * room, "{full} writes a second");
    // Cached bytes are read from the cache, in the time of a read.
    assert!(host.ask(RequestKind::Read, 77 * BLOCK, BLOCK) < Duration::from_secs(1));
    let before = host.written();
    host.rest(600);
    let cleaned = host.written();
    assert!(
        cleaned.1 > before.1 + 1500,
        "idle, the drive cleans all bands: {before:?} {cleaned:?}"
    );
    host.rest(600);
    assert_eq!(host.written(), cleaned, "and has nothing left to clean");
}

#[test]
fn a_full_cache_takes_as_many_random_writes_as_bands_can_be_cleaned() {
    // As on a large drive, where each entry lies in a band of its own (SEALDB, table II: 5).
    for (rewrite, expected) in [(Rewrite::Tail, 4.0..7.5), (Rewrite::Band, 2.0..4.0)] {
        let mut host = Host::new(Settings { rewrite, ..Settings::cached(27 * MIB, 20 * BLOCK) });
        host.write(0, 140 * 27 * MIB, MIB);
        host.rest(300);
        let (mut random, begin) = (Random::seeded(3), host.now);
        for _ in 0..400 {
            let at = random.random_range(0..140 * 27 * MIB / BLOCK) * BLOCK;
            host.ask(RequestKind::Write, at, BLOCK);
        }
        let rate = 400.0 / ((host.now - begin) as f64 / 1e9);
        assert!(expected.contains(&rate), "{rewrite:?}: {rate} writes a second");
        eprintln!("{rewrite:?}: {rate} writes a second");
    }
}

#[test]
fn asking_often_changes_nothing() {
    let run = |often: bool| {
        let mut host = Host::new(Settings::cached(20 * MIB, 20 * MIB));
        let mut random = Random::seeded(5);
        let mut ends = Vec::new();
        for _ in 0..3000 {
            let at = random.random_range(0..64) * MIB;
            let (kind, bytes) = match random.random_range(0..4) {
                0 => (RequestKind::Read, 64 << 10),
                1 => (RequestKind::Write, 2 * MIB),
                2 => (RequestKind::Write, BLOCK),
                _ => (RequestKind::Flush, 0),
            };
            host.ask(kind, at, bytes);
            ends.push(host.now);
            let pause = random.random_range(0..200_000_000);
            for part in 0..pause / 1_000_000 {
                if often {
                    host.drive.work(Time(host.now + part * 1_000_000));
                }
            }
            host.now += pause;
        }
        (ends, host.written())
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn a_power_cut_leaves_a_drive_at_rest() {
    let mut host = Host::new(Settings::bands(40 * MIB));
    host.write(0, 200 * MIB, MIB);
    host.write(0, TABLE, MIB);
    host.write(50 * MIB, TABLE, MIB);
    host.drive.power_cut(Time(host.now));
    let before = host.written();
    host.rest(9);
    assert_eq!(host.written(), before);
    host.write(0, TABLE, MIB);
    host.rest(9);
    assert_eq!(host.written(), (before.0 + 4, before.1 + 40));
}
