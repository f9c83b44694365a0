//! Pictures of the screen in `tests/golden/top`, as text. `TERRACE_REGENERATE=1` writes them anew.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::{Color, Modifier};
use ratatui::{Terminal, backend::TestBackend};
use terrace::device::{Geometry, ZoneState, ZoneType};
use terrace::fs::{RunUsage, RunUse, ZoneUsage, ZoneUse};
use terrace::live::{
    Happening, Latencies, Latency, LiveEvent, LiveSnapshot, Overview, Owner, RunMap, ZoneMap,
};
use terrace::{
    ByteCount, Job, JobStats, LevelStats, Stats, TableOptions, WaitCause, WaitStats,
    WriteAmplification,
};
use terrace_env::{Cause, DeviceId, ZoneId};

use super::command::frame;
use super::draw::draw;
use super::sample::Sample;
use super::view::{Then, View};

/// The seconds of a day, so that no clock is near zero.
const AGE: u64 = 86_400_000_000_000;

fn zone(number: u32) -> ZoneUsage {
    let mib = ByteCount::mib(1);
    let (state, used_for, level, live) = match number {
        0 => (ZoneState::Full, ZoneUse::Superblock, None, 0),
        1 => (ZoneState::ImplicitlyOpen, ZoneUse::Journal, None, 0),
        2 => (ZoneState::ImplicitlyOpen, ZoneUse::Log, None, 5),
        38 => (ZoneState::ReadOnly, ZoneUse::Retired, None, 0),
        39 => (ZoneState::Offline, ZoneUse::Retired, None, 0),
        3..30 => (ZoneState::Full, ZoneUse::Data, Some((number % 4) as u8), number as u64 % 9),
        30..33 => (ZoneState::Full, ZoneUse::Free, None, 0),
        _ => (ZoneState::Empty, ZoneUse::Free, None, 0),
    };
    let live = ByteCount(mib.0 / 8 * live);
    let pointer = if state == ZoneState::Empty { ByteCount(0) } else { mib };
    ZoneUsage {
        zone: ZoneId(number),
        zone_type: ZoneType::Sequential,
        state,
        used_for,
        pointer: Some(pointer),
        capacity: mib,
        live,
        dead: ByteCount(pointer.0 - live.0),
        pinned: ByteCount(0),
        levels: if live.0 > 0 { vec![(level, live)] } else { Vec::new() },
        stream: level.map(u16::from),
    }
}

fn stats(seconds: u64) -> Stats {
    let wait = |count, nanos, nanos_max| WaitStats { count, nanos, nanos_max };
    let level = |level, runs, segments, bytes: ByteCount| LevelStats {
        level,
        runs,
        segments,
        bytes: bytes.0,
        entries: bytes.0 / 100,
        ..LevelStats::default()
    };
    let mut stats = Stats {
        user_bytes: 10_000_000 * seconds,
        entries_written: 87_654 * seconds,
        gets: 1234 * seconds,
        scans: 2 * seconds,
        write_amplification: WriteAmplification {
            log: 1.02,
            flush: 0.97,
            compaction: 3.5,
            reclaim: 0.25,
            metadata: 0.01,
            total: 5.75,
        },
        levels: vec![
            level(0, 3, 3, ByteCount::mib(48)),
            level(1, 1, 17, ByteCount::mib(258)),
            level(2, 1, 160, ByteCount::gib(2)),
        ],
        memtables: 2,
        memtable_bytes: ByteCount::mib(70).0,
        flushes: 41,
        compactions: 13,
        trivial_moves: 2,
        jobs: vec![
            JobStats {
                job: Job::Compaction { from: 0, to: 1, inputs: 20 },
                nanos: 2_340_000_000,
                entries_done: 500,
                entries: 1000,
                parts_begun: 2,
                parts: 2,
            },
            JobStats {
                job: Job::Flush { memory: ByteCount::mib(64) },
                nanos: 56_000_000,
                entries_done: 100,
                entries: 1000,
                parts_begun: 1,
                parts: 1,
            },
        ],
        ..Stats::default()
    };
    stats.waits.add(WaitCause::TreeDelay, wait(10 * seconds, 150_000_000 * seconds, 20_000_000));
    stats.waits.add(WaitCause::Queue, wait(1000 * seconds, 20_000_000 * seconds, 1_500));
    for (at, cause) in Cause::ALL.into_iter().enumerate() {
        if matches!(cause, Cause::Log | Cause::Flush | Cause::Compaction) {
            stats.io.written_bytes[at] = 10_000_000 * seconds * (1 + at as u64);
        }
    }
    let space = &mut stats.space;
    (space.capacity, space.free) = (ByteCount::gib(8), ByteCount::gib(4));
    (space.live, space.dead) = (ByteCount::gib(3), ByteCount::gib(1));
    space.for_puts = ByteCount::mib(3500);
    stats
}

