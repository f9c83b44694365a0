//! Zones that reclaim frees, when a compaction and a log both want them: the log must get one soon.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::runner::{self, JoinHandle};
use terrace_env::store::{Rank, Store};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, FileId, Time};
use terrace_fs::Fs;
use terrace_zone::Geometry;
use terrace_zone::emulator::{Command, Progress, Timing};

use crate::drive::{formatted, mount};
use crate::full::{delete, options, table};

const FILE: usize = 64 << 10;
const FILES_IN_ZONE: usize = 8;
const ZONES: u32 = 64;
/// Zones' worth of live files: more than is free without reclaim, less than makes reclaim futile.
const LIVE_ZONES: usize = 36;

/// One request after the other, 50 MB a second: a zone takes ten milliseconds.
#[derive(Default)]
struct Slow {
    free: Time,
}

impl Timing for Slow {
    fn submit(&mut self, now: Time, _: u64, command: &Command) -> Progress {
        let start = self.free.max(now);
        self.free = start + Duration::from_nanos(command.blocks * 4096 * 1000 / 50);
        Progress::Decided { start, end: self.free }
    }
}

/// Replaces `count` files that chance picks by new ones.
fn replace(fs: &Fs, files: &Mutex<Vec<FileId>>, rank: Rank, count: usize, random: &mut Random) {
    let space = fs.reserve(rank, ByteCount((count * FILE) as u64)).expect("space in the end");
    let stream = rank as u16;
    let write = |_| table(fs, &options(rank, stream, Some(&space)), FILE).expect("reserved space");
    let new: Vec<FileId> = (0..count).map(write).collect();
    let mut files = files.lock();
    let old: Vec<FileId> = (0..count)
        .map(|_| {
            let at = random.random_range(0..files.len());
            files.swap_remove(at)
        })
        .collect();
    files.extend(new);
    drop(files);
    delete(fs, &old);
}

#[test]
fn a_log_gets_a_zone_that_reclaim_frees_while_a_compaction_takes_all_it_can() {
    let longest = runner::simulate(1, || {
        let drive =
            formatted(Geometry::uniform(ByteCount((FILES_IN_ZONE * FILE) as u64), ZONES), 1);
        let fs = mount(&drive);
        let write = |_| table(&fs, &options(Rank::Log, 1, None), FILE).expect("room");
        let files: Vec<FileId> = (0..LIVE_ZONES * FILES_IN_ZONE).map(write).collect();
        let files = Arc::new(Mutex::new(files));
        drive.set_timing(Some(Box::<Slow>::default()));
        let done = Arc::new(AtomicBool::new(false));
        let compact = |seed| {
            let (fs, files, done) = (Arc::clone(&fs), Arc::clone(&files), Arc::clone(&done));
            runner::spawn("compaction", move || {
                let mut random = Random::seeded(seed);
                while !done.load(Ordering::Relaxed) {
                    replace(&fs, &files, Rank::Compaction, 2 * FILES_IN_ZONE, &mut random);
                }
            })
        };
        let compactions = [compact(3), compact(4), compact(5)];
        let (mut random, mut longest) = (Random::seeded(2), Duration::ZERO);
        for _ in 0..300 {
            let start = runner::now();
            replace(&fs, &files, Rank::Log, 1, &mut random);
            longest = longest.max(runner::now().since(start));
            runner::sleep(Duration::from_millis(20));
        }
        done.store(true, Ordering::Relaxed);
        compactions.into_iter().for_each(JoinHandle::join);
        assert_eq!(fs.audit(), Vec::<String>::new());
        fs.unmount();
        longest
    });
    println!("the log waited at most {longest:?}");
    assert!(longest < Duration::from_millis(300), "a log waited {longest:?}");
}