fn snapshot(seconds: u64) -> LiveSnapshot {
    let geometry = Geometry::uniform(ByteCount::mib(1), 40);
    let latency = Latency { measured: 99, p50: 11_200, p99: 1_340_000, p999: 2, max: 3 };
    let event =
        |number, second: u64, event| LiveEvent { number, nanos: second * 1_000_000_000, event };
    let flush = Job::Flush { memory: ByteCount::mib(64) };
    LiveSnapshot {
        overview: Overview {
            stats: stats(seconds),
            space_efficiency: Some(0.75),
            key_spaces: vec!["default".to_owned()],
            key_space_options: Vec::new(),
            system: "leveled".to_owned(),
            tables: TableOptions::default(),
            live_max: ByteCount::gib(4),
            memtable_size: ByteCount::mib(64),
            kept_on_tracks: ByteCount(0),
            devices: Vec::new(),
            geometry: Some(geometry),
            free: None,
        },
        age: AGE + seconds * 1_000_000_000,
        events: vec![
            event(1, 3, Happening::Began { job: flush }),
            event(
                2,
                4,
                Happening::Ended {
                    job: flush,
                    written: Some(ByteCount::mib(60)),
                    took: 1_250_000_000,
                },
            ),
            event(3, 5, Happening::Stalled { took: 1_100_000_000, waits: stats(1).waits }),
            event(4, 6, Happening::Stopped { error: "full\u{1b}[2J".to_owned() }),
        ],
        latencies: Latencies { gets: Latency::default(), writes: latency },
    }
}

fn sample(seconds: u64) -> Sample {
    let zones = (0..40).map(zone).collect();
    let map = ZoneMap { zones, ..ZoneMap::default() };
    let owner = Owner { pid: 4711, command: "terrace load drive.img -".to_owned() };
    Sample { snapshot: snapshot(seconds), map: Arc::new(map), owner: Some(owner) }
}

fn live() -> View {
    let mut view = View::new("drive.img".to_owned(), false);
    view.take(sample(10));
    view.take(sample(12));
    view
}

fn golden(name: &str, picture: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/top").join(name);
    if terrace_env::regenerates_goldens() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, picture).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(picture == expected, "{name}: expected\n{expected}\nfound\n{picture}");
}

fn press(view: &mut View, code: KeyCode) -> Then {
    view.press(KeyEvent::new(code, KeyModifiers::NONE))
}

#[test]
fn a_store_that_is_written_is_drawn_on_screens_of_three_sizes() {
    golden("80x24.txt", &frame(&mut live(), (80, 24)));
    golden("120x45.txt", &frame(&mut live(), (120, 45)));
    golden("60x15.txt", &frame(&mut live(), (60, 15)));
    // One that has no room for anything must not panic.
    for size in [(1, 1), (5, 3), (20, 8), (300, 2), (3, 100)] {
        frame(&mut live(), size);
    }
}

#[test]
fn keys_hold_the_picture_order_the_zones_and_look_into_one() {
    let mut view = live();
    frame(&mut view, (80, 24));
    press(&mut view, KeyCode::Char('s'));
    golden("by-dead-bytes.txt", &frame(&mut view, (80, 24)));
    press(&mut view, KeyCode::Char('s'));
    press(&mut view, KeyCode::Right);
    press(&mut view, KeyCode::Down);
    press(&mut view, KeyCode::Enter);
    golden("inside.txt", &frame(&mut view, (80, 24)));
    press(&mut view, KeyCode::Esc);
    press(&mut view, KeyCode::Char('p'));
    let held = frame(&mut view, (80, 24));
    assert!(held.starts_with("[paused] drive.img"), "{held}");
    view.take(sample(1000));
    assert_eq!(frame(&mut view, (80, 24)), held);
    press(&mut view, KeyCode::Char('p'));
    view.take(sample(1001));
    assert_ne!(frame(&mut view, (80, 24)), held);
    assert_eq!(press(&mut view, KeyCode::Char('q')), Then::End);
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(view.press(interrupt), Then::End);
}

#[test]
fn a_still_picture_says_so_and_shows_no_rates() {
    let mut view = live();
    view.take(Sample { owner: None, ..sample(20) });
    golden("still.txt", &frame(&mut view, (80, 24)));
    view.note = Some("no process offers a live window\u{1b}[2J".to_owned());
    let picture = frame(&mut view, (80, 24));
    assert!(picture.contains("live window\\u{1b}[2J"), "{picture}");
    let mut view = View::new("drive.img".to_owned(), false);
    view.note = Some("in use".to_owned());
    assert!(frame(&mut view, (80, 24)).starts_with("drive.img\nin use\n"));
}

#[test]
fn a_drive_without_zones_and_a_directory_are_drawn() {
    let run = |start: u64, size: u64, used_for, level| RunUsage {
        start: ByteCount::mib(start),
        size: ByteCount::mib(size),
        used_for,
        level,
        extents: 1,
    };
    let runs = vec![
        run(0, 1, RunUse::Superblock, None),
        run(1, 7, RunUse::Journal, None),
        run(8, 20, RunUse::Data, Some(1)),
        run(28, 4, RunUse::Dead, None),
        run(32, 32, RunUse::Free, None),
    ];
    let plain = RunMap { device: DeviceId::FIRST, runs, free: None };
    let map = ZoneMap { plain: vec![plain], ..ZoneMap::default() };
    let mut view = View::new("plain.img".to_owned(), false);
    view.take(Sample { map: Arc::new(map), ..sample(10) });
    golden("plain.txt", &frame(&mut view, (80, 24)));
    let mut view = View::new("dir".to_owned(), false);
    view.take(Sample { map: Arc::default(), ..sample(10) });
    let picture = frame(&mut view, (80, 24));
    assert!(picture.contains("a directory: the file system of the host"), "{picture}");
    assert_eq!(press(&mut view, KeyCode::Enter), Then::GoOn);
    assert!(!view.is_inside, "there is no zone to look into");
}

#[test]
fn colours_add_nothing_to_the_letters() {
    let (mut plain, mut coloured) = (live(), live());
    coloured.is_coloured = true;
    assert_eq!(frame(&mut plain, (80, 24)), frame(&mut coloured, (80, 24)));
    let styles = |view: &mut View| {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| draw(frame, view)).unwrap();
        let cells = terminal.backend().buffer().content().to_vec();
        let reversed = cells.iter().any(|cell| cell.modifier.contains(Modifier::REVERSED));
        (cells.iter().any(|cell| cell.fg != Color::Reset), reversed)
    };
    assert_eq!(styles(&mut plain), (false, true));
    assert_eq!(styles(&mut coloured), (true, true));
}

#[test]
fn rates_are_between_samples_of_one_opening() {
    let rates = sample(12).since(&sample(10)).unwrap();
    assert_eq!((rates.writes, rates.gets, rates.seconds), (87_654.0, 1234.0, 2.0));
    assert_eq!(rates.waits.of(WaitCause::TreeDelay).nanos, 300_000_000);
    let other = Owner { pid: 4712, command: String::new() };
    let other = Sample { owner: Some(other), ..sample(10) };
    assert_eq!(sample(12).since(&other), None);
    assert_eq!(sample(12).since(&sample(12)), None);
}
